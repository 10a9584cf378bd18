"""Index rules with bounds narrower than Hoeffding's, based on relative entropy or on variances."""

import math

from cmab.compiled._kernels_signatures import index_kernel
from cmab.confidence._kernels_kl import kl_lower, kl_upper
from cmab.confidence._kernels_radii import log_term

#: Positions in `reals` of both rules. Only `entropy_indices` reads LOGLOG.
SIGN, LOW, HIGH, LOGLOG = range(4)


@index_kernel
def entropy_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write KL-UCB's indices for outcomes rescaled to [0, 1]."""
    sign, low, length = reals[SIGN], reals[LOW], reals[HIGH] - reals[LOW]
    # Garivier and Cappé (2011), Algorithm 1, line 6.
    level = log_term(t, 1.0, reals[LOGLOG])
    for i in range(counts.shape[0]):
        share = min(max((means[i] - low) / length, 0.0), 1.0)
        if counts[i] == 0:
            bound = 1.0 if sign > 0.0 else 0.0
        elif sign > 0.0:
            bound = kl_upper(share, level / counts[i])
        else:
            bound = kl_lower(share, level / counts[i])
        out[i] = low + length * bound


@index_kernel
def bernstein_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Write BC-UCB's indices. `deviations` are sums of squared deviations from the means."""
    sign, low, high = reals[SIGN], reals[LOW], reals[HIGH]
    log = math.log(t)
    for i in range(counts.shape[0]):
        out[i] = high if sign > 0.0 else low
        if counts[i] > 0:
            # Liu et al. (2022), Algorithm 1: mean + sqrt(6 V ln t / T) + 9 ln t / T, V = deviations / T.
            radius = (math.sqrt(6.0 * deviations[i] * log) + 9.0 * (high - low) * log) / counts[i]
            out[i] = min(max(means[i] + sign * radius, low), high)
