"""The compiled rule of `BestKGLR`: likelihood ratios of every pair of a high and a low arm."""

import math

import numpy as np

from cmab.compiled import Rule, decide_kernel, kernel, lean_kernel
from cmab.exploration._kernels_evidence import (
    EPSILON,
    SIGMA,
    coin_evidence,
    needed,
    pair_evidence,
    penalty,
)
from cmab.exploration._kernels_lucb import RANDOM, choose_critical
from cmab.selection import mark_best_again


@lean_kernel
def _log(count, table):
    """Return ``ln count``; `table` stores the logarithms of small counts, with 0 for unknown ones."""
    if count >= table.shape[0]:
        return math.log(count)
    if table[count] == 0.0:
        table[count] = math.log(count)
    return float(table[count])


@kernel
def _enough(means, counts, is_high, reals):
    """Return whether the evidence of every pair exceeds its threshold."""
    n, base = means.shape[0], needed(float(counts.sum()), reals)
    penalties = np.empty(n)
    for i in range(n):
        penalties[i] = penalty(means[i], counts[i], reals)
    for i in range(n):
        if not is_high[i]:
            continue
        for j in range(n):
            spread = 1.0 / counts[i] + 1.0 / counts[j]
            own = base + penalties[i] + penalties[j]
            if not is_high[j] and not (
                pair_evidence(means[i], means[j], counts[i], counts[j], spread, reals) > own
            ):
                return False
    return True


@kernel
def least_separated_pair(means, counts, best, reals, table):
    """Return the pair with the least evidence plus ``ln T_i + ln T_j``, and whether all pairs have enough.

    A pair has enough evidence if its evidence exceeds its threshold. Ties go to the lower index. `best` holds
    the k best arms of the last step, and after the call those of this step. `reals` begins with those of
    `_kernels_evidence`. `table` is the table of `_log`, which may be empty.
    """
    n = means.shape[0]
    is_high, inverse, logs = np.empty(n, np.bool_), np.empty(n), np.empty(n)
    mark_best_again(means, best, is_high)
    for i in range(n):
        inverse[i], logs[i] = 1.0 / counts[i], _log(counts[i], table)
    least, high, low = np.inf, -1, -1
    for i in range(n):
        if not is_high[i]:
            continue
        for j in range(n):
            if is_high[j]:
                continue
            # The index of EB-TCI (Jourdan et al. 2022, from memory). Without the logarithms, an arm with few
            # outcomes may seem well separated and never be sampled again.
            own = pair_evidence(means[i], means[j], counts[i], counts[j], inverse[i] + inverse[j], reals)
            weight = own + logs[i] + logs[j]
            if weight < least or high < 0:
                least, high, low = weight, i, j
    # In most steps this pair lacks evidence, and then the other pairs need not be checked.
    needs = needed(float(counts.sum()), reals)
    needs += penalty(means[high], counts[high], reals) + penalty(means[low], counts[low], reals)
    spread = inverse[high] + inverse[low]
    sure = pair_evidence(means[high], means[low], counts[high], counts[low], spread, reals) > needs
    return high, low, sure and _enough(means, counts, is_high, reals)


# decide_mixture: `integers` holds the k best arms of the last step. The table of logarithms follows the
# `reals` of `_kernels_evidence`.
LOGARITHMS = 4


def mixture_rule(k: int, reals: list[float]) -> Rule:
    """Return the rule of `BestKGLR`."""
    return Rule(decide_mixture, [*range(k)], reals, is_random=True, room=65_536)


@decide_kernel
def decide_mixture(seen, coin, integers, reals, chosen):
    """Sample one arm of the least separated pair; stop when every pair has enough evidence.

    The random choice is information-directed selection (You, Qin, Wang and Yang, COLT 2023): the probability
    of an arm is its share of the pair's evidence.
    """
    means, counts = seen.means, seen.counts
    high, low, enough = least_separated_pair(means, counts, integers, reals, reals[LOGARITHMS:])
    size = choose_critical(high, low, RANDOM, counts, coin, chosen)
    if reals[SIGMA] == 0.0:  # for Gaussian arms, the share of the high arm is T_l / (T_h + T_l)
        whole, own = coin_evidence(means[high], means[low], counts[high], counts[low], reals[EPSILON])
        if 0.0 < whole < np.inf:
            chosen[0] = high if coin * whole < own else low
    return -size if enough else size
