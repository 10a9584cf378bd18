"""Races: sample all undecided arms in turn, and decide an arm once its confidence interval allows it."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import FloatArray
from cmab.confidence.radii import around, scaled_radius
from cmab.declared import integer
from cmab.exploration.parameters import DELTA, MOST, N_ARMS, SUPPORT, K, length
from cmab.exploration.phases import PhasedExplorer, Phases, settle, undecided_means
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
