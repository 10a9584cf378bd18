"""Maximum coverage of reverse-reachable sets: index, greedy choice and bound on the optimum.

Choice of seeds by expected degrees, with discounts for the effect of chosen seeds.

Greedy choices from reverse-reachable sets, and upper bounds on the best spread.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.compiled import call_kernel, eager_kernel, kernel, lean_kernel
from cmab.selection import heap_drop, heap_sink, heap_up
from oracles._networks import group_offsets
from oracles.influence.certificate import concave_bound, upper_bound
from oracles.influence.sets import ReverseGraph, SetCollection

#: The number of neighbouring nodes that one thread indexes.
STRIPE = 1024


class Index(NamedTuple):
    """The sets, and the sets that contain each node.

    Set i is ``pool[ends[i]:ends[i + 1]]``; node v is in the sets ``sets[offsets[v]:offsets[v + 1]]``.
    """

    ends: IntArray
    pool: AnyArray
    offsets: IntArray
    sets: AnyArray


@eager_kernel
def invert(ends, pool, n):
    """Return the sets that contain each of `n` nodes, as (offsets, sets)."""
    n_sets = ends.shape[0] - 1
    offsets = group_offsets(pool[: ends[n_sets]], n)
    place = offsets[:-1].copy()
    sets = np.empty(ends[n_sets], np.int32)
    for i in range(n_sets):
        for at in range(ends[i], ends[i + 1]):
            sets[place[pool[at]]] = i
            place[pool[at]] += 1
    return offsets, sets


@kernel
def count_stripes(ends, pool, part, parts, counts):
    """Count the sets that contain each node of some stripes: those with numbers `part` modulo `parts`."""
    for at in range(ends[ends.shape[0] - 1]):
        v = pool[at]
        if (v // STRIPE) % parts == part:
            counts[v] += 1


@kernel
def fill_stripes(ends, pool, part, parts, place, sets):
    """Write the sets that contain each node of some stripes from ``place[v]`` on, in order."""
    for i in range(ends.shape[0] - 1):
        for at in range(ends[i], ends[i + 1]):
            v = pool[at]
            if (v // STRIPE) % parts == part:
                sets[place[v]] = i
                place[v] += 1


@lean_kernel
def _largest(histogram, top, k):
    """Return the sum of the `k` largest degrees; all degrees are at most `top`."""
    total = 0
    while top > 0 and k > 0:
        taken = min(k, histogram[top])
        total += taken * top
        k -= taken
        top -= 1
    return total


@kernel
def _sizes(offsets):
    """Return the size of each group; this avoids `np.diff`, which takes a second to compile."""
    sizes = np.empty(offsets.shape[0] - 1, np.int64)
    for v in range(sizes.shape[0]):
        sizes[v] = offsets[v + 1] - offsets[v]
    return sizes


@eager_kernel
def cover(index, k, allowed, given):
    """Choose at most `k` allowed nodes, first `given` and then greedily; ties go to the lowest number.

    Stop if no node has a positive gain. Return the nodes, the number of sets they cover, an upper bound on
    the coverage of any k allowed nodes, and the largest gain of one more node. The bound is the minimum, over
    the steps after `given`, of the coverage so far plus the k largest gains (Tang et al. 2018, eq. 10). Sets
    that contain a given node need not be complete.
    """
    ends, pool, offsets, sets = index
    n = offsets.shape[0] - 1
    degrees = np.zeros(n, np.int64)
    for v in range(n):
        if allowed[v]:
            degrees[v] = offsets[v + 1] - offsets[v]
    # The histogram of degrees gives the k largest without sorting.
    top = 0
    for v in range(n):
        top = max(top, degrees[v])
    histogram = np.zeros(top + 1, np.int64)
    for v in range(n):
        histogram[degrees[v]] += 1
    covered_sets = np.zeros(ends.shape[0] - 1, np.bool_)
    chosen, size, covered, bound = np.empty(k, np.int64), 0, 0, ends.shape[0] - 1
    while True:
        if size >= given.shape[0]:
            # Tang et al. 2018, eq. 10: k nodes cover at most the current coverage plus the k largest gains.
            bound = min(bound, covered + _largest(histogram, top, k))
        # Degrees only decrease, and so does `top`: all steps together pass over the histogram once.
        while top > 0 and histogram[top] == 0:
            top -= 1
        if size == k or (top == 0 and size >= given.shape[0]):
            return chosen[:size], covered, bound, top
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


@eager_kernel
def cover_and_gain(index, k, nodes, certain, per_set):
    """Choose among `nodes` as `cover` does, with value ``certain[v]`` for v and `per_set` per covered set.

    Return the nodes and the number of sets they cover. The choice is greedy by construction, regardless of
    rounding: a node is chosen only if its current value is on top of the heap, and the heap's keys are upper
    bounds on the current values of all nodes.
    """
    degrees, left = _sizes(index.offsets), certain.copy()
    heap, keys, held = nodes.copy(), np.empty(nodes.shape[0]), nodes.shape[0]
    for i in range(held):
        keys[i] = certain[nodes[i]] + per_set * degrees[nodes[i]]
    heap_up(heap, keys, held)
    covered_sets = np.zeros(index.ends.shape[0] - 1, np.bool_)
    chosen, size, covered = np.empty(k, np.int64), 0, 0
    while size < k and held > 0:
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
        covered += _take(index, best, degrees, covered_sets)
    return chosen[:size], covered


@lean_kernel
def _take(index, node, degrees, covered_sets):
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


@kernel
def _sum_of_largest(nodes, degrees, left, slope, best):
    """Return the sum of the largest ``left + slope * degrees``; their number is the size of `best`."""
    best[:] = 0.0
    size = best.shape[0]
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
    return float(best.sum())


@eager_kernel
def bound_after(index, k, nodes, certain, slope, cut, chosen, looks):
    """Return an upper bound on the value of any k of `nodes`: ``certain[v]`` plus `slope` per covered set.

    The bound is the minimum, at `looks` points of the sequence `chosen` and at its end, of the value so far
    plus the k largest gains (Tang et al. 2018, eq. 10). It holds for any sequence. Nodes with an initial
    value below `cut` are examined only if fewer than `k` other nodes still exceed `cut`.
    """
    degrees, left = _sizes(index.offsets), certain.copy()
    near, n_near = np.empty_like(nodes), 0
    for v in nodes:
        if certain[v] + slope * degrees[v] >= cut:
            near[n_near] = v
            n_near += 1
    near = near[:n_near]
    covered_sets = np.zeros(index.ends.shape[0] - 1, np.bool_)
    largest, worth, bound = np.empty(k), 0.0, np.inf
    step = chosen.shape[0] // looks + 1
    for size in range(chosen.shape[0] + 1):
        if size % step == 0 or size == chosen.shape[0]:
            more = _sum_of_largest(near, degrees, left, slope, largest)
            # A node outside `near` could be among the k best, so examine all nodes.
            if largest[0] < cut:
                more = _sum_of_largest(nodes, degrees, left, slope, largest)
            bound = min(bound, worth + more)  # Tang et al. 2018, eq. 10
        if size < chosen.shape[0]:
            v = chosen[size]
            worth += left[v] + slope * _take(index, v, degrees, covered_sets)
            left[v] = 0.0
    return bound


@kernel
def is_greedy(index, nodes, certain, per_set, chosen):
    """Return whether each of `chosen` in turn has the largest gain of `nodes`; a slow verification."""
    degrees, left = _sizes(index.offsets), certain.copy()
    covered_sets, gains = np.zeros(index.ends.shape[0] - 1, np.bool_), np.empty(chosen.shape[0])
    for i in range(chosen.shape[0]):
        v = chosen[i]
        gains[i] = left[v] + per_set * degrees[v]
        left[v] = 0.0
        _take(index, v, degrees, covered_sets)
    degrees, left = _sizes(index.offsets), certain.copy()
    # Gains only decrease, so nodes whose initial value is at most the smallest gain never gain more.
    rivals = nodes[left[nodes] + per_set * degrees[nodes] > gains.min()]
    covered_sets[:] = False
    for i in range(chosen.shape[0]):
        for u in rivals:
            if left[u] + per_set * degrees[u] > gains[i]:
                return False
        left[chosen[i]] = 0.0
        _take(index, chosen[i], degrees, covered_sets)
    return True


@eager_kernel
def cover_within(index, costs, budget):
    """Choose nodes greedily by gain per cost, ties to the lowest, until no affordable node has a gain.

    Costs and budget are integers below 2^53, so the remaining budget is exact. Free nodes come first. Return
    the nodes, the number of sets they cover, and the remaining gains.
    """
    # No set is covered at first, so the gain of a node is the number of sets that contain it.
    gains = _sizes(index.offsets)
    n = gains.shape[0]
    heap, keys = np.arange(n), np.zeros(n)
    for v in range(n):
        if gains[v] > 0:
            keys[v] = gains[v] / costs[v]  # Khuller et al. 1999, modified greedy; infinite for free nodes
    heap_up(heap, keys, n)
    chosen, size, covered, held = np.empty(n, np.int64), 0, 0, n
    covered_sets = np.zeros(index.ends.shape[0] - 1, np.bool_)
    while held > 0 and keys[0] > 0.0:
        best = heap[0]
        if gains[best] == 0 or costs[best] > budget:  # the budget only decreases
            held = heap_drop(heap, keys, held)
            continue
        rate = gains[best] / costs[best]
        if rate < keys[0]:  # the key of an earlier step is an upper bound (CELF)
            keys[0] = rate
            heap_sink(heap, keys, 0, held)
            continue
        held = heap_drop(heap, keys, held)
        chosen[size] = best
        size += 1
        budget -= costs[best]
        covered += _take(index, best, gains, covered_sets)
    return chosen[:size], covered, gains


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


@kernel
def seeds_by_degree(arcs, means, k, candidates, single, discount):
    """Choose `k` candidates one by one by their scores; ties go to the lowest number.

    The score of v is the expected number of nodes that v activates in one step. With `single`, seeds do not
    count. With `discount`, the score is multiplied by the probability that no seed activates v.
    """
    tails, heads, out_offsets, out_arms, in_offsets, in_arms = arcs
    n = out_offsets.shape[0] - 1
    degrees, untouched, free = np.zeros(n), np.ones(n), candidates.copy()
    for i in range(means.shape[0]):
        degrees[tails[i]] += means[i]
    chosen = np.empty(k, np.int64)
    for size in range(k):
        best, value = -1, -1.0
        for v in range(n):
            # With equal p and t seeds among d neighbours, this is (1 - p)^t (1 + (d - t) p). DegreeDiscountIC
            # (Chen et al. 2009) expands it to 1 + (d - 2t - (d - t) t p) p.
            score = (1.0 + degrees[v]) * untouched[v] if discount else degrees[v]
            if free[v] and score > value:
                best, value = v, score
        chosen[size] = best
        free[best] = False
        # Neighbours of a seed lose the arc to it. They count only with the probability that no seed activates
        # them.
        if single or discount:
            for j in range(in_offsets[best], in_offsets[best + 1]):
                degrees[tails[in_arms[j]]] -= means[in_arms[j]]
        if discount:
            for j in range(out_offsets[best], out_offsets[best + 1]):
                untouched[heads[out_arms[j]]] *= 1.0 - means[out_arms[j]]
    return chosen


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
    from cmab.selection import top_k

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
