"""Sentinels: the first seeds, chosen from a few sets. All further sets end as soon as they contain one.

If influence is high, most sets contain the same large part of the graph, and drawing this part repeatedly
takes most of the time (HIST: Guo et al., Influence Maximization Revisited, SIGMOD 2020). A set that ends at a
sentinel is a partly known set: it counts as covered once the sentinels are chosen. A set without a sentinel
is complete. So the bound on the optimum (of the greedy steps after the sentinels) and the validation are the
same as for a complete sample, and the confidence of certificates does not change.

Sentinels are seeds of every later choice, so `hold_back` tests them on each sample before the choice is used.
If it returns true, all sets are drawn completely from then on.
"""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import BoolArray, FloatArray
from cmab.compiled import kernel
from oracles.influence.cover import cover, hold_back
from oracles.influence.graph import DirectedGraph
from oracles.influence.sets import Model, ReverseGraph, Sampler, SetCollection


@kernel
def most_covering(index, arcs_out, allowed, k, least_gain):
    """Return at most `k` allowed nodes that each cover `least_gain` more sets, and the entries of these sets.

    Among the nodes with a coverage within half a standard deviation of the largest, or one set, choose the
    one with the most arcs out, then the lowest number.
    """
    ends, pool, offsets, sets = index
    n = allowed.shape[0]
    is_covered = np.zeros(ends.shape[0] - 1, np.bool_)
    gains, chosen = np.zeros(n, np.int64), np.empty(k, np.int64)
    for v in range(n):
        gains[v] = offsets[v + 1] - offsets[v] if allowed[v] else 0
    size, n_covered = 0, 0
    while size < k:
        most = 0
        for v in range(n):
            most = max(most, gains[v])
        # A node that covers one or two of a few sets may do so by chance.
        if most < least_gain:
            break
        # The variance of a count is about the count, so these nodes are equally good given the sets. If few
        # of the sets are large, a node may be in one more set by chance.
        best, bar = -1, most - max(1.0, 0.5 * math.sqrt(most))
        for v in range(n):
            # Sets reach the node with the most arcs out soonest, so they end sooner.
            if gains[v] >= bar and (best < 0 or arcs_out[v] > arcs_out[best]):
                best = v
        chosen[size] = best
        size += 1
        for i in sets[offsets[best] : offsets[best + 1]]:
            if is_covered[i]:
                continue
            is_covered[i] = True
            # Count entries, not sets, because ending sets early saves entries.
            n_covered += ends[i + 1] - ends[i]
            for j in range(ends[i], ends[i + 1]):
                if allowed[pool[j]]:
                    gains[pool[j]] -= 1
    return chosen[:size], n_covered


# Measured on the graphs of the benchmark: smaller sets are drawn as fast as sentinels are found in them.
_LEAST_SIZE = 12
_FIRST_SETS, _FEW_SETS, _ENOUGH_ARCS = 32, 8, 200_000
# With four large sets, the first sentinel can be a node with few arcs out, which further sets reach late. So
# large sets are added up to this number, unless they have so many arcs that they take tens of milliseconds.
_MANY_LARGE, _MANY_ARCS = 12, 2**23
# The key of the sets that show whether sets are large.
_PROBING = 0x5E7
# The number of arcs, which take one or two milliseconds to examine in a complete first sample, from which
# sentinels are worth their risk: on small graphs, seeds chosen from some dozens of sets reached up to 4 %
# less.
_WORTH_ARCS = 400_000
_LEAST_GAIN, _LEAST_SHARE = 3, 0.5


def sampled_graph(
    graph: DirectedGraph,
    means: FloatArray,
    *,
    node_weights: FloatArray | None = None,
    sampler: Sampler = "auto",
    model: Model = "ic",
) -> ReverseGraph:
    """Return the reverse graph from which a search samples.

    If sets of one node are left out, a choice has no sentinels. If the other sets are large, sentinels save
    more time, so sets of one node are then sampled as well. The first sets of a fixed key decide, so all
    machines of a cluster decide alike.
    """
    reverse = ReverseGraph.of(graph, means, node_weights=node_weights, sampler=sampler, model=model)
    is_small = _FIRST_SETS * graph.n_arcs < _WORTH_ARCS
    if sampler != "auto" or not reverse.omits_single_nodes or is_small:
        return reverse
    sets, size = SetCollection(reverse, _PROBING), 1
    while sets.edges_examined < _WORTH_ARCS and size <= _FIRST_SETS:
        sets.grow(size)
        size *= 2
    # Among the sets of all roots, only this share has several nodes.
    share = reverse.total_weight / float(reverse.masses.sum())
    is_large = sets.ends[-1] >= _LEAST_SIZE * sets.n_sets
    arcs = share * sets.edges_examined / sets.n_sets
    return reverse.with_single_nodes() if is_large and _FIRST_SETS * arcs >= _WORTH_ARCS else reverse


def place_sentinels(
    sets: SetCollection, n_sets: int, k: int, allowed: BoolArray, *, always: bool = False
) -> None:
    """Draw a few of `n_sets` sets, and end the others at sentinels if this saves time, or if `always`."""
    size = _FIRST_SETS
    while size < n_sets:
        sets.grow(size)
        n_large = np.count_nonzero(np.diff(sets.ends) >= _LEAST_SIZE)
        is_clear = n_large >= _MANY_LARGE or sets.edges_examined >= _MANY_ARCS
        if sets.edges_examined >= _ENOUGH_ARCS and n_large > _LEAST_GAIN and is_clear:
            break
        # A further large set may take a second, so few are drawn at once.
        size = 2 * size if sets.edges_examined < _ENOUGH_ARCS else size + _FEW_SETS
    if sets.n_sets == 0 or not (always or _are_worth_it(sets, n_sets)):
        return
    reverse, index = sets.graph, sets.index()
    arcs_out = np.bincount(reverse.component, reverse.graph.out_degrees, reverse.n_components)
    size = k
    while True:
        given = index, arcs_out.astype(np.float64, copy=False), allowed, size, _LEAST_GAIN
        sentinels, n_covered = most_covering(*given)
        _, covered, bound, gain = cover(index, k, allowed, sentinels)
        is_shared = n_covered >= _LEAST_SHARE * sets.ends[-1]
        # If these sets show that the sentinels hold the answer back, the first half of them may not.
        if always or not is_shared or not hold_back(len(sentinels), covered, bound, gain, least_share=0.0):
            break
        size = len(sentinels) // 2
    if always or is_shared:
        sets.stop_at(sentinels)


def _are_worth_it(sets: SetCollection, n_sets: int) -> bool:
    """Return whether sets are large, and `n_sets` complete sets would take milliseconds."""
    arcs = sets.edges_examined / sets.n_sets * n_sets
    return bool(sets.ends[-1] >= _LEAST_SIZE * sets.n_sets and arcs >= _WORTH_ARCS)
