"""HybridFTRL: marginal probabilities of the arms, a draw of k arms with these marginals, and loss estimates.

`memory` holds the estimated cumulative loss of each arm, then the last marginals and their multiplier, which
are the starting values for the next marginals.
"""

import math

import numpy as np

from cmab.compiled._kernels import lean_kernel
from cmab.compiled._kernels_signatures import index_kernel, learn_kernel

#: Positions in `reals`: the size of a super arm, the factor gamma, 1 or -1, the ends of the support.
SIZE, GAMMA, SIGN, LOW, HIGH = range(5)
_STEPS = 200
_CLOSE = 1e-13


@lean_kernel
def share(slope, gamma, start):
    """Return the x in (0, 1) at which the regulariser's derivative is ``-slope``, by safeguarded Newton."""
    low, high, x = 0.0, 1.0, start
    for _ in range(_STEPS):
        # Zimmert et al. (2019): the hybrid regulariser is the sum of -sqrt(x) + gamma (1 - x) ln(1 - x).
        excess = slope - 0.5 / math.sqrt(x) - gamma * (math.log1p(-x) + 1.0)
        if excess > 0.0:
            high = x
        else:
            low = x
        step = excess / (0.25 / (x * math.sqrt(x)) + gamma / (1.0 - x))
        following = x - step
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
def marginals(losses, k, gamma, t, multiplier, out):
    """Replace the earlier marginals in `out` by those of round t; return the multiplier of their sum.

    They minimise the estimated losses plus the regulariser divided by the learning rate 1 / sqrt(t).
    """
    m = losses.shape[0]
    if k >= m:
        out[:] = 1.0
        return 0.0
    rate, least = 1.0 / math.sqrt(t), np.inf
    for loss in losses:
        least = min(least, loss)
    # The multiplier of the constraint sum = k. The sum decreases in it, and Newton's steps are bracketed.
    low, high = -np.inf, np.inf
    for step in range(_STEPS):
        total, change = 0.0, 0.0
        for i in range(m):
            x = share(rate * (losses[i] - least) + multiplier, gamma, out[i])
            out[i] = x
            total += x
            change += 1.0 / (0.25 / (x * math.sqrt(x)) + gamma / (1.0 - x))
        if abs(total - k) <= 1e-11 * k:
            break
        if total > k:
            low = multiplier
        else:
            high = multiplier
        following = next_in_bracket(multiplier, (total - k) / change, low, high, step)
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
def drawn_indices(counts, means, deviations, memory, t, reals, rng, out):
    """Draw k arms with these marginals. Write the best index for the drawn arms and 0 for the others."""
    m, k = out.shape[0], reals[SIZE]
    for i in range(m):
        out[i] = memory[m + i]
    marginals(memory[:m], k, reals[GAMMA], t, memory[2 * m], out)
    systematic_draw(rng, k, reals[SIGN], out)


@learn_kernel
def learn_losses(arms, n, outcomes, t, reals, memory):
    """Add the estimate of the loss of each observed arm."""
    m = memory.shape[0] // 2
    losses, chances = memory[:m], memory[m : 2 * m]
    memory[2 * m] = marginals(losses, reals[SIZE], reals[GAMMA], t, memory[2 * m], chances)
    for j in range(n):
        place = min(max((outcomes[j] - reals[LOW]) / (reals[HIGH] - reals[LOW]), 0.0), 1.0)
        loss = reals[SIGN] * (1.0 - 2.0 * place)
        # The "+ 1" of the authors' code makes estimates non-negative; it shifts all expected losses equally.
        losses[arms[j]] += (loss + 1.0) / chances[arms[j]]
