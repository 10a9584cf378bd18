"""Shortest paths: Dijkstra's algorithm with a binary heap, and dynamic programming on acyclic graphs."""

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import heap_drop, heap_rise, kernel, lean_kernel, solve_kernel


class Roads(NamedTuple):
    """Edge e joins ``tails[e]`` and ``heads[e]``.

    The edges out of node v are ``edges[offsets[v]:offsets[v + 1]]``; `ends` has their other ends in the same
    order.
    """

    offsets: IntArray
    ends: IntArray
    edges: IntArray
    tails: IntArray
    heads: IntArray


@kernel
def dijkstra(roads, weights, source, target, path):
    """Write a cheapest path as `trace` does, for nonnegative weights; ties go to lower nodes.

    ``weights[e] = inf`` closes edge e.
    """
    offsets, ends, edges = roads.offsets, roads.ends, roads.edges
    n = offsets.shape[0] - 1
    cost, into, settled = np.full(n, np.inf), np.full(n, -1, np.int64), np.zeros(n, np.bool_)
    # If the cost of a node decreases, push the node again and ignore its old entry: at most one entry for
    # each end of an edge.
    heap, keys = np.empty(ends.shape[0] + 1, np.int64), np.empty(ends.shape[0] + 1)
    cost[source], heap[0], keys[0], size = 0.0, source, 0.0, 1
    while size > 0:
        node = heap[0]
        size = heap_drop(heap, keys, size)
        # Skip an outdated entry.
        if settled[node]:
            continue
        settled[node] = True
        # Nodes are settled in order of cost, so the cost of the target is final.
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
    """Scale the weights by a power of two if a sum over a path could overflow; comparisons stay equal."""
    largest = 0.0
    for weight in weights:
        if abs(weight) != np.inf:
            largest = max(largest, abs(weight))
    if largest * n_nodes == np.inf:
        factor = 2.0 ** -math.ceil(math.log2(n_nodes))
        for i in range(weights.shape[0]):
            weights[i] *= factor


class Search(NamedTuple):
    """The nodes in topological order, and scratch space for the cost of each node and the edge into it."""

    order: IntArray
    cost: FloatArray
    into: IntArray


@lean_kernel
def acyclic(roads, search, weights, source, target, path):
    """Write a cheapest path as `trace` does, for weights of any sign, which may be scaled in place.

    In topological order, the cost of a node is final at its turn, so one pass is sufficient.
    """
    offsets, ends, edges = roads.offsets, roads.ends, roads.edges
    cost, into = search.cost, search.into
    shrink(weights, cost.shape[0])
    cost[:] = np.inf
    into[:] = -1
    cost[source] = 0.0
    for node in search.order:
        # The source does not reach this node.
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
    """Write the edges from `source` to `target` in order; return their number, or -1 if there is no path."""
    size, node = 0, target
    while node != source:
        edge = into[node]
        if edge < 0:
            return -1
        path[size] = edge
        size += 1
        node = tails[edge] + heads[edge] - node  # the other end of the edge, in either direction
    # The edges were written from the end, so reverse them.
    for i in range(size // 2):
        path[i], path[size - 1 - i] = path[size - 1 - i], path[i]
    return size


@solve_kernel
def solve_acyclic(means, integers, reals, out):
    """Solve; `integers`: sign, nodes, source, target; order, scratch, offsets (nodes each); the arcs.

    The arcs are ends, edges, tails and heads. `reals` is scratch space for arcs and nodes.
    """
    m = means.shape[0]
    sign, n, source, target = integers[0], integers[1], integers[2], integers[3]
    nodes, arcs = integers[4 : 5 + 3 * n], integers[5 + 3 * n :]
    roads = Roads(nodes[2 * n :], arcs[:m], arcs[m : 2 * m], arcs[2 * m : 3 * m], arcs[3 * m :])
    weights = reals[:m]
    for i in range(m):
        weights[i] = sign * means[i]
    return acyclic(roads, Search(nodes[:n], reals[m:], nodes[n : 2 * n]), weights, source, target, out)
