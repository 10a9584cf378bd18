"""Index rules: the functions that ask/tell and the fused loop both call."""

import math

import numpy as np

from cmab._kernels_doors import index_kernel, random_index_kernel
from cmab.arrays import FloatArray, IntArray


@index_kernel
def no_index(counts: IntArray, means: FloatArray, t: int, reals: FloatArray, out: FloatArray) -> None:
    """Stand where a random index rule takes its place."""


@random_index_kernel
def no_random_index(
    counts: IntArray, means: FloatArray, t: int, reals: FloatArray, rng: np.random.Generator, out: FloatArray
) -> None:
    """Stand where an index rule without randomness takes its place."""


@index_kernel
def optimistic_means(counts: IntArray, means: FloatArray, t: int, reals: FloatArray, out: FloatArray) -> None:
    """CUCB's indices; `reals` is what ``pack_optimism`` returns. With a factor of 0 they are greedy."""
    coefficient, loglog, factor, sign, low, high = reals[0], reals[1], reals[2], reals[3], reals[4], reals[5]
    m = counts.shape[0]
    log = math.log(t)
    log_term = coefficient * log
    if loglog > 0.0 and t >= 3:
        log_term += loglog * math.log(log)
    log_term *= factor * factor
    weights, prior = reals[6 : 6 + m], reals[6 + m :]
    # One plain loop for each case: that is what lets the compiler vectorise them.
    if weights.shape[0] > 0:
        for i in range(m):
            count = counts[i] + weights[i]
            mean = (counts[i] * means[i] + weights[i] * prior[i]) / count
            radius = math.sqrt(log_term / count)
            bound = min(mean + radius, high) if sign > 0.0 else max(mean - radius, low)
            out[i] = bound if count > 0.0 else (high if sign > 0.0 else low)
    elif sign > 0.0:
        for i in range(m):
            bound = min(means[i] + math.sqrt(log_term / counts[i]), high)
            out[i] = bound if counts[i] > 0 else high
    else:
        for i in range(m):
            bound = max(means[i] - math.sqrt(log_term / counts[i]), low)
            out[i] = bound if counts[i] > 0 else low


@index_kernel
def known_means(counts: IntArray, means: FloatArray, t: int, reals: FloatArray, out: FloatArray) -> None:
    """Return what is known beforehand, whatever was observed."""
    for i in range(reals.shape[0]):  # a slice assignment takes seconds to compile
        out[i] = reals[i]
