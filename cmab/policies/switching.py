"""CUCB for slow oracles: the super arm changes only after counts have grown."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import TypeVar

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.bounds.radii import LogRadius
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle, check_super_arm
from cmab.parameters import interval, real
from cmab.policies.ucb import CUCB
from cmab.policy import Policy, refuse_parts
from cmab.statistics import ArmStatistics

#: The key is drawn once per run and is stored in files as a JSON number.
_KEYS = 2**53


@dataclass(eq=False, repr=False)
class InPlayStatistics(ArmStatistics):
    """Arm statistics and the current super arm.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        The current super arm; empty before the first round.
    """

    super_arm: IntArray = field(default_factory=lambda: np.empty(0, np.int64))


State = TypeVar("State", bound=InPlayStatistics)


class InPlay(Policy[State]):
    """A policy that calls the oracle in some rounds only, and plays its last answer in the others.

    Subclasses define the means for the oracle (`_means`). Their `update` sets ``state.super_arm`` to the
    result of `_solve` when a new super arm is due.
    """

    oracle: Oracle

    @abstractmethod
    def _means(self, state: State, rng: np.random.Generator) -> FloatArray:
        """Return the means that are passed to the oracle, shape (n_arms,)."""

    @abstractmethod
    def _generator(self, state: State) -> np.random.Generator:
        """Return a generator that depends only on `state`, so that saving and loading do not affect it."""

    def select(self, state: State, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the current super arm or, if part of it is unavailable, the best available super arm.

        Before the first feedback, this is the oracle's answer for the initial state.
        """
        refuse_parts(self, context, ("available",))
        chosen = self._solve(state) if state.rounds == 0 else state.super_arm.copy()
        if context is None or context.available is None or context.available[chosen].all():
            return chosen
        return self._solve(state, context.available)

    def _solve(self, state: State, available: BoolArray | None = None) -> IntArray:
        rng, oracle = self._generator(state), self.oracle
        means = self._means(state, rng)
        chosen = oracle.solve(means, rng) if available is None else oracle.solve_within(means, available, rng)
        return check_super_arm(oracle, chosen, f"the super arm of {type(oracle).__name__}.solve")


@dataclass(eq=False, repr=False)
class SwitchingStatistics(InPlayStatistics):
    """Arm statistics, the current super arm, and the counts at the time of its choice.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        As in `InPlayStatistics`.
    solved_counters : IntArray
        `counters` at the last call of the oracle.
    solved_rounds : int
        `rounds` at the last call of the oracle.
    key : int
        A random number for the whole run, drawn by `RarelySwitchingCUCB.initial_state`; 0 without a
        generator.
    """

    solved_counters: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    solved_rounds: int = 0
    key: int = 0


@dataclass(frozen=True, eq=False)
class RarelySwitchingCUCB(InPlay[SwitchingStatistics]):
    """CUCB that calls its oracle again only when the count of a base arm, or the time, has grown by a factor.

    Use this policy if the oracle is slower than an answer may be.

    The policy is for slow oracles, such as solvers and influence maximisation. It keeps playing a super arm
    until some count exceeds ``1 + growth`` times its value at the time of the choice. If every arm of a super
    arm is observed, the policy makes at most ``m log(T) / log(1 + growth) + m + 1`` calls in T rounds.
    Otherwise, the round number, which must not grow by more than this factor either, may cause as many
    further calls as one arm.

    If every arm of a super arm is observed, the regret stays logarithmic. Write c for `growth`, and consider
    a super arm that has been played since round s. Its radii at s were at most ``sqrt(1 + c)`` times the
    present radii of plain CUCB, because no count has grown by more than ``1 + c``. Wherever a proof needs l
    observations of an arm, it now needs ``(1 + c) l``. All intervals hold at s with probability at least
    ``1 - 2 m / s**2``, and the choice at s is played for at most ``c s + 1`` rounds. The logarithmic term of
    Theorem 1 is therefore multiplied by ``1 + c``. The expected number of rounds with a broken interval is at
    most the sum over s of ``2 m (c s + 1) / s**2 <= 2 m (c (1 + log(T)) + pi**2 / 6)`` instead of
    ``m pi**2 / 3``.

    If a context has `available` and the current super arm is available, it is played. It is then also optimal
    among the available super arms. Otherwise the round calls the oracle for the best available super arm for
    CUCB's indices, and the current super arm is kept for later rounds.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms. `update` calls it without a generator of the run. An oracle that draws
        random numbers therefore gets a separate generator for each round. Its seed is a number drawn at the
        start of the run, so it is independent of all observations.
    growth : float
        The constant c above, at least 0. With 0, and if every arm of a super arm is observed, this is plain
        CUCB.
    radius, radius_factor, support
        As in `CUCB`. The argument above is for the defaults.

    Examples
    --------
    >>> from cmab import RarelySwitchingCUCB, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=5, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1, 0.8, 0.3]), oracle)
    >>> simulate(RarelySwitchingCUCB(oracle), environment, 5000, rng=0).super_arms
    [array([1, 3])]

    References
    ----------
    Y. Abbasi-Yadkori, D. Pál, C. Szepesvári: Improved Algorithms for Linear Stochastic Bandits, NIPS 2011,
    section 5.1 (from memory): the same idea for the growth of a determinant, which costs a factor
    ``sqrt(1 + c)`` in a bound that grows with ``sqrt(T)``. Chen et al. (JMLR 2016), Theorem 1, for CUCB.
    """

    oracle: Oracle
    growth: float = field(default=1.0, metadata=real(0.0))
    _: KW_ONLY
    radius: LogRadius = field(default_factory=LogRadius)
    radius_factor: float = field(default=1.0, metadata=real(0.0))
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=interval())
    _plain: CUCB = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        plain = CUCB(self.oracle, radius=self.radius, radius_factor=self.radius_factor, support=self.support)
        object.__setattr__(self, "_plain", plain)

    def initial_state(self, rng: np.random.Generator | None = None) -> SwitchingStatistics:
        """Return empty statistics, with a key of the run if there is a generator."""
        state = SwitchingStatistics.empty(self.oracle.n_arms)
        state.solved_counters = state.counters.copy()
        state.key = 0 if rng is None else int(rng.integers(_KEYS))
        return state

    def update(
        self,
        state: SwitchingStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Update `state`. Call the oracle again if a count or the round number has grown enough."""
        state.update(feedback)
        # Only observed arms can have grown, so the time of a round is proportional to its feedback.
        seen, factor = feedback.arms, 1.0 + self.growth
        grown = state.counters[seen] > factor * state.solved_counters[seen]
        if grown.any() or state.rounds > factor * state.solved_rounds:
            state.super_arm = self._solve(state)
            state.solved_counters = state.counters.copy()
            state.solved_rounds = state.rounds

    def _means(self, state: SwitchingStatistics, rng: np.random.Generator) -> FloatArray:
        return self._plain.indices(state, rng)

    def _generator(self, state: SwitchingStatistics) -> np.random.Generator:
        return np.random.default_rng([state.key, state.rounds])
