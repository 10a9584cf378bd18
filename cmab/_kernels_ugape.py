"""UGapE's rule: arms by their gap index."""

import numpy as np

from cmab._kernels import kernel
from cmab._kernels_doors import decide_kernel
from cmab._kernels_lucb import mark_best
from cmab._kernels_radii import bernstein_radii, clock_log, hoeffding_radii
from cmab.arrays import BoolArray, FloatArray, IntArray


@kernel
def gap_indices(means: FloatArray, radii: FloatArray, k: int, out: FloatArray) -> None:
    """Write each arm's gap index: the k-th largest upper bound of the others less its own lower bound."""
    n = means.shape[0]
    upper, is_top = means + radii, np.empty(n, np.bool_)
    mark_best(upper, k, is_top)
    kth, following = np.inf, -np.inf
    for i in range(n):
        if is_top[i]:
            kth = min(kth, upper[i])
        else:
            following = max(following, upper[i])
    for i in range(n):
        out[i] = (following if is_top[i] else kth) - (means[i] - radii[i])


@kernel
def _before(bound: float, other: float, wider: float) -> bool:
    """Return whether a bound beats the `other`; equal ones are decided by the wider interval."""
    return bool(bound > other or (bound == other and wider > 0.0))


@kernel
def least_gaps(means: FloatArray, radii: FloatArray, k: int, is_chosen: BoolArray) -> tuple[int, float]:
    """Mark the `k` arms of least gap index; return the arm to pull and the largest of their indices.

    The arm is the one of larger radius among the chosen arm of least lower bound and the other arm of
    largest upper bound; ties of either go to the larger radius, then to the lower index.
    """
    n, lower, upper = means.shape[0], means - radii, means + radii
    gaps = np.empty(n)
    gap_indices(means, radii, k, gaps)
    mark_best(-gaps, k, is_chosen)
    inside, outside, gap = -1, -1, -np.inf
    for i in range(n):
        if is_chosen[i]:
            gap = max(gap, gaps[i])
            if inside < 0 or _before(-lower[i], -lower[inside], radii[i] - radii[inside]):
                inside = i
        elif outside < 0 or _before(upper[i], upper[outside], radii[i] - radii[outside]):
            outside = i
    return (outside if radii[outside] >= radii[inside] else inside), gap


@decide_kernel
def decide_ugape(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    rounds: int,
    samples: int,
    coin: float,
    integers: IntArray,
    reals: FloatArray,
    chosen: IntArray,
) -> int:
    """UGapEc; `integers` holds k and whether radii use variances, `reals` delta, sigma and epsilon."""
    n = means.shape[0]
    radii, is_chosen = np.empty(n), np.empty(n, np.bool_)
    if integers[1]:
        log = clock_log(n, samples, reals[0], 7.0, 3.0)
        bernstein_radii(counts, deviations, log, 2.0 * reals[1], radii)
    else:
        hoeffding_radii(counts, clock_log(n, samples, reals[0], 4.0, 3.0), reals[1], radii)
    chosen[0], gap = least_gaps(means, radii, integers[0], is_chosen)
    return -1 if gap < reals[2] else 1
