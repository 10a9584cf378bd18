"""Greedy choices from reverse-reachable sets, and upper bounds on the best spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cmab.arrays import BoolArray, IntArray
from cmab.compiled.forms import call_kernel
from oracles.diffusion.reverse_sets import ReverseGraph, SetCollection
from oracles.influence._sentinels import hold_back
from oracles.influence.certificate import concave_bound, upper_bound

if TYPE_CHECKING:
    from oracles.diffusion._kernels_cover import Index

# The k best nodes are nearly always among this many times k nodes.
_NEAR = 16
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
        optimum = _bound_with_certain(sets, index, k, nodes, chosen, covered, log_term)
    chosen = _filled(chosen, k, allowed, reverse)
    if is_last:
        found = is_greedy(index, nodes, reverse.certain, per_set, chosen)
        assert found, "the last choice must be greedy"
    return chosen, covered, optimum


def _bound_with_certain(
    sets: SetCollection,
    index: Index,
    k: int,
    nodes: IntArray,
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

    reverse = sets.graph
    intercept, steepness = concave_bound(covered, sets.n_sets, log_term)
    slope = reverse.total_weight / sets.n_sets * steepness
    worths = reverse.certain[nodes] + slope * np.diff(index.offsets)[nodes]
    few = min(len(nodes), _NEAR * k)
    cut = float(np.partition(worths, -few)[-few])
    worth = bound_after(index, k, nodes, reverse.certain, slope, cut, chosen, _LOOKS)
    return min(float(reverse.masses.sum()), reverse.total_weight * intercept + float(worth))


def _filled(chosen: IntArray, k: int, allowed: BoolArray, reverse: ReverseGraph) -> IntArray:
    """Return `chosen` and the largest other allowed components, `k` in total."""
    if len(chosen) == k:
        return chosen
    free = allowed.copy()
    free[chosen] = False
    others = np.flatnonzero(free)
    largest_first = np.argsort(-reverse.masses[others], kind="stable")
    return np.concatenate((chosen, others[largest_first[: k - len(chosen)]]))
