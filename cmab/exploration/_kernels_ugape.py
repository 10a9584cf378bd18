"""The compiled rule of UGapE, which orders the arms by their gap indices."""

from collections.abc import Sequence

import numpy as np

from cmab.compiled import SAMPLES, Rule, decide_kernel, kernel
from cmab.confidence._kernels_radii import anytime_rate, bernstein_radii, bernstein_rate, hoeffding_radii
from cmab.selection import mark_best


@kernel
def gap_indices(lower, upper, k, out):
    """Write the gap index of each arm.

    The gap index is the k-th largest upper bound of the other arms minus the lower bound of the arm: B_k(t)
    of Gabillon et al. (NIPS 2012), section 3.
    """
    n, is_top = upper.shape[0], np.empty(upper.shape[0], np.bool_)
    mark_best(upper, k, is_top)
    kth, following = np.inf, -np.inf
    for i in range(n):
        if is_top[i]:
            kth = min(kth, upper[i])
        else:
            following = max(following, upper[i])
    for i in range(n):
        # The k-th largest of the others. If arm i is among the k largest, it is the (k+1)-th largest of all.
        out[i] = (following if is_top[i] else kth) - lower[i]


@kernel
def _before(bound, other, wider):
    """Return whether `bound` exceeds `other`, or equals it with a wider interval."""
    return bool(bound > other or (bound == other and wider > 0.0))


@kernel
def least_gaps(means, radii, k, is_chosen):
    """Mark the `k` arms with the least gap indices; return the arm to sample and the largest of the indices.

    Gabillon et al. (NIPS 2012), Figure 2. The critical arms are the marked arm with the least lower bound and
    the unmarked arm with the largest upper bound. Ties go to the larger radius, then to the lower index. The
    arm to sample is the critical arm with the larger radius.
    """
    n, lower, upper = means.shape[0], means - radii, means + radii
    gaps = np.empty(n)
    gap_indices(lower, upper, k, gaps)
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
def least_certain_bandit(means, radii, sizes, k, is_chosen, bounds):
    """Mark the answer of each bandit, write its gap index to `bounds`, and return the arm to sample.

    The arm belongs to the bandit with the largest index; ties go to the first bandit. `sizes` holds the
    number of arms of each bandit. The arms are numbered one bandit after the other.
    """
    pull, worst, first = -1, -np.inf, 0
    for bandit in range(sizes.shape[0]):
        stop = first + sizes[bandit]
        arm, bounds[bandit] = least_gaps(means[first:stop], radii[first:stop], k, is_chosen[first:stop])
        if bounds[bandit] > worst:
            pull, worst = first + arm, bounds[bandit]
        first = stop
    return pull


# decide_ugape: `integers` holds k, 1 if the radii use variances (0 otherwise), and the number of arms of
# each bandit.
K, BY_VARIANCE, BANDITS = range(3)
DELTA, LENGTH, EPSILON = range(3)


def ugape_rule(
    k: int, by_variance: bool, arms_per_bandit: Sequence[int], delta: float, length: float, epsilon: float
) -> Rule:
    """Return the rule of UGapEc for a support of `length`, which is twice sigma."""
    return Rule(decide_ugape, [k, by_variance, *arms_per_bandit], [delta, length, epsilon])


@kernel
def present_answer(seen, integers, reals, is_chosen):
    """Mark the arms with the least gap indices; return the arm to sample and the largest of the indices."""
    n, sizes = seen.means.shape[0], integers[BANDITS:]
    samples, length = seen.clock[SAMPLES], reals[LENGTH]
    radii, bounds = np.empty(n), np.empty(sizes.shape[0])
    if integers[BY_VARIANCE]:
        bernstein_radii(seen.counts, seen.deviations, bernstein_rate(n, samples, reals[DELTA]), length, radii)
    else:
        hoeffding_radii(seen.counts, anytime_rate(n, samples, reals[DELTA]), length / 2.0, radii)
    pull = least_certain_bandit(seen.means, radii, sizes, integers[K], is_chosen, bounds)
    return pull, bounds.max()


@decide_kernel
def decide_ugape(seen, coin, integers, reals, chosen):
    """Sample the less certain critical arm; stop when every gap index is below epsilon (Figures 1 and 2)."""
    is_chosen = np.empty(seen.means.shape[0], np.bool_)
    chosen[0], bound = present_answer(seen, integers, reals, is_chosen)
    return -1 if bound < reals[EPSILON] else 1
