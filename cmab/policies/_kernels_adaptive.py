"""Thompson sampling that learns its prior and the dispersion of outcomes, and explores neglected arms.

`memory` holds the weights of the points of the grid, group by group, then the sum of the outcomes of each
arm, then the number of outcomes of each arm. `reals` has the layout of `HierarchicalCTS`.
"""

import math

from cmab.compiled import index_kernel, lean_kernel, learn_kernel
from cmab.policies._kernels_hierarchical import AHEAD, GRID, GROUPS, HIGH, LOW, POINTS, read_ahead, share_of
from cmab.policies.compiled_policy import break_ties

#: The number of degrees of freedom of the prior of a dispersion.
CAUTION = 5.0
#: The largest logarithm of the average count by which the factors of draws are divided.
LONGEST = 8.0
# A sum of weights below this value is scaled to 1, and no weight is then below the second value.
_SMALL, _LEAST = 1e-100, 1e-150
_GOLDEN = 0.6180339887498949
# In a shorter support, squared deviations lose digits or vanish, because they are below the smallest number.
_SHORTEST = 1e-140


@learn_kernel
def learn_weights(arms, n, outcomes, t, reals, memory):
    """Multiply the weight of each point by the probability of each outcome under this point."""
    n_points = int(reals[POINTS])
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points : GRID + 2 * n_points]
    sums = memory[int(reals[GROUPS]) * n_points :]
    m = sums.shape[0] // 2
    groups = reals[GRID + 2 * n_points :]
    for j in range(n):
        if j % AHEAD == 0 and read_ahead(arms, j, n, groups, sums) < 0.0:
            break  # never, but without this test the compiler would omit the reading
        arm = arms[j]
        # Successes are the sum of the outcomes, rounded down after a shift that differs between arms. The
        # sums of outcomes 0 and 1 are exact.
        shift = (arm + 1.0) * _GOLDEN % 1.0
        count, won = sums[m + arm], float(math.floor(sums[arm] + shift))
        sums[arm] += share_of(outcomes[j], reals)
        sums[m + arm] = count + 1.0
        has_won = math.floor(sums[arm] + shift) > won
        counted, seen = (wins, won) if has_won else (losses, count - won)
        first = int(groups[arm]) * n_points
        multiply(memory[first : first + n_points], wins, losses, counted, seen, count)


@lean_kernel
def multiply(weights, wins, losses, counted, seen, count):
    """Multiply the weight of each point by the probability of the next outcome of an arm."""
    # B(a + s + 1, b + n - s) / B(a + s, b + n - s) = (a + s) / (a + b + n). The grid has four
    # values of a + b, which alternate. Written out, the compiler vectorises the loop.
    first = 1.0 / (wins[0] + losses[0] + count)
    second = 1.0 / (wins[1] + losses[1] + count)
    third = 1.0 / (wins[2] + losses[2] + count)
    fourth = 1.0 / (wins[3] + losses[3] + count)
    one, two, three, four = 0.0, 0.0, 0.0, 0.0
    for p in range(0, weights.shape[0], 4):
        weights[p] *= (counted[p] + seen) * first
        weights[p + 1] *= (counted[p + 1] + seen) * second
        weights[p + 2] *= (counted[p + 2] + seen) * third
        weights[p + 3] *= (counted[p + 3] + seen) * fourth
        one += weights[p]
        two += weights[p + 1]
        three += weights[p + 2]
        four += weights[p + 3]
    total = one + two + three + four
    if total < _SMALL:
        for p in range(weights.shape[0]):
            weights[p] = max(weights[p] / total, _LEAST)


@lean_kernel
def point_at(weights, n_points, uniform):
    """Return the point of the grid at `uniform` in [0, 1) of the cumulated weights."""
    one, two, three, four, last = 0.0, 0.0, 0.0, 0.0, 0
    for p in range(0, n_points, 4):  # four sums, which do not wait for each other
        one += weights[p]
        two += weights[p + 1]
        three += weights[p + 2]
        four += weights[p + 3]
    left = uniform * (one + two + three + four)
    for p in range(n_points):
        last = p if weights[p] > 0.0 else last  # by rounding, `left` may stay positive to the end
        left -= weights[p]
        if left < 0.0:
            break
    return last


