"""lil'CLUCB for the family of all sets of k base arms, in O(log N) time per sample."""

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
from cmab.selection import mark_best, plant, put, tree_size
from cmab.statistics import observe_outcome

# The trees. For each of two sets, the best arms (by means) and their rivals (by revised means), one tree has
# the worst arm inside the set and one the best arm outside. The last tree has the radii of the arms that are
# in exactly one of the two sets.
_WORST, _NEXT, _WORST_RIVAL, _NEXT_RIVAL, _DISPUTED = 0, 1, 2, 3, 4
_OUT = -np.inf
# Places in `integers`; `reals` are those of `radius_at`.
K, SIGN = 0, 1


def clucb_trees(k: int, sign: float, epsilon: float, sigma: float, level: float) -> Arguments:
    """Return the parameters of `explore_clucb_trees`, with a table for radii."""
    reals = np.zeros(PARAMETERS + RADII)
    reals[:PARAMETERS] = epsilon, sigma, level, level
    return Arguments(np.array([k, sign], np.int64), reals)


@lean_kernel
def _side(keys, winners, arm, value, inside, worst):
    """Put `arm` with `value` into the trees of a set: `worst` (inside) and ``worst + 1`` (outside)."""
    put(keys, winners, worst, arm, -value if inside else _OUT, True)
    put(keys, winners, worst + 1, arm, _OUT if inside else value, False)


@lean_kernel
def _out_of_order(keys, winners, worst):
    """Return whether the best arm outside a set must replace the worst arm inside."""
    inside, outside = -keys[worst, 1], keys[worst + 1, 1]
    return bool(outside > inside or (outside == inside and winners[worst + 1, 1] < winners[worst, 1]))


@lean_kernel
def _revised(value, radius, is_best):
    return value - radius if is_best else value + radius


@lean_kernel
def _settle(keys, winners, arm, values, radii, is_best, is_rival):
    """Update every tree after a change of the value and the radius of `arm`."""
    out, into = -1, -1
    _side(keys, winners, arm, values[arm], is_best[arm], _WORST)
    # Only one value changed, so at most one pair of arms changes places.
    if _out_of_order(keys, winners, _WORST):
        out, into = winners[_WORST, 1], winners[_NEXT, 1]
        for moved in (out, into):
            is_best[moved] = not is_best[moved]
            _side(keys, winners, moved, values[moved], is_best[moved], _WORST)
    for i in (arm, out, into):
        if i >= 0:
            _side(keys, winners, i, _revised(values[i], radii[i], is_best[i]), is_rival[i], _WORST_RIVAL)
            _dispute(keys, winners, i, radii, is_best, is_rival)
    # `arm` was in exactly one of the two sets. At most one place among the rivals therefore changes: `into`
    # or `arm` leaves, or `out` or `arm` replaces the worst rival.
    if _out_of_order(keys, winners, _WORST_RIVAL):
        for i in (winners[_WORST_RIVAL, 1], winners[_NEXT_RIVAL, 1]):
            is_rival[i] = not is_rival[i]
            _side(keys, winners, i, _revised(values[i], radii[i], is_best[i]), is_rival[i], _WORST_RIVAL)
            _dispute(keys, winners, i, radii, is_best, is_rival)


@lean_kernel
def _dispute(keys, winners, arm, radii, is_best, is_rival):
    put(keys, winners, _DISPUTED, arm, radii[arm] if is_best[arm] != is_rival[arm] else _OUT, False)


@loop_kernel(EXPLORE_TREES)
def explore_clucb_trees(rule, draw, arms, seen, streams):
    """Run the loop of `explore_oracle` for super arms of any k of n arms."""
    (counts, means, deviations, clock), reals = seen, rule.reals
    (draw_integers, draw_reals), coins = arms, streams.coins
    n, k, sign = means.shape[0], rule.integers[K], rule.integers[SIGN]
    values, radii, revised = sign * means, np.empty(n), np.empty(n)
    is_best, is_rival = np.empty(n, np.bool_), np.empty(n, np.bool_)
    mark_best(values, k, is_best)
    for i in range(n):
        radii[i] = radius_at(counts[i], True, reals)
        revised[i] = _revised(values[i], radii[i], is_best[i])
    mark_best(revised, k, is_rival)
    keys, winners = plant(5, tree_size(n))
    for i in range(n):
        _side(keys, winners, i, values[i], is_best[i], _WORST)
        _side(keys, winners, i, revised[i], is_rival[i], _WORST_RIVAL)
        _dispute(keys, winners, i, radii, is_best, is_rival)
    for _ in range(clock[STEPS]):
        # Jiang et al. (2017), Algorithm 2: stop if the two sets are equal.
        if keys[_DISPUTED, 1] == _OUT or clock[SAMPLES] + 1 > clock[MOST_SAMPLES]:
            return True
        arm = winners[_DISPUTED, 1]
        observe_outcome(arm, draw(arm, draw_integers, draw_reals, coins), counts, means, deviations)
        values[arm], radii[arm] = sign * means[arm], radius_at(counts[arm], True, reals)
        _settle(keys, winners, arm, values, radii, is_best, is_rival)
        clock[ROUNDS] += 1
        clock[SAMPLES] += 1
    return False
