"""`BernsteinLUCB`: LUCB with intervals that depend on the empirical variances."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from cmab.arrays import FloatArray
from cmab.bounds.mixtures import bernstein_radius, bet_table
from cmab.compiled import Rule, decide_kernel, lean_kernel
from cmab.exploration.base import EPSILON, SUPPORT, BestK, RuledExplorer
from cmab.exploration.lucb import best_mask, choose_critical, critical_pair
from cmab.selection import mark_best_again
from cmab.statistics import ArmStatistics

#: Places in `reals`: the tolerance, the `log` of a radius on the high and the low side, the ends of the
#: support and the first bet. In a run, the table of `side_radius` follows the bets.
TOLERANCE, HIGH, LOW, LEAST, MOST, FIRST_BET = range(6)
_TABLE = FIRST_BET + len(bet_table())


@lean_kernel
def side_radius(arm, is_high, seen, reals):
    """Return the radius of an arm on a side, from the table if it is known."""
    count, log = seen.counts[arm], reals[HIGH] if is_high else reals[LOW]
    place, moment = _TABLE + 2 * arm, 2.0 * count + (1.0 if is_high else 0.0)
    remembers = place < reals.shape[0]
    if remembers and reals[place] == moment:
        return float(reals[place + 1])
    mean, deviation = seen.means[arm], seen.deviations[arm]
    bets = reals[FIRST_BET:_TABLE]
    radius = bernstein_radius(count, mean, deviation, log, reals[LEAST], reals[MOST], bets)
    if remembers:
        reals[place], reals[place + 1] = moment, radius
    return radius


@lean_kernel
def variance_bounds(seen, is_high, reals, lower, upper):
    """Write the ends of the interval of each arm, cut to the support."""
    for i in range(lower.shape[0]):
        radius = side_radius(i, is_high[i], seen, reals)
        lower[i], upper[i] = (
            max(seen.means[i] - radius, reals[LEAST]),
            min(seen.means[i] + radius, reals[MOST]),
        )


@decide_kernel
def decide_variance_lucb(seen, coin, integers, reals, chosen):
    """Sample both critical arms; stop when the sides overlap by at most epsilon."""
    # `integers` holds the k best arms of the last step.
    n = seen.means.shape[0]
    is_high, lower, upper = np.empty(n, np.bool_), np.empty(n), np.empty(n)
    mark_best_again(seen.means, integers, is_high)
    variance_bounds(seen, is_high, reals, lower, upper)
    high, low, gap = critical_pair(lower, upper, is_high)
    size = choose_critical(high, low, False, seen.counts, coin, chosen)
    return -size if gap <= reals[TOLERANCE] else size


@dataclass(frozen=True, eq=False, kw_only=True)
class BernsteinLUCB(RuledExplorer, BestK):
    """LUCB with empirical-Bernstein intervals that hold at all times, for outcomes in a known interval.

    Use this explorer if outcomes have a known interval and vary much less than the interval allows.

    With probability at least ``1 - delta``, the mean of every returned arm is at least the k-th largest mean
    minus `epsilon`. This holds with all distributions on `support`. The radius is about ``sqrt(2 V l / T)``,
    where V is the empirical variance, and l is at least about ``ln(2 n / delta)`` and grows very slowly with
    T. If V is 0, the radius is about ``1.9 l / T`` times the length of `support`.

    Outcomes may come in batches. If the sum of squares of a batch is unknown, the radius uses the largest
    variance that outcomes with this mean can have. For outcomes 0 and 1, this is their variance.

    Parameters
    ----------
    n_arms, k, delta, epsilon
        As for `LUCB1`.
    support : tuple of float
        Interval that contains the outcomes.

    Notes
    -----
    The intervals are those of `cmab.bounds.anytime_bernstein_radii` (see there for the proof) at the
    levels of LUCB++. Assume that the answer contains an arm b with a mean below the k-th largest by more
    than `epsilon`. Then it lacks one of the k best arms, a, and the lower bound of b is at least the upper
    bound of a minus `epsilon`. Hence the empirical mean of b is too large by more than its radius, or that of
    a is too small by more than its radius. The first event has probability at most ``delta / (2 (n - k))``
    for each of the n - k arms outside the k best. The second event has probability at most ``delta / (2 k)``
    for each of the k best arms. The sum is `delta`.

    Examples
    --------
    >>> from cmab import BernsteinLUCB, identify
    >>> from instances import BernoulliArms
    >>> identify(BernsteinLUCB(3, k=1, delta=0.1), BernoulliArms([0.9, 0.1, 0.1]), rng=0).arms
    [array([0])]

    References
    ----------
    S. Kalyanakrishnan et al.: PAC Subset Selection in Stochastic Multi-armed Bandits, ICML 2012; M.
    Simchowitz et al.: The Simulator, COLT 2017; I. Waudby-Smith, A. Ramdas: Estimating means of bounded
    random variables by betting, JRSS-B 2024. The bets are ours.
    """

    epsilon: float = field(default=0.0, metadata=EPSILON)
    support: tuple[float, float] = field(default=(0.0, 1.0), metadata=SUPPORT)

    def rule(self) -> Rule:
        """Return the compiled rule, which scans all arms and recomputes the radii of the sampled arms."""
        high, low = math.log(2.0 * (self.n_arms - self.k) / self.delta), math.log(2.0 * self.k / self.delta)
        reals = [self.epsilon, high, low, *self.support, *bet_table()]
        return Rule(decide_variance_lucb, [*range(self.k)], reals, room=2 * self.n_arms)

    def intervals(self, state: ArmStatistics) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper bound of each arm at the level of its side.

        Only the lower bounds of the k best arms and the upper bounds of the others are proven.
        """
        reals, is_high = self.parameters[1], best_mask(state.means, self.k)
        lower, upper = np.empty(self.n_arms), np.empty(self.n_arms)
        variance_bounds(self.seen(state), is_high, reals, lower, upper)
        return lower, upper
