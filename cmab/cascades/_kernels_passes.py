"""One pass of the chain over reported cascades: the hidden outcomes of each round given all other rounds."""

from cmab.cascades._kernels_distances import FAR, excursion, flip_distances, measure
from cmab.cascades._kernels_forest import flip_forest, grow_forest, is_reached
from cmab.compiled import kernel

#: Columns of the table of rounds.
NODE, NODE_END, ARC, ARC_END, KIND = range(5)
#: The kinds of rounds: without steps; with the steps of all people; with some steps, which needs excursions.
FOREST, DISTANCES, WANDERING = range(3)
#: The number of flips of an excursion, as a multiple of the number of arcs.
_FAR_AND_BACK = 4
#: The most arcs that the searches of one visit may look at, if every flip needs a search.
_WORK = 20_000_000.0


@kernel
def count_outcomes(graph, table, first, last, sign, coins, tried, won, lost):
    """Add the outcomes of the tried arcs of some rounds to the counts, or remove them if `sign` is -1."""
    for r in range(first, last):
        for arc in range(table[r, ARC], table[r, ARC_END]):
            if tried[arc] and graph.fixed[arc] < 0:
                won[graph.arms[arc]] += sign * coins[arc]
                lost[graph.arms[arc]] += sign * (1 - coins[arc])


@kernel
def mark_tried(graph, arcs, is_forest, parent, tried):
    """Write whether each arc was tried. `parent` holds the forest, or the distances of the nodes."""
    for arc in range(arcs[0], arcs[1]):
        tail = graph.tails[arc]
        tried[arc] = is_reached(graph, tail, parent) if is_forest else parent[tail] < FAR


@kernel
def redraw_untried(graph, arcs, chances, coins, tried, rng):
    """Draw the outcomes of arcs that were not tried.

    They are not counted, so those of the last visit were drawn under other priors and counts.
    """
    for arc in range(arcs[0], arcs[1]):
        if not tried[arc] and graph.fixed[arc] < 0:
            coins[arc] = rng.random() < chances[arc]


@kernel
def visit(graph, table, r, inner, chances, coins, tried, room, rng):
    """Draw the hidden outcomes of round r, `inner` times, given the probability of each arc."""
    parent, mark, queue, hung, kept = room
    nodes = (table[r, NODE], table[r, NODE_END])
    arcs = (table[r, ARC], table[r, ARC_END])
    size = arcs[1] - arcs[0]
    if table[r, KIND] == FOREST:
        grow_forest(graph, nodes[0], nodes[1], coins, parent, queue)
        mark_tried(graph, arcs, True, parent, tried)
        redraw_untried(graph, arcs, chances, coins, tried, rng)
        for _ in range(inner):
            flip_forest(graph, arcs, chances, coins, parent, mark, queue, hung, rng)
        mark_tried(graph, arcs, True, parent, tried)
        return
    measure(graph, nodes[0], nodes[1], coins, parent, queue)
    mark_tried(graph, arcs, False, parent, tried)
    redraw_untried(graph, arcs, chances, coins, tried, rng)
    # Steps of all people need no search. Otherwise, the number of flips is bounded, as the time is.
    few = int(min(1.0 * size, _WORK / (size * inner + 1.0)) + 1.0)
    flips = size if table[r, KIND] == DISTANCES else few
    for _ in range(inner):
        flip_distances(graph, nodes, arcs, flips, True, chances, coins, parent, queue, rng)
        if table[r, KIND] == WANDERING:
            away = 1 + int(rng.random() * _FAR_AND_BACK * few)
            excursion(graph, nodes, arcs, away, chances, coins, kept, parent, queue, rng)
    measure(graph, nodes[0], nodes[1], coins, parent, queue)
    mark_tried(graph, arcs, False, parent, tried)


@kernel
def pass_over(graph, table, first, last, inner, alpha, beta, won, lost, chances, coins, tried, room, rng):
    """Draw the hidden outcomes of rounds ``first, ..., last - 1``, each given the counts of all others."""
    for r in range(first, last):
        count_outcomes(graph, table, r, r + 1, -1, coins, tried, won, lost)
        for arc in range(table[r, ARC], table[r, ARC_END]):
            arm = graph.arms[arc]
            total = alpha[arm] + beta[arm] + won[arm] + lost[arm]
            chances[arc] = (alpha[arm] + won[arm]) / total
        visit(graph, table, r, inner, chances, coins, tried, room, rng)
        count_outcomes(graph, table, r, r + 1, 1, coins, tried, won, lost)
