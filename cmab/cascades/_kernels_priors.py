"""Draws of the Beta prior of each group of arms from a grid, given completed counts."""

import math

import numpy as np

from cmab.compiled import kernel


@kernel
def above(counts, groups, n_groups, most):
    """Return, for each group and i < `most`, the number of arms of the group with a count above i."""
    sums = np.zeros((n_groups, most + 1))
    for arm in range(counts.shape[0]):
        if counts[arm] > 0.0:
            sums[groups[arm], int(counts[arm] + 0.5)] += 1.0
    for group in range(n_groups):
        for i in range(most - 1, -1, -1):
            sums[group, i] += sums[group, i + 1]
    return sums[:, 1:]


@kernel
def grid_log_weights(groups, n_groups, wins, losses, won, lost):
    """Return the log likelihood of the counts of each group under each Beta prior, shape (groups, points).

    The likelihood of an arm is ``B(a + won, b + lost) / B(a, b)``, a product of rising factorials. Counts are
    rounded to integers.
    """
    most = int(max(won.max() if won.shape[0] else 0.0, lost.max() if lost.shape[0] else 0.0) + 0.5)
    tries = won + lost
    longest = max(int((tries.max() if tries.shape[0] else 0.0) + 0.5), most) + 1
    up, down = above(won, groups, n_groups, longest), above(lost, groups, n_groups, longest)
    both = np.zeros((n_groups, longest + 2))
    for arm in range(won.shape[0]):
        if tries[arm] > 0.0:
            both[groups[arm], int(won[arm] + 0.5) + int(lost[arm] + 0.5)] += 1.0
    for group in range(n_groups):
        for i in range(longest, -1, -1):
            both[group, i] += both[group, i + 1]
    logs = np.zeros((n_groups, wins.shape[0]))
    for p in range(wins.shape[0]):
        for i in range(longest):
            first, second = math.log(wins[p] + i), math.log(losses[p] + i)
            third = math.log(wins[p] + losses[p] + i)
            for group in range(n_groups):
                logs[group, p] += up[group, i] * first + down[group, i] * second
                logs[group, p] -= both[group, i + 1] * third
    return logs


@kernel
def draw_priors(groups, n_groups, wins, losses, won, lost, alpha, beta, rng):
    """Draw a point of the grid for each group, and write its parameters for each arm."""
    logs = grid_log_weights(groups, n_groups, wins, losses, won, lost)
    points = np.zeros(n_groups, np.int64)
    for group in range(n_groups):
        most, total = logs[group].max(), 0.0
        for p in range(wins.shape[0]):
            total += math.exp(logs[group, p] - most)
        left = rng.random() * total
        for p in range(wins.shape[0]):
            weight = math.exp(logs[group, p] - most)
            points[group] = p if weight > 0.0 else points[group]
            left -= weight
            if left < 0.0:
                break
    for arm in range(groups.shape[0]):
        alpha[arm], beta[arm] = wins[points[groups[arm]]], losses[points[groups[arm]]]
