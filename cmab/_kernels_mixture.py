"""The likelihood-ratio rule for the best k: evidence of every pair across the border."""

import math

import numpy as np

from cmab._kernels import kernel
from cmab._kernels_doors import decide_kernel
from cmab._kernels_lucb import RANDOM, mark_best, sampled
from cmab.arrays import FloatArray, IntArray


@kernel
def evidence(gap: float, spread: float, sigma: float) -> float:
    """Return the likelihood ratio of two Gaussian arms; `spread` is the sum of their ``1 / T``."""
    return gap * gap / (2.0 * sigma * sigma * spread)


@kernel
def _split(
    means: FloatArray, counts: IntArray, k: int
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return the arms, the k best first, and in that order their means, ``1 / T`` and ``ln T``."""
    n = means.shape[0]
    is_high = np.empty(n, np.bool_)
    mark_best(means, k, is_high)
    order, values, inverse, logs = np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n)
    high, low = 0, k
    for arm in range(n):
        place = high if is_high[arm] else low
        if is_high[arm]:
            high += 1
        else:
            low += 1
        order[place], values[place] = arm, means[arm]
        inverse[place], logs[place] = 1.0 / counts[arm], math.log(counts[arm])
    return order, values, inverse, logs


@kernel
def doubtful_pair(
    means: FloatArray, counts: IntArray, k: int, sigma: float, threshold: float
) -> tuple[int, int, bool]:
    """Return the pair of least evidence plus ``ln T_i + ln T_j``, and whether every pair has enough of it.

    Enough is more than ``threshold + 2 ln(4 + ln T_i) + 2 ln(4 + ln T_j)``.
    """
    n = means.shape[0]
    order, values, inverse, logs = _split(means, counts, k)
    least, row, column, enough = np.inf, 0, k, True
    penalty = np.empty(n)
    for i in range(n):
        penalty[i] = 2.0 * math.log(4.0 + logs[i])
    for i in range(k):
        for j in range(k, n):
            weight = evidence(values[i] - values[j], inverse[i] + inverse[j], sigma)
            if weight + logs[i] + logs[j] < least:
                least, row, column = weight + logs[i] + logs[j], i, j
            enough = enough and weight > threshold + penalty[i] + penalty[j]
    return order[row], order[column], enough


@decide_kernel
def decide_mixture(
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
    """`MixtureGLR`; `integers` holds k, `reals` sigma and the threshold."""
    high, low, enough = doubtful_pair(means, counts, integers[0], reals[0], reals[1])
    size = sampled(high, low, RANDOM, counts, coin, chosen)
    return -size if enough else size
