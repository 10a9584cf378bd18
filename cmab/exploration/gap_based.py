"""Fixed budget, one sample at a time: GapE, for several bandits, and UCB-E."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cmab._validation import integer, real
from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.confidence import scaled_radius
from cmab.explorer import Explorer
from cmab.feedback import Feedback
from cmab.hardness import best_k_gaps
from cmab.statistics import ArmStatistics


@dataclass(eq=False)
class Budgeted:
    """State of a rule that samples one arm at a time.

    Attributes
    ----------
    stats : ArmStatistics
        What was observed.
    asked : IntArray, shape (1,) or (n_arms,)
        Arms to sample next: all of them first, then one at a time.
    chosen : BoolArray, shape (n_arms,)
        Arms that would be returned now.
    bounds : FloatArray, shape (number of bandits,)
        UGapEb: the smallest bound on the regret so far, that of `chosen`.
    samples : int
        Outcomes seen in all.
    """

    stats: ArmStatistics
    asked: IntArray
    chosen: BoolArray
    bounds: FloatArray
    samples: int = 0


class OneByOne(Explorer[Budgeted]):
    """Base of these rules: a subclass sets `budget` and `sizes` and defines `advance`.

    `sizes` holds the numbers of arms of the bandits, which are numbered one after the other.
    """

    budget: int
    sizes: Sequence[int]

    @abstractmethod
    def advance(self, state: Budgeted) -> None:
        """Set the arm to sample next, and what would be returned, from the statistics."""

    def bandits(self) -> list[IntArray]:
        """Return the arms of each bandit."""
        return np.split(np.arange(sum(self.sizes)), np.cumsum(self.sizes)[:-1])

    def initial_state(self) -> Budgeted:
        """Return the state that asks for one sample of every arm."""
        n_arms = self.n_arms
        bounds = np.full(len(self.sizes), np.inf)
        stats = ArmStatistics.empty(n_arms)
        return Budgeted(stats, np.arange(n_arms), np.zeros(n_arms, np.bool_), bounds)

    def select(self, state: Budgeted, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the arm to sample next; at the start all of them."""
        return state.asked

    def update(self, state: Budgeted, feedback: Feedback) -> None:
        """Take in outcomes and find the next arm."""
        state.stats.update(feedback)
        state.samples += int(len(feedback.arms) if feedback.pulls is None else feedback.pulls.sum())
        unseen = np.flatnonzero(state.stats.counts == 0)
        if len(unseen):
            state.asked = unseen
        else:
            self.advance(state)

    def is_certified(self, state: Budgeted) -> bool:  # noqa: ARG002
        """Return False: a fixed budget certifies nothing."""
        return False

    def is_done(self, state: Budgeted) -> bool:
        """Return whether the budget is used up; that certifies nothing."""
        return state.samples >= self.budget

    def recommend(self, state: Budgeted) -> IntArray:
        """Return the arms chosen so far."""
        return np.flatnonzero(state.chosen)

    def _check(self, a: float | None, b: float) -> None:
        n_arms = sum(integer("a bandit's number of arms", size, 2) for size in self.sizes)
        if integer("budget", self.budget) <= n_arms:
            raise ValueError(f"budget must exceed {n_arms}, one sample of each arm, got {self.budget}")
        real("b", b, 0.0, inside=True)
        if a is not None:
            real("a", a, 0.0, inside=True)

    def _choose_best_means(self, state: Budgeted) -> None:
        state.chosen[:] = False
        for arms in self.bandits():
            state.chosen[arms[int(np.argmax(state.stats.means[arms]))]] = True


