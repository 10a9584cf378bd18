"""The posterior of hidden outcomes: learning from reports of who joined, without the ties that carried.

A report of a cascade tells who joined, perhaps with steps. The outcomes of the ties are drawn by a Markov
chain, each round given all others. The constraint of a round is one of these:

- without steps, every person who joined is reachable from the seeds. A spanning forest of live arcs proves it
  (`flip_forest`);
- with steps, the distance of a person from the seeds along live arcs is their step (`flip_distances`).

`HiddenOutcomes` keeps the reports of one learner and the chain.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.compiled import kernel
from cmab.feedback import Feedback
from cmab.policy import Policy
from cmab.priors import BetaPrior, grid_log_weights
from cmab.statistics import ArmStatistics

# The kernels of rounds without steps.

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


# The kernels of rounds with steps.

#: The distance of a node that no live arc reaches.
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


# One pass of the chain over all rounds.

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


# Draws of the Beta prior of each group of arms from a grid, given completed counts.


@kernel
def draw_priors(groups, n_groups, wins, losses, won, lost, alpha, beta, rng):
    """Draw a point of the grid for each group, and write its parameters for each arm."""
    logs = grid_log_weights(groups, n_groups, wins, losses, won, lost)
    points = np.zeros(n_groups, np.int64)
    for group in range(n_groups):
        most, total = logs[group].max(), 0.0
        for p in range(wins.shape[0]):
            total += math.exp(logs[group, p] - most)
        left = rng.random() * total
        for p in range(wins.shape[0]):
            weight = math.exp(logs[group, p] - most)
            points[group] = p if weight > 0.0 else points[group]
            left -= weight
            if left < 0.0:
                break
    for arm in range(groups.shape[0]):
        alpha[arm], beta[arm] = wins[points[groups[arm]]], losses[points[groups[arm]]]


#: The most searches that are made for outcomes that explain given steps, and their total of visited arcs.
_TRIES, _SEARCHED = 400, 1e8


class Unexplained(ValueError):
    """An error about a report that no outcomes of the arcs explain.

    Attributes
    ----------
    node : int
        The number of the first node without an explanation.
    kind : str
        ``"path"`` if no path leads to the node, otherwise ``"step"``.
    """

    def __init__(self, node: int, kind: str) -> None:
        super().__init__(f"joined must be nodes that the cascade can reach, got node {node} ({kind})")
        self.node, self.kind = node, kind


class Problem(NamedTuple):
    """The hidden outcomes of a report.

    Attributes
    ----------
    graph : Graph
        The arcs with hidden outcomes.
    kind : int
        How the outcomes are drawn: `FOREST`, `DISTANCES` or `WANDERING`.
    sure : IntArray
        The arms whose outcomes follow from the report.
    outcomes : IntArray
        These outcomes.
    start : AnyArray
        Outcomes of the arcs that satisfy the constraint.
    """

    graph: Graph
    kind: int
    sure: IntArray
    outcomes: IntArray
    start: AnyArray

    @property
    def n_hidden(self) -> int:
        """The number of outcomes to draw."""
        return int((self.graph.fixed < 0).sum())


def graph_of(arms: IntArray, tails: Any, heads: Any, fixed: Any, status: Any, steps: Any) -> Graph:
    """Return the graph with its arcs in the order of tails and of heads."""
    n = len(status)
    tails, heads = np.asarray(tails, np.int64), np.asarray(heads, np.int64)
    sides = []
    for ends in (tails, heads):
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(np.bincount(ends, minlength=n), out=offsets[1:])
        sides += [offsets, np.argsort(ends, kind="stable").astype(np.int64)]
    kinds = np.asarray(fixed, np.int8), np.asarray(status, np.int8), np.asarray(steps, np.int64)
    return Graph(np.asarray(arms, np.int64), tails, heads, *kinds, *sides)


def problem_of(cascade: Cascade, network: Network, observed: IntArray, *, is_old: bool) -> Problem:
    """Return the hidden outcomes of a cascade. The arms in `observed` are counted elsewhere.

    Raises
    ------
    Unexplained
        If no outcomes explain the report. If `is_old`, people without a path are seeds, and steps are ignored
        if they are impossible.
    """
    seeds, has_steps = cascade.seeds, True
    while True:
        try:
            return _Parts(cascade, network, observed, seeds, has_steps).problem()
        except Unexplained as error:
            if error.kind == "step":
                # A person without any path is reported as such.
                if not is_old:
                    _Parts(cascade, network, observed, seeds, False).problem()
                    raise
            elif not is_old:
                raise
            else:
                seeds = np.append(seeds, error.node)
            has_steps = False


class _Parts:
    """The status of the nodes, and the arcs whose outcomes follow from the report or are hidden."""

    def __init__(
        self, cascade: Cascade, network: Network, observed: IntArray, seeds: IntArray, has_steps: bool
    ) -> None:

        tails, heads, n = network
        self.network, self.n = network, n
        self.status = np.full(n, OUT, np.int8)
        self.status[cascade.unseen] = UNSEEN
        # An arc that was tried, or that succeeded, proves that its ends joined.
        known = np.concatenate((cascade.live, cascade.dead))
        self.status[tails[known]] = JOINED
        self.status[heads[cascade.live]] = JOINED
        self.status[cascade.joined] = JOINED
        self.steps = np.full(n, -1, np.int64)
        if has_steps:
            self.steps[cascade.joined] = cascade.steps
        self.has_steps = bool((self.steps > 0).any())
        self.status[seeds] = SEED
        self.steps[seeds] = 0 if self.has_steps else -1
        there = self.status[tails] != OUT
        if len(cascade.missing) or len(cascade.absent):
            gone = np.zeros(n, np.bool_)
            gone[cascade.absent] = True
            there &= ~(gone[tails] | gone[heads])
            there[cascade.missing] = False
        outcome = np.full(len(tails), -1, np.int8)
        outcome[cascade.live], outcome[cascade.dead] = 1, 0
        is_tried = there & (self.status[tails] <= JOINED)
        # A person who was asked and did not join: all arcs from people who joined have failed.
        outcome[is_tried & (self.status[heads] == OUT)] = 0
        before, after = self.steps[tails], self.steps[heads]
        both = there & (before >= 0) & (after >= 0) & (outcome < 0)
        outcome[both & (after > before + 1)] = 0
        is_told = is_tried & (outcome >= 0)
        # Arcs to people who had joined by then carry no information, neither do arcs to the seeds.
        useful = there & (self.status[heads] != SEED) & ~(both & (after <= before))
        self.arcs = np.flatnonzero(useful & ~(is_told & (outcome == 0)))
        self.is_counted = np.ones(len(tails), np.bool_)
        self.is_counted[observed] = False
        self.sure = np.flatnonzero(is_told)
        self.outcome = outcome

    def problem(self) -> Problem:
        """Return the hidden outcomes; raise `Unexplained` if the constraint cannot be satisfied."""
        tails, heads, _ = self.network
        nodes = np.flatnonzero(self.status != OUT)
        number = np.full(self.n, len(nodes), np.int64)  # all people who did not join are one node
        number[nodes] = np.arange(len(nodes))
        status, steps = np.append(self.status[nodes], OUT), np.append(self.steps[nodes], -1)

        def graph_with(arcs: IntArray) -> Graph:
            ends = number[tails[arcs]], number[heads[arcs]]
            return graph_of(arcs, *ends, self.outcome[arcs], status, steps)

        graph = graph_with(self.arcs)
        distances, queue = np.empty(len(status), np.int64), np.empty(2 * len(status), np.int64)
        measure(graph, 0, len(status), np.ones(len(self.arcs), np.int8), distances, queue)
        lost = np.flatnonzero((distances == FAR) & (status == JOINED))
        if len(lost):
            raise Unexplained(int(nodes[lost[0]]), "step" if self.has_steps else "path")
        early = np.flatnonzero((status == JOINED) & (steps >= 0) & (steps < distances))
        if len(early):
            raise Unexplained(int(nodes[early[0]]), "step")
        arcs = self.arcs[distances[graph.tails] < FAR]
        # A person with one possible arc was reached by it.
        into = np.bincount(number[heads[arcs]], minlength=len(status))
        is_only = (into[number[heads[arcs]]] == 1) & (self.status[heads[arcs]] == JOINED)
        forced = arcs[is_only & (self.status[tails[arcs]] <= JOINED) & (self.outcome[arcs] < 0)]
        self.outcome[forced] = 1
        graph = graph_with(arcs)
        is_unknown = (status[:-1] == JOINED) & (steps[:-1] < 0)
        is_open = bool(((status == UNSEEN) & (np.bincount(graph.heads, minlength=len(status)) > 0)).any())
        kind = FOREST
        if self.has_steps:
            kind = WANDERING if is_open or is_unknown.any() else DISTANCES
        start = np.ones(len(arcs), np.int8)
        start[graph.heads == len(nodes)] = 0
        if self.has_steps:
            start = self._explained(graph, nodes, start)
        return Problem(graph, kind, *self._sure(forced), start)

    def _sure(self, forced: IntArray) -> tuple[IntArray, IntArray]:
        sure = np.concatenate((self.sure, forced))
        sure = sure[self.is_counted[sure]]
        return sure, self.outcome[sure].astype(np.int64)

    def _explained(self, graph: Graph, nodes: IntArray, start: AnyArray) -> AnyArray:
        """Return outcomes with the reported steps, from a first attempt and a random search."""
        size, n = len(start), len(graph.status)
        levels, queue = np.empty(n, np.int64), np.empty(2 * n, np.int64)
        schedule(graph, levels, queue)
        late = levels[graph.heads] > levels[graph.tails] + 1
        coins = np.where(late | (graph.status[graph.heads] == OUT), 0, start).astype(np.int8)
        coins[graph.fixed == 1] = 1
        chances, rng = np.full(size, 0.5), np.random.default_rng(0)
        for _ in range(max(3, min(_TRIES, int(_SEARCHED / (4.0 * size * size + 1.0))))):
            if measure(graph, 0, n, coins, levels, queue) == 0:
                return coins
            flip_distances(graph, (0, n), (0, size), 4 * size, False, chances, coins, levels, queue, rng)
        wrong = _violated(graph, levels)
        raise Unexplained(
            int(nodes[np.flatnonzero(wrong[:-1])[0]]) if wrong[:-1].any() else int(nodes[0]), "step"
        )


def _violated(graph: Graph, distances: IntArray) -> BoolArray:
    """Return the nodes whose distance differs from their step, or that are not reached."""
    joined = graph.status == JOINED
    wrong: BoolArray = joined & ((distances == FAR) | ((graph.steps >= 0) & (distances != graph.steps)))
    return wrong


class Network(NamedTuple):
    """The ends of the arcs of a graph, and its number of nodes. Arc i is base arm i."""

    tails: AnyArray
    heads: AnyArray
    n_nodes: int


def no_numbers() -> IntArray:
    """Return an empty array of numbers, the default of fields."""
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Cascade:
    """What a report tells of a cascade, by the numbers of nodes and arms.

    Attributes
    ----------
    seeds : IntArray
        The seeds.
    joined : IntArray
        The other nodes that joined.
    steps : IntArray
        The step of each of these; -1 if it is unknown.
    unseen : IntArray
        The nodes that may have joined without a report.
    live, dead : IntArray
        The arms that are known to have succeeded, or to have been tried and to have failed.
    absent, missing : IntArray
        The nodes and the arms that the network did not have at the time of the report.
    """

    seeds: IntArray
    joined: IntArray = field(default_factory=no_numbers)
    steps: IntArray = field(default_factory=no_numbers)
    unseen: IntArray = field(default_factory=no_numbers)
    live: IntArray = field(default_factory=no_numbers)
    dead: IntArray = field(default_factory=no_numbers)
    absent: IntArray = field(default_factory=no_numbers)
    missing: IntArray = field(default_factory=no_numbers)

    @property
    def has_steps(self) -> bool:
        """Whether the step of any person is known."""
        return bool((self.steps >= 0).any())


@dataclass(frozen=True, eq=False, init=False, kw_only=True)
class CascadeFeedback(Feedback):
    """The feedback of a cascade whose outcomes are partly hidden.

    `Session.tell` and `Campaign.tell` learn from it with policies that draw from Beta posteriors. It has no
    outcomes of arms unless those of some arms are observed without bias, as those of arms that were alone in
    trying their head.

    Parameters
    ----------
    cascade : Cascade
        What is known of the cascade.
    network : Network
        The graph.
    arms, outcomes : array_like
        The outcomes that any policy can learn from; none by default.
    reward : float, optional
        The reward of the round; ``nan`` if it is unknown.
    has_all : bool
        Whether `arms` and `outcomes` are a report of their own, from which any policy can learn.
    is_old : bool
        Whether the report was validated before. A person without a path from the seeds then counts as a seed:
        the path was removed from the network since.
    """

    cascade: Cascade
    network: Network
    has_all: bool
    is_old: bool
    is_hidden: ClassVar[bool] = True

    def __init__(
        self,
        cascade: Cascade,
        network: Network,
        *,
        arms: Any = (),
        outcomes: Any = (),
        reward: float = float("nan"),
        has_all: bool = False,
        is_old: bool = False,
    ) -> None:
        super().__init__(np.asarray(arms, np.int64), np.asarray(outcomes, np.float64), reward=reward)
        self.__dict__.update(cascade=cascade, network=network, has_all=has_all, is_old=is_old)

    @cached_property
    def problem(self) -> Problem:
        """The hidden outcomes of this report and their constraint."""
        return problem_of(self.cascade, self.network, self.arms, is_old=self.is_old)

    @property
    def plain(self) -> Feedback:
        """The feedback without the hidden outcomes."""
        return Feedback(self.arms, self.outcomes, reward=self.reward)


#: The most flips of one call of `settle` and of `follow`. Their time is a few seconds, and a fraction of one.
SETTLING, FOLLOWING = 5_000_000, 1_000_000
#: The largest numbers of passes over all rounds, and of draws of a new round, given the others.
_SETTLED, _FOLLOWED, _FRESH, _FIRST = 100, 20, 20, 5


class Chain:
    """Outcomes of the hidden arcs of some rounds, and parameters of the Beta prior of each arm.

    The means of the arms are integrated out: each outcome is drawn given all others. The chain has the
    posterior of the outcomes and of the priors as its stationary distribution.

    Parameters
    ----------
    prior : BetaPrior
        The prior of the means.
    won, tried : FloatArray, shape (n_arms,)
        The counts of the observed outcomes, without those of the rounds.
    """

    def __init__(self, prior: BetaPrior, won: FloatArray, tried: FloatArray) -> None:
        self.prior = prior
        self.won, self.lost = won.copy(), tried - won
        self.alpha, self.beta = prior.middle(len(won))
        self.problems: list[Problem] = []
        self.coins: list[AnyArray] = []
        self._tried: list[AnyArray] = []
        self._laid: Any = None
        self.at = 0

    @property
    def n_hidden(self) -> int:
        """The number of hidden outcomes."""
        return sum(len(coins) for coins in self.coins)

    def observe(self, arms: AnyArray, outcomes: AnyArray) -> None:
        """Add observed outcomes to the counts."""
        np.add.at(self.won, arms, outcomes)
        np.add.at(self.lost, arms, 1.0 - outcomes)

    def add(self, problem: Problem) -> None:
        """Add a round with its first outcomes. They are not counted before they are drawn."""
        self.observe(problem.sure, problem.outcomes)
        self._unpack()
        self.problems.append(problem)
        self.coins.append(problem.start.copy())
        self._tried.append(np.zeros(len(problem.start), np.int8))

    @property
    def outcomes(self) -> list[AnyArray]:
        """The outcomes of the arcs of each round."""
        self._unpack()
        return self.coins

    @property
    def flags(self) -> list[AnyArray]:
        """Whether each arc of each round was tried, so that its outcome is counted."""
        self._unpack()
        return self._tried

    def resume(self, coins: AnyArray, tried: AnyArray, counts: AnyArray, at: int) -> None:
        """Continue with the outcomes, the counts and the priors of a stored chain over the same rounds."""
        laid = self._lay()
        laid.coins[:], laid.tried[:], self.at = coins, tried, at
        self.won, self.lost, alpha, beta = (row.copy() for row in counts)
        if self.prior.groups is not None:
            self.alpha, self.beta = alpha, beta

    def settle(self, rng: np.random.Generator) -> None:
        """Draw all rounds from their first outcomes: one after the other, then all given each other."""
        self._pass(0, len(self.problems), _FIRST, rng)
        self._draw_priors(rng)
        self.run(max(1.0, self.affordable(SETTLING, _SETTLED) - _FIRST), rng)

    def follow(self, rng: np.random.Generator, fresh: int = 0) -> None:
        """Continue the chain after `fresh` new rounds: draw these often, and all rounds as time allows."""
        n = len(self.problems)
        if fresh:
            hidden = sum(len(coins) for coins in self.coins[n - fresh :])
            self._pass(n - fresh, n, max(1, min(_FRESH, FOLLOWING // max(1, hidden))), rng)
        self.run(self.affordable(FOLLOWING, _FOLLOWED), rng)

    def run(self, passes: float, rng: np.random.Generator) -> None:
        """Make some passes over all rounds; a fraction of a pass visits the next rounds in turn."""
        n = len(self.problems)
        if not self.n_hidden:
            self._draw_priors(rng)
            return
        for _ in range(int(passes)):
            self._pass(0, n, 1, rng)
            self._draw_priors(rng)
        if passes < 1.0:
            for _ in range(max(1, int(passes * n))):
                self.at = (self.at + 1) % n
                self._pass(self.at, self.at + 1, 1, rng)
            self._draw_priors(rng)

    def copy(self) -> Chain:
        """Return a copy that can be run on without a change of this chain."""
        twin = Chain.__new__(Chain)
        twin.__dict__.update(self.__dict__)
        for name in ("won", "lost", "alpha", "beta"):
            twin.__dict__[name] = getattr(self, name).copy()
        # The outcomes of a round are replaced and never written to while they are in these lists.
        twin.problems, twin.coins, twin._tried = self.problems.copy(), self.coins.copy(), self._tried.copy()
        twin._laid = None if self._laid is None else self._laid.copy()
        return twin

    def with_means(self, means: FloatArray, weight: float) -> Chain:
        """Return a copy with these means of the priors. With a large weight, outcomes do not change them."""
        twin = self.copy()
        twin.alpha, twin.beta = weight * means, weight * (1.0 - means)
        twin.prior = BetaPrior(twin.alpha, twin.beta)
        return twin

    def tallies(
        self, names: Sequence[str], labels: Sequence[str]
    ) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return how often each arm succeeded and was tried in the drawn outcomes, by label of the rounds."""
        graph, laid, n = self._lay().graph, self._lay(), len(self.won)
        of_arcs = np.repeat([names.index(label) for label in labels], laid.table[:, 3] - laid.table[:, 2])
        is_drawn = (laid.tried == 1) & (graph.fixed < 0)
        found = {}
        for number, name in enumerate(names):
            own = is_drawn & (of_arcs == number)
            arms = graph.arms[own]
            won = np.bincount(arms, laid.coins[own].astype(np.float64), minlength=n).astype(np.float64)
            found[name] = won, np.bincount(arms, minlength=n).astype(np.float64)
        return found

    def affordable(self, flips: int, most: int) -> float:
        """Return how many passes, at most `most`, make about so many flips; a fraction if they are few."""
        passes = flips / max(1, self.n_hidden)
        return min(float(most), passes) if passes < 1.0 else float(min(most, int(passes)))

    def _draw_priors(self, rng: np.random.Generator) -> None:
        if self.prior.groups is None:
            return

        prior = self.prior
        draw_priors(
            prior.groups,
            prior.n_groups,
            prior.wins,
            prior.losses,
            self.won,
            self.lost,
            self.alpha,
            self.beta,
            rng,
        )

    def _pass(self, first: int, last: int, inner: int, rng: np.random.Generator) -> None:

        if first == last:
            return
        laid = self._lay()
        counts = self.alpha, self.beta, self.won, self.lost
        drawn = laid.chances, laid.coins, laid.tried
        pass_over(laid.graph, laid.table, first, last, inner, *counts, *drawn, laid.room, rng)

    def _lay(self) -> Any:
        """Return all rounds as one graph for compiled code."""
        if self._laid is None:
            self._laid = _Laid(self.problems, self.coins, self._tried)
        return self._laid

    def _unpack(self) -> None:
        """Return the outcomes to the lists of the rounds."""
        if self._laid is not None:
            cuts = np.cumsum([len(coins) for coins in self.coins])[:-1]
            self.coins = [part.copy() for part in np.split(self._laid.coins, cuts)]
            self._tried = [part.copy() for part in np.split(self._laid.tried, cuts)]
            self._laid = None