@lean_kernel
def pooled_dispersion(counts, means, deviations, low, length, coins):
    """Return the squared deviations of all arms, divided by those of coins with the same means; at most 1.

    Write the squared deviations of coins to `coins`, or 0 for arms that have no dispersion of their own.
    """
    degrees, total, unit = 0.0, 0.0, 0.0
    for i in range(counts.shape[0]):
        coins[i] = 0.0
        if counts[i] > 1 and length > _SHORTEST:
            n, share, squares = (
                float(counts[i]),
                share_at(means[i], low, length),
                deviations[i] / length / length,
            )
            # Coins have n share (1 - share) squared deviations. This is an unbiased estimate of their mean
            # for any outcomes, and for coins it is the same number.
            expected = (n - 1.0) * share * (1.0 - share) + squares / n
            if expected > 0.0:  # not for nan, if a batch came without its squares
                coins[i] = expected
                degrees += n - 1.0
                total += squares
                unit += expected
    ratio = min(total / unit, 1.0) if unit > 0.0 else 1.0
    return (degrees * ratio + CAUTION) / (degrees + CAUTION)


@lean_kernel
def share_at(value, low, length):
    """Return `value` as a fraction of the support, clipped to [0, 1]."""
    # A quotient, because a product with 1 / length is not always 1 at the upper end of the support.
    return min(max((value - low) / length, 0.0), 1.0)


@lean_kernel
def weight_of(count, share, squares, coins, pooled):
    """Return the count divided by the dispersion of an arm, whose prior is the pooled dispersion."""
    if coins == 0.0:
        # An arm whose outcomes were all at one end of the support may be a coin, whatever the others are.
        return count / pooled if 0.0 < share < 1.0 else count
    # The dispersion is ((n - 1) r + CAUTION pooled) / (n - 1 + CAUTION) with r = squares / coins.
    bounded = min(squares, coins)
    return count * (count - 1.0 + CAUTION) * coins / ((count - 1.0) * bounded + CAUTION * pooled * coins)


@lean_kernel
def factor_of(count, average, rate):
    """Return the factor, in [0, 1], of the distance of an arm's draw from its posterior mean."""
    known = max(count, 0.5)
    if known >= average:
        return 0.0
    # ln+(average / N) in place of ln t is the level of exploration of MOSS and KL-UCB++.
    return math.sqrt(min(math.log(average / known) * rate, 1.0))


@index_kernel
def adaptive_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Draw from each arm's posterior, and move the draw to the posterior mean unless the arm is neglected."""
    m, n_points, low, length = counts.shape[0], int(reals[POINTS]), reals[LOW], reals[HIGH] - reals[LOW]
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points :]
    groups, order = reals[GRID + 2 * n_points :], reals[GRID + 2 * n_points + m :]
    pooled, average = pooled_dispersion(counts, means, deviations, low, length, out), 0.0
    for i in range(m):
        average += counts[i]
    average /= m
    rate = 1.0 / min(math.log(average + 3.0), LONGEST)
    group, p = -1, 0
    for place in range(m):
        arm = int(order[place])
        if int(groups[arm]) != group:
            group = int(groups[arm])
            p = point_at(memory[group * n_points :], n_points, rng.random())
        share = share_at(means[arm], low, length)
        weight = weight_of(float(counts[arm]), share, deviations[arm] / length / length, out[arm], pooled)
        a, b = wins[p] + weight * share, losses[p] + weight * (1.0 - share)
        theta, factor = a / (a + b), factor_of(counts[arm], average, rate)
        if factor > 0.0:
            theta += factor * (rng.beta(a, b) - theta)
        out[arm] = low + length * theta
    break_ties(counts, low, reals[HIGH], rng, out)
