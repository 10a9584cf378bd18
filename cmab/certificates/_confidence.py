"""The confidence set of a certificate: intervals of the arms and the shares of the error probability."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.confidence.mixtures import mixture_price, share_bounds, shares_of
from cmab.confidence.variances import bet_table
from cmab.oracle import Oracle
from cmab.statistics import ArmStatistics

# Shares of delta. The sum is at most 1, so all bounds of a certificate hold together.
#: For the upper bounds of the arms of the optimum, for sums of means and for other rewards.
OPTIMUM, OPTIMUM_ALONE = 0.25, 0.5
#: For the two bounds of all arms.
ALL = 0.25
#: For the joint confidence set of the arms of the optimum, for sums of means only.
JOINT = 0.25
#: For the sum of the outcomes outside the optimum, or of the rewards.
EARNED = 0.25
#: Larger rounding errors of means widen the intervals, which are then by relative entropy alone.
MOST_BLUR = 1e-10


@dataclass(frozen=True)
class Arms:
    """The statistics and bounds of all arms in units in which more is better and outcomes lie in [0, 1].

    The worth of an arm is ``base + length * y``, where y is its expectation in these units.

    Attributes
    ----------
    counts : IntArray, shape (n_arms,)
        Number of outcomes.
    shares : FloatArray, shape (n_arms,)
        Means of the outcomes; 0 without outcomes.
    spreads : FloatArray, shape (n_arms,)
        Upper bounds on the sums of squared deviations from the expectations.
    prices : FloatArray, shape (n_arms,)
        `mixture_price` of each arm.
    free : FloatArray, shape (n_arms,)
        The largest expectations that cost nothing in the joint confidence set: ``counts kl(shares, free)``
        equals `prices`.
    lower, upper : FloatArray, shape (n_arms,)
        Bounds on the expectations. The lower bounds hold for all arms, the upper bounds for the arms of the
        optimum.
    surely : FloatArray, shape (n_arms,)
        Upper bounds that hold for all arms.
    base, length : float
        The worth of an expectation of 0, and the difference to that of 1.
    blur : float
        A bound on the rounding errors of `shares`. It is large if the support is narrow and far from 0.
    """

    counts: IntArray
    shares: FloatArray
    spreads: FloatArray
    prices: FloatArray
    free: FloatArray
    lower: FloatArray
    upper: FloatArray
    surely: FloatArray
    base: float
    length: float
    blur: float = 0.0

    def means_at(self, shares: FloatArray, sign: float) -> FloatArray:
        """Return the means in the units of the outcomes."""
        means: FloatArray = sign * (self.base + self.length * shares)
        return means


def confidence_set(oracle: Oracle, stats: ArmStatistics, support: tuple[float, float], delta: float) -> Arms:
    """Return the bounds of all arms.

    The optimum is one fixed super arm. Its upper bounds therefore need a union bound over its arms only, at
    most ``oracle.max_size``, and not over all arms.
    """
    from cmab.confidence._kernels_kl import kl_uppers_of
    from cmab.confidence._kernels_variances import LEAST_LENGTH, SLACK

    low, high = support
    length, n = high - low, stats.n_arms
    counts = np.ascontiguousarray(stats.counts)
    shares = shares_of(stats.means, low, high)
    size = max(abs(low), abs(high)) / length
    blur = SLACK * size
    # The squares of outcomes in short intervals are 0 as floats. Without them, the variance is unknown (nan).
    known = stats.deviations if length >= LEAST_LENGTH else np.full(n, np.nan)
    deviations = np.ascontiguousarray(known) / length / length + SLACK * counts * size * size
    if oracle.sense == "min":
        shares = np.where(counts > 0, 1.0 - shares, 0.0)
    shares = np.where(counts > 0, shares, 0.0)
    # If increasing a mean may make a super arm worse, optimism needs the bounds of all arms.
    size = min(oracle.max_size, n) if getattr(oracle, "is_monotone", True) else n
    lower, surely = _intervals(counts, shares, deviations, ALL * delta / (2 * max(n, 1)), blur)
    share = OPTIMUM if oracle.is_linear else OPTIMUM_ALONE
    _, upper = _intervals(counts, shares, deviations, share * delta / max(size, 1), blur)
    # The variance is unknown (nan) if a batch came without its squares.
    most = counts * shares * (1.0 - shares)
    deviations = np.where(deviations <= most, deviations, most)
    radii = np.maximum(surely - shares, shares - lower)
    prices, free = mixture_price(counts, shares), np.empty(n)
    kl_uppers_of(shares, prices / np.maximum(counts, 1), free)
    return Arms(
        counts=counts,
        shares=shares,
        spreads=deviations + counts * (radii**2 + blur),
        prices=prices,
        free=np.minimum(free, np.minimum(upper, surely)),
        lower=lower,
        upper=np.minimum(upper, surely),
        surely=surely,
        base=low if oracle.sense == "max" else -high,
        length=length,
        blur=blur,
    )


def _intervals(
    counts: IntArray, shares: FloatArray, deviations: FloatArray, level: float, blur: float
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on each side of each arm, each of which ever fails with probability at most `level`.

    They are the better of two confidence sequences, by relative entropy and by empirical variance, which
    share the level equally. `blur` is a bound on the rounding errors of `shares`.
    """
    from cmab.confidence._kernels_variances import bernstein_radii_of

    lower, upper = share_bounds(counts, shares, level / 2.0)
    if blur > MOST_BLUR:
        # The mean of the exact outcomes may be anywhere in the interval of the rounding error.
        lower, _ = share_bounds(counts, np.maximum(shares - blur, 0.0), level / 2.0)
        _, upper = share_bounds(counts, np.minimum(shares + blur, 1.0), level / 2.0)
        return lower, upper
    radii, logs = np.empty(len(counts)), np.full(len(counts), -math.log(level / 2.0))
    bernstein_radii_of(counts, np.ascontiguousarray(shares), deviations, logs, 0.0, 1.0, bet_table(), radii)
    return np.maximum(lower, shares - radii), np.minimum(upper, shares + radii)
