"""Compiled bounds on a Bernoulli mean by relative entropy."""

import math

import numpy as np

from cmab.compiled import kernel, lean_kernel


@lean_kernel
def kl_upper(mean, level):
    """Return the largest q in [mean, 1] with relative entropy ``kl(mean, q) <= level``.

    The function applies Newton's method from above. The entropy is convex in q, so no step passes the root.
    """
    # kl(0, q) = -ln(1 - q) has a closed solution. From a mean of 1 on, or at level 0, q is the mean.
    if mean <= 0.0:
        return -math.expm1(-level)
    if mean >= 1.0 or level <= 0.0:
        return min(mean, 1.0)
    rest = 1.0 - mean
    own = mean * math.log(mean) + rest * math.log(rest)
    # The start is the smaller of two upper bounds: Pinsker's bound, and the bound without the term in ln q,
    # whose 1 - q is within a factor e of the solution's.
    q = min(mean + math.sqrt(0.5 * level), -math.expm1((own - level) / rest))
    if q >= 1.0:
        return 1.0
    # Newton's step for kl(mean, q) = level. The derivative in q is (q - mean) / (q (1 - q)). The function is
    # convex above the mean, and q starts above the root, so no step passes the root.
    for _ in range(100):
        excess = own - mean * math.log(q) - rest * math.log1p(-q) - level
        step = excess * q * (1.0 - q) / (q - mean)
        if not step > 1e-16 or q - step <= mean:
            break
        q -= step
    return q


@lean_kernel
def kl_lower(mean, level):
    """Return the least q in [0, mean] with relative entropy ``kl(mean, q) <= level``."""
    # kl(p, q) = kl(1 - p, 1 - q).
    return 1.0 - kl_upper(1.0 - mean, level)


@kernel
def kl_lucb_rate(n_arms, t, delta):
    """Return KL-LUCB's exploration rate in round `t`, at alpha = 1.1 and k1 = 405.5."""
    # Kaufmann and Kalyanakrishnan (COLT 2013), Theorem 1 (from memory): with x = k1 N t^alpha / delta the
    # rate is ln x + ln ln x. The logarithm is the sum of two parts because x itself may overflow.
    log = math.log(405.5 * n_arms / delta) + 1.1 * math.log(t)
    return log + math.log(log)


@kernel
def heuristic_rate(samples, delta):
    """Return ``ln((1 + ln t) / delta)``, the rate in the experiments of Garivier and Kaufmann (COLT 2016)."""
    return math.log((1.0 + math.log(samples)) / delta)


@kernel
def kl_bounds_of(means, counts, rate, lower, upper):
    """Write the two ends of ``T kl(mean, q) <= rate`` for every arm; they are 0 and 1 without outcomes."""
    for i in range(means.shape[0]):
        level = rate / counts[i] if counts[i] > 0 else np.inf
        lower[i], upper[i] = kl_lower(means[i], level), kl_upper(means[i], level)


@kernel
def kl_uppers_of(means, levels, out):
    """Write `kl_upper` of every mean at its own level to `out`."""
    for i in range(means.shape[0]):
        out[i] = kl_upper(means[i], levels[i])
