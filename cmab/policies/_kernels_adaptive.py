"""Thompson sampling that learns its prior, the dispersion of outcomes, and draws its level of exploration.

`memory` holds the weights of the points of the grid, group by group, then the sum of the outcomes of each
arm, then the number of outcomes of each arm. `reals` has the layout of `HierarchicalCTS`.
"""

import math

from cmab.compiled._kernels import lean_kernel
from cmab.compiled._kernels_signatures import index_kernel, learn_kernel
from cmab.policies._kernels_hierarchical import GRID, GROUPS, HIGH, LOW, POINTS, share_of
from cmab.policies._kernels_ties import break_ties

# The number of pseudo-observations with dispersion 1.
_CAUTION = 5.0
# A sum of weights below this value is scaled to 1, and no weight is then below the second value.
_SMALL, _LEAST = 1e-100, 1e-150
_GOLDEN = 0.6180339887498949


@learn_kernel
def learn_weights(arms, n, outcomes, t, reals, memory):
    """Multiply the weight of each point by the probability of each outcome under this point."""
    n_points = int(reals[POINTS])
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points : GRID + 2 * n_points]
    sums = memory[int(reals[GROUPS]) * n_points :]
    m = sums.shape[0] // 2
    groups = reals[GRID + 2 * n_points :]
    for j in range(n):
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
    # B(a + s + 1, b + n - s) / B(a + s, b + n - s) = (a + s) / (a + b + n). The grid has four values of a + b,
    # which alternate. Written out, the compiler vectorises the loop.
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
    total, last = 0.0, 0
    for p in range(n_points):
        total += weights[p]
    left = uniform * total
    for p in range(n_points):
        last = p if weights[p] > 0.0 else last  # by rounding, `left` may stay positive to the end
        left -= weights[p]
        if left < 0.0:
            break
    return last


@lean_kernel
def dispersion(counts, means, deviations, low, length):
    """Return the pooled variance of the outcomes, divided by that of coins of the same means; at most 1."""
    degrees, spread, coins = 0.0, 0.0, 0.0
    scale = 1.0 / length
    for i in range(counts.shape[0]):
        n = counts[i]
        if n > 1:
            share = min(max((means[i] - low) * scale, 0.0), 1.0)
            squares = deviations[i] * scale * scale
            degrees += n - 1.0
            spread += squares
            # For coins this is `squares` itself, because the squares of their outcomes are the outcomes.
            coins += (n - 1.0) * share * (1.0 - share) + squares / n
    # The sums are nan if a batch came without its squares.
    ratio = min(spread / coins, 1.0) if coins > 0.0 and spread >= 0.0 else 1.0
    return (degrees * ratio + _CAUTION) / (degrees + _CAUTION)


@index_kernel
def adaptive_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Draw from each arm's posterior, and move the draw towards the posterior mean if the arm is well known."""
    m, n_points, low, length = counts.shape[0], int(reals[POINTS]), reals[LOW], reals[HIGH] - reals[LOW]
    wins, losses = reals[GRID : GRID + n_points], reals[GRID + n_points :]
    groups, order = reals[GRID + 2 * n_points :], reals[GRID + 2 * n_points + m :]
    tuning = order[m:]
    weight, total = 1.0 / dispersion(counts, means, deviations, low, length), 0.0
    for i in range(m):
        total += counts[i]
    average, scale = tuning[2] * total / m, 1.0 / length
    rate = 1.0 / math.log(average + 3.0)
    level = tuning[1] + (1 - tuning[1]) * rng.random()
    group, p = -1, 0
    for place in range(m):
        arm = int(order[place])
        if int(groups[arm]) != group:
            group = int(groups[arm])
            p = point_at(memory[group * n_points :], n_points, rng.random())
        n, share = weight * counts[arm], min(max((means[arm] - low) * scale, 0.0), 1.0)
        a, b = wins[p] + n * share, losses[p] + n * (1.0 - share)
        theta = a / (a + b)
        v = tuning[0]
        if counts[arm] < average:
            v += (1.0 - tuning[0]) * min(1.0, math.log(average / max(counts[arm], 0.5)) * rate)
        if v > 0.0:
            theta += level * math.sqrt(v) * (rng.beta(a, b) - theta)
        out[arm] = low + length * theta
    break_ties(counts, low, reals[HIGH], rng, out)
