"""Likelihood ratios: the evidence that an arm is better than another less a tolerance, and its threshold."""

import math

import numpy as np

from cmab.compiled import kernel, lean_kernel

# The first `reals` of rules that stop by likelihood ratios: sigma of Gaussian arms (0 for Bernoulli arms),
# the constant part of the threshold, the tolerance, and 1 for the unproven threshold (0 otherwise).
SIGMA, THRESHOLD, EPSILON, HEURISTIC = range(4)


@lean_kernel
def evidence(gap, spread, sigma):
    """Return the likelihood ratio of two Gaussian arms; `spread` is the sum of their ``1 / T``.

    Z_ab(t) of Garivier and Kaufmann (COLT 2016), for Gaussian arms with the same variance.
    """
    return gap * gap / (2.0 * sigma * sigma * spread)


@lean_kernel
def divergence(p, q):
    """Return the relative entropy of Bernoulli(p) to Bernoulli(q), which may be infinite if q is 0 or 1."""
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q) if q > 0.0 else np.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else np.inf
    return max(total, 0.0)


@lean_kernel
def nearest_mean(high, low, own, other, epsilon):
    """Return the x that minimises ``own kl(high, x) + other kl(low, x + epsilon)``, a convex function.

    The minimum is between ``low - epsilon`` and `high`. The function bisects on the sign of the derivative,
    multiplied by its positive denominators.
    """
    if epsilon == 0.0:
        return (own * high + other * low) / (own + other)
    left, right = max(0.0, low - epsilon), min(high, 1.0 - epsilon)
    for _ in range(60):
        x = 0.5 * (left + right)
        # d/dx kl(p, x) = (x - p) / (x (1 - x)).
        y = x + epsilon
        slope = own * (x - high) * y * (1.0 - y) + other * (y - low) * x * (1.0 - x)
        left, right = (x, right) if slope < 0.0 else (left, x)
    return 0.5 * (left + right)


@lean_kernel
def coin_evidence(high, low, own, other, epsilon):
    """Return the likelihood ratio of two Bernoulli arms, and the part of the better arm in it.

    Z_ab(t) of Garivier and Kaufmann (COLT 2016): the least ``T_a kl(m_a, x) + T_b kl(m_b, y)`` over all means
    with ``x <= y - epsilon``. It is infinite if there are no such means.
    """
    if low - epsilon >= high:
        return 0.0, 0.0
    if epsilon >= 1.0:
        return np.inf, np.inf
    x = nearest_mean(high, low, own, other, epsilon)
    first = own * divergence(high, x)
    return first + other * divergence(low, min(x + epsilon, 1.0)), first


@kernel
def mixture_penalty(mean, count):
    """Return the logarithm of the maximum Bernoulli likelihood of the outcomes over its average.

    The average is over the Beta(1/2, 1/2) prior (Krichevsky and Trofimov 1981): ``B(S + 1/2, T - S + 1/2) /
    pi``.
    """
    wins = mean * count
    losses = count - wins
    largest = 0.0
    if wins > 0.0:
        largest += wins * math.log(wins / count)
    if losses > 0.0:
        largest += losses * math.log(losses / count)
    averaged = math.lgamma(wins + 0.5) + math.lgamma(losses + 0.5) - math.lgamma(count + 1.0)
    return largest - averaged + math.log(math.pi)


@kernel
def penalty(mean, count, reals):
    """Return the part of the threshold of a pair that depends on one of its arms."""
    if reals[HEURISTIC] != 0.0:
        return 0.0
    if reals[SIGMA] == 0.0:
        return mixture_penalty(mean, count)
    # Kaufmann and Koolen (JMLR 2021): 2 ln(4 + ln T) for each arm of the pair.
    return 2.0 * math.log(4.0 + math.log(count))


@kernel
def needed(samples, reals):
    """Return the part of the threshold of a pair that does not depend on its arms."""
    if reals[HEURISTIC] == 0.0:
        return float(reals[THRESHOLD])
    # ln((1 + ln t) / delta), as in the experiments of Garivier and Kaufmann (COLT 2016).
    return float(reals[THRESHOLD]) + math.log(1.0 + math.log(samples))


@lean_kernel
def pair_evidence(high, low, own, other, spread, reals):
    """Return the evidence that the mean of an arm is at least that of another arm minus the tolerance."""
    if reals[SIGMA] == 0.0:
        return coin_evidence(high, low, own, other, reals[EPSILON])[0]
    return evidence(max(0.0, high - low + reals[EPSILON]), spread, reals[SIGMA])
