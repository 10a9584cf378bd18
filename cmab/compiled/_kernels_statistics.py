"""Taking in feedback."""

from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import borrows, kernel, part


@kernel
def update_statistics(
    n: int, arms: IntArray, sums: FloatArray, pulls: IntArray, squares: FloatArray, learned: Any
) -> int:
    """Update counters, means and squared deviations by the first `n` entries of a feedback, in place.

    `learned` holds them: counters, owners, sizes, means, deviations. `owners` maps arms to the counters they
    share and `sizes` says by how many; both are empty where every arm has its own. Returns -1, or, with
    nothing changed, the number of a counter of which only a part of its arms was observed.
    """
    counters, owners, sizes, means, deviations = learned
    shared = owners.shape[0] > 0
    if shared:
        seen = np.zeros(counters.shape[0], np.int64)
        for j in range(n):
            seen[owners[arms[j]]] += 1
        for j in range(n):
            owner = owners[arms[j]]
            # Arms that share a counter are seen together or not at all; the first that breaks this is told.
            if seen[owner] != sizes[owner]:
                return int(owner)
        for j in range(n):  # once for each counter, not for each of its arms
            owner = owners[arms[j]]
            if seen[owner] > 0:
                counters[owner] += pulls[j]
                seen[owner] = 0
    for j in range(n):
        arm = arms[j]
        if not shared:
            counters[arm] += pulls[j]
        count = counters[owners[arm]] if shared else counters[arm]
        update_moments(arm, sums[j], pulls[j], squares[j], count, means, deviations)
    return -1


@kernel
@borrows
def observe_outcomes(
    n: int,
    arms: IntArray,
    outcomes: FloatArray,
    counters: IntArray,
    means: FloatArray,
    deviations: FloatArray,
) -> None:
    """Do what `update_statistics` does for the first `n` single outcomes of arms that share no counters."""
    for j in range(n):
        observe_outcome(arms[j], outcomes[j], counters, means, deviations)


@part
@borrows
def observe_outcome(
    arm: int, outcome: float, counters: IntArray, means: FloatArray, deviations: FloatArray
) -> None:
    """Update the statistics of one arm by one outcome."""
    counters[arm] += 1
    update_moments(arm, outcome, 1, outcome, counters[arm], means, deviations)


@part
@borrows
def update_moments(
    arm: int,
    total: float,
    pulls: int,
    square: float,
    count: int,
    means: FloatArray,
    deviations: FloatArray,
) -> None:
    """Update mean and squared deviations of an arm by a batch, `count` being the pulls with it."""
    # The pairwise update of Chan, Golub and LeVeque (1983), equation 1.5: with d the difference of the means,
    # mean += d n_b / n and M2 += M2_b + d^2 n_a n_b / n. For one outcome it is Welford's.
    # Deviations within a batch are nan where its squares are unknown.
    mean = total / pulls
    # Rounding may leave a batch of equal outcomes with a negative sum of squared deviations.
    within = square - total * mean if pulls > 1 else 0.0
    if within < 0.0:
        within = 0.0
    shift = mean - means[arm]
    means[arm] += shift * (pulls / count)
    deviations[arm] += within + shift * shift * (pulls * ((count - pulls) / count))
