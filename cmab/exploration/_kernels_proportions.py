"""Proportions of samples that identify the best arm soonest, if the empirical means are the true means."""

import numpy as np

from cmab.compiled import kernel
from cmab.exploration._kernels_evidence import divergence

# Bernoulli means are kept at least this far from 0 and 1, where a single outcome would be infinite evidence.
_EDGE = 1e-9


@kernel
def _share_equally(means, out, apart):
    """Give all samples to the arms that are at most `apart` from the best."""
    top = means.max()
    for i in range(means.shape[0]):
        out[i] = 1.0 if means[i] >= top - apart else 0.0
    out /= out.sum()


@kernel
def gaussian_proportions(means, epsilon, out):
    """Write the optimal proportions of samples to find the best Gaussian arm; tied best arms share all.

    Garivier and Kaufmann (COLT 2016), Theorem 5, for Gaussian arms. Let z be 2y / (least gap)^2, and r_a the
    squared gap of arm a divided by the least squared gap. The ratio of the samples of arm a to those of the
    best arm is ``x_a = z / (r_a - z)``. The optimality condition is ``sum x_a^2 = 1``. A tolerance is added
    to each gap.
    """
    leader, least = int(np.argmax(means)), np.inf
    top = means[leader] + epsilon
    for i in range(means.shape[0]):
        if i != leader:
            least = min(least, (top - means[i]) ** 2)
    if least == 0.0:
        _share_equally(means, out, 0.0)
        return
    z = 0.5  # here the ratio of the closest arm is 1, so z is at or to the right of the root
    for _ in range(60):
        # Newton's method from the right of the root. The function is convex, so the iterates decrease to it.
        total, slope = -1.0, 0.0
        for i in range(means.shape[0]):
            if i != leader:
                ratio = (top - means[i]) ** 2 / least
                total += (z / (ratio - z)) ** 2
                slope += 2.0 * z * ratio / (ratio - z) ** 3
        if total <= 1e-14:
            break
        z -= total / slope
    for i in range(means.shape[0]):
        ratio = (top - means[i]) ** 2 / least
        out[i] = 1.0 if i == leader else z / (ratio - z)
    out /= out.sum()


@kernel
def _cost_at(x, top, mean, epsilon):
    """Return the ratio r of rival samples to best-arm samples at which x is the nearest mean, and two costs.

    At this r, the derivative of ``kl(top, x) + r kl(mean, x + epsilon)`` is 0. The costs are these two
    divergences.
    """
    y = min(x + epsilon, 1.0)
    ratio = (top - x) / (x * (1.0 - x)) * (y * (1.0 - y)) / (y - mean)
    return ratio, divergence(top, x), divergence(mean, y)


@kernel
def _mean_of_cost(cost, top, mean, epsilon):
    """Return the x at which the evidence against a rival is `cost`; the evidence decreases in x."""
    left, right = max(0.0, mean - epsilon), min(top, 1.0 - epsilon)
    x = 0.5 * (left + right)
    for _ in range(60):
        ratio, own, other = _cost_at(x, top, mean, epsilon)
        missing = own + ratio * other - cost
        left, right = (x, right) if missing > 0.0 else (left, x)
        # A Newton step if it stays inside the interval. By the envelope theorem, the evidence grows by
        # `other` per sample of the rival, and `slope` is the derivative of ln(ratio).
        y = min(x + epsilon, 1.0)
        slope = 1.0 / (1.0 - x) - 1.0 / x - 1.0 / (top - x) + 1.0 / y - 1.0 / (1.0 - y) - 1.0 / (y - mean)
        step = missing / (ratio * other * slope) if ratio * other > 0.0 else np.inf
        if abs(step) <= 1e-9 * x:  # the next step would be of the order of the square of this step
            return x - step
        x = x - step if left < x - step < right else 0.5 * (left + right)
    return x


@kernel
def coin_proportions(means, epsilon, out):
    """Write the optimal proportions of samples to find the best Bernoulli arm; tied best arms share all.

    Garivier and Kaufmann (COLT 2016), Theorem 5: at the optimum, the evidence against every rival is the same
    y, and the sum of ``kl(top, x_a) / kl(m_a, x_a + epsilon)`` is 1. This sum increases in y.
    """
    leader, n = int(np.argmax(means)), means.shape[0]
    top, rival = min(max(means[leader], _EDGE), 1.0 - _EDGE), -np.inf
    for i in range(n):
        if i != leader:
            rival = max(rival, min(max(means[i], _EDGE), 1.0 - _EDGE))
    if rival - epsilon >= top or epsilon >= 1.0:
        _share_equally(means, out, 0.0)
        return
    # For any number of samples of a rival, the evidence is at most kl(top, m_a - epsilon).
    low, high = 0.0, divergence(top, rival - epsilon) if rival > epsilon else divergence(top, _EDGE)
    for _ in range(60):
        cost, total = 0.5 * (low + high), 0.0
        for i in range(n):
            if i != leader:
                mean = min(max(means[i], _EDGE), 1.0 - _EDGE)
                _, own, other = _cost_at(_mean_of_cost(cost, top, mean, epsilon), top, mean, epsilon)
                total += own / other if other > 0.0 else np.inf
        low, high = (cost, high) if total < 1.0 else (low, cost)
    for i in range(n):
        mean = min(max(means[i], _EDGE), 1.0 - _EDGE)
        x = _mean_of_cost(0.5 * (low + high), top, mean, epsilon)
        out[i] = 1.0 if i == leader else max(0.0, _cost_at(x, top, mean, epsilon)[0])
    total = out.sum()
    if total < np.inf:
        out /= total
    else:  # Means that differ only by rounding give 0 / 0.
        _share_equally(means, out, 1e-7)
