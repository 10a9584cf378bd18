"""CUCB with few calls of the oracle."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Self

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.confidence.radii import LogRadius
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.policies._in_play import InPlay, InPlayStatistics
from cmab.policies.cucb import CUCB
from cmab.statistics import count
from cmab.validation import real

# Keys are drawn once a run, and kept in files as JSON's numbers.
_KEYS = 2**53


@dataclass(eq=False, repr=False)
class SwitchingStatistics(InPlayStatistics):
    """Arm statistics, the super arm in play, and what was known when it was chosen.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        As in `InPlayStatistics`.
    solved_counters : IntArray
        `counters` at the last call of the oracle.
    solved_rounds : int
        `rounds` at the last call of the oracle.
    key : int
        Drawn for the whole run by `RarelySwitchingCUCB.initial_state`; 0 without a generator.

    Examples
    --------
    >>> from cmab import Feedback, RarelySwitchingCUCB
    >>> from oracles import TopK
    >>> policy = RarelySwitchingCUCB(TopK(3, k=1))
    >>> state = policy.initial_state()
    >>> policy.update(state, Feedback(arms=[0], outcomes=[1.0], reward=1.0))
    >>> state.super_arm, state.solved_counters
    (array([0]), array([1, 0, 0]))
    """

    solved_counters: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    solved_rounds: int = 0
    key: int = 0

    def check(self, fresh: Self) -> None:
        """Refuse what no feedback could have led to."""
        super().check(fresh)
        if self.solved_counters.shape != self.counters.shape or self.solved_counters.dtype != np.int64:
            raise ValueError(f"solved_counters must be {len(self.counters)} integers")
        if ((self.solved_counters < 0) | (self.solved_counters > self.counters)).any():
            raise ValueError("solved_counters must lie between 0 and the counts")
        count("solved_rounds", self.solved_rounds, self.rounds)
        count("key", self.key, _KEYS - 1)
        if self.rounds > 0 and self.solved_rounds == 0:
            raise ValueError("the oracle must have been called after the first round, got solved_rounds = 0")


@dataclass(frozen=True, eq=False)
class RarelySwitchingCUCB(InPlay[SwitchingStatistics]):
    """CUCB that calls its oracle anew only when some base arm's count, or the time, has grown by a factor.

    For oracles that cost more than a round is worth: solvers, influence maximisation. A super arm stays in
    play until some count exceeds ``1 + growth`` times what it was when the super arm was chosen. That takes
    at most ``m log(T) / log(1 + growth) + m + 1`` calls in T rounds, if every arm in play is observed;
    otherwise the clock, which must not grow by more than that factor either, may add as many as one arm.

    If every arm in play is observed, the regret stays logarithmic. Write c for `growth`. In play since
    round s, a super arm was chosen with radii at most ``sqrt(1 + c)`` times those that plain CUCB has now,
    for no count has grown by more than ``1 + c``: wherever a proof needs l observations of an arm, it now
    needs ``(1 + c) l``. All intervals hold at s with probability at least ``1 - 2 m / s**2``, and what was
    chosen at s is played for at most ``c s + 1`` rounds. So the logarithmic term of Theorem 1 is multiplied
    by ``1 + c``, and the rounds with a broken interval are, in expectation, at most the sum over s of
    ``2 m (c s + 1) / s**2 <= 2 m (c (1 + log(T)) + pi**2 / 6)``, instead of ``m pi**2 / 3``.

    Where a context says what is available, the super arm in play stays if it is: as good as any of the whole
    family, it is so among those that are left. Otherwise the round costs a call, for the best of what is
    available by CUCB's indices, and the super arm in play waits for the next round.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms. It is called when feedback comes in, where there is no generator: one that
        draws random numbers gets a generator of the round, keyed by a number that is drawn for the whole run
        at its beginning, and thus independent of everything observed.
    growth : float
        The c above, at least 0. With 0 and if every arm in play is observed, this is plain CUCB.
    radius, radius_factor, support
        As for `CUCB`; the argument above is for the defaults.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import RarelySwitchingCUCB, simulate
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> oracle = TopK(n_arms=5, k=2)
    >>> environment = SemiBandit(BernoulliArms([0.2, 0.9, 0.1, 0.8, 0.3]), oracle)
    >>> bool(simulate(RarelySwitchingCUCB(oracle), environment, 5000, rng=0).oracle_calls[0] < 60)
    True

    References
    ----------
    Y. Abbasi-Yadkori, D. Pál, C. Szepesvári: Improved Algorithms for Linear Stochastic Bandits, NIPS 2011,
    section 5.1 (from memory): the same idea where a determinant grows, at a price of ``sqrt(1 + c)`` in a
    bound that grows with ``sqrt(T)``. Chen et al. (JMLR 2016), Theorem 1, for CUCB itself.
    """

    oracle: Oracle
    growth: float = 1.0
    _: KW_ONLY
    radius: LogRadius = field(default_factory=LogRadius)
    radius_factor: float = 1.0
    support: tuple[float, float] = (0.0, 1.0)
    _plain: CUCB = field(init=False, repr=False)

    def __post_init__(self) -> None:
        real("growth", self.growth, 0.0)
        plain = CUCB(self.oracle, radius=self.radius, radius_factor=self.radius_factor, support=self.support)
        object.__setattr__(self, "_plain", plain)

    def initial_state(self, rng: np.random.Generator | None = None) -> SwitchingStatistics:
        """Return empty statistics, with the key of the run if there is a generator."""
        state = SwitchingStatistics.empty(self.oracle.n_arms)
        state.solved_counters = state.counters.copy()
        state.key = 0 if rng is None else int(rng.integers(_KEYS))
        return state

    def update(self, state: SwitchingStatistics, feedback: Feedback) -> None:
        """Take in one round of feedback; choose anew if a count or the time has grown enough."""
        state.update(feedback)
        # Only what was seen can have grown, so a round costs as much as its feedback.
        seen = feedback.arms
        factor = 1.0 + self.growth
        grown = state.counters[seen] > factor * state.solved_counters[seen]
        if grown.any() or state.rounds > factor * state.solved_rounds:
            state.super_arm = self._solve(state)
            state.solved_counters = state.counters.copy()
            state.solved_rounds = state.rounds

    def _means(self, state: SwitchingStatistics, rng: np.random.Generator) -> FloatArray:
        return self._plain.indices(state, rng)

    def _generator(self, state: SwitchingStatistics) -> np.random.Generator:
        return np.random.default_rng([state.key, state.rounds])
