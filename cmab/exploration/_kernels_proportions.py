"""Proportions of samples that tell the best arm from the others soonest, if the means are the true ones."""

import numpy as np

from cmab.compiled._kernels import kernel
from cmab.exploration._kernels_evidence import divergence

# Means of coins are held this far from 0 and 1, where one outcome of the other kind would prove everything.
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
    """Write the optimal proportions of samples for the best of Gaussian arms; arms tied for it share them.

    Garivier and Kaufmann (COLT 2016), Theorem 5, for Gaussian arms: with z = 2y / (least gap)^2
    and r_a the squared gap over the least one, the ratio of arm a's samples to the best arm's is
    ``x_a = z / (r_a - z)``, and the condition of optimality is ``sum x_a^2 = 1``. A tolerance adds to gaps.
    """
    leader, least = int(np.argmax(means)), np.inf
    top = means[leader] + epsilon
    for i in range(means.shape[0]):
        if i != leader:
            least = min(least, (top - means[i]) ** 2)
    if least == 0.0:
        _share_equally(means, out, 0.0)
        return
    z = 0.5  # where the closest arm's own share is 1: at or beyond the root of a convex function
    for _ in range(60):
        # Newton's steps from the right of the root of a convex function: they fall to it.
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
    """Return the samples of a rival for each of the best arm's at which `x` is its nearest mean, and costs.

    Where the derivative of ``kl(top, x) + r kl(mean, x + epsilon)`` is 0; the costs are those two.
    """
    y = min(x + epsilon, 1.0)
    ratio = (top - x) / (x * (1.0 - x)) * (y * (1.0 - y)) / (y - mean)
    return ratio, divergence(top, x), divergence(mean, y)


@kernel
def _mean_of_cost(cost, top, mean, epsilon):
    """Return the x at which telling a rival apart costs `cost`: the cost falls as x grows."""
    left, right = max(0.0, mean - epsilon), min(top, 1.0 - epsilon)
    x = 0.5 * (left + right)
    for _ in range(60):
        ratio, own, other = _cost_at(x, top, mean, epsilon)
        missing = own + ratio * other - cost
        left, right = (x, right) if missing > 0.0 else (left, x)
        # Newton's step where it stays inside: by the envelope theorem the cost grows by `other` for each
        # sample of the rival, and this is the derivative of their number's logarithm.
        y = min(x + epsilon, 1.0)
        slope = 1.0 / (1.0 - x) - 1.0 / x - 1.0 / (top - x) + 1.0 / y - 1.0 / (1.0 - y) - 1.0 / (y - mean)
        step = missing / (ratio * other * slope) if ratio * other > 0.0 else np.inf
        if abs(step) <= 1e-9 * x:  # the next one would be of the order of its square
            return x - step
        x = x - step if left < x - step < right else 0.5 * (left + right)
    return x


@kernel
def coin_proportions(means, epsilon, out):
    """Write the optimal proportions of samples for the best of coins; arms tied for it share them.

    Garivier and Kaufmann (COLT 2016), Theorem 5: every rival costs the same y, and at the optimum the sum of
    ``kl(top, x_a) / kl(m_a, x_a + epsilon)`` is 1, which grows with y.
    """
    leader, n = int(np.argmax(means)), means.shape[0]
    top, rival = min(max(means[leader], _EDGE), 1.0 - _EDGE), -np.inf
    for i in range(n):
        if i != leader:
            rival = max(rival, min(max(means[i], _EDGE), 1.0 - _EDGE))
    if rival - epsilon >= top or epsilon >= 1.0:
        _share_equally(means, out, 0.0)
        return
    # No number of samples makes a rival cost more than kl(top, m_a - epsilon).
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
    else:  # Means that differ by rounding alone cost 0, and 0 / 0 is no proportion.
        _share_equally(means, out, 1e-7)
