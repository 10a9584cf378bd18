"""Steiner trees by shortest paths from many roots, and local search on nodes and paths of a tree."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.kernels import heap_drop, heap_rise, kernel, lean_kernel


class Tables(NamedTuple):
    """Scratch arrays of the search, one entry for each node, except the heap and the order of edges."""

    distance: FloatArray
    into: IntArray
    owner: IntArray
    group: IntArray
    degree: IntArray
    stack: IntArray
    is_in: BoolArray
    heap: IntArray
    keys: FloatArray


def tables_for(n: int, m: int) -> Tables:
    """Return the arrays for n nodes and m edges."""
    size = n + 2 * m + 1
    return Tables(
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.bool_),
        np.empty(size, np.int64),
        np.empty(size),
    )


@lean_kernel
def _push(tables, size, node, key):
    tables.heap[size], tables.keys[size] = node, -key
    heap_rise(tables.heap, tables.keys, size)
    return size + 1


@lean_kernel
def _leader(group, node):
    while group[node] != node:
        group[node] = group[group[node]]
        node = group[node]
    return node


@lean_kernel
def _grow(roads, guide, is_terminal, start, is_node, tables):
    """Write the nodes of a tree: from `start`, join the nearest terminal again and again.

    Takahashi, Matsuyama 1980, for the weights `guide`. Return whether all terminals were reached.
    """
    distance, into = tables.distance, tables.into
    left = 0
    for node in range(distance.shape[0]):
        distance[node], into[node], is_node[node] = np.inf, -1, False
        left += is_terminal[node]
    distance[start], is_node[start] = 0.0, True
    left -= is_terminal[start]
    size = _push(tables, 0, start, 0.0)
    while size > 0 and left > 0:
        node, reached = tables.heap[0], -tables.keys[0]
        size = heap_drop(tables.heap, tables.keys, size)
        if reached > distance[node]:
            continue
        if is_terminal[node] and not is_node[node]:
            left -= 1
            at = node
            while not is_node[at]:
                is_node[at], distance[at] = True, 0.0
                size = _push(tables, size, at, 0.0)
                edge = into[at]
                at = roads.tails[edge] + roads.heads[edge] - at
            continue
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other, through = roads.ends[i], reached + guide[roads.edges[i]]
            if through < distance[other]:
                distance[other], into[other] = through, roads.edges[i]
                size = _push(tables, size, other, through)
    return left == 0


@lean_kernel
def _span(roads, weights, is_terminal, start, is_node, chosen, tables):
    """Write the cheapest tree on the nodes `is_node` without ends that are not terminals; return its cost.

    Prim's algorithm from `start`, a terminal. The cost is infinite if the nodes do not connect the terminals.
    """
    distance, into, degree = tables.distance, tables.into, tables.degree
    left = 0
    for node in range(distance.shape[0]):
        distance[node], into[node], degree[node], tables.is_in[node] = np.inf, -1, 0, False
        left += is_terminal[node]
    chosen[:] = False
    distance[start] = 0.0
    size, total = _push(tables, 0, start, 0.0), 0.0
    while size > 0:
        node = tables.heap[0]
        size = heap_drop(tables.heap, tables.keys, size)
        if tables.is_in[node]:
            continue
        tables.is_in[node] = True
        left -= is_terminal[node]
        if into[node] >= 0:
            edge = into[node]
            chosen[edge] = True
            degree[roads.tails[edge]] += 1
            degree[roads.heads[edge]] += 1
            total += weights[edge]
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other, edge = roads.ends[i], roads.edges[i]
            if is_node[other] and not tables.is_in[other] and weights[edge] < distance[other]:
                distance[other], into[other] = weights[edge], edge
                size = _push(tables, size, other, weights[edge])
    if left > 0:
        return np.inf
    for end in range(distance.shape[0]):
        is_node[end] = is_node[end] and tables.is_in[end]
        node = end
        while degree[node] == 1 and not is_terminal[node]:
            for i in range(roads.offsets[node], roads.offsets[node + 1]):
                if chosen[roads.edges[i]]:
                    edge = roads.edges[i]
            chosen[edge], is_node[node] = False, False
            total -= weights[edge]
            degree[node] = 0
            node = roads.tails[edge] + roads.heads[edge] - node
            degree[node] -= 1
    return total


@lean_kernel
def _rejoin(roads, weights, banned, limit, is_node, tables):
    """Connect the groups of kept nodes by short paths of total length below `limit`, and add their nodes.

    Return whether this is possible.

    ``tables.group`` has the groups. Each node belongs to its nearest kept node, and the edges between nodes
    of different groups are taken in order of the lengths of their paths, as in Mehlhorn 1988. No path visits
    `banned`.
    """
    distance, into, owner, group = tables.distance, tables.into, tables.owner, tables.group
    size, n_groups = 0, 0
    for node in range(distance.shape[0]):
        distance[node], into[node], owner[node] = np.inf, -1, -1
        if is_node[node]:
            distance[node], owner[node] = 0.0, node
            n_groups += _leader(group, node) == node
            size = _push(tables, size, node, 0.0)
    while size > 0:
        node, reached = tables.heap[0], -tables.keys[0]
        size = heap_drop(tables.heap, tables.keys, size)
        if reached > distance[node]:
            continue
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other, through = roads.ends[i], reached + weights[roads.edges[i]]
            if through < distance[other] and through < limit and other != banned:
                distance[other], into[other], owner[other] = through, roads.edges[i], owner[node]
                size = _push(tables, size, other, through)
    count = 0
    for edge in range(weights.shape[0]):
        one, other = owner[roads.tails[edge]], owner[roads.heads[edge]]
        if one < 0 or other < 0 or one == other:
            continue
        length = weights[edge] + distance[roads.tails[edge]] + distance[roads.heads[edge]]
        if length < limit and _leader(group, one) != _leader(group, other):
            count = _push(tables, count, edge, length)
    while count > 0 and n_groups > 1:
        edge, length = tables.heap[0], -tables.keys[0]
        count = heap_drop(tables.heap, tables.keys, count)
        ends = roads.tails[edge], roads.heads[edge]
        one, other = _leader(group, owner[ends[0]]), _leader(group, owner[ends[1]])
        if one == other:
            continue
        limit -= length
        if limit <= 0.0:
            return False
        group[one] = other
        n_groups -= 1
        for node in ends:
            while not is_node[node]:
                is_node[node] = True
                node = roads.tails[into[node]] + roads.heads[into[node]] - node
    return n_groups == 1


@lean_kernel
def _group_by(roads, is_node, chosen, tables):
    """Write the groups of kept nodes that the chosen edges connect."""
    for node in range(is_node.shape[0]):
        tables.group[node] = node
    for edge in range(chosen.shape[0]):
        tail, head = roads.tails[edge], roads.heads[edge]
        if chosen[edge] and is_node[tail] and is_node[head]:
            tables.group[_leader(tables.group, tail)] = _leader(tables.group, head)


@lean_kernel
def _drop_path(roads, weights, is_key, chosen, node, edge, is_node):
    """Remove the inner nodes of the tree's path from `node` over `edge` to the next key node.

    Return that node and the cost of the path.
    """
    cost = 0.0
    while True:
        chosen[edge] = False
        cost += weights[edge]
        node = roads.tails[edge] + roads.heads[edge] - node
        if is_key[node]:
            return node, cost
        is_node[node] = False
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            if chosen[roads.edges[i]]:
                edge = roads.edges[i]


@lean_kernel
def _root_tree(roads, chosen, root, parent, depth, stack):
    """Write the edge to its parent and the depth of each node of the tree."""
    depth[:], parent[:] = -1, -1
    depth[root], stack[0], size = 0, root, 1
    while size > 0:
        size -= 1
        node = stack[size]
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other = roads.ends[i]
            if chosen[roads.edges[i]] and depth[other] < 0:
                depth[other], parent[other] = depth[node] + 1, roads.edges[i]
                stack[size] = other
                size += 1


@lean_kernel
def _longest_part(roads, weights, is_key, parent, depth, one, other):
    """Return the cost of the costliest part between key nodes on the tree's path between two nodes."""
    longest, left, right = 0.0, 0.0, 0.0
    while one != other:
        if depth[one] >= depth[other]:
            left += weights[parent[one]]
            longest = max(longest, left)
            one = roads.tails[parent[one]] + roads.heads[parent[one]] - one
            if is_key[one]:
                left = 0.0
        else:
            right += weights[parent[other]]
            longest = max(longest, right)
            other = roads.tails[parent[other]] + roads.heads[parent[other]] - other
            if is_key[other]:
                right = 0.0
    return max(longest, left + right)


