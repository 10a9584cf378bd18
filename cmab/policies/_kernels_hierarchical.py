"""Thompson sampling with a learned prior: for each group, a posterior over a grid of Beta distributions.

`memory` holds the log weights of the points of the grid, group by group, then the sum of the outcomes of each
arm, then the number of outcomes of each arm.
"""

import math

import numpy as np

from cmab.compiled import index_kernel, lean_kernel, learn_kernel
from cmab.policies.thompson import MANY_ARMS, power_draw

#: Positions in `reals`. From GRID on follow the successes of each point of the grid, its failures, the group
#: of each arm, and the arms sorted by group.
LOW, HIGH, GROUPS, POINTS, GRID = range(5)
#: The number of outcomes whose arms are read at the same time.
AHEAD = 32


@lean_kernel
def share_of(outcome, reals):
    """Return the outcome as a fraction of the support, clipped to [0, 1]."""
    return float(min(max((outcome - reals[LOW]) / (reals[HIGH] - reals[LOW]), 0.0), 1.0))


@lean_kernel
def read_ahead(arms, first, n, groups, sums):
    """Read the numbers of the arms of the next AHEAD outcomes, and return their sum, which is not negative.

    Among millions of arms, these numbers are not in the cache. The processor reads them at the same time
    here, and one after the other if it updates the weights of the grid in between.
    """
    total, m = 0.0, sums.shape[0] // 2
    for j in range(first, min(first + AHEAD, n)):
        total += groups[arms[j]] + sums[arms[j]] + sums[m + arms[j]]
    return total


@learn_kernel
def learn_grid(arms, n, outcomes, t, reals, memory):
    """Multiply the weight of each point by the likelihood of each outcome under this point."""
    n_points = int(reals[POINTS])
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points :]
    sums = memory[int(reals[GROUPS]) * n_points :]
    m = sums.shape[0] // 2
    groups = reals[GRID + 2 * n_points :]
    for j in range(n):
        if j % AHEAD == 0 and read_ahead(arms, j, n, groups, sums) < 0.0:
            break  # never, but without this test the compiler would omit the reading
        arm, x = arms[j], share_of(outcomes[j], reals)
        won, count = sums[arm], sums[m + arm]
        lost = count - won
        weights = memory[int(groups[arm]) * n_points :]
        if x == 1.0:
            for p in range(n_points):
                # B(a + s + 1, b + n - s) / B(a + s, b + n - s) = (a + s) / (a + b + n).
                weights[p] += math.log((wins[p] + won) / (wins[p] + losses[p] + count))
        elif x == 0.0:
            for p in range(n_points):
                weights[p] += math.log((losses[p] + lost) / (wins[p] + losses[p] + count))
        else:
            for p in range(n_points):
                a, b = wins[p] + won, losses[p] + lost
                # B(a + x, b + 1 - x) / B(a, b): the likelihood p^x (1 - p)^(1 - x).
                gained = math.lgamma(a + x) - math.lgamma(a) + math.lgamma(b + 1.0 - x) - math.lgamma(b)
                weights[p] += gained - math.log(a + b)
        sums[arm] += x
        sums[m + arm] += 1.0


@lean_kernel
def largest(log_weights, n_points):
    """Return the largest of the first `n_points` log weights."""
    most = -np.inf
    for p in range(n_points):
        most = max(most, log_weights[p])
    return most


@lean_kernel
def drawn_point(log_weights, n_points, uniform):
    """Return a random point of the grid, drawn by its weight."""
    most, total, last = largest(log_weights, n_points), 0.0, 0
    for p in range(n_points):
        total += math.exp(log_weights[p] - most)
    left = uniform * total
    for p in range(n_points):
        weight = math.exp(log_weights[p] - most)
        last = p if weight > 0.0 else last  # by rounding, `left` may stay positive to the end
        left -= weight
        if left < 0.0:
            break
    return last


@index_kernel
def hierarchical_draws(counts, means, deviations, memory, t, reals, rng, out):
    """Draw a point of the grid for each group, then an index for each arm from its posterior."""
    m, n_points, length = counts.shape[0], int(reals[POINTS]), reals[HIGH] - reals[LOW]
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points :]
    groups, order = reals[GRID + 2 * n_points :], reals[GRID + 2 * n_points + m :]
    group, p = -1, 0
    for place in range(m):
        arm = int(order[place])
        if int(groups[arm]) != group:
            group = int(groups[arm])
            if n_points > 1:  # with one point nothing is drawn, so that the rule equals CTS bit for bit
                p = drawn_point(memory[group * n_points :], n_points, rng.random())
        out[arm] = p
    for i in range(m):
        mean, p = share_of(means[i], reals), int(out[i])
        a, b = wins[p] + counts[i] * mean, losses[p] + counts[i] * (1.0 - mean)
        if m >= MANY_ARMS and (a == 1.0 or b == 1.0):  # as in CTS
            theta = rng.random() if a == b else power_draw(a, b, rng.standard_exponential())
        else:
            theta = rng.beta(a, b)
        out[i] = reals[LOW] + length * theta
