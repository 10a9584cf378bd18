"""The likelihood-ratio rule for the best k: evidence of every pair across the border."""

import math

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled._kernels import borrows, kernel, part
from cmab.compiled._kernels_exploration import Seen, decide_kernel
from cmab.compiled._kernels_select import mark_best_again
from cmab.compiled.forms import Rule
from cmab.exploration._kernels_lucb import RANDOM, choose_critical


@kernel
def evidence(gap: float, spread: float, sigma: float) -> float:
    """Return the likelihood ratio of two Gaussian arms; `spread` is the sum of their ``1 / T``.

    Z_ab(t) of Garivier and Kaufmann (COLT 2016), for Gaussian arms of one variance.
    """
    return gap * gap / (2.0 * sigma * sigma * spread)


@part
def _penalty(count: int) -> float:
    # Kaufmann and Koolen (JMLR 2021): twice ln(4 + ln T) for each arm of the pair.
    return 2.0 * math.log(4.0 + math.log(count))


@kernel
@borrows
def _log(count: int, table: FloatArray) -> float:
    """Return ``ln count``; `table` remembers the logarithms of small counts, 0 where one is unknown."""
    if count >= table.shape[0]:
        return math.log(count)
    if table[count] == 0.0:
        table[count] = math.log(count)
    return float(table[count])


@part
def _enough(means: FloatArray, counts: IntArray, is_high: BoolArray, sigma: float, threshold: float) -> bool:
    """Return whether every pair exceeds ``threshold + 2 ln(4 + ln T_i) + 2 ln(4 + ln T_j)``."""
    n = means.shape[0]
    penalties = np.empty(n)
    for i in range(n):
        penalties[i] = _penalty(counts[i])
    for i in range(n):
        if not is_high[i]:
            continue
        for j in range(n):
            spread = 1.0 / counts[i] + 1.0 / counts[j]
            own = threshold + penalties[i] + penalties[j]
            if not is_high[j] and not evidence(means[i] - means[j], spread, sigma) > own:
                return False
    return True


@part
def least_separated_pair(
    means: FloatArray, counts: IntArray, best: IntArray, sigma: float, threshold: float, table: FloatArray
) -> tuple[int, int, bool]:
    """Return the pair of least evidence plus ``ln T_i + ln T_j``, and whether every pair has enough of it.

    Ties go to the lower index. `best` holds the k best arms of the last step, and then of this one; `table`
    is that of `_log`, empty to do without.
    """
    n = means.shape[0]
    is_high, inverse, logs = np.empty(n, np.bool_), np.empty(n), np.empty(n)
    mark_best_again(means, best, is_high)
    for i in range(n):
        inverse[i], logs[i] = 1.0 / counts[i], _log(counts[i], table)
    least, high, low = np.inf, 0, 0
    for i in range(n):
        if not is_high[i]:
            continue
        for j in range(n):
            # EB-TCI's index (Jourdan et al. 2022, from memory). Without the logarithms an arm of few outcomes
            # may look well separated, and never be sampled again.
            weight = evidence(means[i] - means[j], inverse[i] + inverse[j], sigma) + logs[i] + logs[j]
            if weight < least and not is_high[j]:
                least, high, low = weight, i, j
    # Most often this very pair lacks evidence, and the others need no look.
    own = threshold + _penalty(counts[high]) + _penalty(counts[low])
    sure = evidence(means[high] - means[low], inverse[high] + inverse[low], sigma) > own
    return high, low, sure and _enough(means, counts, is_high, sigma, threshold)


# decide_mixture: `integers` holds the k best arms of the last step; logarithms have room after `reals`.
SIGMA, THRESHOLD, LOGARITHMS = range(3)


def mixture_rule(k: int, sigma: float, threshold: float) -> Rule:
    """Return the rule of `MixtureGLR`."""
    return Rule(decide_mixture, [*range(k)], [sigma, threshold], is_random=True, room=65_536)


@decide_kernel
def decide_mixture(seen: Seen, coin: float, integers: IntArray, reals: FloatArray, chosen: IntArray) -> int:
    """Sample one arm of the least separated pair; stop when every pair has enough evidence."""
    sigma, threshold, table = reals[SIGMA], reals[THRESHOLD], reals[LOGARITHMS:]
    pair = least_separated_pair(seen.means, seen.counts, integers, sigma, threshold, table)
    high, low, enough = pair
    size = choose_critical(high, low, RANDOM, seen.counts, coin, chosen)
    return -size if enough else size
