"""Taking in feedback."""

import numpy as np

from cmab._kernels import kernel
from cmab.arrays import FloatArray, IntArray


@kernel
def observe(
    n: int,
    arms: IntArray,
    sums: FloatArray,
    pulls: IntArray,
    squares: FloatArray,
    counters: IntArray,
    owners: IntArray,
    sizes: IntArray,
    means: FloatArray,
    deviations: FloatArray,
) -> int:
    """Update counters, means and squared deviations by the first `n` entries of a feedback, in place.

    `owners` maps arms to the counters they share and `sizes` says by how many; both are empty where every
    arm has its own. Returns -1, or, with nothing changed, the number of a counter of which only a part of
    its arms was observed.
    """
    shared = owners.shape[0] > 0
    if shared:
        seen = np.zeros(counters.shape[0], np.int64)
        for j in range(n):
            seen[owners[arms[j]]] += 1
        for j in range(n):
            owner = owners[arms[j]]
            if seen[owner] != sizes[owner]:
                return int(owner)
        for j in range(n):
            owner = owners[arms[j]]
            if seen[owner] > 0:
                counters[owner] += pulls[j]
                seen[owner] = 0
    for j in range(n):
        arm = arms[j]
        if not shared:
            counters[arm] += pulls[j]
        count = counters[owners[arm]] if shared else counters[arm]
        # Welford's update, with the deviations within a batch (Chan et al.); nan where they are unknown.
        mean = sums[j] / pulls[j]
        within = squares[j] - sums[j] * mean if pulls[j] > 1 else 0.0
        if within < 0.0:
            within = 0.0
        shift = mean - means[arm]
        means[arm] += shift * (pulls[j] / count)
        deviations[arm] += within + shift * shift * (pulls[j] * ((count - pulls[j]) / count))
    return -1
