"""BarrierFTRL: marginal probabilities under a logarithmic barrier, and predicted loss estimates.

`memory` has five parts of m numbers each, and one number: the estimated cumulative losses, the marginals of
the next round, the squared learning rates, the predicted losses, the numbers of observations, and the
multiplier.
"""

import math

import numpy as np

from cmab.compiled._kernels import lean_kernel
from cmab.compiled._kernels_signatures import index_kernel, learn_kernel

#: Positions in `reals`: the size of a super arm, 1 or -1, the ends of the support, the logarithm of the
#: horizon (0: that of the round), the step of the predictions (0: means).
SIZE, SIGN, LOW, HIGH, LOG_HORIZON, STEP = range(6)
_STEPS = 200
_CLOSE = 1e-13


@lean_kernel
def barrier_share(level, gamma, start):
    """Return the x in (0, 1) at which the barrier's derivative is `level`, by safeguarded Newton steps."""
    low, high, x = 0.0, 1.0, start
    for _ in range(_STEPS):
        # Tsuchiya et al. (2023): phi(x) = x - 1 - ln x + gamma (x + (1 - x) ln(1 - x)).
        excess = 1.0 - 1.0 / x - gamma * math.log1p(-x) - level
        if excess > 0.0:
            high = x
        else:
            low = x
        step = excess / (1.0 / (x * x) + gamma / (1.0 - x))
        # The derivative is nearly linear in 1 / x if x is small, so the step is then one of 1 / x.
        ratio = 1.0 + step / x
        following = x / ratio if x < 0.5 and ratio > 0.0 else x - step
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - x) <= _CLOSE * x or following >= 1.0 or following <= 0.0:
            return x
        x = following
    return x


@lean_kernel
def next_in_bracket(x, newton, low, high, step):
    """Return ``x + newton`` if that lies between `low` and `high`, otherwise a point that narrows these."""
    if low < x + newton < high:
        return x + newton
    if low > -np.inf and high < np.inf:
        return 0.5 * (low + high)
    # Double the step until both ends of the bracket are known.
    return x + math.copysign(2.0**step, newton)


@lean_kernel
def barrier_marginals(losses, predicted, squares, k, gamma, multiplier, out):
    """Replace the earlier marginals in `out` by the minimisers with sum k; return their multiplier.

    They minimise the sum of ``(losses + predicted) x + sqrt(squares) phi(x)``.
    """
    m = losses.shape[0]
    if k >= m:
        out[:] = 1.0
        return 0.0
    # The sum increases in the multiplier, and Newton's steps are bracketed.
    low, high = -np.inf, np.inf
    for step in range(_STEPS):
        total, change = 0.0, 0.0
        for i in range(m):
            rate = math.sqrt(squares[i])
            x = barrier_share((multiplier - losses[i] - predicted[i]) / rate, gamma, out[i])
            out[i] = x
            total += x
            change += 1.0 / (rate * (1.0 / (x * x) + gamma / (1.0 - x)))
        if abs(total - k) <= 1e-11 * k:
            break
        if total > k:
            high = multiplier
        else:
            low = multiplier
        following = next_in_bracket(multiplier, (k - total) / change, low, high, step)
        if following == multiplier:
            break
        multiplier = following
    return multiplier


@lean_kernel
def systematic_draw(rng, k, sign, out):
    """Replace marginals with sum k by `sign` for k drawn arms and 0 for the others.

    The marginals are intervals side by side, beginning with a random arm, and k marks at unit distance have a
    random offset. Arm i contains at most one mark, with probability x_i.
    """
    m = out.shape[0]
    offset, first = rng.random(), int(rng.random() * m)
    reached, marks = 0.0, 0.0
    for j in range(m):
        i = (first + j) % m
        reached = k if j == m - 1 else reached + out[i]
        passed = math.ceil(reached - offset)
        out[i] = sign if passed > marks else 0.0
        marks = passed


@index_kernel
def barrier_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Draw k arms with the marginals. Write the best index for the drawn arms and 0 for the others."""
    m = out.shape[0]
    for i in range(m):
        out[i] = memory[m + i]
    systematic_draw(rng, reals[SIZE], reals[SIGN], out)


@learn_kernel
def learn_predicted_losses(arms, n, outcomes, t, reals, memory):
    """Add the estimates of the losses of the round, and update the rates, predictions and marginals."""
    m = memory.shape[0] // 5
    losses, chances, squares = memory[:m], memory[m : 2 * m], memory[2 * m : 3 * m]
    predicted, seen = memory[3 * m : 4 * m], memory[4 * m : 5 * m]
    gamma = max(1.0, reals[LOG_HORIZON] if reals[LOG_HORIZON] > 0.0 else math.log(t + 1.0))
    for i in range(m):
        losses[i] += predicted[i]
    for j in range(n):
        i = arms[j]
        place = min(max((outcomes[j] - reals[LOW]) / (reals[HIGH] - reals[LOW]), 0.0), 1.0)
        surprise = (1.0 - place if reals[SIGN] > 0.0 else place) - predicted[i]
        x = chances[i]
        losses[i] += surprise / x
        # alpha(t) of the paper, and beta(t + 1)^2 = (1 + epsilon)^2 + sum of alpha / gamma.
        alpha = surprise * surprise * min(1.0, 2.0 * (1.0 - x) / (x * x * gamma))
        squares[i] += alpha / gamma
        seen[i] += 1.0
        predicted[i] += surprise * (reals[STEP] if reals[STEP] > 0.0 else 1.0 / (seen[i] + 1.0))
    least = np.inf
    for loss in losses:
        least = min(least, loss)
    for i in range(m):
        # Equal shifts of all losses do not change the marginals. Small numbers have small rounding errors.
        losses[i] -= least
    memory[5 * m] = barrier_marginals(losses, predicted, squares, reals[SIZE], gamma, memory[5 * m], chances)
