"""Index rules: the functions that ask/tell and the compiled loop both call."""

import math

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import kernel
from cmab.compiled._kernels_signatures import index_kernel


@kernel
def log_term(t: int, reals: FloatArray) -> float:
    """Return the square of the radius of an arm that was seen once."""
    coefficient, loglog, factor = reals[0], reals[1], reals[2]
    log = math.log(t)
    term = coefficient * log
    if loglog > 0.0 and t >= 3:
        term += loglog * math.log(log)
    return float(term * (factor * factor))


@kernel
def upper_bound(mean: float, count: int, term: float, high: float) -> float:
    """Return CUCB's index of an arm without a prior."""
    bound = min(mean + math.sqrt(term / count), high)
    return bound if count > 0 else high


@index_kernel
def optimistic_means(counts: IntArray, means: FloatArray, t: int, reals: FloatArray, out: FloatArray) -> None:
    """CUCB's indices; `reals` is what ``pack_optimism`` returns. With a factor of 0 they are greedy."""
    sign, low, high, m = reals[3], reals[4], reals[5], counts.shape[0]
    term = log_term(t, reals)
    weights, prior = reals[6 : 6 + m], reals[6 + m :]
    # One plain loop for each case: that is what lets the compiler vectorise them.
    if weights.shape[0] > 0:
        for i in range(m):
            count = counts[i] + weights[i]
            mean = (counts[i] * means[i] + weights[i] * prior[i]) / count
            radius = math.sqrt(term / count)
            bound = min(mean + radius, high) if sign > 0.0 else max(mean - radius, low)
            out[i] = bound if count > 0.0 else (high if sign > 0.0 else low)
    elif sign > 0.0:
        for i in range(m):
            out[i] = upper_bound(means[i], counts[i], term, high)
    else:
        for i in range(m):
            bound = max(means[i] - math.sqrt(term / counts[i]), low)
            out[i] = bound if counts[i] > 0 else low


@index_kernel
def known_means(counts: IntArray, means: FloatArray, t: int, reals: FloatArray, out: FloatArray) -> None:
    """Return what is known beforehand, whatever was observed."""
    for i in range(reals.shape[0]):  # a slice assignment takes seconds to compile
        out[i] = reals[i]
