"""Gibbs flips of the hidden outcomes of a cascade, given only who joined.

The constraint is that every person who joined is reachable from the seeds. A spanning forest of live arcs
proves it. An arc outside the forest can be switched off at once. An arc of the forest can be switched off if
the part below it can be attached by other live arcs.
"""

from typing import NamedTuple

from cmab.arrays import AnyArray, IntArray
from cmab.kernels import kernel


class Graph(NamedTuple):
    """The arcs with hidden outcomes, in the form that compiled code needs.

    `fixed` is -1 for arcs to draw, otherwise the outcome; `status` and `steps` belong to nodes. The arms are
    numbers of base arms. Nodes have numbers of their own.
    """

    arms: IntArray
    tails: AnyArray
    heads: AnyArray
    fixed: AnyArray
    status: AnyArray
    steps: AnyArray
    out_offsets: IntArray
    out_arcs: IntArray
    in_offsets: IntArray
    in_arcs: IntArray


@kernel
def grow_forest(graph, first, last, coins, parent, queue):
    """Write the arc by which each node ``first, ..., last - 1`` is reached; return the number of these."""
    size = 0
    for v in range(first, last):
        parent[v] = -1
        if graph.status[v] == 0:
            queue[size] = v
            size += 1
    at = 0
    while at < size:
        u = queue[at]
        at += 1
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            arc = graph.out_arcs[j]
            v = graph.heads[arc]
            if coins[arc] and parent[v] < 0 and graph.status[v] != 0:
                parent[v] = arc
                queue[size] = v
                size += 1
    return size


@kernel
def hangs_elsewhere(graph, top, coins, parent):
    """Attach `top` to another live arc whose tail is not below `top`; return whether there is one."""
    for j in range(graph.in_offsets[top], graph.in_offsets[top + 1]):
        arc = graph.in_arcs[j]
        if not coins[arc]:
            continue
        above = graph.tails[arc]
        while above != top and parent[above] >= 0:
            above = graph.tails[parent[above]]
        if above != top:
            parent[top] = arc
            return True
    return False


@kernel
def moves_below(graph, top, coins, parent, mark, queue, hung):
    """Attach all nodes below `top` by other live arcs, or change nothing; return whether it is possible."""
    size, at = 1, 0
    queue[0] = top
    mark[top] = 1
    while at < size:
        u = queue[at]
        at += 1
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            arc = graph.out_arcs[j]
            v = graph.heads[arc]
            if parent[v] == arc and mark[v] == 0 and graph.status[v] != 0:
                mark[v] = 1
                queue[size] = v
                size += 1
    # The nodes below with a live arc from outside, and then those that these reach, in the second half.
    found, half = 0, queue.shape[0] // 2
    for i in range(size):
        v = queue[i]
        for j in range(graph.in_offsets[v], graph.in_offsets[v + 1]):
            arc = graph.in_arcs[j]
            if coins[arc] and mark[graph.tails[arc]] == 0:
                hung[v] = arc
                mark[v] = 2
                queue[half + found] = v
                found += 1
                break
    for i in range(found):
        mark[queue[half + i]] = 3
    at = 0
    while at < found:
        u = queue[half + at]
        at += 1
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            arc = graph.out_arcs[j]
            v = graph.heads[arc]
            if coins[arc] and mark[v] == 1:
                hung[v] = arc
                mark[v] = 3
                queue[half + found] = v
                found += 1
    for i in range(size):
        mark[queue[i]] = 0
        if found == size:
            parent[queue[i]] = hung[queue[i]]
    return found == size


@kernel
def flip_forest(graph, arcs, chances, coins, parent, mark, queue, hung, rng):
    """Draw each arc in the range `arcs` given all others, keeping all nodes reachable."""
    for arc in range(arcs[0], arcs[1]):
        if graph.fixed[arc] >= 0:
            continue
        if rng.random() < chances[arc]:
            coins[arc] = 1
        elif coins[arc]:
            coins[arc] = 0
            top = graph.heads[arc]
            if parent[top] != arc or hangs_elsewhere(graph, top, coins, parent):
                continue
            if not moves_below(graph, top, coins, parent, mark, queue, hung):
                coins[arc] = 1
