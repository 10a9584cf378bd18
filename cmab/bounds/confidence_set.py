"""The confidence set of a certificate of regret, and bounds on linear functions of the means over it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.bounds.kl import divergence, kl_uppers_of
from cmab.bounds.mixtures import (
    LEAST_LENGTH,
    SLACK,
    bernstein_radii_of,
    bet_table,
    mixture_price,
    share_bounds,
    shares_of,
)
from cmab.compiled import lean_kernel
from cmab.oracle import Oracle, optimum_bound
from cmab.statistics import ArmStatistics

#: An expectation is rounded by at most this amount.
ROUNDING = 1e-12


@lean_kernel
def values_inside(multiplier, factors, counts, shares, prices, free, lower, upper, out):
    """Write the largest value of ``factor y - multiplier cost(y)`` of each arm over y in its interval.

    The cost is ``max(count kl(share, y) - price, 0) - ln 2``, and 0 for every y if `multiplier` is 0.
    """
    for i in range(out.shape[0]):
        factor = factors[i]
        if factor <= 0.0 or multiplier == 0.0:
            best = lower[i] if factor <= 0.0 else upper[i]
            out[i] = factor * best + multiplier * math.log(2.0)
            continue
        weight = multiplier * counts[i]
        # The derivative of  factor y - weight kl(share, y)  is zero where  factor y^2 + (weight - factor) y -
        # weight share = 0.  Of two forms of the root, the one without cancellation is used.
        rest = weight - factor
        root = math.sqrt(rest * rest + 4.0 * factor * weight * shares[i])
        best = 2.0 * weight * shares[i] / (rest + root) if rest > 0.0 else (root - rest) / (2.0 * factor)
        # Up to `free`, an expectation has the least cost. At 1 the entropy is infinite, so the root must not
        # be rounded to 1.
        best = min(max(best, free[i]), min(upper[i], max(free[i], 1.0 - ROUNDING)))
        cost = 0.0
        if counts[i] > 0:
            cost = counts[i] * divergence(shares[i], best) - prices[i]
            # Without the cost, the value is larger. It is infinite only if `free` was rounded to 1.
            cost = cost if 0.0 < cost < np.inf else 0.0
        out[i] = factor * (best + ROUNDING) - multiplier * (cost - math.log(2.0))


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
    lower, upper = share_bounds(counts, shares, level / 2.0)
    if blur > MOST_BLUR:
        # The mean of the exact outcomes may be anywhere in the interval of the rounding error.
        lower, _ = share_bounds(counts, np.maximum(shares - blur, 0.0), level / 2.0)
        _, upper = share_bounds(counts, np.minimum(shares + blur, 1.0), level / 2.0)
        return lower, upper
    radii, logs = np.empty(len(counts)), np.full(len(counts), -math.log(level / 2.0))
    bernstein_radii_of(counts, np.ascontiguousarray(shares), deviations, logs, 0.0, 1.0, bet_table(), radii)
    return np.maximum(lower, shares - radii), np.minimum(upper, shares + radii)


#: The number of steps of the line search for the multiplier of the joint confidence set.
_STEPS = 10


@dataclass
class Family:
    """The oracle of a linear family, which bounds the largest sum of weights and counts its calls."""

    oracle: Oracle
    rng: np.random.Generator
    calls: int = 0
    super_arm: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def largest_sum(self, weights: FloatArray) -> float:
        """Return an upper bound on the sum of `weights` over the arms of any super arm."""
        self.calls += 1
        least = getattr(self.oracle, "least_mean", -np.inf)
        means = np.maximum(self.oracle._sign * weights, least)
        # The oracle may need means of at least `least_mean`. For rewards, larger weights only increase the
        # sum. For costs, the parts of weights that are cut off are added for all arms.
        raised = self.oracle._sign * means
        lost = float(np.maximum(weights - raised, 0.0).sum())
        self.super_arm = self.oracle.solve(means, self.rng)
        if self.oracle.is_exact:
            return float(raised[self.super_arm].sum()) + lost
        self.calls += 1
        return self.oracle._sign * optimum_bound(self.oracle, means, self.rng) + lost


@dataclass
class LinearBound:
    """Bounds on ``sum of (T 1{i in S*} - N_i) worth_i`` for the optimal super arm S*, by an oracle.

    With T rounds and N_i plays of arm i this is the regret. With T = 1 and the indicator of a super arm it is
    the gap of that super arm.

    Parameters
    ----------
    family : Family
        The super arms.
    arms : Arms
        The bounds of the arms.
    horizon : float
        The factor T of the arms of the optimum.
    plays : FloatArray, shape (n_arms,)
        The factor N_i of each arm.
    delta : float
        The error probability of the certificate, of which the joint sets have their shares.
    widest : int
        The largest number of outcomes in a round.
    independent : bool
        Whether the outcomes of one round are independent.
    """

    family: Family
    arms: Arms
    horizon: float
    plays: FloatArray
    delta: float
    widest: int
    independent: bool

    def arm_by_arm(self) -> float:
        """Return the bound over the product of the intervals."""
        return self._bound(0.0, self._apart(), 0.0)

    def tightest(self, *, fixed: bool) -> tuple[float, str]:
        """Return the smallest of the bounds, and its method.

        `fixed` states that the factors are plays of rounds, so that the sum of the outcomes outside the
        optimum is a martingale.
        """
        apart, known, method = self._apart(), 0.0, "arm by arm"
        best = self._bound(0.0, apart, known)
        if fixed and self.plays.any():
            outside, cost = self._outside(self.family.super_arm)
            value = self._bound(0.0, outside, cost)
            if value < best:
                best, apart, known, method = value, outside, cost, "joint"
        joint = self._line_search(best, apart, known)
        return (joint, "joint") if joint < best else (best, method)

    def _apart(self) -> FloatArray:
        """Return the largest value of ``-N_i y_i`` of each arm by its lower bound."""
        return -self.plays * self.arms.lower

    def _outside(self, super_arm: IntArray) -> tuple[FloatArray, float]:
        """Return values of all arms and a constant that bound ``-sum of N_i y_i`` outside the optimum.

        For each bet l, the sum of the outcomes outside the optimum exceeds its expectation by at most
        ``psi(l) / l`` times the sum of the squares plus ``ln(1 / level) / l``. The bet is the best one if the
        optimum is `super_arm`.
        """
        arms, table = self.arms, bet_table().reshape(-1, 3)
        bets, pays, surcharges = table[:, 0], table[:, 1], table[:, 2]
        out = np.ones(len(arms.counts), np.bool_)
        out[super_arm] = False
        factor = 1.0 if self.independent else float(self.widest)
        costs = factor * (surcharges - math.log(EARNED * self.delta)) / bets
        spread = float(arms.spreads[out].sum())
        best = int(np.argmin(pays / bets * spread + costs))
        values = self.plays * (arms.blur - arms.shares) + pays[best] / bets[best] * arms.spreads
        return values, float(costs[best])

    def _inside(self, multiplier: float) -> FloatArray:
        """Return the largest value of ``(T - N_i) y - multiplier cost_i(y)`` of each arm in its interval."""
        arms, values = self.arms, np.empty(len(self.plays))
        factors = self.horizon - self.plays
        values_inside(
            multiplier,
            factors,
            *(arms.counts, arms.shares, arms.prices, arms.free, arms.lower, arms.upper),
            values,
        )
        return values

    def _bound(self, multiplier: float, outside: FloatArray, known: float) -> float:
        """Return the Lagrangian bound, which is valid for every `multiplier` of the joint set.

        The cost of an expectation y of an arm is the logarithm of ``(1 + e) / 2``, where e is the mixture of
        likelihood ratios against y. It is at least ``max(n kl(mean, y) - price, 0) - ln 2``. The sum of the
        costs over the optimum is the logarithm of a product of supermartingales, and at most ``budget``. If
        outcomes of a round may depend on each other, the sum divided by the number of arms is the logarithm
        of their geometric mean, which is a supermartingale as well.
        """
        arms = self.arms
        budget = -math.log(JOINT * self.delta)
        each, once = (0.0, budget) if self.independent else (budget, 0.0)
        inside = self._inside(multiplier) + multiplier * each
        weights = self.horizon * arms.base + arms.length * (inside - outside)
        constant = arms.length * (float(outside.sum()) + known + multiplier * once)
        constant -= arms.base * float(self.plays.sum())
        return constant + self.family.largest_sum(weights)

    def _line_search(self, best: float, outside: FloatArray, known: float) -> float:
        """Return the smallest bound over some multipliers. The bound is convex in the multiplier."""
        from scipy.optimize import minimize_scalar

        arms, chosen = self.arms, self.family.super_arm
        factors = np.maximum(self.horizon - self.plays[chosen], 0.0)
        width = float((factors * (arms.upper[chosen] - arms.shares[chosen])).sum())
        # The joint set has no allowance for means with large rounding errors.
        if width <= 0.0 or arms.blur > MOST_BLUR:
            return best
        # At the best multiplier, the entropy costs about as much as the width that remains.
        count = 1 if self.independent else len(chosen)
        middle = math.log(-width / (count * math.log(JOINT * self.delta)))
        found = minimize_scalar(
            lambda point: self._bound(math.exp(point), outside, known),
            bounds=(middle - 4.0, middle + 2.0),
            method="bounded",
            options={"maxiter": _STEPS},
        )
        return min(best, float(found.fun))
