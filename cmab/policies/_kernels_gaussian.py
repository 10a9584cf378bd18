"""Index rules of Thompson sampling with Gaussian posteriors. They draw normal numbers."""

import math

from cmab.compiled._kernels_signatures import index_kernel
from cmab.policies._kernels_ties import break_ties

#: Positions in `reals`: SIZE is the size of the largest super arm, HUGE the factor of the width of unobserved
#: arms, LOW and HIGH the ends to which indices are clipped, and UNSEEN the mean of unobserved arms.
SIGMA, FACTOR, SIZE, HUGE, LOW, HIGH, UNSEEN = range(7)


@index_kernel
def independent_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write CTS-Gaussian's indices: independent draws around the means, with unobserved arms first."""
    sigma, factor, low, high = reals[SIGMA], reals[FACTOR], reals[LOW], reals[HIGH]
    for i in range(counts.shape[0]):
        z = rng.standard_normal()
        # Perrault et al. (2020), CTS-Gaussian: N(mean, beta sigma^2 / N), beta > 1.
        index = means[i] + z * sigma * math.sqrt(factor / max(counts[i], 1))
        out[i] = min(max(index if counts[i] > 0 else reals[UNSEEN], low), high)
    break_ties(counts, low, high, rng, out)


@index_kernel
def shared_normal_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write CL-SG's indices: every mean is shifted by the same multiple of its width."""
    low, high = reals[LOW], reals[HIGH]
    # Hu et al. (2026), CL-SG: mean + Z sqrt(gamma ln t / (N + 1)); gamma is the factor times sigma^2.
    width = rng.standard_normal() * reals[SIGMA] * math.sqrt(reals[FACTOR] * math.log(t))
    for i in range(counts.shape[0]):
        mean = means[i] if counts[i] > 0 else reals[UNSEEN]
        out[i] = min(max(mean + width / math.sqrt(counts[i] + 1.0), low), high)
    break_ties(counts, low, high, rng, out)


@index_kernel
def boosted_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write BG-CTS's indices: independent draws, widened for a union bound over time and super arms."""
    factor, size, low, high = reals[FACTOR], reals[SIZE], reals[LOW], reals[HIGH]
    log_t = max(math.log(t), 1.0)
    # Zhang and Combes (2024): f(t) = 2 (1 + lambda) (ln t + (k + 2) ln ln t + (k / 2) ln(1 + e / lambda)),
    # without the last term for lambda = 0; g(t) = f(t) / ln t is the factor of the posterior variance.
    spread = 0.5 * size * math.log(1.0 + math.e / (factor - 1.0)) if factor > 1.0 else 0.0
    boost = 2.0 * factor * (log_t + (size + 2.0) * math.log(log_t) + spread) / log_t
    sigma = reals[SIGMA] * math.sqrt(boost)
    for i in range(counts.shape[0]):
        z = rng.standard_normal()
        index = means[i] + z * sigma / math.sqrt(max(counts[i], 1))
        if counts[i] == 0:
            index = reals[UNSEEN] + z * reals[HUGE] * sigma
        out[i] = min(max(index, low), high)
    break_ties(counts, low, high, rng, out)
