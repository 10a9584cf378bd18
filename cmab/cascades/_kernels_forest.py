"""Gibbs flips of the hidden outcomes of a cascade, given who joined and who was not asked.

The constraint is that every person who joined is reachable from the seeds. A spanning forest of live arcs
proves it. An arc outside the forest can be switched off at once. An arc of the forest can be switched off if
the part below it can be attached by other live arcs.
"""

from typing import NamedTuple

from cmab.arrays import AnyArray, IntArray
from cmab.compiled import kernel

#: The status of a node. All people who were asked and did not join are one node of status OUT in a round.
SEED, JOINED, UNSEEN, OUT = range(4)


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
        if graph.status[v] == SEED:
            queue[size] = v
            size += 1
    at = 0
    while at < size:
        u = queue[at]
        at += 1
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            arc = graph.out_arcs[j]
            v = graph.heads[arc]
            if coins[arc] and parent[v] < 0 and graph.status[v] != SEED:
                parent[v] = arc
                queue[size] = v
                size += 1
    return size


@kernel
def is_reached(graph, v, parent):
    """Return whether a node is a seed or has an arc of the forest."""
    return parent[v] >= 0 or graph.status[v] == SEED


@kernel
def hangs_elsewhere(graph, top, coins, parent):
    """Attach `top` by a live arc whose tail is reached and not below it; return whether there is one."""
    for j in range(graph.in_offsets[top], graph.in_offsets[top + 1]):
        arc = graph.in_arcs[j]
        if not coins[arc] or not is_reached(graph, graph.tails[arc], parent):
            continue
        above = graph.tails[arc]
        while above != top and parent[above] >= 0:
            above = graph.tails[parent[above]]
        if above != top:
            parent[top] = arc
            return True
    return False


@kernel
def collect_below(graph, top, parent, mark, queue):
    """Mark the nodes of the forest from `top` down with 1, and write them to `queue`; return their number."""
    size, at = 1, 0
    queue[0] = top
    mark[top] = 1
    while at < size:
        u = queue[at]
        at += 1
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            v = graph.heads[graph.out_arcs[j]]
            if parent[v] == graph.out_arcs[j] and mark[v] == 0:
                mark[v] = 1
                queue[size] = v
                size += 1
    return size


@kernel
def moves_below(graph, top, coins, parent, mark, queue, hung):
    """Attach the nodes below `top` by other live arcs, or change nothing; return whether this is possible.

    People who were not asked may stay without an arc.
    """
    size = collect_below(graph, top, parent, mark, queue)
    # The nodes below with a live arc from outside, and then those that these reach, in the second half.
    found, half = 0, queue.shape[0] // 2
    for i in range(size):
        v = queue[i]
        for j in range(graph.in_offsets[v], graph.in_offsets[v + 1]):
            arc = graph.in_arcs[j]
            if coins[arc] and mark[graph.tails[arc]] == 0 and is_reached(graph, graph.tails[arc], parent):
                hung[v] = arc
                mark[v] = 2
                queue[half + found] = v
                found += 1
                break
    at = 0
    while at < found:
        u = queue[half + at]
        at += 1
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            arc = graph.out_arcs[j]
            v = graph.heads[arc]
            if coins[arc] and mark[v] == 1:
                hung[v] = arc
                mark[v] = 2
                queue[half + found] = v
                found += 1
    is_possible = True
    for i in range(size):
        if mark[queue[i]] == 1:
            hung[queue[i]] = -1
            is_possible = is_possible and graph.status[queue[i]] == UNSEEN
    for i in range(size):
        mark[queue[i]] = 0
        if is_possible:
            parent[queue[i]] = hung[queue[i]]
    return is_possible


@kernel
def reaches_on(graph, arc, coins, parent, mark, queue):
    """Attach the head of `arc`, which is not reached, and what it reaches; return whether this is possible.

    It is not if a live arc leads from them to somebody who did not join. All of them are people who were not
    asked.
    """
    size, at, is_possible = 1, 0, True
    queue[0] = graph.heads[arc]
    mark[queue[0]] = 1
    while at < size:
        u = queue[at]
        at += 1
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            v = graph.heads[graph.out_arcs[j]]
            if not coins[graph.out_arcs[j]]:
                continue
            is_possible = is_possible and graph.status[v] != OUT
            if mark[v] == 0 and not is_reached(graph, v, parent) and graph.status[v] != OUT:
                mark[v] = 1
                queue[size] = v
                size += 1
                if is_possible:
                    parent[v] = graph.out_arcs[j]
    for i in range(size):
        mark[queue[i]] = 0
        if not is_possible:
            parent[queue[i]] = -1
    if is_possible:
        parent[graph.heads[arc]] = arc
    return is_possible


@kernel
def flip_forest(graph, arcs, chances, coins, parent, mark, queue, hung, rng):
    """Draw each arc in the range `arcs` given all others, such that the people who joined are reached."""
    for arc in range(arcs[0], arcs[1]):
        if graph.fixed[arc] >= 0:
            continue
        is_live, top = rng.random() < chances[arc], graph.heads[arc]
        if is_live == coins[arc]:
            continue
        if not is_reached(graph, graph.tails[arc], parent):
            coins[arc] = is_live
        elif is_live:
            can = is_reached(graph, top, parent) or (
                graph.status[top] != OUT and reaches_on(graph, arc, coins, parent, mark, queue)
            )
            coins[arc] = can
        elif parent[top] != arc:
            coins[arc] = 0
        else:
            coins[arc] = 0
            if hangs_elsewhere(graph, top, coins, parent):
                continue
            if not moves_below(graph, top, coins, parent, mark, queue, hung):
                coins[arc] = 1
