"""The rules of the LUCB family, step by step."""

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled._kernels import kernel
from cmab.compiled._kernels_select import mark_best_again
from cmab.compiled._kernels_signatures import decide_kernel
from cmab.confidence._kernels_kl import kl_bounds_of, kl_lucb_rate
from cmab.confidence._kernels_radii import exploration_rate, hoeffding_radii, radius_at

BOTH, RANDOM = 0, 1


@kernel
def critical_pair(lower: FloatArray, upper: FloatArray, is_high: BoolArray) -> tuple[int, int, float]:
    """Return the high arm of least lower bound, the other arm of largest upper bound, and their overlap."""
    high, low = -1, -1
    for i in range(lower.shape[0]):
        if is_high[i]:
            if high < 0 or lower[i] < lower[high]:
                high = i
        elif low < 0 or upper[i] > upper[low]:
            low = i
    return high, low, upper[low] - lower[high]


@kernel
def takes_high(coin: float, n_high: int, n_low: int) -> bool:
    """Return whether the high arm is sampled: with probability ``n_low / (n_high + n_low)``."""
    return bool(coin * (n_high + n_low) < n_low)


@kernel
def sampled(high: int, low: int, sampling: int, counts: IntArray, coin: float, chosen: IntArray) -> int:
    """Write the arms of the pair that are sampled, in increasing order; return how many."""
    if sampling == RANDOM:
        chosen[0] = high if takes_high(coin, counts[high], counts[low]) else low
        return 1
    chosen[0], chosen[1] = min(high, low), max(high, low)
    return 2


@decide_kernel
def decide_lil(
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
    """Rule of the lil family; `integers` holds sampling and last k best, `reals` is that of `radius_at`."""
    n = means.shape[0]
    is_high, radii = np.empty(n, np.bool_), np.empty(n)
    mark_best_again(means, integers[1:], is_high)
    for i in range(n):
        radii[i] = radius_at(counts[i], is_high[i], reals)
    high, low, gap = critical_pair(means - radii, means + radii, is_high)
    size = sampled(high, low, integers[0], counts, coin, chosen)
    return -size if gap <= 0.0 else size


@decide_kernel
def decide_lucb1(
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
    """LUCB1's radius; `integers` holds the k best arms of the last step, `reals` delta, sigma and epsilon."""
    n = means.shape[0]
    is_high, radii = np.empty(n, np.bool_), np.empty(n)
    mark_best_again(means, integers, is_high)
    hoeffding_radii(counts, exploration_rate(n, rounds, reals[0], 1.25, 4.0), reals[1], radii)
    high, low, gap = critical_pair(means - radii, means + radii, is_high)
    size = sampled(high, low, BOTH, counts, coin, chosen)
    return -size if gap < reals[2] else size


@decide_kernel
def decide_kl_lucb(
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
    """KL-LUCB's bounds; `integers` holds the k best arms of the last step, `reals` delta and epsilon."""
    n = means.shape[0]
    is_high, lower, upper = np.empty(n, np.bool_), np.empty(n), np.empty(n)
    mark_best_again(means, integers, is_high)
    kl_bounds_of(means, counts, kl_lucb_rate(n, rounds, reals[0]), lower, upper)
    high, low, gap = critical_pair(lower, upper, is_high)
    size = sampled(high, low, BOTH, counts, coin, chosen)
    return -size if gap < reals[1] else size
