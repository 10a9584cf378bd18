"""Confidence sequences that learn the variance: radii that hold for all counts at once."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from cmab.arrays import FloatArray
from cmab.statistics import ArmStatistics
from cmab.validation import interval, real


@cache
def bet_table() -> FloatArray:
    """Return fraction l, pay ``-ln(1 - l) - l`` and surcharge of each bet, one after the other.

    Examples
    --------
    >>> from cmab.confidence.variances import bet_table
    >>> bet_table()[:6].round(3)
    array([0.58 , 0.288, 0.693, 0.387, 0.102, 1.792])
    """
    from cmab.confidence._kernels_variances import BETS

    table = np.empty((BETS, 3))
    for j in range(BETS):
        # Up to 0.582, where pay <= fraction / 2; down to 2e-10, which suits 1e20 outcomes.
        fraction = 0.58 / 1.5**j
        # The series of -ln(1 - l) - l, whose own terms cancel where l is small.
        pay = math.fsum(fraction**i / i for i in range(2, 100))
        # The share 1 / ((j + 1)(j + 2)) of the capital; all shares add up to 1.
        table[j] = fraction, pay, math.log((j + 1) * (j + 2))
    flat = table.ravel()
    flat.flags.writeable = False
    return flat


def anytime_bernstein_radii(
    state: ArmStatistics, *, level: float, support: tuple[float, float] = (0.0, 1.0)
) -> FloatArray:
    """Return empirical-Bernstein radii that hold for all counts at once, for outcomes in `support`.

    With probability at least ``1 - level`` the mean of an arm never exceeds its expectation by more than its
    radius, whatever its distribution and whenever one looks; so it is below. Told in batches without their
    squares, the largest variance of outcomes with these means is taken.

    Parameters
    ----------
    state : ArmStatistics
        Counts, means and deviations.
    level : float
        Probability of failure of one side of one arm, in (0, 1).
    support : tuple of float
        Interval of the outcomes.

    Returns
    -------
    FloatArray, shape (n_arms,)
        In the unit of the outcomes; infinite where there are too few.

    Raises
    ------
    ValueError
        If `level` or `support` is out of its range.

    Notes
    -----
    A gambler who stakes the fraction l < 1 of a capital of 1 on each outcome X in [0, 1], that it exceeds its
    expectation m, has ``prod (1 + l (X_i - m))`` after T outcomes, on average 1. By Fan's inequality this is
    at least ``exp(l S - psi(l) Q)`` with ``psi(l) = -ln(1 - l) - l``, S the sum of ``X_i - m`` and Q that of
    their squares: for ``(u - ln(1 + u)) / u^2`` falls in u, and ``u = l (X - m)`` is at least -l. By Ville's
    inequality a share w of the capital exceeds ``w / level`` at any time with probability at most
    ``w level``. With r the distance of mean and expectation, ``S = T r`` and ``Q = deviations + T r^2``: so r
    is too far where ``l T r - psi(l) (deviations + T r^2) > ln(1 / (w level))``, for one of several
    fractions l. No order of the outcomes enters, nor a clock.

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
    2024, whose Theorem 2 has a fraction that changes in time and the mean before each outcome.
    """
    from cmab.confidence._kernels_variances import bernstein_radii_of

    low, high = interval("support", support)
    radii, logs = np.empty(state.n_arms), np.full(state.n_arms, -math.log(_level(level)))
    counts = np.ascontiguousarray(state.counts)
    bernstein_radii_of(counts, state.means, state.deviations, logs, low, high, bet_table(), radii)
    return radii


def student_radii(state: ArmStatistics, *, level: float) -> FloatArray:
    """Return radii for Gaussian outcomes of unknown variance that hold for all counts at once.

    With probability at least ``1 - level`` the mean of an arm of Gaussian outcomes never exceeds its
    expectation by more than its radius; so it is below. For other outcomes nothing is proven.

    Parameters
    ----------
    state : ArmStatistics
        Counts, means and deviations.
    level : float
        Probability of failure of one side of one arm, in (0, 1).

    Returns
    -------
    FloatArray, shape (n_arms,)
        In the unit of the outcomes; infinite where there are too few, where all are equal (a deviation below
        3e-7 of the mean counts as rounding), and where a batch came without its squares.

    Raises
    ------
    ValueError
        If `level` is out of its range.

    Notes
    -----
    The evidence against the expectation m is the ratio of two likelihoods of the outcomes, ``X - m = s Z`` in
    both: under one the Z are standard Gaussian, under the other Gaussian around a number that is drawn from
    N(0, 1 / c^2), and on the scale s both have the prior ds / s. It is the likelihood ratio of what no change
    of scale alters, so a martingale, and with d the distance of mean and expectation, v the biased variance
    it is ``sqrt(c^2 / (T + c^2)) ((T + c^2)(v + d^2) / ((T + c^2) v + c^2 d^2))^(T/2)``. The half of the
    prior on the side where the mean lies gives at least twice that less 1, for the other half gives at
    most 1; so one side fails with probability at most `level` where the evidence may reach ``(1 + 1 / level)
    / 2``. Solved for d it is the radius. With ``c^2 = 4`` it is, at level 0.001, within 3 % of the least
    that any c gives from 50 to 300 outcomes, and within 6 % up to 1000.

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
    t-tests and confidence sequences for Gaussian means with unknown variance, 2023. One side and c are ours.
    """
    from cmab.confidence._kernels_variances import student_radii_of

    radii, logs = np.empty(state.n_arms), np.full(state.n_arms, one_sided_evidence(_level(level)))
    student_radii_of(np.ascontiguousarray(state.counts), state.means, state.deviations, logs, radii)
    return radii


def one_sided_evidence(level: float) -> float:
    """Return ``ln((1 + 1 / level) / 2)``: the two-sided evidence that a failure of one side takes.

    Examples
    --------
    >>> from cmab.confidence.variances import one_sided_evidence
    >>> round(one_sided_evidence(0.1), 4)
    1.7047
    """
    return -math.log(2.0 * level) + math.log1p(level)


def _level(level: float) -> float:
    return real("level", level, 0.0, 1.0, inside=True)
