"""Radii from counts, means and deviations that hold for all counts at once, so that no clock moves them."""

import math

import numpy as np

from cmab.compiled._kernels import lean_kernel

#: How many bets there are; each takes three places: its fraction, what it pays for spread, and its surcharge.
BETS = 54
#: The right side of a normal prior on the standardised mean: its variance is 1 / PRIOR.
PRIOR = 4.0
#: Shares of the square of the outcomes' size that sums of squares may be wrong by, an outcome.
SLACK, LEAST_SPREAD = 1e-15, 1e-13
#: The squares of outcomes on shorter intervals lose digits, or are 0.
LEAST_LENGTH = 1e-140


@lean_kernel
def bernstein_radius(count, mean, deviation, log, low, high, bets):
    """Return how far the mean of outcomes in [low, high] may lie beyond its expectation, on one side.

    It fails for any count with probability at most ``exp(-log)``; `bets` are those of `bet_table`.
    """
    if count == 0:
        return np.inf
    length = high - low
    size = max(abs(low), abs(high)) / length
    # Means and sums of squares may be wrong by rounding, in lengths by so much.
    blur = SLACK * size
    # The variance is at most (mean - low)(high - mean), which stands in where squares were not told or
    # are too small for a float; and no rounding of sums of squares may make it smaller than it is.
    below, above = max(0.0, (mean - low) / length) + blur, max(0.0, (high - mean) / length) + blur
    most = count * min(0.25, below * above)
    spread = deviation / length / length + SLACK * count * size * size
    if length < LEAST_LENGTH or not spread <= most:
        spread = most
    radius, n = np.inf, bets.shape[0] // 3
    for j in range(n):
        fraction, pay, surcharge = bets[3 * j], bets[3 * j + 1], bets[3 * j + 2]
        # Bet j has lost if  fraction T r - pay (spread + T r^2) > log + surcharge,  r being the distance of
        # mean and expectation in lengths: beyond the smaller root of a square, for the larger exceeds 1.
        stake, cost = fraction * count, log + surcharge + pay * spread
        root = stake * stake - 4.0 * pay * count * cost
        if root >= 0.0:
            radius = min(radius, 2.0 * cost / (stake + math.sqrt(root)))
    return float((radius + blur) * length)


@lean_kernel
def student_radius(count, mean, deviation, log):
    """Return how far the mean of Gaussian outcomes may lie beyond its expectation, on one side.

    It fails for any count with probability at most ``1 / (2 exp(log) - 1)``.
    """
    # Gaussian outcomes are never all equal: where they are, but for rounding, nothing is known of the spread.
    if count < 2 or not deviation > LEAST_SPREAD * count * mean * mean:
        return np.inf
    # R = (exp(log) sqrt((T + c^2) / c^2))^(2/T); there is a radius if R c^2 < T + c^2.
    growth = math.log1p(count / PRIOR)
    exponent = (2.0 * log + growth) / count
    if exponent >= growth:
        return np.inf
    rise = math.expm1(exponent)
    room = count - PRIOR * rise
    # r^2 = s^2 (R - 1) (T + c^2) / (T + c^2 - R c^2), s^2 the biased variance.
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
