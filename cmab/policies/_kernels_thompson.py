"""Thompson sampling's index rule, in a separate file because it compiles slowest."""

import math

from cmab.compiled._kernels import lean_kernel
from cmab.compiled._kernels_signatures import index_kernel

#: Positions in `reals`: the ends of the support, then the successes of each arm's prior, then its failures.
LOW, HIGH, PRIOR = range(3)
#: With this number of arms or more, Beta(1, 1), Beta(a, 1) and Beta(1, b) are drawn from one uniform or
#: exponential number, which is 2 to 40 times as fast as the generator of Beta numbers. With fewer arms, a
#: round takes little time anyway, and a journal of version 0.1 must continue as it was played.
MANY_ARMS = 100_000


@lean_kernel
def power_draw(a, b, exponential):
    """Return a draw from Beta(a, b), of which a or b is 1, made from a draw of an exponential distribution.

    If E is exponential, exp(-E) is uniform. Its power 1 / a has the distribution function x^a of Beta(a, 1).
    The mirror image of Beta(b, 1) is Beta(1, b).
    """
    return math.exp(-exponential / a) if b == 1.0 else -math.expm1(-exponential / b)


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
        a, b = wins[i] + counts[i] * mean, losses[i] + counts[i] * (1.0 - mean)
        if m >= MANY_ARMS and (a == 1.0 or b == 1.0):
            theta = rng.random() if a == b else power_draw(a, b, rng.standard_exponential())
        else:
            theta = rng.beta(a, b)
        out[i] = low + length * theta
