"""Confidence bounds on Bernoulli means by relative entropy: always in [0, 1], and narrow near 0 and 1."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import kernel, lean_kernel
from cmab.validation import integer, per_arm, real, vector


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


#: Two means are close if they differ by less than this share of p and of 1 - p.
_CLOSE = 1e-3


@lean_kernel
def divergence(p, q):
    """Return the relative entropy of Bernoulli(p) to Bernoulli(q), which may be infinite if q is 0 or 1."""
    total = 0.0
    if p > 0.0:
        total += p * math.log(p / q) if q > 0.0 else np.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else np.inf
    return max(total, 0.0)


def bernoulli_divergence(p: float, q: float) -> float:
    """Return the relative entropy ``kl(p, q)`` of Bernoulli(p) to Bernoulli(q).

    The arguments must lie in [0, 1]. They are not checked, because searches call this function in their inner
    loops.

    Examples
    --------
    >>> from cmab.bounds.kl import bernoulli_divergence
    >>> bernoulli_divergence(0.5, 0.5), bernoulli_divergence(0.5, 1.0)
    (0.0, inf)
    """
    gap = q - p
    if 0.0 < abs(gap) < _CLOSE * min(p, 1.0 - p):
        # The terms of first order in the gap cancel, which would lose digits in the formula below.
        return max(0.0, -p * math.log1p(gap / p) - (1.0 - p) * math.log1p(-gap / (1.0 - p)))
    total = 0.0
    # Both terms have the same form. They are written out because searches call this function in their inner
    # loops. By convention 0 ln 0 = 0.
    if p > 0.0:
        total += p * math.log(p / q) if q > 0.0 else math.inf
    if p < 1.0:
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf
    return total


def kl_bounds(means: ArrayLike, counts: IntArray | int, *, rate: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the interval of each arm: all q with ``T kl(mean, q) <= rate``.

    The outcomes must lie in [0, 1]. After a fixed number of outcomes, each of the two bounds fails with
    probability at most ``exp(-rate)``.

    Parameters
    ----------
    means : array_like, shape (n_arms,)
        Empirical means, in [0, 1].
    counts : IntArray, shape (n_arms,)
        Number of outcomes T of each arm, or one number for all arms. If it is 0, the interval is [0, 1].
    rate : float
        Exploration rate, nonnegative.

    Returns
    -------
    lower, upper : FloatArray, shape (n_arms,)

    Raises
    ------
    ValueError
        If a mean is outside [0, 1], or a count or `rate` is negative.

    Examples
    --------
    >>> from cmab.bounds.kl import kl_bounds
    >>> lower, upper = kl_bounds([0.0, 0.5, 1.0], 10, rate=2.0)
    >>> lower.round(3), upper.round(3)
    (array([0.   , 0.213, 0.819]), array([0.181, 0.787, 1.   ]))

    References
    ----------
    E. Kaufmann, S. Kalyanakrishnan: Information Complexity in Bandit Subset Selection, COLT 2013.
    """
    array = vector("means", means, low=0.0, high=1.0)
    lower, upper = np.empty(len(array)), np.empty(len(array))
    whole = per_arm("counts", counts, len(array), 0.0, 2.0**62).astype(np.int64)
    kl_bounds_of(array, whole, real("rate", rate, 0.0), lower, upper)
    return lower, upper


def kl_rate(n_arms: int, t: int, *, delta: float) -> float:
    """Return KL-LUCB's exploration rate in round `t`: ``l + ln l`` with ``l = ln(405.5 N t^1.1 / delta)``.

    With ``t^a`` in this formula, the theorem requires a factor above ``2e + 1 + e / (a - 1) + (e + 1) / (a -
    1)^2``, which is 405.45 for a = 1.1.

    Parameters
    ----------
    n_arms : int
        Number of arms N.
    t : int
        Round, at least 1.
    delta : float
        Probability of failure, in (0, 1).

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab.bounds.kl import kl_rate
    >>> round(kl_rate(10, t=100, delta=0.1), 4)
    18.4281

    References
    ----------
    E. Kaufmann, S. Kalyanakrishnan: Information Complexity in Bandit Subset Selection, COLT 2013, Theorem 1
    (from memory, confirmed by the constant in public code).
    """
    n_arms, t = integer("n_arms", n_arms, 1), integer("t", t, 1)
    return float(kl_lucb_rate(n_arms, t, real("delta", delta, 0.0, 1.0, inside=True)))
