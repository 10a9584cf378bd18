"""Equal quantiles of the Beta posteriors of all arms: CTS with one random number per round, and Bayes-UCB."""

from cmab.compiled._kernels import lean_kernel
from cmab.compiled._kernels_signatures import index_kernel
from cmab.confidence._kernels_beta import beta_quantile
from cmab.policies._kernels_thompson import HIGH, LOW, PRIOR
from cmab.policies._kernels_ties import break_ties


@lean_kernel
def write_quantiles(counts, means, level, reals, out):
    """Write the quantile of each posterior at `level` in (0, 1). PRIOR gives the layout of `reals`."""
    m = counts.shape[0]
    low, length = reals[LOW], reals[HIGH] - reals[LOW]
    wins, losses = reals[PRIOR : PRIOR + m], reals[PRIOR + m :]
    a, b, quantile = 0.0, 0.0, 0.0
    for i in range(m):
        mean = min(max((means[i] - low) / length, 0.0), 1.0)
        won, lost = wins[i] + counts[i] * mean, losses[i] + counts[i] * (1.0 - mean)
        if won != a or lost != b:  # neighbouring arms often have the same posterior
            a, b, quantile = won, lost, beta_quantile(level, won, lost)
        out[i] = low + length * quantile


@index_kernel
def shared_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write the quantile of each arm's Beta posterior at one random level per round."""
    # Jin et al. (2026): F_i^{-1}(U), one U for all arms.
    write_quantiles(counts, means, max(rng.random(), 2.0**-54), reals, out)
    break_ties(counts, reals[LOW], reals[HIGH], rng, out)


@index_kernel
def bayes_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write Bayes-UCB's indices. `reals` ends with the level (0 for the paper's) and the oracle's sign."""
    level, sign = reals[-2], reals[-1]
    if level == 0.0:  # Kaufmann et al. (2012), Algorithm 1 with c = 0, but at least 0.5: it is 0 in round 1
        level = max(1.0 - 1.0 / t, 0.5)
    write_quantiles(counts, means, level if sign > 0.0 else 1.0 - level, reals, out)
