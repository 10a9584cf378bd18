"""Gibbs flips of the hidden outcomes of a cascade with steps.

The constraint is on the distances from the seeds along live arcs: the step of a person is their distance, who
joined has one, and who did not join has none. A flip that can change a distance is checked by a search.
"""

from cmab.cascades._kernels_forest import JOINED, OUT, SEED
from cmab.compiled import kernel

FAR = 2**30
#: The weight of each violation in an excursion, which leaves the constraint and has to return to it.
_SLACK = 0.15


@kernel
def measure(graph, first, last, coins, distances, queue):
    """Write the distance of each node ``first, ..., last - 1``; return the number of violated constraints."""
    size = 0
    for v in range(first, last):
        distances[v] = FAR
        if graph.status[v] == SEED:
            distances[v] = 0
            queue[size] = v
            size += 1
    at = 0
    while at < size:
        u = queue[at]
        at += 1
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            arc = graph.out_arcs[j]
            v = graph.heads[arc]
            if coins[arc] and distances[v] == FAR:
                distances[v] = distances[u] + 1
                queue[size] = v
                size += 1
    wrong = 0
    for v in range(first, last):
        status, step = graph.status[v], graph.steps[v]
        if status == OUT:
            wrong += distances[v] < FAR
        elif status == JOINED:
            wrong += distances[v] == FAR
            wrong += step >= 0 and distances[v] != step
    return wrong


@kernel
def is_free(graph, arc, coins, distances):
    """Return whether a flip of `arc` changes no distance."""
    here, there = distances[graph.tails[arc]], distances[graph.heads[arc]]
    if here == FAR or there <= here:
        return True
    if there > here + 1:
        return False
    if not coins[arc]:
        return True
    for j in range(graph.in_offsets[graph.heads[arc]], graph.in_offsets[graph.heads[arc] + 1]):
        other = graph.in_arcs[j]
        if other != arc and coins[other] and distances[graph.tails[other]] + 1 == there:
            return True
    return False


@kernel
def flip_distances(graph, nodes, arcs, flips, is_strict, chances, coins, distances, queue, rng):
    """Draw `flips` random arcs given all others; return the number of violated constraints.

    If `is_strict` is false, violations are allowed and each multiplies the weight of the outcomes by _SLACK.
    """
    wrong = measure(graph, nodes[0], nodes[1], coins, distances, queue)
    for _ in range(flips):
        arc = arcs[0] + int(rng.random() * (arcs[1] - arcs[0]))
        uniform = rng.random()
        if graph.fixed[arc] >= 0:
            continue
        if is_free(graph, arc, coins, distances):
            coins[arc] = uniform < chances[arc]
            continue
        on, head = uniform < chances[arc], graph.heads[arc]
        # A flip that is not free changes the distance of the head, whose step may be known.
        if is_strict and (on == coins[arc] or graph.steps[head] >= 0 or graph.status[head] == OUT):
            continue
        before = coins[arc]
        coins[arc] = 1 - before
        then = measure(graph, nodes[0], nodes[1], coins, distances, queue)
        if is_strict:
            keeps = then == 0
        else:
            stay = (chances[arc] if before else 1.0 - chances[arc]) * _SLACK**wrong
            move = (1.0 - chances[arc] if before else chances[arc]) * _SLACK**then
            keeps = uniform * (stay + move) < move
        if keeps:
            wrong = then
        else:
            coins[arc] = before
            wrong = measure(graph, nodes[0], nodes[1], coins, distances, queue)
    return wrong


@kernel
def excursion(graph, nodes, arcs, flips, chances, coins, kept, distances, queue, rng):
    """Make random flips that may violate the constraint; take them back if they end with a violation."""
    for arc in range(arcs[0], arcs[1]):
        kept[arc - arcs[0]] = coins[arc]
    wrong = flip_distances(graph, nodes, arcs, flips, False, chances, coins, distances, queue, rng)
    if wrong > 0:
        for arc in range(arcs[0], arcs[1]):
            coins[arc] = kept[arc - arcs[0]]
    return wrong


@kernel
def schedule(graph, levels, queue):
    """Write levels that people may have joined in to `levels`: the reported step, otherwise the earliest one.

    Return the number of people who joined and have no level.
    """
    n, size, at = graph.status.shape[0], 0, 0
    for v in range(n):
        levels[v] = FAR
        if graph.status[v] == SEED:
            levels[v] = 0
            queue[size] = v
            size += 1
    while at < size:
        u = queue[at]
        at += 1
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            v = graph.heads[graph.out_arcs[j]]
            late = graph.steps[v] >= 0 and graph.steps[v] != levels[u] + 1
            if levels[v] == FAR and graph.status[v] != OUT and not late:
                levels[v] = levels[u] + 1
                queue[size] = v
                size += 1
    lost = 0
    for v in range(n):
        lost += graph.status[v] == JOINED and levels[v] == FAR
    return lost
