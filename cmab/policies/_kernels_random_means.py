"""Index rule of random policies."""

from cmab.compiled._kernels_signatures import index_kernel


@index_kernel
def random_means(counts, means, deviations, memory, t, reals, rng, out):
    """Write uniform indices. `reals` holds the two ends of the support."""
    # The first number is unused. Epsilon-greedy with epsilon = 1 also draws it, so the two streams are equal.
    rng.random()
    low, high = reals[0], reals[1]
    for i in range(out.shape[0]):
        out[i] = low + (high - low) * rng.random()
