"""Index rules that draw from a generator; apart from the others, for they take longest to compile."""

from cmab.compiled._kernels_signatures import index_kernel
from cmab.policies._kernels_optimism import HIGH, LOW, write_bounds
from cmab.policies._kernels_ties import break_ties

#: Places in `reals`; what ``pack_optimism`` returns comes last.
EPSILON, DECAYS, GREEDY = range(3)


@index_kernel
def epsilon_greedy_indices(counts, means, deviations, memory, t, reals, rng, out):
    """With probability epsilon uniform indices; else the empirical means."""
    # Auer et al. (2002), Figure 3: epsilon of round t is min(1, c / t) where it decays, c being
    # their cK / d^2; above 1 it needs no cut, for every coin is below it.
    epsilon = reals[EPSILON] / t if reals[DECAYS] > 0.0 else reals[EPSILON]
    greedy = reals[GREEDY:]
    low, high = greedy[LOW], greedy[HIGH]
    if rng.random() < epsilon:
        for i in range(out.shape[0]):
            out[i] = low + (high - low) * rng.random()
    else:
        write_bounds(counts, means, t, greedy, out)
        break_ties(counts, low, high, rng, out)
