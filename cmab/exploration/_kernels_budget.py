"""Rules with a fixed budget that sample one arm at a time."""

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import kernel
from cmab.compiled._kernels_select import descending_order
from cmab.compiled._kernels_signatures import decide_kernel
from cmab.exploration._kernels_ugape import least_sure
from cmab.theory._kernels_gaps import gaps_of_best, sum_of_inverse_squares


@kernel
def gaps_of_bandits(means: FloatArray, sizes: IntArray, k: int, out: FloatArray) -> None:
    """Write the gap of each arm to the border of the `k` best of its own bandit."""
    first = 0
    for size in sizes:
        gaps_of_best(means[first : first + size], k, out[first : first + size])
        first += size


@kernel
def estimated_exploration(
    counts: IntArray, means: FloatArray, sizes: IntArray, k: int, unspent: int, epsilon: float, b: float
) -> float:
    """Return UGapEb's a for the hardness that the empirical gaps plus ``b sqrt(1 / 2T)`` would make."""
    widths = np.empty(means.shape[0])
    gaps_of_bandits(means, sizes, k, widths)
    for i in range(widths.shape[0]):
        gap = widths[i] + b * math.sqrt(0.5 / counts[i])
        widths[i] = max((gap + epsilon) / 2.0, epsilon)
    return unspent / (4.0 * b * b * sum_of_inverse_squares(widths))


@decide_kernel
def decide_ugapeb(
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
    """UGapEb; `integers` holds the budget, k and the bandits' sizes, `reals` a (or 0), epsilon, b and c.

    The rest of `reals` remembers the least bound of each bandit, then the marks of the arms that had it. The
    paper's minimum is over t = 1, ..., n, before the last sample.
    """
    n, budget, k, sizes = means.shape[0], integers[0], integers[1], integers[2:]
    a, epsilon, b, bounds, answer = reals[0], reals[1], reals[2], reals[4:], reals[4 + sizes.shape[0] :]
    if a == 0.0:
        a = reals[3] * estimated_exploration(counts, means, sizes, k, budget - n, epsilon, b)
    radii, is_chosen, present = np.empty(n), np.empty(n, np.bool_), np.empty(sizes.shape[0])
    for i in range(n):
        radii[i] = b * math.sqrt(a / counts[i])
    chosen[0] = least_sure(means, radii, sizes, k, is_chosen, present)
    if samples >= budget:
        return -1
    first = 0
    for bandit in range(sizes.shape[0]):
        stop = first + sizes[bandit]
        if present[bandit] < bounds[bandit]:
            bounds[bandit] = present[bandit]
            for i in range(first, stop):
                answer[i] = 1.0 if is_chosen[i] else 0.0
        first = stop
    return 1


@decide_kernel
def decide_gape(
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
    """GapE; `integers` holds the budget and the bandits' sizes, `reals` a and b."""
    index = np.empty(means.shape[0])
    gaps_of_bandits(means, integers[1:], 1, index)
    for i in range(means.shape[0]):
        index[i] = reals[1] * math.sqrt(reals[0] / counts[i]) - index[i]
    chosen[0] = np.argmax(index)
    return -1 if samples >= integers[0] else 1


@kernel
def refresh_complexity(means: FloatArray, samples: int, ends: IntArray, memory: FloatArray) -> None:
    """Estimate UCB-E's H2 anew if `samples` has come to the end of a phase; `memory` holds H2 and the phase.

    In phase p it is the largest ``i / gap^2`` over the p largest gaps, i their ranks in increasing order.
    """
    phase = int(memory[1])
    while phase < ends.shape[0] and ends[phase] <= samples:
        phase += 1
    if phase > memory[1]:
        n, top = means.shape[0], means.max()
        order, scratch = np.empty(n, np.int64), np.empty(n, np.int64)
        descending_order(-means, order, scratch)
        memory[0], memory[1] = 0.0, phase
        for place in range(phase):
            gap = top - means[order[place]]
            memory[0] = max(memory[0], (n - place) / (gap * gap))


@decide_kernel
def decide_ucbe(
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
    """UCB-E; `integers` holds the budget and the ends of the phases, `reals` a (or 0), c and the memory."""
    a, largest = reals[0], -np.inf
    if a == 0.0:
        refresh_complexity(means, samples, integers[1:], reals[2:])
        a = reals[1] * integers[0] / reals[2]
    for i in range(means.shape[0]):
        index = means[i] + math.sqrt(a / counts[i])
        if index > largest:
            chosen[0], largest = i, index
    return -1 if samples >= integers[0] else 1
