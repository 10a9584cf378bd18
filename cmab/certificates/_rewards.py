"""Lower bounds on the sum of expected rewards from the observed rewards."""

from __future__ import annotations

import math

import numpy as np

from cmab.certificates._confidence import EARNED
from cmab.certificates.played import Played
from cmab.confidence.variances import bet_table


def least_expected(played: Played, reward_range: tuple[float, float], delta: float, sign: float) -> float:
    """Return a lower bound on the sum of the expected rewards of the rounds with a known reward.

    For costs (`sign` -1), the result is a lower bound on the negative sum.

    Notes
    -----
    Scale the rewards to X in [0, 1]. Let r be the expectation of the reward of a round given the past. If m
    depends on earlier rounds only, ``exp(l (X - r) - psi(l) (X - m)^2)`` has an expectation of at most 1
    (Fan's inequality, as in `anytime_bernstein_radii`). Without the squares, ``exp(s X) / (1 + r (e^s - 1))``
    has one, because exp is convex. The logarithm of the second denominator is concave in r, so its sum is at
    most that for the mean of all r. Both supermartingales are mixed over a table of bets, and each has half
    of the share of delta if both can be computed.
    """
    from cmab.confidence._kernels_variances import LEAST_LENGTH, SLACK

    n = played.told
    if n == 0:
        return 0.0
    low, high = reward_range
    length = high - low
    if not (math.isfinite(played.total) and math.isfinite(length)):
        return n * low if sign > 0.0 else -n * high
    # Bounds on the rounding errors of one reward and of the sum, in units of the length.
    size = max(abs(low), abs(high)) / length
    blur, lost = SLACK * size, SLACK * size * n * n
    total = (played.total - n * low) / length if sign > 0.0 else (n * high - played.total) / length
    total = max(total - lost, 0.0)
    table = bet_table().reshape(-1, 3)
    bets, pays, surcharges = table[:, 0], table[:, 1], table[:, 2]
    has_spread = played.spread is not None
    logs = surcharges - math.log(EARNED * delta / (2.0 if has_spread else 1.0))
    # The bets of the second martingale are s = 4 l, up to about 2.3.
    growth = np.expm1(4.0 * bets)
    least = n * float((np.expm1((4.0 * bets * total - logs) / n) / growth).max())
    # The squares of rewards in short intervals are 0 as floats.
    if played.spread is not None and length >= LEAST_LENGTH:
        # The first square is at most 1.
        squares = 1.0 + played.spread / length / length + n * blur * max(1.0, size)
        least = max(least, float((total - pays / bets * squares - logs / bets).max()))
    least = max(least, 0.0)
    return n * low + length * least if sign > 0.0 else length * least - n * high
