"""Radii from counts, means and deviations that hold for all counts at once and do not depend on the round."""

import math

import numpy as np

from cmab.compiled import lean_kernel

#: Number of bets. Each bet takes three places in `bets`: its fraction, its pay for spread, and its surcharge.
BETS = 54
#: The c^2 of `student_radii`: the prior on the standardised mean is normal with variance 1 / PRIOR.
PRIOR = 4.0
#: Relative rounding errors of the sum of squares per outcome, as shares of the squared size of the outcomes.
SLACK, LEAST_SPREAD = 1e-15, 1e-13
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
def student_radius(count, mean, deviation, log):
    """Return the one-sided radius of the mean of Gaussian outcomes.

    The radius fails for any count with probability at most ``1 / (2 exp(log) - 1)``.
    """
    # Gaussian outcomes are never all equal. If they are equal up to rounding, the spread is unknown.
    if count < 2 or not deviation > LEAST_SPREAD * count * mean * mean:
        return np.inf
    # R = (exp(log) sqrt((T + c^2) / c^2))^(2/T). The radius is finite if R c^2 < T + c^2.
    growth = math.log1p(count / PRIOR)
    exponent = (2.0 * log + growth) / count
    if exponent >= growth:
        return np.inf
    rise = math.expm1(exponent)
    room = count - PRIOR * rise
    # r^2 = s^2 (R - 1) (T + c^2) / (T + c^2 - R c^2), where s^2 is the biased variance.
    return math.sqrt(deviation / count * rise * ((count + PRIOR) / room)) if room > 0.0 else np.inf


@lean_kernel
def bernstein_radii_of(counts, means, deviations, logs, low, high, bets, out):
    """Write `bernstein_radius` of every arm to `out`."""
    for i in range(counts.shape[0]):
        out[i] = bernstein_radius(counts[i], means[i], deviations[i], logs[i], low, high, bets)


@lean_kernel
def student_radii_of(counts, means, deviations, logs, out):
    """Write `student_radius` of every arm to `out`."""
    for i in range(counts.shape[0]):
        out[i] = student_radius(counts[i], means[i], deviations[i], logs[i])
