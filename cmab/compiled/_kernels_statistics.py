"""Taking in feedback."""

from cmab.compiled._kernels import kernel, lean_kernel


@kernel
def update_statistics(n, arms, sums, pulls, squares, counters, means, deviations):
    """Update counters, means and squared deviations by `n` sums of several outcomes each, in place."""
    for j in range(n):
        arm = arms[j]
        counters[arm] += pulls[j]
        update_moments(arm, sums[j], pulls[j], squares[j], counters[arm], means, deviations)


@lean_kernel
def observe_outcomes(n, arms, outcomes, counters, means, deviations):
    """Do what `update_statistics` does, for the first `n` single outcomes."""
    for j in range(n):
        observe_outcome(arms[j], outcomes[j], counters, means, deviations)


@lean_kernel
def observe_outcome(arm, outcome, counters, means, deviations):
    """Update the statistics of one arm by one outcome."""
    counters[arm] += 1
    update_moments(arm, outcome, 1, outcome, counters[arm], means, deviations)


@lean_kernel
def update_moments(arm, total, pulls, square, count, means, deviations):
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
