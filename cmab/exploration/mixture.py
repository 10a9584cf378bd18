"""Best-k identification stopped by the generalised likelihood ratio with a mixture threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.confidence import mixture_threshold
from cmab.exploration.sampling import BestK
from cmab.hardness import best_k
from cmab.statistics import ArmStatistics


@dataclass(frozen=True, eq=False)
class MixtureGLR(BestK):
    """A proven stop that needs about half the samples of the lil rules: likelihood ratios of all pairs.

    For each of the k best arms i and each other arm j, the evidence is ``(m_i - m_j)^2 / (2 sigma^2
    (1 / T_i + 1 / T_j))``. The pair with the least evidence plus ``ln T_i + ln T_j`` is critical (the
    penalty keeps arms from starving), and one of its arms is sampled as in `LilRandLUCB`. The stop proves
    an error of at most `delta` for any way of sampling Gaussian arms; that the run ends is not proven, so set
    a cap. The threshold's constants rest on memory of the paper.

    Parameters
    ----------
    n_arms, k : int
        Number of arms, and how many to return, in ``[1, n_arms - 1]``.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Scale of Gaussian outcomes (or sub-Gaussian scale).

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab import MixtureGLR, identify
    >>> from instances import GaussianArms
    >>> identify(MixtureGLR(3, k=1, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    E. Kaufmann, W. M. Koolen: Mixture Martingales Revisited, JMLR 22 (2021).
    """

    @cached_property
    def _threshold(self) -> float:
        pairs = self.k * (self.n_arms - self.k)
        return 2.0 * mixture_threshold(math.log(pairs / self.delta) / 2.0)

    def evidence(self, state: ArmStatistics) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the k best arms, the others, and the evidence of each pair of them."""
        high = best_k(state.means, self.k)
        low = np.setdiff1d(np.arange(self.n_arms), high)
        gaps = state.means[high][:, None] - state.means[low]
        spread = 1.0 / state.counts[high][:, None] + 1.0 / state.counts[low]
        return high, low, gaps**2 / (2.0 * self.sigma**2 * spread)

    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return one arm of the critical pair, the less sampled one more often."""
        high, low, evidence = self.evidence(state)
        logs = np.log(state.counts)
        row, column = np.unravel_index(np.argmin(evidence + logs[high][:, None] + logs[low]), evidence.shape)
        i, j = high[row], low[column]
        n_i, n_j = state.counts[i], state.counts[j]
        return np.array([i if rng.random() * (n_i + n_j) < n_j else j], np.int64)

    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the evidence of every pair exceeds its threshold."""
        high, low, evidence = self.evidence(state)
        penalty = 2.0 * np.log(4.0 + np.log(state.counts))
        return bool((evidence > self._threshold + penalty[high][:, None] + penalty[low]).all())

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the k best means."""
        return best_k(state.means, self.k)
