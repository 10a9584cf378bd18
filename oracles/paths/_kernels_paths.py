"""Shortest paths: binary-heap Dijkstra, and dynamic programming on acyclic graphs."""

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import kernel, solve_kernel


@kernel
def _push(heap: IntArray, place: IntArray, size: int, node: int, cost: FloatArray) -> int:
    """Add `node`, or move it up after its cost fell; return the new size. Ties go to lower nodes."""
    at = place[node]
    if at < 0:
        at = size
        size += 1
    while at > 0:
        parent = (at - 1) >> 1
        above = heap[parent]
        if cost[above] < cost[node] or (cost[above] == cost[node] and above < node):
            break
        heap[at] = above
        place[above] = at
        at = parent
    heap[at] = node
    place[node] = at
    return size


@kernel
def _pop(heap: IntArray, place: IntArray, size: int, cost: FloatArray) -> int:
    """Take the first node out of the heap and return it."""
    first, node = heap[0], heap[size - 1]
    size -= 1
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size:
            a, b = heap[child], heap[child + 1]
            if cost[b] < cost[a] or (cost[b] == cost[a] and b < a):
                child += 1
        below = heap[child]
        if cost[node] < cost[below] or (cost[node] == cost[below] and node < below):
            break
        heap[at] = below
        place[below] = at
        at = child
    heap[at] = node
    place[node] = at
    return int(first)


@kernel
def dijkstra(
    offsets: IntArray, ends: IntArray, edges: IntArray, weights: FloatArray, source: int, target: int
) -> IntArray:
    """Return the edge into each node of a cheapest path from `source`, -1 where none is needed or known.

    ``weights[e] = inf`` closes edge e. Stops once `target` is settled.
    """
    n = offsets.shape[0] - 1
    cost, into = np.full(n, np.inf), np.full(n, -1, np.int64)
    heap, place = np.empty(n, np.int64), np.full(n, -1, np.int64)
    cost[source] = 0.0
    size = _push(heap, place, 0, source, cost)
    settled = np.zeros(n, np.bool_)
    while size > 0:
        node = _pop(heap, place, size, cost)
        size -= 1
        settled[node] = True
        if node == target:
            break
        for i in range(offsets[node], offsets[node + 1]):
            other, through = ends[i], cost[node] + weights[edges[i]]
            if not settled[other] and through < cost[other]:
                cost[other] = through
                into[other] = edges[i]
                size = _push(heap, place, size, other, cost)
    return into


@kernel
def shrink(weights: FloatArray, n_nodes: int) -> None:
    """Multiply weights of which a path could sum to infinity by a power of two: paths compare as before."""
    largest = 0.0
    for weight in weights:
        if abs(weight) != np.inf:
            largest = max(largest, abs(weight))
    if largest * n_nodes == np.inf:
        weights *= 2.0 ** -math.ceil(math.log2(n_nodes))


@kernel
def acyclic(
    order: IntArray,
    offsets: IntArray,
    ends: IntArray,
    edges: IntArray,
    weights: FloatArray,
    source: int,
    cost: FloatArray,
    into: IntArray,
) -> None:
    """Write to `into` what `dijkstra` returns, for weights of any sign, along a topological `order`.

    `cost` is scratch, as long as there are nodes.
    """
    cost[:] = np.inf
    into[:] = -1
    cost[source] = 0.0
    for node in order:
        if cost[node] == np.inf:
            continue
        for i in range(offsets[node], offsets[node + 1]):
            through = cost[node] + weights[edges[i]]
            if through < cost[ends[i]]:
                cost[ends[i]] = through
                into[ends[i]] = edges[i]


@kernel
def trace(into: IntArray, tails: IntArray, heads: IntArray, source: int, target: int, path: IntArray) -> int:
    """Write the edges from `source` to `target` in order; return their number, -1 if there is no way."""
    size, node = 0, target
    while node != source:
        edge = into[node]
        if edge < 0:
            return -1
        path[size] = edge
        size += 1
        node = tails[edge] + heads[edge] - node
    for i in range(size // 2):
        path[i], path[size - 1 - i] = path[size - 1 - i], path[i]
    return size


@solve_kernel
def solve_acyclic(means: FloatArray, integers: IntArray, reals: FloatArray, out: IntArray) -> int:
    """`integers`: sign, nodes, source, target; order, scratch and offsets of the nodes; then the arcs.

    The arcs are ends, edges, tails and heads; `reals` is scratch for arcs and nodes.
    """
    m = means.shape[0]
    sign, n, source, target = integers[0], integers[1], integers[2], integers[3]
    order, into = integers[4 : 4 + n], integers[4 + n : 4 + 2 * n]
    offsets, arcs = integers[4 + 2 * n : 5 + 3 * n], integers[5 + 3 * n :]
    for i in range(m):
        reals[i] = sign * means[i]
    shrink(reals[:m], n)
    acyclic(order, offsets, arcs[:m], arcs[m : 2 * m], reals[:m], source, reals[m:], into)
    return trace(into, arcs[2 * m : 3 * m], arcs[3 * m :], source, target, out)
