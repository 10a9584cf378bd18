"""LLR's index rule, in a file of its own: others need not compile it."""

import math

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels_signatures import index_kernel


@index_kernel
def llr_indices(counts: IntArray, means: FloatArray, t: int, reals: FloatArray, out: FloatArray) -> None:
    """LLR's indices; `reals` holds L, the sense's sign and the support."""
    size, sign, low, high = reals[0], reals[1], reals[2], reals[3]
    log_term = (size + 1.0) * math.log(t) * (high - low) ** 2
    if sign < 0.0:
        for i in range(counts.shape[0]):
            bound = max(means[i] - math.sqrt(log_term / counts[i]), low)
            out[i] = bound if counts[i] > 0 else low
        return
    largest, smallest = 0.0, 0.0
    for i in range(counts.shape[0]):
        if counts[i] > 0:
            out[i] = means[i] + math.sqrt(log_term / counts[i])
            largest, smallest = max(largest, out[i]), min(smallest, out[i])
    # One such arm outweighs a whole super arm without any.
    unseen = (high - low) + size * (largest - smallest)
    for i in range(counts.shape[0]):
        if counts[i] == 0:
            out[i] = unseen
