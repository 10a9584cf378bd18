"""Cheapest flows over arcs of capacity one, by successive shortest paths."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.kernels import heap_drop, heap_rise, kernel, lean_kernel


class Pipes(NamedTuple):
    """Arc i leads from ``tails[i]`` to ``heads[i]``.

    The arcs at node v are ``entries[offsets[v]:offsets[v + 1]]``: entry 2 i if arc i leaves v, 2 i + 1 if arc
    i enters v.
    """

    tails: IntArray
    heads: IntArray
    offsets: IntArray
    entries: IntArray


class Search(NamedTuple):
    """The output of a search: distance and last entry of each node, and whether both are final."""

    distance: FloatArray
    into: IntArray
    is_final: BoolArray
    heap: IntArray
    keys: FloatArray


def pipes_of(tails: IntArray, heads: IntArray, n_nodes: int) -> Pipes:
    """Return the arcs with the entries at each node."""
    at = np.concatenate([tails, heads])
    by_node = np.argsort(at, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(at, minlength=n_nodes))]).astype(np.int64)
    return Pipes(tails, heads, offsets, 2 * (by_node % len(tails)) + by_node // len(tails))


@kernel
def cheapest_flow(pipes, costs, excess, order, is_used):
    """Write the arcs of the cheapest flow from positive to negative `excess`; return whether a flow exists.

    ``costs[arc] = inf`` closes an arc. If `order` is a topological order of the nodes, costs may be negative.
    If the graph has cycles, `order` is empty. Each unit takes the shortest path in the residual graph, where
    a used arc can be released: successive shortest paths, Ahuja, Magnanti, Orlin 1993, section 9.7.
    """
    m, n = costs.shape[0], excess.shape[0]
    potential, source = np.zeros(n), 0
    for node in order:
        for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
            if entry & 1 == 0:
                head, through = pipes.heads[entry >> 1], potential[node] + costs[entry >> 1]
                potential[head] = min(potential[head], through)
    # An arc adds at most one heap entry for each of its directions.
    search = Search(
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.bool_),
        np.empty(2 * m + 1, np.int64),
        np.empty(2 * m + 1),
    )
    is_used[:] = False
    while source < n:
        if excess[source] <= 0:
            source += 1
            continue
        end = _nearest(pipes, costs, potential, excess, is_used, source, search)
        if end < 0:
            return False
        for node in range(n):
            # Nodes whose distance is not final are at least as far as the end.
            if search.is_final[node]:
                potential[node] += search.distance[node] - search.distance[end]
        excess[source] -= 1
        excess[end] += 1
        node = end
        while node != source:
            entry = search.into[node]
            is_used[entry >> 1] = entry & 1 == 0
            node = pipes.heads[entry >> 1] if entry & 1 else pipes.tails[entry >> 1]
    return True


@lean_kernel
def _nearest(pipes, costs, potential, excess, is_used, source, search):
    """Return the nearest node with negative excess, or -1: Dijkstra's algorithm on reduced costs."""
    distance, into, is_final, heap, keys = search
    distance[:], is_final[:] = np.inf, False
    distance[source], heap[0], keys[0], size = 0.0, source, 0.0, 1
    while size > 0:
        node = heap[0]
        size = heap_drop(heap, keys, size)
        if is_final[node]:
            continue
        is_final[node] = True
        if excess[node] < 0:
            return int(node)
        for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
            arc, is_back = entry >> 1, entry & 1 == 1
            if is_used[arc] != is_back or costs[arc] == np.inf:
                continue
            other = pipes.tails[arc] if is_back else pipes.heads[arc]
            cost = -costs[arc] if is_back else costs[arc]
            # Reduced costs are nonnegative except for rounding.
            through = distance[node] + max(0.0, cost + potential[node] - potential[other])
            if not is_final[other] and through < distance[other]:
                distance[other], into[other] = through, entry
                heap[size], keys[size] = other, -through
                heap_rise(heap, keys, size)
                size += 1
    return -1


@kernel
def strip_cycles(pipes, is_used):
    """Remove used arcs that form cycles, including both directions of an edge."""
    n = pipes.offsets.shape[0] - 1
    arriving, stack, before = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    while True:
        arriving[:] = 0
        left = size = 0
        for arc in np.flatnonzero(is_used):
            arriving[pipes.heads[arc]] += 1
            left += 1
        for node in range(n):
            if arriving[node] == 0:
                stack[size] = node
                size += 1
        while size > 0:
            size -= 1
            node = stack[size]
            for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
                if entry & 1 == 0 and is_used[entry >> 1]:
                    head = pipes.heads[entry >> 1]
                    left -= 1
                    arriving[head] -= 1
                    if arriving[head] == 0:
                        stack[size] = head
                        size += 1
        if left == 0:
            return
        # Each remaining node with an arrival has one from another such node, so going backward leads to a
        # cycle.
        before[:] = -1
        node = int(np.argmax(arriving))
        while before[node] < 0:
            for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
                arc = entry >> 1
                if entry & 1 and is_used[arc] and arriving[pipes.tails[arc]] > 0:
                    before[node] = arc
            node = pipes.tails[before[node]]
        while is_used[before[node]]:
            is_used[before[node]] = False
            node = pipes.tails[before[node]]
