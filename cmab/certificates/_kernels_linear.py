"""The largest value of one arm of the optimum in the Lagrangian of the joint confidence set."""

import math

import numpy as np

from cmab.compiled import lean_kernel

#: An expectation is rounded by at most this amount.
ROUNDING = 1e-12


@lean_kernel
def divergence(p, q):
    """Return the relative entropy of Bernoulli variables, at least 0."""
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q) if q > 0.0 else np.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else np.inf
    return max(total, 0.0)


@lean_kernel
def values_inside(multiplier, factors, counts, shares, prices, free, lower, upper, out):
    """Write the largest value of ``factor y - multiplier cost(y)`` of each arm over y in its interval.

    The cost is ``max(count kl(share, y) - price, 0) - ln 2``, and 0 for every y if `multiplier` is 0.
    """
    for i in range(out.shape[0]):
        factor = factors[i]
        if factor <= 0.0 or multiplier == 0.0:
            best = lower[i] if factor <= 0.0 else upper[i]
            out[i] = factor * best + multiplier * math.log(2.0)
            continue
        weight = multiplier * counts[i]
        # The derivative of  factor y - weight kl(share, y)  is zero where  factor y^2 + (weight - factor) y -
        # weight share = 0.  Of two forms of the root, the one without cancellation is used.
        rest = weight - factor
        root = math.sqrt(rest * rest + 4.0 * factor * weight * shares[i])
        best = 2.0 * weight * shares[i] / (rest + root) if rest > 0.0 else (root - rest) / (2.0 * factor)
        # Up to `free`, an expectation has the least cost. At 1 the entropy is infinite, so the root must not
        # be rounded to 1.
        best = min(max(best, free[i]), min(upper[i], max(free[i], 1.0 - ROUNDING)))
        cost = 0.0
        if counts[i] > 0:
            cost = counts[i] * divergence(shares[i], best) - prices[i]
            # Without the cost, the value is larger. It is infinite only if `free` was rounded to 1.
            cost = cost if 0.0 < cost < np.inf else 0.0
        out[i] = factor * (best + ROUNDING) - multiplier * (cost - math.log(2.0))
