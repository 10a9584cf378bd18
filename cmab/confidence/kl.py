"""Confidence bounds on Bernoulli means by relative entropy: always in [0, 1], and narrow near 0 and 1."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import integer, per_arm, real, vector

#: Two means are close if they differ by less than this share of p and of 1 - p.
_CLOSE = 1e-3


def bernoulli_divergence(p: float, q: float) -> float:
    """Return the relative entropy ``kl(p, q)`` of Bernoulli(p) to Bernoulli(q).

    The arguments must lie in [0, 1]. They are not checked, because searches call this function in their inner
    loops.

    Examples
    --------
    >>> from cmab.confidence.kl import bernoulli_divergence
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
    >>> from cmab.confidence.kl import kl_bounds
    >>> lower, upper = kl_bounds([0.0, 0.5, 1.0], 10, rate=2.0)
    >>> lower.round(3), upper.round(3)
    (array([0.   , 0.213, 0.819]), array([0.181, 0.787, 1.   ]))

    References
    ----------
    E. Kaufmann, S. Kalyanakrishnan: Information Complexity in Bandit Subset Selection, COLT 2013.
    """
    from cmab.confidence._kernels_kl import kl_bounds_of

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
    >>> from cmab.confidence.kl import kl_rate
    >>> round(kl_rate(10, t=100, delta=0.1), 4)
    18.4281

    References
    ----------
    E. Kaufmann, S. Kalyanakrishnan: Information Complexity in Bandit Subset Selection, COLT 2013, Theorem 1
    (from memory, confirmed by the constant in public code).
    """
    from cmab.confidence._kernels_kl import kl_lucb_rate

    n_arms, t = integer("n_arms", n_arms, 1), integer("t", t, 1)
    return float(kl_lucb_rate(n_arms, t, real("delta", delta, 0.0, 1.0, inside=True)))
