"""Policies that wrap other policies: a bound on the regret of any policy, and regret balancing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab import parameters as declared
from cmab.arrays import FloatArray, IntArray
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle, smoothness_of
from cmab.policies.ucb import CUCB, optimistic_means
from cmab.policy import AnyPolicy, Policy, State, best_within, check_policy_instance, refuse_parts
from cmab.statistics import ArmStatistics
from cmab.validation import shown


@dataclass(frozen=True, eq=False)
class WrappedPolicy(Policy[State]):
    """A policy that wraps another policy and delegates to it every method that a subclass does not define.

    Its oracle and support are those of the wrapped policy. If its state contains the state of the
    wrapped policy, a subclass defines `_learned`.
    """

    policy: AnyPolicy
    oracle: Oracle = field(init=False, repr=False)
    support: tuple[float, float] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_wrapped(self.policy)
        for name in ("oracle", "support", "learns"):
            object.__setattr__(self, name, getattr(self.policy, name))
        super().__post_init__()

    def _learned(self, state: State) -> Any:
        """Return the state of the wrapped policy."""
        return state

    def initial_state(self, rng: np.random.Generator | None = None) -> State:
        state: State = self.policy.initial_state(rng)
        return state

    def select(self, state: State, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the choice of the wrapped policy."""
        chosen: IntArray = self.policy.select(self._learned(state), rng, context)
        return chosen

    def update(
        self,
        state: State,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.policy.update(self._learned(state), feedback, ticket, rng)

    def is_done(self, state: State) -> bool:
        return self.policy.is_done(self._learned(state))

    def reserve(self, state: State, ticket: Ticket) -> None:
        self.policy.reserve(self._learned(state), ticket)


def check_wrapped(policy: AnyPolicy) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless a policy has an oracle and no budgets."""
    check_policy_instance(policy)
    if policy.may_rest:
        raise ValueError(f"policy must have no budgets, because a wrapper could exceed them, got {policy!r}")
    if getattr(policy, "oracle", None) is None:
        raise TypeError(f"policy must have an oracle, got {shown(policy)}")


# Safeguarded --------------------------------------------------------------------------------------------


@dataclass
class SafeguardState:
    """The state of the wrapped policy, and how much of the budget it has spent.

    Attributes
    ----------
    learned : Any
        State of the wrapped policy, which has arm statistics.
    spent : float
        Sum over rounds of the optimistic value of CUCB's super arm minus that of the played super arm.

    Examples
    --------
    >>> from cmab import AdaptiveCTS, Feedback, Safeguarded, Session
    >>> from oracles import TopK
    >>> session = Session(Safeguarded(AdaptiveCTS(TopK(3, k=1))), rng=0)
    >>> ticket = session.ask()
    >>> session.tell(Feedback(ticket, outcomes=[0.0]), ticket)
    >>> session.state.spent, session.state.rounds  # before the first outcomes, all arms have the same index
    (0.0, 1)
    """

    learned: Any
    spent: float = 0.0

    @property
    def rounds(self) -> int:
        """Number of rounds with feedback."""
        rounds: int = self.learned.rounds
        return rounds

    @property
    def counts(self) -> IntArray:
        """Number of observed outcomes of each base arm, shape (n_arms,)."""
        counts: IntArray = self.learned.counts
        return counts


@dataclass(frozen=True, eq=False)
class Safeguarded(WrappedPolicy[SafeguardState]):
    """Another policy, replaced by `CUCB` in the rounds in which it would exceed a budget of regret.

    Use this wrapper if a policy with small regret in practice needs a bound on the regret for fixed means.

    Policies that explore little learn fast on most problems, and have no guarantee for fixed means. This
    wrapper adds one. Let U be CUCB's upper confidence bounds, which lower bounds replace for costs. A round
    spends the value of CUCB's super arm for U minus the value of the played super arm for U. If the total
    would exceed ``c B sqrt(m K t ln(t + 1))``, CUCB's super arm is played, which spends nothing.

    The regret in T rounds is at most ``c B sqrt(m K T ln(T + 1))`` plus the bound of Theorem 1 for CUCB, for
    any policy, any approximate oracle and monotone rewards (theorem D in the docs, ours). B is the smoothness
    of the rewards, m the number of arms, and K the largest expected number of triggered arms. A small `c`
    binds early: the wrapper then plays like CUCB, whose bounds are wide. The bound with log T for large gaps
    is lost.

    Parameters
    ----------
    policy : Policy
        The wrapped policy. Its state must be an `ArmStatistics`, and its support bounded.
    c : float
        The constant above.
    n_triggered : float, optional
        The number K above. If omitted, it is the size of the largest super arm if rewards are sums, and the
        number of arms otherwise.
    scale : float, optional
        The constant B above, for outcomes in an interval of length 1. If omitted, the oracle declares it.

    Notes
    -----
    `select` calls the oracle twice, and `update` once more. Feedback that is late is charged when it arrives.
    A context may only have `available`. If a ticket is missing in `update`, the round is charged as if the
    worst had been played: as the optimistic value of CUCB's super arm.

    Examples
    --------
    >>> from cmab import AdaptiveCTS, Safeguarded, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=4, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1, 0.8]), oracle)
    >>> simulate(Safeguarded(AdaptiveCTS(oracle)), environment, horizon=300, rng=0).super_arms
    [array([1, 3])]
    """

    c: float = field(default=1.0, metadata=declared.real(0.0))
    _: KW_ONLY
    n_triggered: float | None = field(default=None, metadata=declared.real(0.0, inside=True, optional=True))
    scale: float | None = field(default=None, metadata=declared.real(0.0, inside=True, optional=True))
    _bounds: FloatArray = field(init=False, repr=False)
    _rate: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy.initial_state(), ArmStatistics):
            raise ValueError(f"policy must have a state of ArmStatistics, got {self.policy!r}")
        if self.support is None:
            raise ValueError(f"policy must have a bounded support, got {self.policy!r} with None")
        oracle, (low, high) = self.oracle, self.support
        object.__setattr__(self, "_bounds", CUCB(oracle, support=self.support).parameters())
        scale, smoothness = self.scale, smoothness_of(oracle)
        if scale is None and smoothness is not None:
            scale = smoothness.modulated
        if scale is None:
            raise ValueError(
                "scale must be given, because the oracle declares no modulated smoothness of its rewards, got"
                f" scale=None with {oracle!r}"
            )
        most = self.n_triggered or float(oracle.max_size if oracle.is_linear else oracle.n_arms)
        object.__setattr__(self, "_rate", self.c * scale * (high - low) * math.sqrt(oracle.n_arms * most))

    def initial_state(self, rng: np.random.Generator | None = None) -> SafeguardState:
        return SafeguardState(self.policy.initial_state(rng))

    def _learned(self, state: SafeguardState) -> Any:
        return state.learned

    def select(
        self, state: SafeguardState, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the choice of the wrapped policy, or CUCB's choice if the budget requires it."""
        refuse_parts(self, context, ("available",))
        chosen = super().select(state, rng, context)
        indices = self._indices(state.learned)
        safe = best_within(self.oracle, indices, context, rng)
        t = state.rounds + 1
        budget = self._rate * math.sqrt(t * math.log(t + 1.0))
        is_within = state.spent + self._value(safe, indices) - self._value(chosen, indices) <= budget
        return chosen if is_within else safe

    def update(
        self,
        state: SafeguardState,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Charge the round to the budget, and update the state of the wrapped policy."""
        source = np.random.default_rng(state.rounds) if rng is None else rng
        indices = self._indices(state.learned)
        context = None if ticket is None else ticket.context
        safe = best_within(self.oracle, indices, context, source)
        cost = self._value(safe, indices)
        if ticket is not None:
            cost -= self._value(ticket.super_arm, indices)
        self.policy.update(state.learned, feedback, ticket, rng)
        state.spent += cost

    def _indices(self, stats: ArmStatistics) -> FloatArray:
        """Return CUCB's indices for the statistics of the wrapped policy, which may have a memory."""
        learned, out = (stats.counters, stats.means, stats.deviations), np.empty(stats.n_arms)
        optimistic_means(*learned, stats.memory, stats.rounds + 1, self._bounds, None, out)
        return out

    def _value(self, super_arm: IntArray, indices: FloatArray) -> float:
        """Return the value of a super arm for these indices, with costs as negative values."""
        return self.oracle._sign * self.oracle.expected_reward(super_arm, indices)


# Regret balancing ---------------------------------------------------------------------------------------


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
        for policy in given:
            check_wrapped(policy)
        first = given[0].oracle
        shape = first.n_arms, first.n_choices, first.sense
        if any((each.oracle.n_arms, each.oracle.n_choices, each.oracle.sense) != shape for each in given):
            raise ValueError(f"policies must have oracles of one shape, got {shown(self.policies)}")
        known = [policy.support for policy in given if policy.support is not None]
        common = (max(low for low, _ in known), min(high for _, high in known)) if known else None
        values = {"policies": tuple(given), "oracle": first, "support": common}
        for name, value in (values | {"learns": any(policy.learns for policy in given)}).items():
            object.__setattr__(self, name, value)
        super().__post_init__()
        object.__setattr__(self, "_ends", self._reward_interval(given[0].support))

    def _reward_interval(self, support: tuple[float, float] | None) -> tuple[float, float]:
        """Return the interval of the rewards of a round: `reward_range`, or that of sums of outcomes."""
        if self.reward_range is not None:
            return self.reward_range
        oracle = self.oracle
        if not oracle.is_linear or support is None or not np.isfinite(support).all():
            raise ValueError(
                f"reward_range must be given unless rewards are sums of bounded outcomes, got {oracle!r}"
            )
        return min(oracle.max_size * support[0], 0.0), max(oracle.max_size * support[1], 0.0)

    def initial_state(self, rng: np.random.Generator | None = None) -> BalanceState:
        """Return the initial states of the policies, with equal estimates of their regret."""
        k = len(self.policies)
        learned = [policy.initial_state(rng) for policy in self.policies]
        equal = np.full(k, self.least)
        return BalanceState(learned, np.zeros(k, np.int64), np.zeros(k), equal, equal.copy())

    def select(
        self, state: BalanceState, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the choice of the policy with the smallest estimated regret."""
        i = int(np.argmin(state.potentials))
        chosen: IntArray = self.policies[i].select(state.learned[i], rng, context)
        return chosen

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
