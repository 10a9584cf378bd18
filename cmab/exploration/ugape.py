"""UGapE: unified gap-based exploration with fixed confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cmab._validation import real
from cmab.arrays import IntArray
from cmab.confidence import clock_radii
from cmab.exploration.sampling import BestK
from cmab.goals import ExploreM, Goal
from cmab.hardness import best_k
from cmab.statistics import ArmStatistics


class Selection(NamedTuple):
    """The arms of least gap index, their largest index, and the arm to pull."""

    arms: IntArray
    gap: float
    pull: int


@dataclass(frozen=True, eq=False)
class UGapEc(BestK):
    """UGapEc (Gabillon et al. 2012): the arms of least gap index; the less sampled of two critical arms.

    With probability at least ``1 - delta`` every returned arm has a mean of at least the k-th largest less
    `epsilon`. The paper's b is ``2 sigma``; its c is 1/2, and ties go to the lower index.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes; half the length of their support will do.
    epsilon : float
        Tolerance, 0 for the best k exactly.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import UGapEc, identify
    >>> from instances import BernoulliArms
    >>> identify(UGapEc(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    V. Gabillon, M. Ghavamzadeh, A. Lazaric: Best Arm Identification: A Unified Approach to Fixed Budget
    and Fixed Confidence, NIPS 2012, Figures 1 and 2.
    """

    epsilon: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real("epsilon", self.epsilon, 0.0)

    @property
    def goal(self) -> Goal:
        """Every arm within `epsilon` of the k-th best."""
        return ExploreM(self.k, self.epsilon)

    def selection(self, state: ArmStatistics) -> Selection:
        """Return J, B_J and the arm that the paper pulls next."""
        radii = clock_radii(state.counts, int(state.counts.sum()), self.delta, self.sigma)
        upper, lower = state.means + radii, state.means - radii
        top = best_k(upper, self.k)
        ordered = np.sort(upper)
        # The k-th largest upper bound among the *other* arms.
        others = np.full(self.n_arms, ordered[-self.k])
        others[top] = ordered[-self.k - 1]
        gaps = others - lower
        arms = best_k(-gaps, self.k)
        outside = np.setdiff1d(np.arange(self.n_arms), arms)
        high, low = outside[np.argmax(upper[outside])], arms[np.argmin(lower[arms])]
        pull = high if radii[high] >= radii[low] else low
        return Selection(arms, float(gaps[arms].max()), int(pull))

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the critical arm with the larger radius."""
        return np.array([self.selection(state).pull], np.int64)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether every gap index is below `epsilon`."""
        return self.selection(state).gap < self.epsilon

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arms of least gap index; before every arm was seen, the best means."""
        if state.counts.min() == 0:
            return best_k(state.means, self.k)
        return self.selection(state).arms
