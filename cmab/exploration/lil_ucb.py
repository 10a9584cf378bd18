"""lil'UCB: the best arm by upper confidence bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from cmab.arrays import IntArray
from cmab.compiled import ExplorerKernel, Rule
from cmab.confidence.radii import c_epsilon, lil_parameters
from cmab.declared import one_of
from cmab.exploration.parameters import POSITIVE
from cmab.exploration.ruled import RuledExplorer
from cmab.exploration.sampling import BestK
from cmab.statistics import ArmStatistics

LilUCBMode = Literal["proven", "faithful", "heuristic"]


@dataclass(frozen=True, eq=False, kw_only=True)
class LilUCB(RuledExplorer, BestK):
    """lil'UCB (Jamieson et al. 2014): sample the largest upper bound, and return the most sampled arm.

    Use this explorer only to compare with its paper. For the best arm, `BestKGLR` and `TTUCB` need fewer
    samples.

    The run stops when one arm has been sampled far more often than all others together. This stopping rule is
    valid only for samples that the explorer selected itself, one at a time.

    Parameters
    ----------
    n_arms : int
        Number of arms, at least 2.
    delta : float
        Probability of failure, in (0, 1).
    sigma : float
        Sub-Gaussian scale of the outcomes.
    mode : {"proven", "faithful", "heuristic"}
        "proven" errs with probability at most `delta`. It uses a union bound over the arms instead of the
        paper's analysis; this is our choice, see Notes. "faithful" and "heuristic" use the parameters of the
        paper's experiments. The paper proves only that some ratio for the stopping rule exists, so in these
        modes no answer is certified. In mode "heuristic", a run may never stop.

    Notes
    -----
    This is the proof for mode "proven". With probability at least ``1 - delta``, at all times, the mean of
    the best arm is not below its expectation by more than its radius ``U(T)``, and the mean of no other arm
    is above its expectation by more than its radius. Assume that a worse arm with T samples has a larger
    upper bound than the best arm with T' samples. Then ``U(T') <= 3 U(T)``, hence ``T / L(T) <= 9 T' /
    L(T')``, where L is the logarithm in the radius. For t >= 1, ``L(r t) <= L(t) + ln(1 + ln r / ln(3 +
    e))``, where e is the epsilon of the radius. Therefore, no worse arm gets r times the samples of the best
    arm if r exceeds ``9 (1 + ln(1 + ln r / ln(3 + e)) / L(1))``. This r is the ratio of the stopping rule.
    The paper's experiments use 9. With fewer than a hundred arms, mode "proven" takes fewer samples than
    "faithful".

    Examples
    --------
    >>> from cmab import identify
    >>> from cmab.exploration.lil_ucb import LilUCB
    >>> from instances import GaussianArms
    >>> identify(LilUCB(3, delta=0.1), GaussianArms([1.0, 0.0, 0.0], sigma=0.5), rng=0).arms
    [array([0])]

    References
    ----------
    K. Jamieson, M. Malloy, R. Nowak, S. Bubeck: lil' UCB: An Optimal Exploration Algorithm for Multi-Armed
    Bandits, COLT 2014.
    """

    k: int = field(default=1, init=False)
    sigma: float = field(default=0.5, metadata=POSITIVE)
    mode: LilUCBMode = field(default="proven", metadata=one_of("proven", "faithful", "heuristic"))

    _in_kernel = (*RuledExplorer._in_kernel, "rule")

    @property
    def is_proven(self) -> bool:
        return self.mode == "proven"

    @cached_property
    def _parameters(self) -> tuple[float, float, float, float]:
        """The epsilon and the level of the lil radius, its factor, and the ratio of the stopping rule."""
        if self.mode == "heuristic":
            # Jamieson et al. (2014), from memory: e = 0, beta = 1/2, lambda = 1 + 10 / N.
            return 0.0, self.delta, 1.5, 1.0 + 10.0 / self.n_arms
        if self.mode == "faithful":
            # The paper bounds the error by 4 sqrt(c w) + 4 c w.
            level = (math.sqrt(1.0 + self.delta) - 1.0) ** 2 / (4.0 * c_epsilon(0.01))
            return 0.01, level, 2.0, 9.0
        epsilon, level = lil_parameters("faithful", delta=self.delta, sides=(self.n_arms,), n_sides=1.0)
        return epsilon, level / self.n_arms, 2.0, _safe_ratio(epsilon, level / self.n_arms)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms."""
        from cmab.exploration._kernels_lil_ucb import lil_ucb_rule

        epsilon, level, factor, ratio = self._parameters
        return lil_ucb_rule(level, epsilon, self.sigma, factor, ratio)

    def kernel(self) -> ExplorerKernel:
        """Return the compiled loop with a tournament tree, which takes O(log n_arms) time per sample."""
        from cmab.exploration._kernels_lil_ucb import explore_lil_ucb, lil_ucb_tree

        epsilon, level, factor, ratio = self._parameters
        return ExplorerKernel(explore_lil_ucb, (lil_ucb_tree(level, epsilon, self.sigma, factor, ratio),))

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the most sampled arm."""
        return np.array([np.argmax(state.counts)], np.int64)


def _safe_ratio(epsilon: float, level: float) -> float:
    """Return a ratio r of samples that no worse arm reaches while the radii at `level` hold.

    See the Notes of `LilUCB`.
    """
    least = math.log(3.0 + epsilon)
    log = math.log(least / level)
    ratio = 9.0
    # The iterates increase to the fixed point. The factor 1 + 1e-9 makes the inequality strict.
    for _ in range(100):
        ratio = 9.0 * (1.0 + math.log1p(math.log(ratio) / least) / log)
    return ratio * (1.0 + 1e-9)
