"""Upper bounds on linear functions of the means over a joint confidence set and all super arms."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.certificates._confidence import EARNED, JOINT, MOST_BLUR, Arms
from cmab.confidence.variances import bet_table
from cmab.oracle import Oracle, optimum_bound

#: The number of steps of the line search for the multiplier of the joint confidence set.
_STEPS = 10
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


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
        from cmab.certificates._kernels_linear import values_inside

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
        arms, chosen = self.arms, self.family.super_arm
        factors = np.maximum(self.horizon - self.plays[chosen], 0.0)
        width = float((factors * (arms.upper[chosen] - arms.shares[chosen])).sum())
        # The joint set has no allowance for means with large rounding errors.
        if width <= 0.0 or arms.blur > MOST_BLUR:
            return best
        # At the best multiplier, the entropy costs about as much as the width that remains.
        count = 1 if self.independent else len(chosen)
        middle = math.log(-width / (count * math.log(JOINT * self.delta)))
        low, high = middle - 4.0, middle + 2.0
        points = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
        values = [self._bound(math.exp(point), outside, known) for point in points]
        for _ in range(_STEPS - 2):
            best = min(best, *values)
            if values[0] <= values[1]:
                high, points[1], values[1] = points[1], points[0], values[0]
                points[0] = high - _GOLDEN * (high - low)
                values[0] = self._bound(math.exp(points[0]), outside, known)
            else:
                low, points[0], values[0] = points[0], points[1], values[1]
                points[1] = low + _GOLDEN * (high - low)
                values[1] = self._bound(math.exp(points[1]), outside, known)
        return min(best, *values)