class _Laid:
    """The rounds as one graph, whose nodes and arcs are in the order of the rounds."""

    def __init__(self, problems: list[Problem], coins: list[AnyArray], tried: list[AnyArray]) -> None:
        graphs = [problem.graph for problem in problems]
        nodes = np.cumsum([0, *(len(graph.status) for graph in graphs)])
        arcs = np.cumsum([0, *(len(graph.arms) for graph in graphs)])
        self.graph = _united(graphs, nodes)
        kinds = [problem.kind for problem in problems]
        self.table = np.stack([nodes[:-1], nodes[1:], arcs[:-1], arcs[1:], kinds], axis=1).astype(np.int64)
        self.coins, self.tried = np.concatenate(coins), np.concatenate(tried)
        self.chances = np.where(self.graph.fixed == 1, 1.0, 0.5)
        n, widest = int(nodes[-1]), int(np.diff(nodes).max())
        parent, mark, hung = np.full(n, -1, np.int64), np.zeros(n, np.int8), np.full(n, -1, np.int64)
        kept = np.zeros(int(np.diff(arcs).max()), np.int8)
        self.room = (parent, mark, np.zeros(2 * widest, np.int64), hung, kept)

    def copy(self) -> _Laid:
        """Return a copy with its own outcomes and the same graph."""
        twin = _Laid.__new__(_Laid)
        own = {"coins": self.coins.copy(), "tried": self.tried.copy(), "chances": self.chances.copy()}
        twin.__dict__.update(self.__dict__, **own, room=tuple(part.copy() for part in self.room))
        return twin


