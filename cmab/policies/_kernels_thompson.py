"""Thompson sampling's index rule, in a file of its own: it takes longest to compile."""

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels_signatures import random_index_kernel


@random_index_kernel
def thompson_indices(
    counts: IntArray, means: FloatArray, t: int, reals: FloatArray, rng: np.random.Generator, out: FloatArray
) -> None:
    """Draw from each arm's Beta posterior; `reals` holds the support and the prior's two parameters."""
    m = counts.shape[0]
    low, length = reals[0], reals[1] - reals[0]
    wins, losses = reals[2 : 2 + m], reals[2 + m :]
    for i in range(m):
        mean = min(max((means[i] - low) / length, 0.0), 1.0)
        out[i] = low + length * rng.beta(wins[i] + counts[i] * mean, losses[i] + counts[i] * (1.0 - mean))
