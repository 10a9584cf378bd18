"""LLR's index rule, in a file of its own: others need not compile it."""

import math

from cmab.compiled._kernels_signatures import index_kernel

#: Places in `reals`; the size is the L of the paper.
SIZE, SIGN, LOW, HIGH = range(4)


@index_kernel
def llr_indices(counts, means, deviations, memory, t, reals, rng, out):
    """LLR's indices."""
    size, sign, low, high = reals[SIZE], reals[SIGN], reals[LOW], reals[HIGH]
    # Gai et al. (2012), Algorithm 1, line 11: mean + sqrt((L + 1) ln t / T).
    log_term = (size + 1.0) * math.log(t) * (high - low) ** 2
    if sign < 0.0:
        for i in range(counts.shape[0]):
            # Costs are ours: the mirror image, cut at the least cost, for an
            # oracle may refuse costs below it.
            bound = max(means[i] - math.sqrt(log_term / counts[i]), low)
            out[i] = bound if counts[i] > 0 else low
        return
    # The paper plays every arm once at first, and does not cut its index at the end of the support.
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