def _united(graphs: list[Graph], nodes: AnyArray) -> Graph:
    joined = {
        name: np.concatenate([getattr(graph, name) for graph in graphs])
        for name in ("arms", "fixed", "status", "steps")
    }
    tails, heads = (
        np.concatenate([getattr(graph, name) + start for graph, start in zip(graphs, nodes, strict=False)])
        for name in ("tails", "heads")
    )
    return graph_of(joined["arms"], tails, heads, joined["fixed"], joined["status"], joined["steps"])


#: The most flips of the passes for estimates, and the numbers of passes and of fixed means.
_ESTIMATING, _DRAWS, _FIXED = 4_000_000, 400, 60
#: The weight that fixes the means of a chain.
_HEAVY = 1e9


class Estimate(NamedTuple):
    """The posterior of the mean of one base arm: its expectation, and the ends of its credible interval."""

    name: Hashable
    mean: float
    low: float
    high: float


class Informed(NamedTuple):
    """What one kind of report has told.

    Attributes
    ----------
    kind : str
        ``"ties"``: outcomes of base arms; ``"steps"``: who joined, with the steps of some of them;
        ``"people"``: who joined; ``"number"``: only the reward; ``"nothing"``.
    rounds : int
        The number of reports.
    outcomes : float
        The number of outcomes in these rounds, observed and hidden. It is an expectation if some people were
        not asked.
    worth : float
        The number of observed outcomes that would tell as much.
    """

    kind: str
    rounds: int
    outcomes: float
    worth: float


