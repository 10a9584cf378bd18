"""LUCB rules with a radius that depends only on the count of the arm, in O(log N) time per sample."""

import numpy as np

from cmab.compiled import (
    EXPLORE_TREES,
    MOST_SAMPLES,
    ROUNDS,
    SAMPLES,
    STEPS,
    Arguments,
    lean_kernel,
    loop_kernel,
)
from cmab.confidence._kernels_radii import PARAMETERS, RADII, radius_at
from cmab.exploration._kernels_lucb import choose_critical
from cmab.selection import mark_best, plant, put, tree_size
from cmab.statistics import observe_outcome

# The trees: lower bounds of the k best arms (negated), upper bounds of the others, means of the k best arms
# (negated), means of the others.
_LOWER, _UPPER, _WORST, _BEST = 0, 1, 2, 3
_OUT = -np.inf
# Places in `integers`; `reals` are those of `radius_at`.
K, SAMPLED = 0, 1


def lil_trees(k: int, sampling: int, epsilon: float, sigma: float, high: float, low: float) -> Arguments:
    """Return the parameters of `explore_lil_trees`, with a table for radii."""
    reals = np.zeros(PARAMETERS + RADII)
    reals[:PARAMETERS] = epsilon, sigma, high, low
    return Arguments(np.array([k, sampling], np.int64), reals)


@lean_kernel
def _enter(keys, winners, arm, mean, radius, is_high):
    """Put the keys of `arm` into the trees of its side."""
    if is_high:
        put(keys, winners, _LOWER, arm, -(mean - radius), False)
        put(keys, winners, _WORST, arm, -mean, True)
    else:
        put(keys, winners, _UPPER, arm, mean + radius, False)
        put(keys, winners, _BEST, arm, mean, False)


@lean_kernel
def _leave(keys, winners, arm, was_high):
    """Remove `arm` from the trees of a side."""
    put(keys, winners, _LOWER if was_high else _UPPER, arm, _OUT, False)
    put(keys, winners, _WORST if was_high else _BEST, arm, _OUT, was_high)


@loop_kernel(EXPLORE_TREES)
def explore_lil_trees(rule, draw, arms, seen, streams):
    """Take the same samples as `explore` with `decide_lil`, with the same parameters."""
    (counts, means, deviations, clock), reals = seen, rule.reals
    (draw_integers, draw_reals), (learner, coins) = arms, streams
    n, k, sampling = means.shape[0], rule.integers[K], rule.integers[SAMPLED]
    chosen = np.empty(2, np.int64)
    keys, winners = plant(4, tree_size(n))
    is_high = np.empty(n, np.bool_)
    mark_best(means, k, is_high)
    for i in range(n):
        _enter(keys, winners, i, means[i], radius_at(counts[i], is_high[i], reals), is_high[i])
    for _ in range(clock[STEPS]):
        coin = learner.random() if sampling else 0.0
        high, low = winners[_LOWER, 1], winners[_UPPER, 1]
        size = choose_critical(high, low, sampling, counts, coin, chosen)
        # The tree holds negated lower bounds, so the sum is bitwise the overlap in `decide_lil`.
        if keys[_UPPER, 1] + keys[_LOWER, 1] <= 0.0 or clock[SAMPLES] + size > clock[MOST_SAMPLES]:
            return True
        for j in range(size):
            arm = chosen[j]
            observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
            side = is_high[arm]
            _enter(keys, winners, arm, means[arm], radius_at(counts[arm], side, reals), side)
            # Only one mean changed, so at most one pair of arms changes sides.
            worst, best = winners[_WORST, 1], winners[_BEST, 1]
            if means[best] > means[worst] or (means[best] == means[worst] and best < worst):
                for moved in (worst, best):
                    side = is_high[moved]
                    _leave(keys, winners, moved, side)
                    is_high[moved] = not side
                    radius = radius_at(counts[moved], not side, reals)
                    _enter(keys, winners, moved, means[moved], radius, not side)
        clock[ROUNDS] += 1
        clock[SAMPLES] += size
    return False
