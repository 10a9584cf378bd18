"""Thompson sampling with one random number a round, in a file of its own: it draws from no distribution."""

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import borrows
from cmab.compiled._kernels_signatures import index_kernel
from cmab.confidence._kernels_beta import beta_quantile
from cmab.policies._kernels_thompson import HIGH, LOW, PRIOR


@index_kernel
@borrows
def shared_indices(
    counts: IntArray,
    means: FloatArray,
    deviations: FloatArray,
    memory: FloatArray,
    t: int,
    reals: FloatArray,
    rng: np.random.Generator,
    out: FloatArray,
) -> None:
    """Write the same quantile of each arm's Beta posterior, at a level drawn uniformly for the round."""
    m = counts.shape[0]
    low, length = reals[LOW], reals[HIGH] - reals[LOW]
    wins, losses = reals[PRIOR : PRIOR + m], reals[PRIOR + m :]
    level = max(rng.random(), 2.0**-54)
    a, b, quantile = 0.0, 0.0, 0.0
    for i in range(m):
        mean = min(max((means[i] - low) / length, 0.0), 1.0)
        won, lost = wins[i] + counts[i] * mean, losses[i] + counts[i] * (1.0 - mean)
        if won != a or lost != b:  # arms side by side often have the same posterior
            # Jin et al. (2026): F_i^{-1}(U), one U for all arms.
            a, b, quantile = won, lost, beta_quantile(level, won, lost)
        out[i] = low + length * quantile
