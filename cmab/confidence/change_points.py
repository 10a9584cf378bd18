"""The generalised likelihood ratio test of a change in the mean of outcomes in [0, 1]."""

from __future__ import annotations

import functools
import math

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.validation import check_flag, integer, real, vector


def change_statistic(outcomes: ArrayLike) -> tuple[float, int]:
    """Return the evidence that the mean of `outcomes` has changed, and the most likely place of the change.

    The evidence is ``max over s of s kl(m(1:s), m(1:n)) + (n - s) kl(m(s+1:n), m(1:n))``. Here ``m(i:j)`` is
    the mean of outcomes i to j, and kl is the relative entropy of Bernoulli distributions.

    Parameters
    ----------
    outcomes : array_like, shape (n,)
        Outcomes in [0, 1], in the order of observation.

    Returns
    -------
    tuple of (float, int)
        The evidence, at least 0, and the s that attains the maximum. With fewer than two outcomes, both
        are 0.

    Raises
    ------
    ValueError
        If `outcomes` is not a vector of numbers in [0, 1].

    Examples
    --------
    >>> from cmab.confidence import change_statistic
    >>> evidence, place = change_statistic([0, 0, 0, 0, 1, 1, 1, 1])
    >>> round(evidence, 3), place
    (5.545, 4)

    References
    ----------
    L. Besson, E. Kaufmann, O.-A. Maillard, J. Seznec: Efficient Change-Point Detection for Tackling
    Piecewise-Stationary Bandits, JMLR 23 (2022), section 2.
    """
    values = vector("outcomes", outcomes, low=0.0, high=1.0)
    return largest_ratio(np.cumsum(values), np.arange(1, len(values) + 1))


def largest_ratio(sums: FloatArray, sizes: IntArray) -> tuple[float, int]:
    """Return the evidence of a change after one of `sizes` outcomes, and the most likely of these places.

    `sums` holds the sum of the first ``sizes[i]`` outcomes, and the last entry of `sizes` is the number of
    outcomes. If `sizes` is 1, 2, ..., n, the result is that of `change_statistic`.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.confidence.change_points import largest_ratio
    >>> evidence, place = largest_ratio(np.array([0.0, 0.0, 2.0, 4.0]), np.array([2, 4, 6, 8]))
    >>> round(evidence, 3), place
    (5.545, 4)
    """
    if len(sizes) < 2:
        return 0.0, 0
    n, total, before = sizes[-1], sums[-1], sizes[:-1]
    # kl(p, q) = p ln p + (1 - p) ln(1 - p) - p ln q - (1 - p) ln(1 - q), and the terms with q add up to
    # those of all outcomes. The ratio is therefore the entropy of the whole less the entropies of the parts.
    left, right = sums[:-1] / before, (total - sums[:-1]) / (n - before)
    evidence = n * _entropy(total / n) - before * _entropy(left) - (n - before) * _entropy(right)
    place = int(np.argmax(evidence))
    return max(float(evidence[place]), 0.0), int(before[place])


def _entropy(p: AnyArray | float) -> AnyArray:
    """Return the entropy of Bernoulli distributions, which is 0 at p = 0 and p = 1."""
    from scipy.special import xlogy

    # Rounding errors may put p slightly outside [0, 1].
    inside = np.clip(p, 0.0, 1.0)
    total: AnyArray = -(xlogy(inside, inside) + xlogy(1.0 - inside, 1.0 - inside))
    return total


def change_threshold(n: int, *, delta: float, is_proven: bool = True) -> float:
    """Return the threshold that the evidence of a change among `n` outcomes must exceed.

    The proven threshold is ``2 T(ln(3 n^(3/2) / delta) / 2) + 6 ln(1 + ln n)``, where T is the function of
    Kaufmann and Koolen (2021), equation 13. If the mean of outcomes in [0, 1] does not change, the evidence
    never exceeds this threshold for any n, with probability at least ``1 - delta``. The other threshold,
    ``ln(3 n^(3/2) / delta)``, is smaller and common in practice, but it has no proof.

    Parameters
    ----------
    n : int
        Number of outcomes, at least 1.
    delta : float
        Probability of a false alarm, in (0, 1).
    is_proven : bool
        If True, return the proven threshold; otherwise the one that is common in practice.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from cmab.confidence import change_threshold
    >>> [round(change_threshold(1000, delta=0.01, is_proven=proven), 2) for proven in (True, False)]
    [50.53, 16.07]

    References
    ----------
    Besson, Kaufmann, Maillard, Seznec (JMLR 2022), Lemma 2 (from memory) and section 6.
    """
    check_flag("is_proven", is_proven)
    n, delta = integer("n", n, 1), real("delta", delta, 0.0, 1.0, inside=True)
    level = math.log(3.0) + 1.5 * math.log(n) - math.log(delta)
    return 2.0 * calibration(level / 2.0) + 6.0 * math.log1p(math.log(n)) if is_proven else level


@functools.lru_cache(4096)
def calibration(x: float) -> float:
    """Return T(x), the threshold for a mixture of martingales at the level ``exp(-x)``.

    Examples
    --------
    >>> from cmab.confidence.change_points import calibration
    >>> round(calibration(5.0), 3)
    15.191

    References
    ----------
    E. Kaufmann, W. M. Koolen: Mixture Martingales Revisited, JMLR 22 (2021), equation 13 (from memory).
    """
    # T(x) = 2 h~((h^-1(1 + x) + ln(2 zeta(2))) / 2), with h(u) = u - ln u.
    y = (_h_inverse(1.0 + x) + math.log(math.pi**2 / 3.0)) / 2.0
    # h~(y) = exp(1 / h^-1(y)) h^-1(y) if y >= h^-1(1 / ln(3/2)), else (3/2)(y - ln ln(3/2)).
    log_three_halves = math.log(1.5)
    if y >= _h_inverse(1.0 / log_three_halves):
        u = _h_inverse(y)
        return 2.0 * math.exp(1.0 / u) * u
    return 3.0 * (y - math.log(log_three_halves))


def _h_inverse(x: float) -> float:
    """Return the u >= 1 with ``u - ln u = x``, for x >= 1."""
    # Newton's method from the right. The function is convex and increasing there, so the iterates decrease.
    u = x + math.sqrt(2.0 * (x - 1.0)) + math.log(max(x, 1.0)) + 1e-9
    for _ in range(100):
        step = (u - math.log(u) - x) / (1.0 - 1.0 / u) if u > 1.0 else 0.0
        u = max(u - step, 1.0)
        if abs(step) <= 1e-14 * u:
            break
    return u