@dataclass(frozen=True, eq=False)
class GapE(OneByOne):
    """GapE (Gabillon et al. 2011): the best arm of each of several bandits, with a fixed budget.

    Samples the largest ``-gap + b sqrt(a / T)``. It certifies nothing.

    Parameters
    ----------
    sizes : sequence of int
        Number of arms of each bandit, at least 2.
    budget : int
        Samples that may be taken, more than there are arms.
    a : float
        Exploration parameter, positive.
    b : float
        Length of the outcomes' support.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import GapE
    >>> GapE(sizes=(3, 4), budget=100, a=2.0).n_arms
    7

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric, S. Bubeck: Multi-Bandit Best Arm Identification, NIPS 2011.
    """

    sizes: Sequence[int]
    budget: int
    a: float
    b: float = 1.0

    def __post_init__(self) -> None:
        self._check(self.a, self.b)

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of arms of all bandits."""
        return sum(self.sizes)

    def advance(self, state: Budgeted) -> None:
        """Sample the largest index; ties go to the lower index."""
        means = state.stats.means
        gaps = np.concatenate([best_k_gaps(means[arms], 1) for arms in self.bandits()])
        index = self.b * scaled_radius(state.stats.counts, self.a) - gaps
        state.asked = np.array([np.argmax(index)])
        self._choose_best_means(state)


@dataclass(frozen=True, eq=False)
class UCBE(OneByOne):
    """UCB-E (Audibert et al. 2010): the best arm with a fixed budget; it certifies nothing.

    Samples the largest ``mean + sqrt(a / T)`` and returns the best mean.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    budget : int
        Samples that may be taken, more than there are arms.
    a : float, optional
        Exploration parameter; the analysis allows up to ``25 (budget - n_arms) / (36 H)``. Left out, the
        adaptive version estimates the complexity H2 in the phases of Successive Rejects.
    c : float
        Adaptive version: ``a = c budget / H2``.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import UCBE
    >>> UCBE(20, budget=2000, a=10.0).sizes
    (20,)

    References
    ----------
    J.-Y. Audibert, S. Bubeck, R. Munos: Best Arm Identification in Multi-Armed Bandits, COLT 2010.
    """

    n_arms: int
    budget: int
    a: float | None = None
    c: float = 1.0

    def __post_init__(self) -> None:
        self._check(self.a, 1.0)
        real("c", self.c, 0.0, inside=True)

    @property
    def sizes(self) -> Sequence[int]:  # type: ignore[override]
        """One bandit."""
        return (self.n_arms,)

    def initial_state(self) -> Budgeted:
        """Return the state that asks for one sample of every arm; `bounds` will hold the complexity."""
        state = super().initial_state()
        state.bounds = np.array([float(self.n_arms), 0.0])  # the paper's H_0, in phase 0
        return state

    def advance(self, state: Budgeted) -> None:
        """Sample the largest index; ties go to the lower index."""
        a = self._adapted(state) if self.a is None else self.a
        state.asked = np.array([np.argmax(state.stats.means + scaled_radius(state.stats.counts, a))])
        self._choose_best_means(state)

    def _adapted(self, state: Budgeted) -> float:
        """Return ``c n / H``; H is estimated anew where a phase of Successive Rejects would begin."""
        phase = int(np.searchsorted(self._phase_ends(), state.samples, side="right"))
        if phase > state.bounds[1]:
            means, n_arms = state.stats.means, self.n_arms
            gaps = np.sort(means.max() - means)
            ranks = np.arange(n_arms - phase + 1, n_arms + 1)
            with np.errstate(divide="ignore"):
                state.bounds[:] = (ranks / gaps[ranks - 1] ** 2).max(), phase
        return self.c * self.budget / float(state.bounds[0])

    def _phase_ends(self) -> list[int]:
        """Return the samples after which Successive Rejects has dropped 1, 2, ... arms."""
        n_arms = self.n_arms
        log_sum = 0.5 + sum(1.0 / i for i in range(2, n_arms + 1))
        totals = [math.ceil((self.budget - n_arms) / (log_sum * left)) for left in range(n_arms, 1, -1)]
        return [sum(totals[:phase]) + (n_arms - phase) * totals[phase] for phase in range(n_arms - 1)]
