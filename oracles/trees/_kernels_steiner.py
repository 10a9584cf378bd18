"""Steiner trees: an approximation by Mehlhorn's algorithm, and the optimum by subsets of terminals."""

import numpy as np

from cmab.kernels import heap_drop, heap_rise, kernel, lean_kernel


@lean_kernel
def _settle(roads, weights, distance, into, heap, keys):
    """Lower the distances of nodes to those over other nodes; write the last edge of each lowered node."""
    size = 0
    for node in range(distance.shape[0]):
        if distance[node] < np.inf:
            heap[size], keys[size] = node, -distance[node]
            heap_rise(heap, keys, size)
            size += 1
    while size > 0:
        node, reached = heap[0], -keys[0]
        size = heap_drop(heap, keys, size)
        if reached > distance[node]:
            continue
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other, through = roads.ends[i], reached + weights[roads.edges[i]]
            if through < distance[other]:
                distance[other], into[other] = through, roads.edges[i]
                heap[size], keys[size] = other, -through
                heap_rise(heap, keys, size)
                size += 1


@kernel
def nearly_cheapest(roads, weights, terminals, chosen):
    """Write the edges of a tree of at most 2 - 2 / t times the least cost; return whether one exists.

    Each node belongs to its nearest terminal. A minimum spanning tree over the edges between nodes of
    different terminals is a minimum spanning tree of the distances between terminals (Mehlhorn 1988), which
    has the ratio (Kou, Markowsky, Berman 1981).
    """
    n, m, t = roads.offsets.shape[0] - 1, weights.shape[0], terminals.shape[0]
    distance, into = np.full(n, np.inf), np.full(n, -1, np.int64)
    distance[terminals] = 0.0
    _settle(roads, weights, distance, into, np.empty(n + 2 * m, np.int64), np.empty(n + 2 * m))
    nearest = np.full(n, -1, np.int64)
    nearest[terminals] = np.arange(t)
    for node in np.argsort(distance, kind="mergesort"):
        if into[node] >= 0:
            # The order may not be correct for edges of weight 0, so walk to a node whose terminal is known.
            at = node
            while nearest[at] < 0:
                at = roads.tails[into[at]] + roads.heads[into[at]] - at
            nearest[node] = nearest[at]
    lengths = weights + distance[roads.tails] + distance[roads.heads]
    group, joined = np.arange(t), 1
    chosen[:] = False
    for edge in np.argsort(lengths, kind="mergesort"):
        if joined == t or lengths[edge] == np.inf:
            break
        one, other = group[nearest[roads.tails[edge]]], group[nearest[roads.heads[edge]]]
        if one == other:
            continue
        group[group == one] = other
        joined += 1
        chosen[edge] = True
        for node in (roads.tails[edge], roads.heads[edge]):
            while into[node] >= 0 and not chosen[into[node]]:
                chosen[into[node]] = True
                node = roads.tails[into[node]] + roads.heads[into[node]] - node
    return bool(joined == t)


@kernel
def cheapest(roads, weights, terminals, chosen):
    """Write the edges of a cheapest tree; return whether one exists: Dreyfus and Wagner 1971.

    A tree for a set of terminals and a node either reaches the node by an edge, or consists of two trees for
    parts of the set that meet at the node.
    """
    n, m, t = roads.offsets.shape[0] - 1, weights.shape[0], terminals.shape[0]
    sets = 1 << (t - 1)
    cost, into = np.full((sets, n), np.inf), np.full((sets, n), -1, np.int64)
    part_of = np.zeros((sets, n), np.int64)
    heap, keys = np.empty(n + 2 * m, np.int64), np.empty(n + 2 * m)
    for i in range(t - 1):
        cost[1 << i, terminals[i]] = 0.0
    for whole in range(1, sets):
        one = (whole - 1) & whole
        while one > whole ^ one:
            for node in range(n):
                both = cost[one, node] + cost[whole ^ one, node]
                if both < cost[whole, node]:
                    cost[whole, node], part_of[whole, node] = both, one
            one = (one - 1) & whole
        _settle(roads, weights, cost[whole], into[whole], heap, keys)
    chosen[:] = False
    if cost[sets - 1, terminals[t - 1]] == np.inf:
        return False
    open_sets, open_nodes, size = np.empty(2 * t, np.int64), np.empty(2 * t, np.int64), 1
    open_sets[0], open_nodes[0] = sets - 1, terminals[t - 1]
    while size > 0:
        size -= 1
        whole, node = open_sets[size], open_nodes[size]
        while into[whole, node] >= 0:
            edge = into[whole, node]
            chosen[edge] = True
            node = roads.tails[edge] + roads.heads[edge] - node
        one = part_of[whole, node]
        if one > 0:
            open_sets[size], open_nodes[size] = one, node
            open_sets[size + 1], open_nodes[size + 1] = whole ^ one, node
            size += 2
    return True
