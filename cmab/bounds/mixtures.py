"""Confidence sequences, valid for all counts at once: by mixtures of likelihoods, by bets, and of changes."""

from __future__ import annotations

import math
from functools import cache, lru_cache

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.bounds.kl import kl_uppers_of
from cmab.compiled import lean_kernel
from cmab.statistics import ArmStatistics
from cmab.validation import check_flag, integer, interval, real, vector

#: Bounds are widened by this share of the support, which exceeds the rounding errors of means and bounds.
_ROUNDING = 1e-12


def shares_of(means: FloatArray, low: float, high: float) -> FloatArray:
    """Return the positions of the means in the support, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.bounds.mixtures import shares_of
    >>> shares_of(np.array([-1.0, 0.5]), -1.0, 1.0)
    array([0.  , 0.75])
    """
    return np.clip((means - low) / (high - low), 0.0, 1.0)


def mixture_price(counts: IntArray, shares: FloatArray) -> FloatArray:
    """Return the largest log-likelihood of each arm less its average over Jeffreys' prior, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.bounds.mixtures import mixture_price
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
    """Return lower and upper bounds on expectations of outcomes in [0, 1] that hold for all counts at once.

    With probability at least ``1 - level``, the expectation of an arm is never below its lower bound, at any
    time and for every distribution on [0, 1]. The same holds for its upper bound. `shares` are the means.

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
    >>> import numpy as np
    >>> from cmab.bounds.mixtures import share_bounds
    >>> low, high = share_bounds(np.array([0, 10]), np.array([0.0, 0.5]), 0.01)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.086]), array([1.   , 0.914]))

    References
    ----------
    H. Robbins: Statistical methods related to the law of the iterated logarithm, Annals of Mathematical
    Statistics 41 (1970); R. Krichevsky, V. Trofimov: The performance of universal encoding, IEEE Transactions
    on Information Theory 27 (1981): the price (both from memory; proven above).
    """
    prices = mixture_price(counts, shares)
    below = 1.0 - _uppers(counts, 1.0 - shares, prices, level)
    return below, _uppers(counts, shares, prices, level)


def _uppers(counts: IntArray, shares: FloatArray, prices: FloatArray, level: float) -> FloatArray:
    """Return the upper bounds on the expectations of outcomes in [0, 1]."""
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


#: Number of bets. Each bet takes three places in `bets`: its fraction, its pay for spread, and its surcharge.
BETS = 54
#: Relative rounding errors of the sum of squares per outcome, as shares of the squared size of the outcomes.
SLACK = 1e-15
#: On shorter intervals, the squares of outcomes lose digits or are 0.
LEAST_LENGTH = 1e-140


@lean_kernel
def bernstein_radius(count, mean, deviation, log, low, high, bets):
    """Return the one-sided radius of the mean of outcomes in [low, high].

    The radius fails for any count with probability at most ``exp(-log)``. `bets` is the array of `bet_table`.
    """
    if count == 0:
        return np.inf
    length = high - low
    size = max(abs(low), abs(high)) / length
    # A bound on the rounding error of the mean, in units of the length.
    blur = SLACK * size
    # The variance is at most (mean - low)(high - mean). This bound replaces the variance if the sum of
    # squares is unknown or too small for a float. The term with SLACK covers the rounding of that sum.
    below, above = max(0.0, (mean - low) / length) + blur, max(0.0, (high - mean) / length) + blur
    most = count * min(0.25, below * above)
    spread = deviation / length / length + SLACK * count * size * size
    if length < LEAST_LENGTH or not spread <= most:
        spread = most
    radius, n = np.inf, bets.shape[0] // 3
    for j in range(n):
        fraction, pay, surcharge = bets[3 * j], bets[3 * j + 1], bets[3 * j + 2]
        # Bet j rejects the distance r (mean to expectation, in lengths) if  fraction T r - pay (spread + T
        # r^2) > log + surcharge,  that is above the smaller root, because the larger root exceeds 1.
        stake, cost = fraction * count, log + surcharge + pay * spread
        root = stake * stake - 4.0 * pay * count * cost
        if root >= 0.0:
            radius = min(radius, 2.0 * cost / (stake + math.sqrt(root)))
    return float((radius + blur) * length)


@lean_kernel
def bernstein_radii_of(counts, means, deviations, logs, low, high, bets, out):
    """Write `bernstein_radius` of every arm to `out`."""
    for i in range(counts.shape[0]):
        out[i] = bernstein_radius(counts[i], means[i], deviations[i], logs[i], low, high, bets)


@cache
def bet_table() -> FloatArray:
    """Return the fraction l, the pay ``-ln(1 - l) - l`` and the surcharge of each bet, as one flat array.

    Examples
    --------
    >>> from cmab.bounds.mixtures import bet_table
    >>> bet_table()[:6].round(3)
    array([0.58 , 0.288, 0.693, 0.387, 0.102, 1.792])
    """
    table = np.empty((BETS, 3))
    for j in range(BETS):
        # Below 0.582, pay <= fraction / 2. The least fraction, 2e-10, suits 1e20 outcomes.
        fraction = 0.58 / 1.5**j
        # The series of -ln(1 - l) - l, because the two terms cancel if l is small.
        pay = math.fsum(fraction**i / i for i in range(2, 100))
        # Bet j starts with the share 1 / ((j + 1)(j + 2)) of the capital. The shares add up to at most 1.
        table[j] = fraction, pay, math.log((j + 1) * (j + 2))
    flat = table.ravel()
    flat.flags.writeable = False
    return flat


def anytime_bernstein_radii(
    state: ArmStatistics, *, level: float, support: tuple[float, float] = (0.0, 1.0)
) -> FloatArray:
    """Return empirical-Bernstein radii that hold for all counts at once, for outcomes in `support`.

    With probability at least ``1 - level``, the mean of an arm never exceeds its expectation by more than its
    radius, at any time and for every distribution on `support`. The same bound holds for a mean below its
    expectation. If the sums of squares of some batches are unknown, the radii use the largest variance that
    outcomes in `support` with this mean can have.

    Parameters
    ----------
    state : ArmStatistics
        The counts, means and sums of squared deviations of the arms.
    level : float
        Probability of failure on one side of one arm, in (0, 1).
    support : tuple of float
        Interval of the outcomes.

    Returns
    -------
    FloatArray, shape (n_arms,)
        The radii, in the unit of the outcomes. The radius of an arm with too few outcomes is infinite.

    Raises
    ------
    ValueError
        If `level` or `support` is out of its range.

    Notes
    -----
    The proof bets against an expectation m. A gambler with capital 1 stakes the fraction l < 1 of the capital
    on each outcome X in [0, 1] exceeding m. After T outcomes the capital is ``prod (1 + l (X_i - m))``, which
    has expectation 1. By Fan's inequality it is at least ``exp(l S - psi(l) Q)``, where ``psi(l) = -ln(1 - l)
    - l``, S is the sum of ``X_i - m`` and Q is the sum of their squares. (The function ``(u - ln(1 + u)) /
    u^2`` decreases in u, and ``u = l (X - m)`` is at least -l.) By Ville's inequality, the probability that
    the capital ever exceeds ``1 / (w level)`` is at most ``w level``.

    Let r be the distance between the mean and m. Then ``S = T r`` and ``Q = deviations + T r^2``. The
    distance r is rejected if ``l T r - psi(l) (deviations + T r^2) > ln(1 / (w level))`` for one of several
    fractions l with shares w that add up to at most 1. The radius depends neither on the order of the
    outcomes nor on the number of rounds.

    Examples
    --------
    >>> from cmab import ArmStatistics, Feedback
    >>> from cmab.bounds import anytime_bernstein_radii
    >>> state = ArmStatistics.empty(2)
    >>> state.update(Feedback([0, 1], [100.0, 10.0], pulls=[1000, 100], squares=[100.0, 1.0]))
    >>> anytime_bernstein_radii(state, level=0.01).round(3)
    array([0.041, 0.096])

    References
    ----------
    X. Fan, I. Grama, Q. Liu: Exponential inequalities for martingales with applications, 2015 (from memory;
    proven above). I. Waudby-Smith, A. Ramdas: Estimating means of bounded random variables by betting, JRSS-B
    2024; their Theorem 2 changes the fraction over time and uses the mean before each outcome.
    """
    low, high = interval("support", support)
    radii, logs = np.empty(state.n_arms), np.full(state.n_arms, -math.log(_level(level)))
    counts = np.ascontiguousarray(state.counts)
    bernstein_radii_of(counts, state.means, state.deviations, logs, low, high, bet_table(), radii)
    return radii


def _level(level: float) -> float:
    return real("level", level, 0.0, 1.0, inside=True)


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
    >>> from cmab.bounds import change_statistic
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
    >>> from cmab.bounds.mixtures import largest_ratio
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
    >>> from cmab.bounds import change_threshold
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


@lru_cache(4096)
def calibration(x: float) -> float:
    """Return T(x), the threshold for a mixture of martingales at the level ``exp(-x)``.

    Examples
    --------
    >>> from cmab.bounds.mixtures import calibration
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
