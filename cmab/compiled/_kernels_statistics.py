"""Taking in feedback."""

from cmab.arrays import FloatArray, IntArray
from cmab.compiled._kernels import borrows, kernel, part


@kernel
def update_statistics(
    n: int,
    arms: IntArray,
    sums: FloatArray,
    pulls: IntArray,
    squares: FloatArray,
    counters: IntArray,
    means: FloatArray,
    deviations: FloatArray,
) -> None:
    """Update counters, means and squared deviations by `n` sums of several outcomes each, in place."""
    for j in range(n):
        arm = arms[j]
        counters[arm] += pulls[j]
        update_moments(arm, sums[j], pulls[j], squares[j], counters[arm], means, deviations)


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
    """Do what `update_statistics` does, for the first `n` single outcomes."""
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
