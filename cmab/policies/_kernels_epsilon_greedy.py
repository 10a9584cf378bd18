"""Index rule of epsilon-greedy policies, in a separate file because it compiles slowly."""

from cmab.compiled._kernels_signatures import index_kernel
from cmab.policies._kernels_optimism import HIGH, LOW, write_bounds
from cmab.policies._kernels_ties import break_ties

#: Positions in `reals`. The result of ``pack_optimism`` begins at GREEDY.
EPSILON, DECAYS, GREEDY = range(3)


@index_kernel
def epsilon_greedy_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write uniform indices with probability epsilon, and the empirical means otherwise."""
    # Auer et al. (2002), Figure 3: with decay, epsilon of round t is min(1, c / t); c is their cK / d^2.
    # Values above 1 need not be clipped, because every uniform number is below them.
    epsilon = reals[EPSILON] / t if reals[DECAYS] > 0.0 else reals[EPSILON]
    greedy = reals[GREEDY:]
    low, high = greedy[LOW], greedy[HIGH]
    if rng.random() < epsilon:
        for i in range(out.shape[0]):
            out[i] = low + (high - low) * rng.random()
    else:
        write_bounds(counts, means, t, greedy, out)
        break_ties(counts, low, high, rng, out)
