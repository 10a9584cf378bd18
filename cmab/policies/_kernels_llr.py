"""LLR's index rule, in a separate file so that other policies need not compile it."""

import math

from cmab.compiled._kernels_signatures import index_kernel

#: Positions in `reals`. SIZE is the L of the paper.
SIZE, SIGN, LOW, HIGH = range(4)


@index_kernel
def llr_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write LLR's indices."""
    size, sign, low, high = reals[SIZE], reals[SIGN], reals[LOW], reals[HIGH]
    # Gai et al. (2012), Algorithm 1, line 11: mean + sqrt((L + 1) ln t / T).
    log_term = (size + 1.0) * math.log(t) * (high - low) ** 2
    if sign < 0.0:
        for i in range(counts.shape[0]):
            # Costs are an extension of ours: the mirror image of rewards. Indices are at least the least
            # cost, because an oracle may reject costs below it.
            bound = max(means[i] - math.sqrt(log_term / counts[i]), low)
            out[i] = bound if counts[i] > 0 else low
        return
    # The paper plays every arm once first, and does not clip its index to the support.
    largest, smallest = 0.0, 0.0
    for i in range(counts.shape[0]):
        if counts[i] > 0:
            out[i] = means[i] + math.sqrt(log_term / counts[i])
            largest, smallest = max(largest, out[i]), min(smallest, out[i])
    # One unobserved arm outweighs any super arm without unobserved arms.
    unseen = (high - low) + size * (largest - smallest)
    for i in range(counts.shape[0]):
        if counts[i] == 0:
            out[i] = unseen
