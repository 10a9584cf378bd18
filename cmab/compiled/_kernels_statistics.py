"""Updates of the statistics with feedback."""

from cmab.compiled._kernels import kernel, lean_kernel


@kernel
def update_statistics(n, arms, sums, pulls, squares, counters, means, deviations):
    """Update counters, means and squared deviations in place with `n` batches of outcomes."""
    for j in range(n):
        arm = arms[j]
        counters[arm] += pulls[j]
        update_moments(arm, sums[j], pulls[j], squares[j], counters[arm], means, deviations)


@lean_kernel
def observe_outcomes(n, arms, outcomes, counters, means, deviations):
    """Update the statistics in place with the first `n` single outcomes."""
    for j in range(n):
        observe_outcome(arms[j], outcomes[j], counters, means, deviations)


@lean_kernel
def observe_outcome(arm, outcome, counters, means, deviations):
    """Update the statistics of one arm with one outcome."""
    counters[arm] += 1
    update_moments(arm, outcome, 1, outcome, counters[arm], means, deviations)


@lean_kernel
def update_moments(arm, total, pulls, square, count, means, deviations):
    """Update the mean and the squared deviations of an arm with a batch; `count` includes the batch."""
    # The pairwise update of Chan, Golub and LeVeque (1983), equation 1.5. With the difference d of the means,
    # mean += d n_b / n and M2 += M2_b + d^2 n_a n_b / n. For one outcome, this is Welford's update.
    # The deviations within a batch are nan if its sum of squares is unknown.
    mean = total / pulls
    # Rounding may give a batch of equal outcomes a negative sum of squared deviations.
    within = square - total * mean if pulls > 1 else 0.0
    if within < 0.0:
        within = 0.0
    shift = mean - means[arm]
    means[arm] += shift * (pulls / count)
    deviations[arm] += within + shift * shift * (pulls * ((count - pulls) / count))
