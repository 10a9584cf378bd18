"""Sides of bipartite graphs, and matchings of largest size by augmenting paths."""

import numpy as np

from cmab.kernels import kernel, lean_kernel


@kernel
def greedy_edges(order, tails, heads, room, chosen):
    """Choose edges in this order while both ends have room, which is reduced in place."""
    for edge in order:
        if room[tails[edge]] > 0 and room[heads[edge]] > 0:
            chosen[edge] = True
            room[tails[edge]] -= 1
            room[heads[edge]] -= 1


@kernel
def two_sides(offsets, ends, side):
    """Write 0 or 1 for each node so that the ends of each edge differ; return whether this is possible."""
    n = side.shape[0]
    queue = np.empty(n, np.int64)
    side[:] = -1
    for root in range(n):
        if side[root] >= 0:
            continue
        side[root], queue[0], first, size = 0, root, 0, 1
        while first < size:
            node = queue[first]
            first += 1
            for other in ends[offsets[node] : offsets[node + 1]]:
                if side[other] < 0:
                    side[other] = 1 - side[node]
                    queue[size] = other
                    size += 1
                elif side[other] == side[node]:
                    return False
    return True


@kernel
def largest_matching(offsets, ends, mate, is_perfect):
    """Write the partner of each node in a matching of largest size, or -1; return the number of its edges.

    A node without an augmenting path never gets one (Edmonds 1965). So if `is_perfect`, the search ends at
    the first such node and returns -1.
    """
    n, size = mate.shape[0], 0
    mate[:] = -1
    for node in range(n):
        if mate[node] < 0:
            for other in ends[offsets[node] : offsets[node + 1]]:
                if mate[other] < 0 and other != node:
                    mate[node], mate[other] = other, node
                    size += 1
                    break
    parent, base, queue = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    is_even, is_marked = np.empty(n, np.bool_), np.zeros(n, np.bool_)
    # Nodes of failed searches cannot be on later augmenting paths.
    is_gone = np.zeros(n, np.bool_)
    for root in range(n):
        if mate[root] >= 0:
            continue
        node = _free_end(offsets, ends, mate, root, parent, base, queue, is_even, is_marked, is_gone)
        if node < 0:
            if is_perfect:
                return -1
            continue
        size += 1
        while node >= 0:
            before = parent[node]
            further = mate[before]
            mate[node], mate[before] = before, node
            node = further
    return size


@lean_kernel
def _free_end(offsets, ends, mate, root, parent, base, queue, is_even, is_marked, is_gone):
    """Return the free end of an augmenting path from `root`, with its way back in `parent`; -1 if none."""
    n = mate.shape[0]
    parent[:], is_even[:] = -1, False
    for node in range(n):
        base[node] = node
    is_even[root], queue[0], first, size = True, root, 0, 1
    while first < size:
        node = queue[first]
        first += 1
        for other in ends[offsets[node] : offsets[node + 1]]:
            if is_gone[other] or base[node] == base[other] or mate[node] == other:
                continue
            if other == root or (mate[other] >= 0 and parent[mate[other]] >= 0):
                # An odd cycle: all of its nodes become even, with one base.
                size = _shrink_cycle(mate, parent, base, queue, size, is_even, is_marked, node, other)
            elif parent[other] < 0:
                parent[other] = node
                if mate[other] < 0:
                    return int(other)
                is_even[mate[other]] = True
                queue[size] = mate[other]
                size += 1
    for node in range(n):
        if is_even[node] or parent[node] >= 0:
            is_gone[node] = True
    return -1


@lean_kernel
def _shrink_cycle(mate, parent, base, queue, size, is_even, is_marked, one, other):
    """Contract the odd cycle that the edge between two even nodes closes; return the size of the queue."""
    n = mate.shape[0]
    is_marked[:] = False
    node = base[one]
    while True:
        is_marked[node] = True
        if mate[node] < 0:
            break
        node = base[parent[mate[node]]]
    top = base[other]
    while not is_marked[top]:
        top = base[parent[mate[top]]]
    is_marked[:] = False
    for turn in range(2):
        node, child = (one, other) if turn == 0 else (other, one)
        while base[node] != top:
            is_marked[base[node]] = is_marked[base[mate[node]]] = True
            parent[node] = child
            child = mate[node]
            node = parent[mate[node]]
    for node in range(n):
        if is_marked[base[node]]:
            base[node] = top
            if not is_even[node]:
                is_even[node] = True
                queue[size] = node
                size += 1
    return size
