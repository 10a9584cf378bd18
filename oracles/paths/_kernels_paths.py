"""Shortest paths: Dijkstra's algorithm with a binary heap, and dynamic programming on acyclic graphs."""

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import heap_drop, heap_rise, kernel, lean_kernel, solve_kernel


class Roads(NamedTuple):
    """Edge e joins ``tails[e]`` and ``heads[e]``.

    Those out of node v are ``edges[offsets[v]:offsets[v + 1]]`` and lead to the same places of `ends`.
    """

    offsets: IntArray
    ends: IntArray
    edges: IntArray
    tails: IntArray
    heads: IntArray


@kernel
def dijkstra(roads, weights, source, target, path):
    """Write a cheapest path as `trace` does, for weights that are not negative; ties go to lower nodes.

    ``weights[e] = inf`` closes edge e.
    """
    offsets, ends, edges = roads.offsets, roads.ends, roads.edges
    n = offsets.shape[0] - 1
    cost, into, settled = np.full(n, np.inf), np.full(n, -1, np.int64), np.zeros(n, np.bool_)
    # A node is put in again when its cost falls, and what it cost before is passed over: at most one entry
    # for each end of an edge.
    heap, keys = np.empty(ends.shape[0] + 1, np.int64), np.empty(ends.shape[0] + 1)
    cost[source], heap[0], keys[0], size = 0.0, source, 0.0, 1
    while size > 0:
        node = heap[0]
        size = heap_drop(heap, keys, size)
        # An entry from before its cost fell.
        if settled[node]:
            continue
        settled[node] = True
        # Costs are settled in increasing order: the target's is final.
        if node == target:
            break
        for i in range(offsets[node], offsets[node + 1]):
            other, through = ends[i], cost[node] + weights[edges[i]]
            if not settled[other] and through < cost[other]:
                cost[other] = through
                into[other] = edges[i]
                heap[size], keys[size] = other, -through
                heap_rise(heap, keys, size)
                size += 1
    return trace(into, roads.tails, roads.heads, source, target, path)


@lean_kernel
def shrink(weights, n_nodes):
    """Multiply weights of which a path could sum to infinity by a power of two: paths compare as before."""
    largest = 0.0
    for weight in weights:
        if abs(weight) != np.inf:
            largest = max(largest, abs(weight))
    if largest * n_nodes == np.inf:
        factor = 2.0 ** -math.ceil(math.log2(n_nodes))
        for i in range(weights.shape[0]):
            weights[i] *= factor


class Search(NamedTuple):
    """Nodes in topological order, and scratch for each: its cost and the edge into it."""

    order: IntArray
    cost: FloatArray
    into: IntArray


@lean_kernel
def acyclic(roads, search, weights, source, target, path):
    """Write a cheapest path as `trace` does, for weights of any sign, which may be shrunk.

    In topological order the cost of a node is final when its turn comes, so that one pass is enough.
    """
    offsets, ends, edges = roads.offsets, roads.ends, roads.edges
    cost, into = search.cost, search.into
    shrink(weights, cost.shape[0])
    cost[:] = np.inf
    into[:] = -1
    cost[source] = 0.0
    for node in search.order:
        # Not reached from the source.
        if cost[node] == np.inf:
            continue
        for i in range(offsets[node], offsets[node + 1]):
            through = cost[node] + weights[edges[i]]
            if through < cost[ends[i]]:
                cost[ends[i]] = through
                into[ends[i]] = edges[i]
    return trace(into, roads.tails, roads.heads, source, target, path)


@lean_kernel
def trace(into, tails, heads, source, target, path):
    """Write the edges from `source` to `target` in order; return their number, -1 if there is no way."""
    size, node = 0, target
    while node != source:
        edge = into[node]
        if edge < 0:
            return -1
        path[size] = edge
        size += 1
        node = tails[edge] + heads[edge] - node  # the other end, whichever way the edge is taken
    # It was walked from its end.
    for i in range(size // 2):
        path[i], path[size - 1 - i] = path[size - 1 - i], path[i]
    return size


@solve_kernel
def solve_acyclic(means, integers, reals, out):
    """`integers`: sign, nodes, source, target; order, scratch and offsets of the nodes; then the arcs.

    The arcs are ends, edges, tails and heads; `reals` is scratch for arcs and nodes.
    """
    m = means.shape[0]
    sign, n, source, target = integers[0], integers[1], integers[2], integers[3]
    nodes, arcs = integers[4 : 5 + 3 * n], integers[5 + 3 * n :]
    roads = Roads(nodes[2 * n :], arcs[:m], arcs[m : 2 * m], arcs[2 * m : 3 * m], arcs[3 * m :])
    weights = reals[:m]
    for i in range(m):
        weights[i] = sign * means[i]
    return acyclic(roads, Search(nodes[:n], reals[m:], nodes[n : 2 * n]), weights, source, target, out)
