"""Lower bounds for Steiner trees by dual ascent, and the arcs that they exclude.

Arc 2 e leads from the tail of edge e to its head, arc 2 e + 1 back.
"""

import numpy as np

from cmab.kernels import heap_drop, heap_rise, kernel, lean_kernel

# A cut is raised if it has at most this many times as many arcs as the next cut in the queue.
_SLACKNESS = 1.25


@lean_kernel
def arc_from(roads, node, i):
    """Return the arc that leaves `node` over entry i of its list."""
    edge = roads.edges[i]
    return int(2 * edge + (roads.tails[edge] != node))


@kernel
def dual_ascent(roads, slack, is_terminal, root, starts, cuts):
    """Return a lower bound on the cost of a tree, infinite if no tree exists: Wong 1984.

    `slack` has the cost of each arc, and afterwards its reduced cost. Each step takes a set of nodes that
    contains a terminal but not `root` and that only arcs of positive slack enter. One of these arcs must be
    paid for, so the least of their slacks is added to the bound and subtracted from all of them. Afterwards,
    arcs without slack connect `root` to all terminals.

    The arcs that enter set j are written to ``cuts[starts[j]:starts[j + 1]]``, as long as there is room. The
    number of these sets is written to ``starts[-1]``.
    """
    n, m = roads.offsets.shape[0] - 1, roads.tails.shape[0]
    is_active, seen, stamp = is_terminal.copy(), np.zeros(n, np.int64), 0
    is_active[root] = False
    heap, keys, size = np.empty(n + 1, np.int64), np.empty(n + 1), 0
    for node in range(n):
        if is_active[node]:
            heap[size], keys[size] = node, -float(roads.offsets[node + 1] - roads.offsets[node])
            heap_rise(heap, keys, size)
            size += 1
    inside, entering, bound, n_cuts = np.empty(n, np.int64), np.empty(2 * m, np.int64), 0.0, 0
    starts[0] = 0
    while size > 0:
        terminal = heap[0]
        size = heap_drop(heap, keys, size)
        stamp += 1
        inside[0], seen[terminal], first, last = terminal, stamp, 0, 1
        while True:
            first, last, met = _spread(
                roads, slack, is_active, root, terminal, inside, seen, stamp, first, last
            )
            if met:
                # Another terminal, or the root, reaches this one without further cost.
                is_active[terminal] = False
                break
            count, least = 0, np.inf
            for j in range(last):
                for i in range(roads.offsets[inside[j]], roads.offsets[inside[j] + 1]):
                    if seen[roads.ends[i]] != stamp:
                        arc = arc_from(roads, inside[j], i) ^ 1
                        entering[count] = arc
                        count += 1
                        least = min(least, slack[arc])
            if least == np.inf:
                return np.inf
            if size > 0 and count > -_SLACKNESS * keys[0]:
                heap[size], keys[size] = terminal, -float(count)
                heap_rise(heap, keys, size)
                size += 1
                break
            bound += least
            for j in range(count):
                slack[entering[j]] -= least
            if n_cuts + 2 < starts.shape[0] and starts[n_cuts] + count <= cuts.shape[0]:
                cuts[starts[n_cuts] : starts[n_cuts] + count] = entering[:count]
                starts[n_cuts + 1] = starts[n_cuts] + count
                n_cuts += 1
            # The nodes from which arcs now lead here without slack join the set.
            first = 0
    starts[-1] = n_cuts
    return bound


@lean_kernel
def _spread(roads, slack, is_active, root, terminal, inside, seen, stamp, first, last):
    """Add the nodes that reach the set without slack; stop at the root or at another active terminal."""
    while first < last:
        node = inside[first]
        first += 1
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            other = roads.ends[i]
            if seen[other] == stamp or slack[arc_from(roads, node, i) ^ 1] > 0.0:
                continue
            if other == root or (is_active[other] and other != terminal):
                return first, last, True
            seen[other], inside[last] = stamp, other
            last += 1
    return first, last, False


@lean_kernel
def _reach(roads, slack, distance, is_backward, heap, keys):
    """Lower the distances by paths over arcs with lengths `slack`, forward or backward."""
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
            arc = arc_from(roads, node, i) ^ is_backward
            other, through = roads.ends[i], reached + slack[arc]
            if through < distance[other]:
                distance[other] = through
                heap[size], keys[size] = other, -through
                heap_rise(heap, keys, size)
                size += 1


@kernel
def exclude(roads, weights, slack, is_terminal, root, spare):
    """Exclude, at weight infinity, each edge that no tree within `spare` of the bound contains.

    A tree over an arc pays for the arc, for a path from the root to its tail, and for a path from its head to
    a terminal, all at reduced cost. Return the number of excluded edges.
    """
    n, m = roads.offsets.shape[0] - 1, weights.shape[0]
    heap, keys = np.empty(n + 2 * m, np.int64), np.empty(n + 2 * m)
    ahead, behind = np.full(n, np.inf), np.full(n, np.inf)
    ahead[root] = 0.0
    for node in range(n):
        if is_terminal[node] and node != root:
            behind[node] = 0.0
    _reach(roads, slack, ahead, 0, heap, keys)
    _reach(roads, slack, behind, 1, heap, keys)
    count = 0
    for edge in range(m):
        if weights[edge] < np.inf:
            tail, head = roads.tails[edge], roads.heads[edge]
            there = ahead[tail] + slack[2 * edge] + behind[head]
            back = ahead[head] + slack[2 * edge + 1] + behind[tail]
            if min(there, back) > spare:
                weights[edge] = np.inf
                count += 1
    return count


@kernel
def prune_ends(roads, weights, is_terminal):
    """Exclude the edges at nodes of degree one that are not terminals; return the number of edges left."""
    n, left = roads.offsets.shape[0] - 1, 0
    degree, stack, size = np.zeros(n, np.int64), np.empty(n, np.int64), 0
    for edge in range(weights.shape[0]):
        if weights[edge] < np.inf:
            left += 1
            degree[roads.tails[edge]] += 1
            degree[roads.heads[edge]] += 1
    for node in range(n):
        if degree[node] == 1 and not is_terminal[node]:
            stack[size] = node
            size += 1
    while size > 0:
        size -= 1
        node = stack[size]
        for i in range(roads.offsets[node], roads.offsets[node + 1]):
            edge, other = roads.edges[i], roads.ends[i]
            if weights[edge] < np.inf:
                weights[edge] = np.inf
                left -= 1
                degree[node] -= 1
                degree[other] -= 1
                if degree[other] == 1 and not is_terminal[other]:
                    stack[size] = other
                    size += 1
    return left


@kernel
def far_side(pipes, room, target, is_far):
    """Write which nodes reach `target` over entries that have room, as left by `minimum_cut`."""
    n = is_far.shape[0]
    stack, size = np.empty(n, np.int64), 1
    is_far[:] = False
    is_far[target], stack[0] = True, target
    while size > 0:
        size -= 1
        node = stack[size]
        for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
            # Entry 2 i leaves this node, so entry 2 i + 1 leads to it from the other end, and vice versa.
            other = pipes.tails[entry >> 1] if entry & 1 else pipes.heads[entry >> 1]
            if not is_far[other] and room[entry ^ 1] > 0.0:
                is_far[other], stack[size] = True, other
                size += 1
