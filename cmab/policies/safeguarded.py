"""A bound on the regret of any policy, by falling back on confidence bounds."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from cmab import validation
from cmab.arrays import FloatArray, IntArray
from cmab.context import Context
from cmab.declared import real
from cmab.feedback import Feedback
from cmab.guards import unguarded
from cmab.policies._wrapped import WrappedPolicy
from cmab.policies.cucb import CUCB
from cmab.policy import best_within, refuse_parts
from cmab.statistics import ArmStatistics, count
from cmab.ticket import Ticket


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

    def check(self, fresh: SafeguardState) -> None:
        """Raise if no feedback leads to this state, as may happen with a damaged file.

        Raises
        ------
        ValueError
            If a part is wrong.
        """
        self.learned.check(fresh.learned)
        count("rounds", self.learned.rounds)
        validation.real("spent", self.spent)


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

    Raises
    ------
    TypeError
        If `policy` is not a policy, or is an explorer without an oracle.
    ValueError
        If a parameter is out of its range, the state of the policy is no `ArmStatistics`, its support is
        None, or the oracle declares no smoothness and `scale` is omitted.

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

    c: float = field(default=1.0, metadata=real(0.0))
    _: KW_ONLY
    n_triggered: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    scale: float | None = field(default=None, metadata=real(0.0, inside=True, optional=True))
    _bounds: CUCB = field(init=False, repr=False)
    _rate: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.policy.initial_state(), ArmStatistics):
            raise ValueError(f"policy must have a state of ArmStatistics, got {self.policy!r}")
        if self.support is None:
            raise ValueError(f"policy must have a bounded support, got {self.policy!r} with None")
        oracle, (low, high) = self.oracle, self.support
        object.__setattr__(self, "_bounds", CUCB(oracle, support=self.support))
        scale, smoothness = self.scale, oracle.smoothness()
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
        """Return the choice of the wrapped policy, or CUCB's choice if the budget requires it.

        Raises
        ------
        ValueError
            If the context has other parts than `available`, or the wrapped policy cannot use it.
        TypeError
            If the oracle cannot exclude unavailable entries.
        """
        refuse_parts(self, context, ("available",))
        chosen = super().select(state, rng, context)
        indices = self._indices(state, rng)
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
        indices = self._indices(state, source)
        context = None if ticket is None else ticket.context
        safe = best_within(self.oracle, indices, context, source)
        cost = self._value(safe, indices)
        if ticket is not None:
            cost -= self._value(ticket.super_arm, indices)
        self.policy.update(state.learned, feedback, ticket, rng)
        state.spent += cost

    def _indices(self, state: SafeguardState, rng: np.random.Generator) -> FloatArray:
        """Return CUCB's indices for the statistics of the wrapped policy, which may have a memory."""
        indices: FloatArray = unguarded(self._bounds.indices)(state.learned, rng)
        return indices

    def _value(self, super_arm: IntArray, indices: FloatArray) -> float:
        """Return the value of a super arm for these indices, with costs as negative values."""
        return self.oracle.sign * self.oracle.expected_reward(super_arm, indices)