def posterior(
    chain: Chain, level: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the expectations of the means, and the ends of their credible intervals at `level`."""
    draws = max(20, int(chain.affordable(_ESTIMATING, _DRAWS)))
    found, mean = np.empty((draws, len(chain.won))), np.zeros(len(chain.won))
    for i in range(draws):
        chain.run(1.0, rng)
        wins, losses = chain.alpha + chain.won, chain.beta + chain.lost
        mean += wins / (wins + losses) / draws
        found[i] = rng.beta(wins, losses)
    low, high = np.quantile(found, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return mean, low, high


def information(
    chain: Chain, kinds: Sequence[str], rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return the number of outcomes and their worth for each kind of the rounds of a chain.

    The worth is the Fisher information on the means, in units of one outcome: the information of the complete
    outcomes minus the missing part, which is the variance of the score (Louis 1982). For the mean p of an arm
    with n outcomes, of which W succeed, it is ``n - Var(W) / (p (1 - p))``.
    """
    passes = max(10, int(chain.affordable(_ESTIMATING // 4, _FIXED)))
    p = np.zeros(len(chain.won))
    for _ in range(passes):
        chain.run(1.0, rng)
        p += (chain.alpha + chain.won) / (chain.alpha + chain.beta + chain.won + chain.lost) / passes
    fixed = chain.with_means(np.clip(p, 1e-6, 1.0 - 1e-6), _HEAVY)
    fixed.run(5.0, rng)
    names = sorted(set(kinds))
    sums = {name: np.zeros((3, len(p))) for name in names}
    for _ in range(passes):
        fixed.run(1.0, rng)
        for name, (won, tried) in fixed.tallies(names, kinds).items():
            sums[name] += np.stack([won, won * won, tried]) / passes
    found = {}
    for name, (first, second, tried) in sums.items():
        spread = np.maximum(second - first * first, 0.0) * passes / (passes - 1.0)
        worth = np.maximum(tried - spread / np.maximum(p * (1.0 - p), 1e-12), 0.0)
        sure = sum(len(chain.problems[r].sure) for r, kind in enumerate(kinds) if kind == name)
        found[name] = float(tried.sum() + sure), float(worth.sum() + sure)
    return found


def kind_of(feedback: CascadeFeedback) -> str:
    """Return the kind of a report with hidden outcomes."""
    return "steps" if feedback.cascade.has_steps else "people"


#: The most flips of the passes before a choice, and their largest number.
_CHOOSING, _CHOSEN = 500_000, 5


class HiddenOutcomes:
    """The reports with hidden outcomes, in the order in which they were told, and their chain.

    The chain is a function of the reports alone, so the same events give the same chain in every process.
    It continues from report to report. At the reports 1 to 10, and whenever their number has grown by a
    tenth, it starts again with more passes. A process that opens a long campaign repeats only the last part.

    Parameters
    ----------
    prior : BetaPrior
        The prior of the means.
    state : ArmStatistics
        The observed outcomes before the first of these reports.
    """

    def __init__(self, prior: BetaPrior, state: ArmStatistics) -> None:
        self.prior = prior
        self.reports: list[CascadeFeedback] = []
        self.tried = state.counts.astype(np.float64)
        self.won = self.tried * state.means
        self._since: list[Feedback] = []
        self._chain: Chain | None = None
        self._started, self._next = 0, 1

    @classmethod
    def of(
        cls, prior: BetaPrior, reports: Sequence[CascadeFeedback], stored: dict[str, AnyArray]
    ) -> HiddenOutcomes:
        """Return the outcomes of these reports with the arrays of `arrays`."""
        hidden: HiddenOutcomes = object.__new__(cls)
        hidden.prior, hidden.reports, hidden._since = prior, list(reports), []
        hidden.won, hidden.tried = stored["observed"].copy()
        hidden._started, hidden._next, at = stored["clock"].tolist()
        hidden._chain = Chain(prior, hidden.won, hidden.tried)
        for report in hidden.reports:
            hidden._chain.add(report.problem)
        hidden._chain.resume(stored["coins"], stored["is_tried"], stored["counts"], at)
        return hidden

    def arrays(self) -> dict[str, AnyArray]:
        """Return the chain and the counts as arrays, without the reports."""
        chain = self.chain()
        return {
            "observed": np.stack([self.won, self.tried]),
            "clock": np.array([self._started, self._next, chain.at], np.int64),
            "coins": np.concatenate([*chain.outcomes, np.empty(0, np.int8)]),
            "is_tried": np.concatenate([*chain.flags, np.empty(0, np.int8)]),
            "counts": np.stack([chain.won, chain.lost, chain.alpha, chain.beta]),
        }

    def __bool__(self) -> bool:
        return bool(self.reports)

    def __copy__(self) -> HiddenOutcomes:
        twin = object.__new__(HiddenOutcomes)
        twin.__dict__.update(self.__dict__, reports=self.reports.copy(), _since=self._since.copy())
        twin.won, twin.tried = self.won.copy(), self.tried.copy()
        twin._chain = None if self._chain is None else self._chain.copy()
        return twin

    def with_prior(self, prior: BetaPrior) -> HiddenOutcomes:
        """Return a copy with another prior, whose chain starts again."""
        self.chain()  # so that all observed outcomes are counted
        twin = copy(self)
        twin.prior, twin._chain, twin._started = prior, None, len(self.reports)
        return twin

    def tell(self, feedback: Feedback) -> None:
        """Add a report, with or without hidden outcomes."""
        self._since.append(feedback)
        if not isinstance(feedback, CascadeFeedback):
            return
        self.reports.append(feedback)
        n = len(self.reports)
        if n == self._next:
            for one in self._since:
                self._observe(one)
            self._since, self._chain = [], None
            self._started, self._next = n, n + max(1, n // 10)

    def chain(self) -> Chain:
        """Return the chain after all reports."""
        chain = self._chain
        if chain is not None and not self._since:
            return chain
        # An interrupt leaves the chain as it was, because the new reports are added to a copy.
        if chain is None:
            chain = Chain(self.prior, self.won, self.tried)
            for report in self.reports[: self._started]:
                chain.add(report.problem)
            chain.settle(np.random.default_rng(self._started))
        else:
            chain = chain.copy()
        number = len(self.reports) - sum(isinstance(one, CascadeFeedback) for one in self._since)
        for one in self._since:
            chain.observe(one.arms, one.outcomes)
            if isinstance(one, CascadeFeedback):
                number += 1
                chain.add(one.problem)
                chain.follow(np.random.default_rng(number), fresh=1)
        done, self._since, self._chain = self._since, [], chain
        for one in done:
            self._observe(one)
        return chain

    def drawn(self, rng: np.random.Generator) -> Chain:
        """Return a copy of the chain after some more passes."""
        return self.continued(self.chain().copy(), rng)

    def continued(self, chain: Chain, rng: np.random.Generator) -> Chain:
        """Return `chain` after some more passes."""
        own = np.random.default_rng(int(rng.integers(2**62)))
        chain.run(chain.affordable(_CHOOSING, _CHOSEN), own)
        return chain

    def completed(self, policy: Any, state: ArmStatistics, chain: Chain) -> ArmStatistics:
        """Return the state of `policy` with the outcomes that the chain has drawn."""
        won, lost = self.hidden(chain)
        completed: ArmStatistics = policy._completed(state, won, lost)
        return completed

    def hidden(self, chain: Chain) -> tuple[FloatArray, FloatArray]:
        """Return how often each arm has succeeded and failed in the outcomes that are not observed."""
        won = np.rint(chain.won - self.won)
        return won, np.rint(chain.lost - (self.tried - self.won))

    def _observe(self, feedback: Feedback) -> None:
        np.add.at(self.won, feedback.arms, feedback.outcomes)
        np.add.at(self.tried, feedback.arms, 1.0)


def check_hidden(feedback: Any, policy: Policy[Any]) -> None:
    """Raise ``ValueError`` unless a policy can learn from feedback with hidden outcomes."""
    if not feedback.has_all and prior_of(policy) is None:
        raise ValueError(
            "joined must be given with carried, or with the step of every person and without known, for"
            f" {type(policy).__name__}, which counts observed outcomes, got hidden outcomes. To learn from a"
            " list of people, use a learner that draws from Beta posteriors on the support (0, 1):"
            " AdaptiveCTS (the default), HierarchicalCTS or CTS"
        )


def prior_of(policy: Policy[Any]) -> BetaPrior | None:
    """Return the Beta prior of a policy that draws from a posterior, otherwise None."""
    find = getattr(policy, "beta_prior", None)
    found: BetaPrior | None = None if find is None else find()
    return found
