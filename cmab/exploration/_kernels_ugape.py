"""UGapE's rule: arms by their gap index."""

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled._kernels import kernel
from cmab.compiled._kernels_select import mark_best
from cmab.compiled._kernels_signatures import decide_kernel
from cmab.confidence._kernels_radii import bernstein_radii, exploration_rate, hoeffding_radii


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


@kernel
def least_sure(
    means: FloatArray, radii: FloatArray, sizes: IntArray, k: int, is_chosen: BoolArray, bounds: FloatArray
) -> int:
    """Mark the `k` arms of each bandit, write its `least_gaps` to `bounds`; return what the worst one pulls.

    `sizes` holds the numbers of arms of the bandits, which are numbered one after the other; ties go to the
    first bandit.
    """
    pull, worst, first = -1, -np.inf, 0
    for bandit in range(sizes.shape[0]):
        stop = first + sizes[bandit]
        arm, bounds[bandit] = least_gaps(means[first:stop], radii[first:stop], k, is_chosen[first:stop])
        if bounds[bandit] > worst:
            pull, worst = first + arm, bounds[bandit]
        first = stop
    return pull


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
    """UGapEc; `integers` holds k, whether radii use variances and the bandits' sizes.

    `reals` holds delta, sigma and epsilon.
    """
    n, sizes = means.shape[0], integers[2:]
    radii, is_chosen = np.empty(n), np.empty(n, np.bool_)
    if integers[1]:
        log = exploration_rate(n, samples, reals[0], 7.0, 3.0)
        bernstein_radii(counts, deviations, log, 2.0 * reals[1], radii)
    else:
        hoeffding_radii(counts, exploration_rate(n, samples, reals[0], 4.0, 3.0), reals[1], radii)
    bounds = np.empty(sizes.shape[0])
    chosen[0] = least_sure(means, radii, sizes, integers[0], is_chosen, bounds)
    return -1 if bounds.max() < reals[2] else 1
