"""LUCB with radii that depend on the empirical variance but not on time, so they can be stored."""

import numpy as np

from cmab.compiled import Rule, decide_kernel, lean_kernel
from cmab.confidence._kernels_variances import bernstein_radius, student_radius
from cmab.confidence.variances import bet_table
from cmab.exploration._kernels_lucb import BOTH, choose_critical, critical_pair
from cmab.selection import mark_best_again

# decide_variance_lucb: `integers` holds the number of bets (0 for Student's radius), then the k best arms of
# the last step. `reals` begins with these entries, then the bets, then in a run the table of `side_radius`.
EPSILON, HIGH, LOW, LEAST, MOST, FIRST_BET = range(6)


def variance_rule(
    n_arms: int, k: int, epsilon: float, logs: tuple[float, float], support: tuple[float, float] | None
) -> Rule:
    """Return the rule for outcomes in `support`, or for Gaussian outcomes if `support` is None.

    `logs` holds the `log` of `bernstein_radius` or `student_radius` on the high and the low side.
    """
    bets = np.empty(0) if support is None else bet_table()
    ends = (-np.inf, np.inf) if support is None else support
    reals = [epsilon, *logs, *ends, *bets]
    return Rule(decide_variance_lucb, [len(bets) // 3, *range(k)], reals, room=2 * n_arms)


@lean_kernel
def side_radius(arm, is_high, n_bets, seen, reals):
    """Return the radius of an arm on a side, from the table if it is known."""
    count, log = seen.counts[arm], reals[HIGH] if is_high else reals[LOW]
    known = FIRST_BET + 3 * n_bets
    place, moment = known + 2 * arm, 2.0 * count + (1.0 if is_high else 0.0)
    remembers = place < reals.shape[0]
    if remembers and reals[place] == moment:
        return float(reals[place + 1])
    mean, deviation = seen.means[arm], seen.deviations[arm]
    if n_bets == 0:
        radius = student_radius(count, mean, deviation, log)
    else:
        bets = reals[FIRST_BET:known]
        radius = bernstein_radius(count, mean, deviation, log, reals[LEAST], reals[MOST], bets)
    if remembers:
        reals[place], reals[place + 1] = moment, radius
    return radius


@lean_kernel
def variance_bounds(seen, is_high, n_bets, reals, lower, upper):
    """Write the ends of the interval of each arm, cut to the support."""
    for i in range(lower.shape[0]):
        radius = side_radius(i, is_high[i], n_bets, seen, reals)
        lower[i], upper[i] = (
            max(seen.means[i] - radius, reals[LEAST]),
            min(seen.means[i] + radius, reals[MOST]),
        )


@decide_kernel
def decide_variance_lucb(seen, coin, integers, reals, chosen):
    """Sample both critical arms; stop when the sides overlap by at most epsilon."""
    n = seen.means.shape[0]
    is_high, lower, upper = np.empty(n, np.bool_), np.empty(n), np.empty(n)
    mark_best_again(seen.means, integers[1:], is_high)
    variance_bounds(seen, is_high, integers[0], reals, lower, upper)
    high, low, gap = critical_pair(lower, upper, is_high)
    size = choose_critical(high, low, BOTH, seen.counts, coin, chosen)
    return -size if gap <= reals[EPSILON] else size
