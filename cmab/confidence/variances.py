"""Confidence sequences that adapt to the empirical variance: radii that hold for all counts at once."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from cmab.arrays import FloatArray
from cmab.statistics import ArmStatistics
from cmab.validation import interval, real


@cache
def bet_table() -> FloatArray:
    """Return the fraction l, the pay ``-ln(1 - l) - l`` and the surcharge of each bet, as one flat array.

    Examples
    --------
    >>> from cmab.confidence.variances import bet_table
    >>> bet_table()[:6].round(3)
    array([0.58 , 0.288, 0.693, 0.387, 0.102, 1.792])
    """
    from cmab.confidence._kernels_variances import BETS

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
    >>> from cmab.confidence import anytime_bernstein_radii
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
    from cmab.confidence._kernels_variances import bernstein_radii_of

    low, high = interval("support", support)
    radii, logs = np.empty(state.n_arms), np.full(state.n_arms, -math.log(_level(level)))
    counts = np.ascontiguousarray(state.counts)
    bernstein_radii_of(counts, state.means, state.deviations, logs, low, high, bet_table(), radii)
    return radii


def student_radii(state: ArmStatistics, *, level: float) -> FloatArray:
    """Return radii for Gaussian outcomes of unknown variance that hold for all counts at once.

    With probability at least ``1 - level``, the mean of an arm with Gaussian outcomes never exceeds its
    expectation by more than its radius. The same bound holds for a mean below its expectation. For outcomes
    that are not Gaussian nothing is proven.

    Parameters
    ----------
    state : ArmStatistics
        The counts, means and sums of squared deviations of the arms.
    level : float
        Probability of failure on one side of one arm, in (0, 1).

    Returns
    -------
    FloatArray, shape (n_arms,)
        The radii, in the unit of the outcomes. The radius of an arm is infinite if it has too few outcomes,
        if all its outcomes are equal (a standard deviation below 3e-7 of the mean counts as rounding), or if
        the sum of squares of a batch is unknown.

    Raises
    ------
    ValueError
        If `level` is out of its range.

    Notes
    -----
    The evidence against the expectation m is a ratio of two likelihoods of the outcomes. In both, ``X - m = s
    Z`` with the prior ``ds / s`` on the scale s. In the denominator, Z is standard Gaussian. In the
    numerator, Z is Gaussian with variance 1 around a number that is drawn from N(0, 1 / c^2). The evidence is
    the likelihood ratio of the statistics that are invariant to the scale, so it is a martingale. Let d be
    the distance between the mean and m, and v the biased variance. The evidence is ``sqrt(c^2 / (T + c^2))
    ((T + c^2)(v + d^2) / ((T + c^2) v + c^2 d^2))^(T/2)``.

    For a bound on one side, only the half of the prior on the side of the mean counts. Its evidence is at
    least twice the evidence above less 1, because that of the other half is at most 1. One side therefore
    fails with probability at most `level` if the radius is the d at which the evidence is ``(1 + 1 / level) /
    2``. With ``c^2 = 4`` and level 0.001, the radius exceeds the least radius for any c by at most 3 % from
    50 to 300 outcomes, and by at most 6 % up to 1000 outcomes.

    Examples
    --------
    >>> from cmab import ArmStatistics, Feedback
    >>> from cmab.confidence import student_radii
    >>> state = ArmStatistics.empty(3)
    >>> state.update(Feedback([0, 1, 2], [0.0] * 3, pulls=[5, 100, 1000], squares=[5.0, 100.0, 4000.0]))
    >>> student_radii(state, level=0.01).round(3)
    array([  inf, 0.35 , 0.232])

    References
    ----------
    T. L. Lai: On Confidence Sequences, Annals of Statistics 4 (1976). H. Wang, A. Ramdas: Anytime-valid
    t-tests and confidence sequences for Gaussian means with unknown variance, 2023. The one-sided bound and
    the choice of c are ours.
    """
    from cmab.confidence._kernels_variances import student_radii_of

    radii, logs = np.empty(state.n_arms), np.full(state.n_arms, one_sided_evidence(_level(level)))
    student_radii_of(np.ascontiguousarray(state.counts), state.means, state.deviations, logs, radii)
    return radii


def one_sided_evidence(level: float) -> float:
    """Return ``ln((1 + 1 / level) / 2)``, the logarithm of the evidence at which one side fails.

    Examples
    --------
    >>> from cmab.confidence.variances import one_sided_evidence
    >>> round(one_sided_evidence(0.1), 4)
    1.7047
    """
    return -math.log(2.0 * level) + math.log1p(level)


def _level(level: float) -> float:
    return real("level", level, 0.0, 1.0, inside=True)
