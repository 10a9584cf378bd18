"""Regret balancing: a master that selects one of several policies in each round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab import declared
from cmab.arrays import FloatArray, IntArray
from cmab.context import Context
from cmab.feedback import Feedback
from cmab.guards import verb
from cmab.oracle import Oracle
from cmab.policies._wrapped import WrappedPolicy
from cmab.policy import AnyPolicy, Policy, fits
from cmab.ticket import Ticket
from cmab.validation import arm_indices, check_vector, shown


@dataclass
class BalanceState:
    """The states of K policies, and what the master knows about each.

    Attributes
    ----------
    learned : list
        States of the policies.
    counts : IntArray, shape (K,)
        Number of rounds that each policy selected.
    sums : FloatArray, shape (K,)
        Sums of the rewards of these rounds, each rescaled to [0, 1].
    rates : FloatArray, shape (K,)
        Estimated regret of each policy after n of its rounds, divided by the root of n.
    potentials : FloatArray, shape (K,)
        Estimated regret of each policy so far. The policy with the smallest selects the next round.

    Examples
    --------
    >>> from cmab import CUCB, CTS, RegretBalancing
    >>> from oracles import TopK
    >>> RegretBalancing([CUCB(TopK(4, k=1)), CTS(TopK(4, k=1))]).initial_state().counts
    array([0, 0])
    """

    learned: list[Any]
    counts: IntArray
    sums: FloatArray
    rates: FloatArray
    potentials: FloatArray

    @property
    def rounds(self) -> int:
        """Number of rounds with feedback."""
        return int(self.counts.sum())

    def check(self, fresh: BalanceState) -> None:
        """Raise if no feedback leads to this state, as may happen with a damaged file.

        Raises
        ------
        ValueError
            If the parts contradict each other.
        """
        if len(self.learned) != len(fresh.learned):
            raise ValueError(f"learned must have {len(fresh.learned)} states, got {len(self.learned)}")
        for mine, other in zip(self.learned, fresh.learned, strict=True):
            if hasattr(mine, "check"):
                mine.check(other)
        size = len(fresh.counts)
        arm_indices("counts", self.counts, 2**53, distinct=False)
        for name in ("sums", "rates", "potentials"):
            check_vector(name, getattr(self, name), size, 0.0)
        if len(self.counts) != size or (self.sums > self.counts).any():
            raise ValueError(f"sums must be at most counts, got {shown(self.sums)}")


@dataclass(frozen=True, eq=False)
class RegretBalancing(Policy[BalanceState]):
    """A master over several policies, which selects the one with the smallest estimated regret in each round.

    Use this policy to choose between models, priors or radii when no log of the problem exists, rewards are
    stochastic, and there is time for some thousand rounds. The regret is that of the best policy times a
    factor of order K, plus the cost of the tests. It cannot be smaller than about the average over the
    policies until the tests tell them apart. For means that change, use `GLRRestart`, because the test
    compares rewards of different rounds.

    Policy i is assumed to have a regret of at most ``d_i sqrt(n_i)`` in its n_i rounds, where d_i begins with
    `least`. The policy with the smallest ``d_i sqrt(n_i)`` plays. If its mean reward plus ``d_i / sqrt(n_i)``
    is below the mean reward of another policy by more than both confidence radii, then its d_i doubles.

    With `sharing`, every policy learns from the feedback of every round. This suits semi-bandit feedback, and
    is not part of the proof. Feedback counts for the policy that is next when it arrives, so delays blur the
    estimates.

    Parameters
    ----------
    policies : sequence of Policy
        At least two policies with oracles of the same numbers of base arms and entries, and the same sense.
    delta : float
        Probability that the confidence radii fail, in (0, 1).
    least : float
        Initial d_i, for rewards of a round in the unit interval.
    confidence : float
        Factor c of the confidence radius ``c sqrt(ln(K (1 + ln n) / delta) / n)``.
    sharing : bool
        Whether all policies learn from all rounds.
    reward_range : tuple of float, optional
        Interval of the rewards of a round. Rewards outside it are clipped. For rewards that are sums, the
        default is the range for outcomes in the support of the first policy.

    Raises
    ------
    TypeError
        If an entry of `policies` is not a policy with an oracle.
    ValueError
        If a parameter is out of its range, the oracles differ, or `reward_range` is omitted although rewards
        are not sums or the first policy has no bounded support.

    Examples
    --------
    >>> from cmab import CUCB, RandomPolicy, RegretBalancing, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=1)
    >>> environment = SemiBandit(BernoulliArms([0.1, 0.9, 0.2, 0.1]), oracle)
    >>> master = RegretBalancing([RandomPolicy(oracle), CUCB(oracle)])
    >>> state = simulate(master, environment, 3000, rng=0).states[0]
    >>> bool(state.counts[1] > 2 * state.counts[0])
    True

    References
    ----------
    C. Dann, C. Gentile, A. Pacchiano: Data-Driven Online Model Selection with Regret Guarantees, AISTATS 2024
    (D3RB, from memory), after A. Pacchiano, C. Dann, C. Gentile, P. Bartlett: Regret Bound Balancing and
    Elimination for Model Selection in Bandits and RL, arXiv:2012.13045, and A. Cutkosky et al.: Dynamic
    Balancing for Model Selection in Bandits and RL, ICML 2021.
    """

    policies: Sequence[AnyPolicy]
    _: KW_ONLY
    delta: float = field(default=0.1, metadata=declared.real(0.0, 1.0, inside=True))
    least: float = field(default=0.1, metadata=declared.real(0.0, inside=True))
    confidence: float = field(default=0.5, metadata=declared.real(0.0))
    sharing: bool = field(default=True, metadata=declared.flag())
    reward_range: tuple[float, float] | None = field(default=None, metadata=declared.interval(optional=True))
    oracle: Oracle = field(init=False, repr=False)
    support: tuple[float, float] | None = field(init=False, repr=False)
    _ends: tuple[float, float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given: Any = self.policies
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) < 2:
            raise ValueError(f"policies must be two or more policies, got {shown(self.policies)}")
        keep = object.__setattr__
        keep(self, "policies", tuple(self.policies))
        for policy in self.policies:
            if not isinstance(policy, Policy):
                raise ValueError(f"policies must be policies, got {shown(policy)}")
            WrappedPolicy(policy)
        first = self.policies[0]
        keep(self, "oracle", first.oracle)
        for policy in self.policies:
            if _shape(policy.oracle) != _shape(first.oracle):
                raise ValueError(f"policies must have oracles of one shape, got {shown(self.policies)}")
        known = [policy.support for policy in self.policies if policy.support is not None]
        widest = (max(low for low, _ in known), min(high for _, high in known)) if known else None
        keep(self, "support", widest)
        keep(self, "learns", any(policy.learns for policy in self.policies))
        super().__post_init__()
        keep(self, "_ends", reward_interval(self.reward_range, first))

    def initial_state(self, rng: np.random.Generator | None = None) -> BalanceState:
        """Return the initial states of the policies, with equal estimates of their regret."""
        k = len(self.policies)
        learned = [policy.initial_state(rng) for policy in self.policies]
        equal = np.full(k, self.least)
        return BalanceState(learned, np.zeros(k, np.int64), np.zeros(k), equal, equal.copy())

    def _check_state(self, state: Any) -> None:
        if not isinstance(state, BalanceState) or len(state.learned) != len(self.policies):
            raise ValueError(f"state must have {len(self.policies)} states, got {shown(state)}")
        for policy, learned in zip(self.policies, state.learned, strict=True):
            fits(policy, learned, ())

    @verb
    def select(
        self, state: BalanceState, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the choice of the policy with the smallest estimated regret.

        Raises
        ------
        ValueError
            If this policy cannot use a part of the context.
        """
        i = int(np.argmin(state.potentials))
        chosen: IntArray = self.policies[i].select(state.learned[i], rng, context)
        return chosen

    @verb
    def update(
        self,
        state: BalanceState,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Credit the policy with the smallest estimated regret, test it, and let the policies learn."""
        i = int(np.argmin(state.potentials))
        for j, policy in enumerate(self.policies):
            if j == i or self.sharing:
                policy.update(state.learned[j], feedback, ticket, rng)
        low, high = self._ends
        reward = feedback.reward if math.isfinite(feedback.reward) else float(feedback.outcomes.sum())
        share = min(max((reward - low) / (high - low), 0.0), 1.0)
        state.sums[i] += share if self.oracle.sense == "max" else 1.0 - share
        state.counts[i] += 1
        played = np.maximum(state.counts, 1)
        # Dann et al. (2024), Algorithm 1 (D3RB). The 1 keeps the logarithm positive for few rounds.
        levels = np.log(len(played) * (1.0 + np.log(played)) / self.delta)
        radii = self.confidence * np.sqrt(levels / played)
        least = np.where(state.counts > 0, state.sums / played - radii, -np.inf)
        most = state.sums[i] / played[i] + state.rates[i] / math.sqrt(played[i]) + radii[i]
        if most < least.max():
            state.rates[i] *= 2.0
        estimated = state.rates[i] * math.sqrt(played[i])
        state.potentials[i] = min(max(estimated, state.potentials[i]), 2.0 * state.potentials[i])


def _shape(oracle: Oracle) -> tuple[Any, ...]:
    return oracle.n_arms, oracle.n_choices, oracle.sense


def reward_interval(reward_range: tuple[float, float] | None, policy: AnyPolicy) -> tuple[float, float]:
    """Return the interval of the rewards of a round: `reward_range`, or that of sums of outcomes.

    Raises
    ------
    ValueError
        If `reward_range` is None although rewards are not sums or the policy has no bounded support.
    """
    if reward_range is not None:
        return reward_range
    oracle, support = policy.oracle, policy.support
    if not oracle.is_linear or support is None or not np.isfinite(support).all():
        raise ValueError(
            f"reward_range must be given unless rewards are sums of bounded outcomes, got {oracle!r}"
        )
    return min(oracle.max_size * support[0], 0.0), max(oracle.max_size * support[1], 0.0)
