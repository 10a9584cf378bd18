"""Thompson sampling's index rule, in a separate file because it compiles slowest."""

from cmab.compiled._kernels import lean_kernel
from cmab.compiled._kernels_signatures import index_kernel

#: Positions in `reals`: the ends of the support, then the successes of each arm's prior, then its failures.
LOW, HIGH, PRIOR = range(3)
# The largest number of uniform numbers for one draw. A general draw takes as long as about twenty of them.
_MOST_UNIFORM = 8.0


@lean_kernel
def beta_draw(a, b, rng):
    """Return a draw from Beta(a, b).

    If a or b is 1, as for arms without outcomes under a uniform prior, the draw is an order statistic: the
    largest of a uniform numbers has the distribution Beta(a, 1), and the smallest of b has Beta(1, b).
    """
    most = max(a, b)
    if min(a, b) != 1.0 or most > _MOST_UNIFORM or most != int(most):
        return rng.beta(a, b)
    drawn = rng.random()
    for _ in range(1, int(most)):
        other = rng.random()
        drawn = max(drawn, other) if b == 1.0 else min(drawn, other)
    return drawn


@index_kernel
def thompson_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Draw from each arm's Beta posterior."""
    m = counts.shape[0]
    low, length = reals[LOW], reals[HIGH] - reals[LOW]
    wins, losses = reals[PRIOR : PRIOR + m], reals[PRIOR + m :]
    for i in range(m):
        count = counts[i]
        won = count * min(max((means[i] - low) / length, 0.0), 1.0) if count > 0 else 0.0
        a, b = wins[i] + won, losses[i] + (count - won)
        # Wang and Chen (2018), Algorithm 1 (from memory): theta ~ Beta(a, b). They replace an outcome in
        # (0, 1) by a coin flip; here it counts as a fraction of a success, so learning is deterministic.
        # Most of many arms have a = b = 1. Passing `rng` to a function takes longer than their draw.
        theta = rng.random() if a == 1.0 and b == 1.0 else beta_draw(a, b, rng)
        out[i] = low + length * theta
