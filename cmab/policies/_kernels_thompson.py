"""Thompson sampling's index rule, in a separate file because it compiles slowest."""

from cmab.compiled._kernels_signatures import index_kernel

#: Positions in `reals`: the ends of the support, then the successes of each arm's prior, then its failures.
LOW, HIGH, PRIOR = range(3)


@index_kernel
def thompson_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Draw from each arm's Beta posterior."""
    m = counts.shape[0]
    low, length = reals[LOW], reals[HIGH] - reals[LOW]
    wins, losses = reals[PRIOR : PRIOR + m], reals[PRIOR + m :]
    for i in range(m):
        mean = min(max((means[i] - low) / length, 0.0), 1.0)
        # Wang and Chen (2018), Algorithm 1 (from memory): theta ~ Beta(a, b). They replace an outcome in
        # (0, 1) by a coin flip; here it counts as a fraction of a success, so learning is deterministic.
        out[i] = low + length * rng.beta(wins[i] + counts[i] * mean, losses[i] + counts[i] * (1.0 - mean))
