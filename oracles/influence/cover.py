"""Greedy choices of seeds from reverse-reachable sets, and upper bounds on the best spread."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled import eager_kernel, kernel, lean_kernel, sparse_kernel
from cmab.selection import heap_drop, heap_sink, heap_up
from oracles.influence.certificate import concave_bound, upper_bound
from oracles.influence.sets import Index, ReverseGraph, SetCollection


@sparse_kernel
def _cover(index, given, degrees, histogram, covered_sets, chosen):
    """Choose nodes as `cover` does; return their number, covered sets, the bound and the largest gain."""
    ends, pool, offsets, sets = index
    k, size, covered, bound, top = chosen.shape[0], 0, 0, ends.shape[0] - 1, histogram.shape[0] - 1
    while True:
        if size >= given.shape[0]:
            # Tang et al. 2018, eq. 10: k nodes cover at most the current coverage plus the k largest gains.
            # The histogram of degrees gives these without sorting.
            most, left, degree = covered, k, top
            while degree > 0 and left > 0:
                most += min(left, histogram[degree]) * degree
                left -= histogram[degree]
                degree -= 1
            bound = min(bound, most)
        # Degrees only decrease, and so does `top`: all steps together pass over the histogram once.
        while top > 0 and histogram[top] == 0:
            top -= 1
        if size == k or (top == 0 and size >= given.shape[0]):
            return size, covered, bound, top
        best = 0
        if size < given.shape[0]:
            best = given[size]
        else:
            # Choose the lowest node of largest degree.
            while degrees[best] != top:
                best += 1
        chosen[size] = best
        size += 1
        covered += degrees[best]
        for j in range(offsets[best], offsets[best + 1]):
            if not covered_sets[sets[j]]:
                covered_sets[sets[j]] = True
                for at in range(ends[sets[j]], ends[sets[j] + 1]):
                    degree = degrees[pool[at]]
                    if degree > 0:  # nodes of degree 0 are not allowed
                        histogram[degree] -= 1
                        histogram[degree - 1] += 1
                        degrees[pool[at]] = degree - 1


def cover(index: Index, k: int, allowed: BoolArray, given: IntArray) -> tuple[IntArray, int, int, int]:
    """Choose at most `k` allowed nodes, first `given` and then greedily; ties go to the lowest number.

    Stop if no node has a positive gain. Return the nodes, the number of sets they cover, an upper bound on
    the coverage of any k allowed nodes, and the largest gain of one more node. The bound is the minimum, over
    the steps after `given`, of the coverage so far plus the k largest gains (Tang et al. 2018, eq. 10). Sets
    that contain a given node need not be complete.
    """
    degrees = np.where(allowed, np.diff(index.offsets), 0)
    chosen, covered_sets = np.empty(k, np.int64), np.zeros(len(index.ends) - 1, np.bool_)
    size, *found = _cover(index, given, degrees, np.bincount(degrees), covered_sets, chosen)
    return chosen[:size], *found


@eager_kernel
def _cover_and_gain(index, heap, keys, left, degrees, per_set, covered_sets, chosen):
    """Choose nodes as `cover_and_gain` does; return their number and the number of sets they cover."""
    held, size, covered = heap.shape[0], 0, 0
    heap_up(heap, keys, held)
    while size < chosen.shape[0] and held > 0:
        best = heap[0]
        worth = left[best] + per_set * degrees[best]
        if worth < keys[0]:  # the key of an earlier step is an upper bound (CELF)
            keys[0] = worth
            heap_sink(heap, keys, 0, held)
            continue
        if worth <= 0.0:
            break
        held = heap_drop(heap, keys, held)
        chosen[size] = best
        size += 1
        # Its own value is used up; its sets follow.
        left[best] = 0.0
        covered += take(index, best, degrees, covered_sets)
    return size, covered


def cover_and_gain(
    index: Index, k: int, nodes: IntArray, certain: FloatArray, per_set: float
) -> tuple[IntArray, int]:
    """Choose among `nodes` as `cover` does, with value ``certain[v]`` for v and `per_set` per covered set.

    Return the nodes and the number of sets they cover. The choice is greedy by construction, regardless of
    rounding: a node is chosen only if its current value is on top of the heap, and the heap's keys are upper
    bounds on the current values of all nodes.
    """
    degrees, covered_sets = np.diff(index.offsets), np.zeros(len(index.ends) - 1, np.bool_)
    keys, chosen = (certain + per_set * degrees)[nodes], np.empty(k, np.int64)
    size, covered = _cover_and_gain(
        index, nodes.copy(), keys, certain.copy(), degrees, per_set, covered_sets, chosen
    )
    return chosen[:size], covered


@lean_kernel
def take(index, node, degrees, covered_sets):
    """Cover the sets that contain `node`, update all degrees, and return the number of new sets."""
    ends, pool, offsets, sets = index
    fresh = 0
    for j in range(offsets[node], offsets[node + 1]):
        if not covered_sets[sets[j]]:
            covered_sets[sets[j]] = True
            fresh += 1
            for at in range(ends[sets[j]], ends[sets[j] + 1]):
                degrees[pool[at]] -= 1
    return fresh


@lean_kernel
def _sum_of_largest(nodes, degrees, left, slope, best):
    """Return the sum of the largest ``left + slope * degrees``; their number is the size of `best`."""
    size, total = best.shape[0], 0.0
    for i in range(size):
        best[i] = 0.0
    for v in nodes:
        value = left[v] + slope * degrees[v]
        # Most nodes end here, because they do not exceed the smallest of the best.
        if value <= best[0]:
            continue
        at = 0  # `best` is a heap with the smallest value on top
        while 2 * at + 1 < size:
            below = 2 * at + 1
            if below + 1 < size and best[below + 1] < best[below]:
                below += 1
            if best[below] >= value:
                break
            best[at] = best[below]
            at = below
        best[at] = value
    for i in range(size):
        total += best[i]
    return total


@eager_kernel
def _bound_after(index, nodes, left, degrees, slope, chosen, looks, covered_sets, largest):
    """Return the bound of `bound_after`."""
    worth, bound, step = 0.0, np.inf, chosen.shape[0] // looks + 1
    for size in range(chosen.shape[0] + 1):
        if size % step == 0 or size == chosen.shape[0]:
            bound = min(bound, worth + _sum_of_largest(nodes, degrees, left, slope, largest))
        if size < chosen.shape[0]:
            v = chosen[size]
            worth += left[v] + slope * take(index, v, degrees, covered_sets)
            left[v] = 0.0
    return bound


def bound_after(
    index: Index, k: int, nodes: IntArray, certain: FloatArray, slope: float, chosen: IntArray
) -> float:
    """Return an upper bound on the value of any k of `nodes`: ``certain[v]`` plus `slope` per covered set.

    The bound is the minimum, at some points of the sequence `chosen` and at its end, of the value so far plus
    the k largest gains (Tang et al. 2018, eq. 10). It holds for any sequence.
    """
    covered_sets, largest = np.zeros(len(index.ends) - 1, np.bool_), np.empty(k)
    given = index, nodes, certain.copy(), np.diff(index.offsets), slope, chosen, _LOOKS, covered_sets, largest
    bound: float = _bound_after(*given)
    return bound


@kernel
def count_covered(offsets, sets, nodes, seen):
    """Return how many sets contain one of `nodes`; `seen`, one entry per set, is false before and after."""
    covered = 0
    for v in nodes:
        for j in range(offsets[v], offsets[v + 1]):
            covered += not seen[sets[j]]
            seen[sets[j]] = True
    # Reset `seen` by the same loop, because a new array for each call would cost a pass over all sets.
    for v in nodes:
        for j in range(offsets[v], offsets[v + 1]):
            seen[sets[j]] = False
    return covered


# How many times a bound is computed during the choice of k seeds; each takes one pass over all nodes.
_LOOKS = 8


def choose_some(
    sets: SetCollection, k: int, allowed: BoolArray, log_term: float, least_share: float = 0.0
) -> tuple[IntArray, int, float]:
    """Return `k` greedily chosen allowed components, their coverage, and a bound on the best spread.

    At least `k` components must be allowed. When all sets are covered, the largest other components follow.

    If `sets` have sentinels that hold the choice back (see `hold_back`, which also explains `least_share`),
    the sets are completed, and the choice is made from complete sets.
    """
    reverse, n_sets = sets.graph, sets.n_sets
    index = sets.index()
    nodes, per_set = np.flatnonzero(allowed), reverse.total_weight / n_sets
    if not reverse.omits_single_nodes:
        chosen, covered, bound, gain = cover(index, k, allowed, sets.sentinels)
        if len(sets.sentinels) and hold_back(len(sets.sentinels), covered, bound, gain, least_share):
            sets.complete()
            return choose_some(sets, k, allowed, log_term)
        optimum = upper_bound(bound, n_sets, reverse.total_weight, log_term)
    else:
        chosen, covered = cover_and_gain(index, k, nodes, reverse.certain, per_set)
        optimum = bound_with_certain(reverse, index, k, nodes, reverse.certain, chosen, covered, log_term)
    others = np.where(allowed, reverse.masses, -1.0)
    others[chosen] = -1.0
    return np.append(chosen, first_of_largest(others, k - len(chosen))), covered, optimum


def first_of_largest(values: FloatArray, k: int) -> IntArray:
    """Return the `k` largest entries, the largest first; ties go to the lowest number."""
    if k == 0:
        return np.empty(0, np.int64)
    bar = np.partition(values, -k)[-k]
    best, ties = np.flatnonzero(values > bar), np.flatnonzero(values == bar)
    best = np.concatenate((best, ties[: k - len(best)]))
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
    n_sets = index.ends.shape[0] - 1
    intercept, steepness = concave_bound(covered, n_sets, log_term)
    slope = reverse.total_weight / n_sets * steepness
    worth = bound_after(index, k, nodes, certain, slope, chosen)
    return min(float(reverse.masses.sum()), reverse.total_weight * intercept + float(worth))


# The largest share of the coverage that sentinels may cost, and the number of standard deviations by which a
# sample must exceed it: in a first sample of 150 sets the cost is one or two sets, which is not significant.
_MOST_COST, _DEVIATIONS = 0.01, 2.0


def hold_back(n_sentinels: int, covered: int, bound: int, gain: int, least_share: float) -> bool:
    """Return whether a sample shows that seeds without the sentinels are better, or certified sooner.

    The seeds, including the sentinels, cover `covered` sets. Any seeds of the same number cover at most
    `bound` sets, and any further node covers at most `gain` further sets. The sentinels hold the answer back
    in two cases:

    - They cost more than 1 % of the coverage. Adding the sentinels to the best seeds adds that many nodes,
      and each of the additional nodes covers at most about `gain` sets.
    - `covered` is less than `least_share` of `bound`. Greedy on complete sets always reaches this share.
    """
    cost = _beyond_chance(n_sentinels * gain)
    return cost > _MOST_COST * covered or covered < least_share * (covered + _beyond_chance(bound - covered))


def _beyond_chance(count: int) -> float:
    """Return a count minus two standard deviations, at least 0."""
    return max(0.0, count - _DEVIATIONS * math.sqrt(count))