@lean_kernel
def _may_pay(roads, weights, is_node, is_key, parent, depth, node):
    """Return whether inserting a node can make the tree cheaper.

    Each of its edges but one closes a cycle, from which a part between key nodes is removed.
    """
    first, least, saved = -1, 0.0, 0.0
    for i in range(roads.offsets[node], roads.offsets[node + 1]):
        end, weight = roads.ends[i], weights[roads.edges[i]]
        if not is_node[end] or weight == np.inf:
            continue
        if first < 0:
            first, least = end, weight
        else:
            part = _longest_part(roads, weights, is_key, parent, depth, first, end)
            saved += max(0.0, max(part, least) - weight)
    return bool(saved > least)


@kernel
def grown_tree(roads, guide, weights, is_terminal, start, is_node, chosen, tables):
    """Write a tree grown from `start` by the weights `guide`; return its cost by `weights`."""
    if not _grow(roads, guide, is_terminal, start, is_node, tables):
        return np.inf
    return _span(roads, weights, is_terminal, int(np.argmax(is_terminal)), is_node, chosen, tables)


@kernel
def improved(roads, weights, is_terminal, is_node, chosen, cost, cursor, budget, tables):
    """Improve a tree in place by local search; return its cost.

    In turn for each node: a node outside the tree is inserted; a node of degree above two that is no terminal
    is removed with the paths to the next such nodes or terminals, and the parts are connected again; each of
    these paths is exchanged for a shorter one (Uchoa, Werneck 2012). ``cursor[0]`` is the node at which the
    search continues, ``cursor[1]`` the number of nodes since the last improvement. The search ends if this
    is the number of nodes, or after `budget` trials.
    """
    n, first = is_node.shape[0], int(np.argmax(is_terminal))
    trial, tree, is_key, degree = is_node.copy(), chosen.copy(), np.zeros(n, np.bool_), np.zeros(n, np.int64)
    parent, depth = np.empty(n, np.int64), np.empty(n, np.int64)
    best, is_stale, trials = chosen.copy(), True, 0
    while cursor[1] < n and trials < budget:
        if is_stale:
            degree[:], is_stale = 0, False
            best[:] = chosen
            for edge in np.flatnonzero(chosen):
                degree[roads.tails[edge]] += 1
                degree[roads.heads[edge]] += 1
            for node in range(n):
                is_key[node] = is_terminal[node] or degree[node] > 2
            _root_tree(roads, chosen, first, parent, depth, tables.stack)
        node = cursor[0]
        cursor[0], cursor[1] = (node + 1) % n, cursor[1] + 1
        if not is_node[node]:
            if not _may_pay(roads, weights, is_node, is_key, parent, depth, node):
                continue
            trials += 1
            trial[:] = is_node
            trial[node] = True
            found = _span(roads, weights, is_terminal, first, trial, tree, tables)
            if found < cost * (1.0 - 1e-12):
                cost, is_stale, cursor[1] = found, True, 0
                is_node[:], chosen[:] = trial, tree
            continue
        if not is_key[node]:
            continue
        n_paths = roads.offsets[node + 1] - roads.offsets[node]
        for i in range(-1, n_paths):
            # -1 removes the node itself.
            if i < 0 and is_terminal[node]:
                continue
            if i >= 0 and not best[roads.edges[roads.offsets[node] + i]]:
                continue
            trial[:], tree[:] = is_node, best
            banned, saved = -1, 0.0
            if i >= 0:
                edge = roads.edges[roads.offsets[node] + i]
                end, saved = _drop_path(roads, weights, is_key, tree, node, edge, trial)
                if end < node:
                    # The path is exchanged in the turn of its other end.
                    continue
            else:
                for j in range(roads.offsets[node], roads.offsets[node + 1]):
                    if tree[roads.edges[j]]:
                        saved += _drop_path(roads, weights, is_key, tree, node, roads.edges[j], trial)[1]
                trial[node], banned = False, node
            trials += 1
            _group_by(roads, trial, tree, tables)
            if not _rejoin(roads, weights, banned, saved, trial, tables):
                continue
            found = _span(roads, weights, is_terminal, first, trial, tree, tables)
            if found < cost * (1.0 - 1e-12):
                cost, is_stale, cursor[1] = found, True, 0
                is_node[:], chosen[:] = trial, tree
                break
    return cost
