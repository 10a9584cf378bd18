"""Index rules that draw from a generator; apart from the others, for they take longest to compile."""

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels_signatures import random_index_kernel
from cmab.policies._kernels_optimism import optimistic_means


@random_index_kernel
def epsilon_greedy_indices(
    counts: IntArray, means: FloatArray, t: int, reals: FloatArray, rng: np.random.Generator, out: FloatArray
) -> None:
    """With probability `reals[0]` (over t, if `reals[1]` is 1) uniform indices; else optimistic means."""
    epsilon = reals[0] / t if reals[1] > 0.0 else reals[0]
    greedy = reals[2:]
    if rng.random() < epsilon:
        low, high = greedy[4], greedy[5]
        for i in range(out.shape[0]):
            out[i] = low + (high - low) * rng.random()
    else:
        optimistic_means(counts, means, t, greedy, out)
