"""Explorers in phases that accept and reject arms: races, and rules that decide one arm in each phase."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.bounds.radii import around, scaled_radius
from cmab.bounds.samples import best_k_gaps
from cmab.exploration.base import DELTA, MOST, N_ARMS, SUPPORT, K, budget, length
from cmab.exploration.clucb import check_constrains, check_exact, possible
from cmab.exploration.phases import BudgetExplorer, PhasedExplorer, Phases, finish, settle, undecided_means
from cmab.explorer import BestSuperArm, Goal, best_k
from cmab.oracle import LinearOracle
from cmab.parameters import integer
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False)
class _Race(PhasedExplorer):
    """Base class of races for the k best arms; a subclass defines `radii`."""

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    delta: float = field(metadata=DELTA)
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)
    max_pulls: int = field(metadata=integer(1, lambda explorer: MOST // explorer.n_arms))

    @abstractmethod
    def radii(self, stats: ArmStatistics) -> FloatArray:
        """Return radii that hold for all counts up to `max_pulls`.

        The product of a radius and its count must not decrease as the count grows.
        """

    def intervals(self, state: Phases) -> tuple[FloatArray, FloatArray]:
        """Return the means minus and plus the radii; for a decided arm, those at its last sample."""
        radii = np.where(state.stats.counts > 0, self.radii(state.stats), np.inf)
        return around(state.stats.means, radii)

    def is_certified(self, state: Phases) -> bool:
        """Return whether all arms were decided by their intervals, before the limit `max_pulls`."""
        return self.is_done(state) and state.target <= self.max_pulls

    def pulls_per_arm(self, state: Phases) -> int:
        """Return a number of samples before which no arm can be decided, or 0 after `max_pulls` samples.

        The race therefore decides as if it compared the intervals after every sample.
        """
        if state.target < self.max_pulls:
            return min(max(1, self.least_pulls(state)), self.max_pulls - state.target)
        state.target = self.max_pulls + 1  # marks a race that ends with undecided arms
        return 0

    def least_pulls(self, state: Phases) -> int:
        """Return a lower bound on the number of samples per undecided arm before the next decision.

        Let b be the length of `support`. In d samples of each, the sums of two arms approach each other by at
        most ``b d``, and the product of radius and count does not decrease. Two intervals that overlap by x
        after T samples of each therefore still overlap after fewer than ``x T / b`` more. An arm is decided
        only if its interval does not overlap with the intervals of enough other arms.
        """
        arms, means = undecided_means(state)
        if not state.target or (state.stats.counts[arms] != state.target).any():
            return 1
        radii = self.radii(state.stats)[arms]
        lower, upper = np.sort(means - radii), np.sort(means + radii)
        wanted = self.k - int(state.accepted.sum())
        # The least overlap that must disappear before an arm can be accepted or rejected.
        overlap = min(upper[len(arms) - wanted - 1] - lower[-1], upper[0] - lower[-wanted])
        return int(state.target * overlap / length(self.support))

    def decide(self, state: Phases) -> None:
        """Decide arms until every remaining interval overlaps with enough others."""
        radii = self.radii(state.stats)
        while state.undecided.any():
            arms, means = undecided_means(state)
            lower, upper = np.sort(means - radii[arms]), np.sort(means + radii[arms])
            wanted = self.k - int(state.accepted.sum())
            # Accept an arm if at least n - k others have upper bounds below its lower bound. Here n is the
            # number of undecided arms and k the number of wanted arms.
            beats = np.searchsorted(upper, means - radii[arms], side="left") >= len(arms) - wanted
            loses = len(arms) - np.searchsorted(lower, means + radii[arms], side="right") >= wanted
            if not (beats | loses).any():
                return
            state.accepted[arms[beats]] = True
            state.undecided[arms[beats | loses]] = False
            settle(state, self.k)


@dataclass(frozen=True, eq=False)
class HoeffdingRace(_Race):
    """Hoeffding race (Maron and Moore 1994) for the k best arms.

    Use this explorer if all arms must be sampled in equal batches and outcomes use the whole support.
    Otherwise, `LUCBPlusPlus` needs fewer samples.

    The race accepts an arm if its lower bound exceeds the upper bounds of all but k - 1 other arms. It
    rejects an arm if the lower bounds of k other arms exceed its upper bound. With probability at least ``1 -
    delta``, all these decisions are right. If arms are still undecided after `max_pulls` samples of each, the
    race accepts those with the largest means, and `is_certified` returns False.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k : int
        Number of arms to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    support : tuple of float
        Interval that contains the outcomes. Its length is b.
    max_pulls : int
        Maximum number of samples of one arm.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import Feedback, HoeffdingRace, Session
    >>> session = Session(HoeffdingRace(n_arms=3, k=1, delta=0.1, max_pulls=1000), rng=0)
    >>> while not session.is_done:
    ...     ticket = session.ask()
    ...     outcomes, pulls = 0.5 * (ticket.super_arm == 2), np.full(len(ticket), ticket.pulls)
    ...     sums, squares = pulls * outcomes, pulls * outcomes**2
    ...     session.tell(Feedback(ticket.super_arm, sums, pulls=pulls, squares=squares))
    >>> session.recommend(), session.state.target
    (array([2]), 89)

    References
    ----------
    O. Maron, A. Moore: Hoeffding Races, NIPS 1993. V. Heidrich-Meisner, C. Igel: Hoeffding and Bernstein
    Races for Selecting Policies in Evolutionary Direct Policy Search, ICML 2009.
    """

    def radii(self, stats: ArmStatistics) -> FloatArray:
        """Return ``b sqrt(ln(2 N max_pulls / delta) / 2T)``."""
        # A union bound over two sides, all arms and all counts up to `max_pulls`.
        log = math.log(2 * self.n_arms * self.max_pulls / self.delta)
        return length(self.support) * scaled_radius(stats.counts, log / 2.0)


@dataclass(frozen=True, eq=False)
class BernsteinRace(_Race):
    """Bernstein race (Mnih et al. 2008): a race with empirical-Bernstein intervals, for small variances.

    Use this explorer if all arms must be sampled in equal batches and outcomes vary little. Otherwise,
    `BernsteinLUCB` needs fewer samples.

    Parameters
    ----------
    n_arms, k, delta, support, max_pulls
        As for `HoeffdingRace`.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import BernsteinRace, Feedback, Session
    >>> session = Session(BernsteinRace(n_arms=3, k=1, delta=0.1, max_pulls=1000), rng=0)
    >>> while not session.is_done:
    ...     ticket = session.ask()
    ...     outcomes, pulls = 0.1 * (ticket.super_arm == 2), np.full(len(ticket), ticket.pulls)
    ...     sums, squares = pulls * outcomes, pulls * outcomes**2
    ...     session.tell(Feedback(ticket.super_arm, sums, pulls=pulls, squares=squares))
    >>> session.recommend()
    array([2])

    References
    ----------
    V. Mnih, C. Szepesvari, J.-Y. Audibert: Empirical Bernstein Stopping, ICML 2008.
    """

    def radii(self, stats: ArmStatistics) -> FloatArray:
        """Return ``sqrt(2 V l / T) + 3 b l / T`` with ``l = ln(3 N max_pulls / delta)``.

        V is the biased variance. See Audibert, Munos and Szepesvari (2009), Theorem 1.
        """
        counts = np.maximum(stats.counts, 1)
        # Theorem 1 fails with probability at most 3 exp(-l) at one count.
        log = math.log(3 * self.n_arms * self.max_pulls / self.delta)
        spread = 2.0 * stats.deviations / counts
        radii: FloatArray = np.sqrt(spread * log / counts) + 3.0 * length(self.support) * log / counts
        return radii


_BUDGET = budget(lambda explorer: explorer.n_arms + 1)


class _OneAPhase(BudgetExplorer):
    """Base class: each phase decides the arm with the largest gap.

    The sum ``first_term + 1/2 + 1/3 + ... + 1/n_arms``, about a logarithm, sets the numbers of samples.
    """

    first_term = 0.5

    def pulls_per_arm(self, state: Phases) -> int:
        """Return the number of samples that each undecided arm needs to reach the total of the phase."""
        left = self.n_arms - state.phase
        log_sum = sum((1.0 / i for i in range(2, self.n_arms + 1)), self.first_term)
        # The total is n_k = ceil((n - N) / (logbar (N + 1 - k))); here phases are counted from 0.
        return math.ceil((self.budget - self.n_arms) / (log_sum * left)) - state.target

    def _begin(self, state: Phases) -> None:
        # If the schedule repeats a total, the phase takes no samples. That must not end the run.
        state.target += max(0, self.pulls_per_arm(state))

    def decide(self, state: Phases) -> None:
        """Accept or reject the arm with the largest gap; ties go to the lower index."""
        best, gaps = self.best_and_gaps(state)
        gaps = np.where(state.undecided, gaps, -np.inf)
        arm = int(np.argmax(gaps))
        state.undecided[arm] = False
        state.accepted[arm] = arm in best

    @abstractmethod
    def best_and_gaps(self, state: Phases) -> tuple[IntArray, FloatArray]:
        """Return the best arms by present means, given the decisions so far, and the gaps of all arms."""


class _BestK(_OneAPhase):
    """Base class of the rules for the k best arms."""

    def best_and_gaps(self, state: Phases) -> tuple[IntArray, FloatArray]:
        """Return the undecided arms among the k best by present means, and the gaps of undecided arms."""
        arms, means = undecided_means(state)
        wanted = self.k - int(state.accepted.sum())
        gaps = np.full(self.n_arms, -np.inf)
        gaps[arms] = best_k_gaps(means, wanted)
        return arms[best_k(means, wanted)], gaps


@dataclass(frozen=True, eq=False)
class SAR(_BestK):
    """Successive Accepts and Rejects (Bubeck et al. 2013): the k best arms with a fixed budget.

    Use this explorer for the k best arms if the number of samples is fixed and no parameter is known.

    No answer is certified. For a known instance, `cmab.bounds.samples.rejects_error` bounds the probability
    of error.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    k : int
        Number of arms to return, in ``[1, n_arms - 1]``.
    budget : int
        Maximum number of samples, greater than `n_arms`.
        Samples of open tickets are not counted.

    Examples
    --------
    >>> from cmab import SAR, Session
    >>> Session(SAR(n_arms=20, k=3, budget=2000), rng=0).ask().pulls
    32

    References
    ----------
    S. Bubeck, T. Wang, N. Viswanathan: Multiple Identifications in Multi-Armed Bandits, ICML 2013.
    """

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    budget: int = field(metadata=_BUDGET)

    def decide(self, state: Phases) -> None:
        """Decide one arm; if one undecided arm is left, decide it without more samples."""
        super().decide(state)
        if state.phase == self.n_arms - 2:
            finish(state, self.k)


@dataclass(frozen=True, eq=False)
class SuccessiveRejects(_BestK):
    """Successive Rejects (Audibert et al. 2010): the best arm with a fixed budget.

    Use this explorer to compare with its paper.

    Each phase drops the worst arm. No answer is certified.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    budget : int
        Maximum number of samples, greater than `n_arms`.
        Samples of open tickets are not counted.

    Examples
    --------
    >>> from cmab import Session
    >>> from cmab.exploration.rejects import SuccessiveRejects
    >>> Session(SuccessiveRejects(n_arms=20, budget=2000), rng=0).ask().pulls
    32

    References
    ----------
    J.-Y. Audibert, S. Bubeck, R. Munos: Best Arm Identification in Multi-Armed Bandits, COLT 2010.
    """

    n_arms: int = field(metadata=N_ARMS)
    _: KW_ONLY
    budget: int = field(metadata=_BUDGET)
    k = 1

    def decide(self, state: Phases) -> None:
        """Drop the arm with the least mean (ties: the higher index); accept the last arm that is left."""
        arms, means = undecided_means(state)
        state.undecided[arms[len(arms) - 1 - int(np.argmin(means[::-1]))]] = False
        if state.undecided.sum() == 1:
            finish(state, 1)


@dataclass(frozen=True, eq=False)
class CSAR(_OneAPhase):
    """Combinatorial Successive Accepts and Rejects (Chen et al. 2014): the best super arm, fixed budget.

    Use this explorer for the best super arm if the number of samples is fixed.

    In each phase, the oracle finds the best super arm. For each undecided arm, it also finds the best super
    arm with the opposite decision: without the arm if the best super arm contains it, and with the arm
    otherwise. The gap of the arm is the loss of value. The phase decides the arm with the largest gap: it
    accepts the arm if the best super arm contains it, and rejects the arm otherwise. No answer is certified.

    Parameters
    ----------
    oracle : LinearOracle
        An exact oracle with a `solve_constrained` that accepts any arms that must be contained. A shortest
        path in a graph with a cycle does not qualify.
    budget : int
        Maximum number of samples, greater than the number of arms.
        Samples of open tickets are not counted.

    Raises
    ------
    ValueError
        If the oracle is not exact and linear, or the budget is too small.
    TypeError
        If the oracle cannot find a super arm that must contain given arms.

    Examples
    --------
    >>> from cmab import CSAR, Session
    >>> from oracles import TopK
    >>> Session(CSAR(TopK(20, k=3), budget=2000), rng=0).ask().pulls
    28

    References
    ----------
    S. Chen, T. Lin, I. King, M. R. Lyu, W. Chen: Combinatorial Pure Exploration of Multi-Armed Bandits,
    NIPS 2014 (from memory).
    """

    oracle: LinearOracle
    _: KW_ONLY
    budget: int = field(metadata=_BUDGET)
    first_term = 1.0

    @property
    def goal(self) -> Goal:
        return BestSuperArm(self.oracle)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_exact(self.oracle)
        check_constrains(self.oracle)

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """Number of base arms."""
        return self.oracle.n_arms

    def best_and_gaps(self, state: Phases) -> tuple[IntArray, FloatArray]:
        """Return the best super arm given the decisions so far, and the gaps by the oracle."""
        rejected = np.flatnonzero(~state.undecided & ~state.accepted)
        rng = np.random.default_rng(0)  # exact oracles need no randomness; updates must not depend on it
        means = possible(self.oracle, state.stats.means)
        return self.oracle.gaps(means, np.flatnonzero(state.accepted), rejected, rng)

    def recommend(self, state: Phases) -> IntArray:
        """Return the best super arm by present means among those that agree with the decisions."""
        accepted, rejected = (
            np.flatnonzero(state.accepted),
            np.flatnonzero(~state.undecided & ~state.accepted),
        )
        means = possible(self.oracle, state.stats.means)
        best = self.oracle.solve_constrained(means, accepted, rejected, np.random.default_rng(0))
        assert best is not None  # every decision agrees with a super arm that exists
        return np.sort(best)
