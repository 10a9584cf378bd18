"""Index rules with bounds narrower than Hoeffding's, based on relative entropy or on variances."""

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
