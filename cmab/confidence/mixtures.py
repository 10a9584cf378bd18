"""Relative-entropy confidence sequences from a mixture of likelihoods, valid for all counts at once."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.statistics import ArmStatistics
from cmab.validation import interval, real

#: Bounds are widened by this share of the support, which exceeds the rounding errors of means and bounds.
_ROUNDING = 1e-12


def anytime_kl_bounds(
    state: ArmStatistics, *, level: float, support: tuple[float, float] = (0.0, 1.0)
) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds on the means by relative entropy that hold for all counts at once.

    With probability at least ``1 - level``, the expectation of an arm is never below its lower bound, at any
    time and for every distribution on `support`. The same holds for its upper bound.

    Parameters
    ----------
    state : ArmStatistics
        The counts and means of the arms.
    level : float
        Probability of failure on one side of one arm, in (0, 1).
    support : tuple of float
        Interval of the outcomes.

    Returns
    -------
    tuple of FloatArray, shape (n_arms,)
        The lower and the upper bounds, in the unit of the outcomes. They are the ends of `support` for an arm
        without outcomes.

    Raises
    ------
    ValueError
        If `level` or `support` is out of its range.

    Notes
    -----
    For outcomes X in [0, 1] with expectation m, the ratio ``(p / m)^X ((1 - p) / (1 - m))^(1 - X)`` is convex
    in X, so its expectation is at most 1 for every p. The product over n outcomes, averaged over p with
    Jeffreys' prior Beta(1/2, 1/2), is therefore a nonnegative supermartingale. By Ville's inequality, it ever
    exceeds ``1 / level`` with probability at most `level`. Its logarithm is ``n kl(mean, m) - price``, where
    `mixture_price` is about ``ln(n) / 2 + 0.6``.

    For the upper bound, only the values p below m matter. The values above m contribute at most their prior
    probability ``1 - P``, because the likelihood decreases above m. The average over the values below m thus
    exceeds ``1 / level`` if the average over all values exceeds ``P / level + 1 - P``.

    Examples
    --------
    >>> from cmab import ArmStatistics, Feedback
    >>> from cmab.confidence import anytime_kl_bounds
    >>> state = ArmStatistics.empty(2)
    >>> state.update(Feedback([0, 1], [100.0, 1.0], pulls=[1000, 10]))
    >>> lower, upper = anytime_kl_bounds(state, level=0.01)
    >>> lower.round(3), upper.round(3)
    (array([0.066, 0.   ]), array([0.139, 0.6  ]))

    References
    ----------
    H. Robbins: Statistical methods related to the law of the iterated logarithm, Annals of Mathematical
    Statistics 41 (1970); R. Krichevsky, V. Trofimov: The performance of universal encoding, IEEE Transactions
    on Information Theory 27 (1981), for the price (both from memory; proven above).
    """
    low, high = interval("support", support)
    level = real("level", level, 0.0, 1.0, inside=True)
    shares = shares_of(state.means, low, high)
    below, above = share_bounds(state.counts, shares, level)
    return low + (high - low) * below, low + (high - low) * above


def shares_of(means: FloatArray, low: float, high: float) -> FloatArray:
    """Return the positions of the means in the support, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.confidence.mixtures import shares_of
    >>> shares_of(np.array([-1.0, 0.5]), -1.0, 1.0)
    array([0.  , 0.75])
    """
    return np.clip((means - low) / (high - low), 0.0, 1.0)


def mixture_price(counts: IntArray, shares: FloatArray) -> FloatArray:
    """Return the largest log-likelihood of each arm less its average over Jeffreys' prior, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.confidence.mixtures import mixture_price
    >>> mixture_price(np.array([0, 1, 100]), np.array([0.5, 1.0, 0.5])).round(3)
    array([0.   , 0.693, 2.531])
    """
    from scipy.special import betaln, xlog1py, xlogy

    sums = counts * shares
    rest = counts - sums
    largest = xlogy(sums, shares) + xlog1py(rest, -shares)
    prices: FloatArray = np.maximum(largest - betaln(sums + 0.5, rest + 0.5) + math.log(math.pi), 0.0)
    return prices


def share_bounds(counts: IntArray, shares: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return `anytime_kl_bounds` for means in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.confidence.mixtures import share_bounds
    >>> low, high = share_bounds(np.array([0, 10]), np.array([0.0, 0.5]), 0.01)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.086]), array([1.   , 0.914]))
    """
    prices = mixture_price(counts, shares)
    below = 1.0 - _uppers(counts, 1.0 - shares, prices, level)
    return below, _uppers(counts, shares, prices, level)


def _uppers(counts: IntArray, shares: FloatArray, prices: FloatArray, level: float) -> FloatArray:
    """Return the upper bounds on the expectations of outcomes in [0, 1]."""
    from cmab.confidence._kernels_kl import kl_uppers_of

    means, uppers = np.ascontiguousarray(shares), np.empty(len(shares))
    counted = np.maximum(counts, 1)
    log = np.full(len(shares), -math.log(level))
    for _ in range(2):
        kl_uppers_of(means, (log + prices) / counted, uppers)
        # The prior probability of the values below the first bound, by the arcsine law. Expectations above
        # the first bound are rejected already. The probability is larger for them than for smaller ones.
        below = 2.0 / math.pi * np.arcsin(np.sqrt(np.clip(uppers, 0.0, 1.0)))
        log = -math.log(level) + np.log(below + level * (1.0 - below))
    return np.where(counts > 0, np.minimum(uppers + _ROUNDING, 1.0), 1.0)
