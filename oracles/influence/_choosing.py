"""Greedy choices from reverse-reachable sets, and upper bounds on the best spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from oracles.diffusion.reverse_sets import ReverseGraph, SetCollection
from oracles.influence._sentinels import hold_back
from oracles.influence.certificate import concave_bound, upper_bound

if TYPE_CHECKING:
    from oracles.diffusion._kernels_cover import Index

# The k best nodes are nearly always among this many times k nodes.
NEAR = 16
# How many times a bound is computed during the choice of k seeds; each takes one pass over these nodes.
_LOOKS = 64


def choose_some(
    sets: SetCollection,
    k: int,
    allowed: BoolArray,
    log_term: float,
    is_last: bool = False,
    least_share: float = 0.0,
) -> tuple[IntArray, int, float]:
    """Return `k` greedily chosen allowed components, their coverage, and a bound on the best spread.

    At least `k` components must be allowed. When all sets are covered, the largest other components follow.
    If `is_last` is true, the certificate relies on a greedy choice, so the function verifies that the choice
    is greedy.

    If `sets` have sentinels that hold the choice back (see `hold_back`, which also explains `least_share`),
    the sets are completed, and the choice is made from complete sets.
    """
    from oracles.diffusion._kernels_cover import Index, cover, cover_and_gain, is_greedy

    reverse, n_sets = sets.graph, sets.n_sets
    index = Index(sets.ends, sets.pool, *sets.index())
    nodes, per_set = np.flatnonzero(allowed), reverse.total_weight / n_sets
    if len(reverse.world.gammas) == 0:
        chosen, covered, bound, gain = call_kernel(cover, index, k, allowed, sets.sentinels)
        if len(sets.sentinels) and hold_back(len(sets.sentinels), covered, bound, gain, least_share):
            sets.complete()
            return choose_some(sets, k, allowed, log_term, is_last)
        optimum = upper_bound(bound, n_sets, reverse.total_weight, log_term)
    else:
        chosen, covered = call_kernel(cover_and_gain, index, k, nodes, reverse.certain, per_set)
        optimum = bound_with_certain(reverse, index, k, nodes, reverse.certain, chosen, covered, log_term)
    chosen = fill_up(chosen, k, allowed, reverse)
    if is_last:
        found = is_greedy(index, nodes, reverse.certain, per_set, chosen)
        assert found, "the last choice must be greedy"
    return chosen, covered, optimum


def first_of_largest(values: FloatArray, k: int) -> IntArray:
    """Return the `k` largest entries, the largest first; ties go to the lowest number."""
    from cmab.kernels import top_k

    best = np.empty(k, np.int64)
    top_k(values, k, best)
    return best[np.argsort(-values[best], kind="stable")]


def bound_with_certain(
    reverse: ReverseGraph,
    index: Index,
    k: int,
    nodes: IntArray,
    certain: FloatArray,
    chosen: IntArray,
    covered: int,
    log_term: float,
) -> float:
    """Return an upper bound on the best spread if sets of one node are omitted.

    The spread of the best seeds is A + W g(L), where W is the total weight, their coverage L is unknown, and
    the upper bound g is concave. A tangent of g at any point is above g, and `bound_after` bounds A + slope *
    L. This holds for any tangent point and any choice; they only determine how tight the bound is.
    """
    from oracles.diffusion._kernels_cover import bound_after

    intercept, slope = tangent(reverse, index, covered, log_term)
    cut = near_cut(index, k, nodes, certain, slope)
    worth = bound_after(index, k, nodes, certain, slope, cut, chosen, _LOOKS)
    return min(float(reverse.masses.sum()), reverse.total_weight * intercept + float(worth))


def tangent(reverse: ReverseGraph, index: Index, covered: int, log_term: float) -> tuple[float, float]:
    """Return the intercept of the tangent of g, and its slope per set."""
    n_sets = len(index.ends) - 1
    intercept, steepness = concave_bound(covered, n_sets, log_term)
    return intercept, reverse.total_weight / n_sets * steepness


def near_cut(index: Index, k: int, nodes: IntArray, certain: FloatArray, slope: float) -> float:
    """Return the least value of the nodes that `bound_after` examines first."""
    worths = certain[nodes] + slope * np.diff(index.offsets)[nodes]
    few = min(len(nodes), NEAR * k)
    return float(np.partition(worths, -few)[-few])


def fill_up(chosen: IntArray, k: int, allowed: BoolArray, reverse: ReverseGraph) -> IntArray:
    """Return `chosen` and the largest other allowed components, `k` in total."""
    if len(chosen) == k:
        return chosen
    free = allowed.copy()
    free[chosen] = False
    others = np.flatnonzero(free)
    largest_first = np.argsort(-reverse.masses[others], kind="stable")
    return np.concatenate((chosen, others[largest_first[: k - len(chosen)]]))
