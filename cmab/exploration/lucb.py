"""LUCB: the least certain arm of the best k against the most promising of the others.

The rules differ in three choices: the radius for each side, which of the two critical arms to sample, and
when to stop.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cmab._validation import one_of, real
from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.confidence import lil_radii, lucb1_radii
from cmab.exploration.sampling import MODES, BestK, Mode, lil_parameters
from cmab.goals import ExploreM, Goal
from cmab.hardness import best_k
from cmab.statistics import ArmStatistics


class Pair(NamedTuple):
    """The critical arm of either side, and by how much the other side may still be better."""

    high: int
    low: int
    gap: float


class LUCBRule(BestK):
    """Base of the family: a subclass says what the radii are; both critical arms are sampled."""

    tolerance: float = 0.0

    @abstractmethod
    def radii(self, state: ArmStatistics, is_high: BoolArray) -> FloatArray:
        """Return the radius of each arm; `is_high` marks the k best means."""

    def pair(self, state: ArmStatistics) -> Pair:
        """Return the critical pair; ties go to the lower index."""
        is_high = np.zeros(self.n_arms, np.bool_)
        is_high[best_k(state.means, self.k)] = True
        radii = self.radii(state, is_high)
        lower = np.where(is_high, state.means - radii, np.inf)
        upper = np.where(is_high, -np.inf, state.means + radii)
        high, low = int(np.argmin(lower)), int(np.argmax(upper))
        return Pair(high, low, float(upper[low] - lower[high]))

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return both critical arms."""
        pair = self.pair(state)
        return np.array(sorted(pair[:2]), np.int64)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the intervals of the two sides do not overlap."""
        return self.pair(state).gap <= self.tolerance

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the k best means."""
        return best_k(state.means, self.k)


@dataclass(frozen=True, eq=False)
class LUCB1(LUCBRule):
    """LUCB1 (Kalyanakrishnan et al. 2012): a radius with a clock, both critical arms, Explore-m.

    With probability at least ``1 - delta`` every returned arm has a mean of at least the k-th largest less
    `epsilon`. The clock counts decisions.

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
    >>> from cmab import LUCB1, identify
    >>> from instances import BernoulliArms
    >>> identify(LUCB1(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    S. Kalyanakrishnan, A. Tewari, P. Auer, P. Stone: PAC Subset Selection in Stochastic Multi-armed
    Bandits, ICML 2012, section 3.
    """

    epsilon: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        real("epsilon", self.epsilon, 0.0)

    @property
    def goal(self) -> Goal:
        """Every arm within `epsilon` of the k-th best."""
        return ExploreM(self.k, self.epsilon)

    def radii(self, state: ArmStatistics, is_high: BoolArray) -> FloatArray:  # noqa: ARG002
        """Return LUCB1's radius."""
        return lucb1_radii(state.counts, state.rounds, self.delta, self.sigma)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the overlap is below `epsilon`, strictly."""
        return self.pair(state).gap < self.epsilon


@dataclass(frozen=True, eq=False)
class LilLUCB(LUCBRule):
    """lil'LUCB (Jamieson and Nowak 2014): one lil radius for all arms, both critical arms sampled.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "paper", "heuristic"}
        "faithful" proves an error of at most `delta`; so does "paper", with the theorem's cruder constant;
        "heuristic" takes far fewer samples and proves nothing.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import LilLUCB, identify
    >>> from instances import GaussianArms
    >>> identify(LilLUCB(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    K. Jamieson, R. Nowak: Best-arm identification algorithms for multi-armed bandits in the fixed
    confidence setting, CISS 2014.
    """

    mode: Mode = "faithful"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("mode", self.mode, MODES)

    @cached_property
    def _levels(self) -> tuple[float, float, float]:
        """The lil exponent, and the level of an arm of the k best and of another."""
        epsilon, level = lil_parameters(self.mode, self.delta, (self.n_arms,), 1.0)
        return epsilon, level / self.n_arms, level / self.n_arms

    def radii(self, state: ArmStatistics, is_high: BoolArray) -> FloatArray:
        """Return the lil radius at the level of each side."""
        epsilon, high, low = self._levels
        return lil_radii(state.counts, np.where(is_high, high, low), epsilon, self.sigma)


@dataclass(frozen=True, eq=False)
class LUCBPlusPlus(LilLUCB):
    """LUCB++ (Simchowitz et al. 2017): the union over the *other* side only; both critical arms sampled.

    Parameters
    ----------
    n_arms, k, delta, sigma, mode
        As for `LilLUCB`.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import LUCBPlusPlus, identify
    >>> from instances import GaussianArms
    >>> identify(LUCBPlusPlus(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    M. Simchowitz, K. Jamieson, B. Recht: The Simulator, COLT 2017.
    """

    @cached_property
    def _levels(self) -> tuple[float, float, float]:
        n_low = self.n_arms - self.k
        epsilon, level = lil_parameters(self.mode, self.delta, (self.k, n_low), 2.0)
        return epsilon, level / (2.0 * n_low), level / (2.0 * self.k)


@dataclass(frozen=True, eq=False)
class LilRandLUCB(LUCBPlusPlus):
    """lil'RandLUCB: the radii of LUCB++, and one critical arm at random, the less sampled one more often.

    Parameters
    ----------
    n_arms, k, delta, sigma, mode
        As for `LilLUCB`.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import LilRandLUCB, identify
    >>> from instances import GaussianArms
    >>> identify(LilRandLUCB(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    H. Jiang, J. Li, M. Qiao: Practical Algorithms for Best-K Identification in Multi-Armed Bandits, 2017,
    Algorithm 1 and Theorem 3.1.
    """

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the high arm with probability ``T_low / (T_high + T_low)``, else the low one."""
        high, low, _ = self.pair(state)
        n_high, n_low = state.counts[high], state.counts[low]
        return np.array([high if rng.random() * (n_high + n_low) < n_low else low], np.int64)
