"""The compiled rules of the LUCB family."""

import numpy as np

from cmab.compiled import ROUNDS, SAMPLES, Rule, decide_kernel, lean_kernel
from cmab.confidence._kernels_kl import heuristic_rate, kl_bounds_of, kl_lucb_rate
from cmab.confidence._kernels_radii import RADII, hoeffding_radii, lucb1_rate, radius_at
from cmab.selection import mark_best_again

BOTH, RANDOM, LESS = 0, 1, 2


@lean_kernel
def critical_pair(lower, upper, is_high):
    """Return the high arm with the least lower bound, the low arm with the largest upper bound, the overlap.

    The arms are h* and l* of Kalyanakrishnan et al. (ICML 2012), section 3. Ties go to the lower index.
    """
    high, low = -1, -1
    for i in range(lower.shape[0]):
        if is_high[i]:
            if high < 0 or lower[i] < lower[high]:
                high = i
        elif low < 0 or upper[i] > upper[low]:
            low = i
    return high, low, upper[low] - lower[high]


@lean_kernel
def takes_high(coin, n_high, n_low):
    """Return whether to sample the high arm, which has probability ``n_low / (n_high + n_low)``.

    This is the choice of lil'RandLUCB, Algorithm 1 of Jiang, Li and Qiao (2017).
    """
    return bool(coin * (n_high + n_low) < n_low)


@lean_kernel
def choose_critical(high, low, sampling, counts, coin, chosen):
    """Write the arms of the pair to sample, in increasing order, and return their number."""
    if sampling == RANDOM:
        chosen[0] = high if takes_high(coin, counts[high], counts[low]) else low
        return 1
    if sampling == LESS:
        chosen[0] = high if counts[high] < counts[low] else low
        return 1
    chosen[0], chosen[1] = min(high, low), max(high, low)
    return 2


# decide_lil: `integers` holds the choice of arms to sample, then the k best arms of the last step, where the
# next search starts. `reals` holds the parameters of `radius_at`.
SAMPLING, LAST_BEST = 0, 1


def lil_rule(k: int, sampling: int, epsilon: float, sigma: float, high: float, low: float) -> Rule:
    """Return the rule with lil radii at the levels of the high and the low side."""
    integers, reals = [sampling, *range(k)], [epsilon, sigma, high, low]
    return Rule(decide_lil, integers, reals, is_random=sampling == RANDOM, room=RADII)


@decide_kernel
def decide_lil(seen, coin, integers, reals, chosen):
    """Sample the critical pair by lil radii, or one of the two arms; stop when the sides do not overlap."""
    counts, means = seen.counts, seen.means
    n = means.shape[0]
    is_high, radii = np.empty(n, np.bool_), np.empty(n)
    mark_best_again(means, integers[LAST_BEST:], is_high)
    for i in range(n):
        radii[i] = radius_at(counts[i], is_high[i], reals)
    high, low, gap = critical_pair(means - radii, means + radii, is_high)
    size = choose_critical(high, low, integers[SAMPLING], counts, coin, chosen)
    # Algorithm 1: m_h - r_h >= m_l + r_l. `chosen` holds the pair at the stop as well, for callers that
    # continue.
    return -size if gap <= 0.0 else size


# decide_lucb1: `integers` holds the k best arms of the last step.
LUCB1_DELTA, LUCB1_SIGMA, LUCB1_EPSILON = range(3)


def lucb1_rule(k: int, delta: float, sigma: float, epsilon: float) -> Rule:
    """Return the rule of LUCB1 with its parameters."""
    return Rule(decide_lucb1, [*range(k)], [delta, sigma, epsilon])


@decide_kernel
def decide_lucb1(seen, coin, integers, reals, chosen):
    """Sample both critical arms; stop when the overlap is strictly below epsilon.

    Kalyanakrishnan et al. (ICML 2012), section 3. The radius is their beta.
    """
    counts, means = seen.counts, seen.means
    n = means.shape[0]
    is_high, radii = np.empty(n, np.bool_), np.empty(n)
    mark_best_again(means, integers, is_high)
    # t counts rounds, with two samples each. That is enough for the proof, and makes the radius smaller.
    rate = lucb1_rate(n, seen.clock[ROUNDS], reals[LUCB1_DELTA])
    hoeffding_radii(counts, rate, reals[LUCB1_SIGMA], radii)
    high, low, gap = critical_pair(means - radii, means + radii, is_high)
    size = choose_critical(high, low, BOTH, counts, coin, chosen)
    return -size if gap < reals[LUCB1_EPSILON] else size


# decide_kl_lucb: `integers` holds the k best arms of the last step.
KL_DELTA, KL_EPSILON, KL_HEURISTIC = range(3)


def kl_lucb_rule(k: int, delta: float, epsilon: float, *, is_proven: bool) -> Rule:
    """Return the rule of KL-LUCB with its parameters."""
    return Rule(decide_kl_lucb, [*range(k)], [delta, epsilon, float(not is_proven)])


@decide_kernel
def decide_kl_lucb(seen, coin, integers, reals, chosen):
    """Decide as LUCB1 does, with bounds by relative entropy (Kaufmann and Kalyanakrishnan, COLT 2013)."""
    counts, means = seen.counts, seen.means
    n = means.shape[0]
    is_high, lower, upper = np.empty(n, np.bool_), np.empty(n), np.empty(n)
    mark_best_again(means, integers, is_high)
    if reals[KL_HEURISTIC] != 0.0:
        rate = heuristic_rate(seen.clock[SAMPLES], reals[KL_DELTA])
    else:
        rate = kl_lucb_rate(n, seen.clock[ROUNDS], reals[KL_DELTA])
    kl_bounds_of(means, counts, rate, lower, upper)
    high, low, gap = critical_pair(lower, upper, is_high)
    size = choose_critical(high, low, BOTH, counts, coin, chosen)
    return -size if gap < reals[KL_EPSILON] else size
