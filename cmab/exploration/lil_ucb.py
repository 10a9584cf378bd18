"""lil'UCB: the best arm by optimism alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cmab._validation import one_of
from cmab.arrays import IntArray
from cmab.confidence import c_epsilon, lil_radii
from cmab.doors import ExplorerKernel
from cmab.exploration.sampling import BestK, Mode, radius_table
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False)
class LilUCB(BestK):
    """lil'UCB (Jamieson et al. 2014), k = 1: sample the largest upper bound, return the most sampled arm.

    It stops when one arm has been sampled far more often than all others together.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"faithful", "heuristic"}
        "faithful" proves an error of at most `delta`, and takes many samples; "heuristic" proves nothing.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import LilUCB, identify
    >>> from instances import GaussianArms
    >>> identify(LilUCB(3, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    K. Jamieson, M. Malloy, R. Nowak, S. Bubeck: lil' UCB: An Optimal Exploration Algorithm for Multi-Armed
    Bandits, COLT 2014.
    """

    k: int = field(default=1, init=False)
    delta: float = field(kw_only=True)
    mode: Mode = "faithful"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("mode", self.mode, ("faithful", "heuristic"))

    @cached_property
    def _parameters(self) -> tuple[float, float, float, float]:
        """The lil exponent, the level, the factor on the radius and that of the stop."""
        if self.mode == "heuristic":
            return 0.0, self.delta, 1.5, 1.0 + 10.0 / self.n_arms
        # The error is at most 4 sqrt(c w) + 4 c w.
        level = (math.sqrt(1.0 + self.delta) - 1.0) ** 2 / (4.0 * c_epsilon(0.01))
        return 0.01, level, 2.0, 9.0

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the arm with the largest upper bound."""
        from cmab._kernels_lil_ucb import largest_bound

        epsilon, level, factor, _ = self._parameters
        radii = lil_radii(state.counts, level, epsilon, self.sigma)
        return np.array([largest_bound(state.means, radii, factor)], np.int64)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether one arm holds enough of the samples."""
        from cmab._kernels_lil_ucb import dominates

        return dominates(int(state.counts.max()), int(state.counts.sum()), self._parameters[3])

    def kernel(self) -> ExplorerKernel:
        """Return the compiled rule: a loop over a tournament tree, O(log n_arms) a sample."""
        from cmab._kernels_lil_ucb import explore_lil_ucb

        epsilon, level, factor, ratio = self._parameters
        reals = radius_table(epsilon, self.sigma, level, level, factor, ratio)
        return ExplorerKernel(explore_lil_ucb, (np.empty(0, np.int64), reals))

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the most sampled arm."""
        return np.array([np.argmax(state.counts)], np.int64)
