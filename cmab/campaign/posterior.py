"""The posterior of hidden outcomes: learning from reports of who joined, without the ties that carried.

A report of a cascade tells who joined, perhaps with steps. The outcomes of the ties are drawn by a Markov
chain, each round given all others. The constraint of a round is one of these:

- without steps, every person that joined is reachable from the seeds along live arcs (`flip_joined`);
- with steps, the distance of a person from the seeds along live arcs is their step (`flip_distances`).

`HiddenOutcomes` keeps the reports of one learner and the chain.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.compiled import eager_kernel, kernel
from cmab.feedback import Feedback
from cmab.policy import Policy
from cmab.priors import BetaPrior, grid_log_weights
from cmab.statistics import ArmStatistics

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


#: The distance of a node that no live arc reaches.
FAR = 2.0**30
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
def reroute(graph, nodes, head, coins, levels, mark, queue):
    """Return whether live arcs lead to `head`, and lower the levels along them such that they prove it.

    The search goes backward until it meets a node below the level of `head`, whose proof is independent.
    """
    size, at, found, low = 1, 0, -1, 0.0
    queue[0], mark[head] = head, head
    while at < size and found < 0:
        v = queue[at]
        at += 1
        for j in range(graph.in_offsets[v], graph.in_offsets[v + 1]):
            u = graph.tails[graph.in_arcs[j]]
            if coins[graph.in_arcs[j]] and levels[u] < levels[head]:
                found, low = v, levels[u]
                break
            if coins[graph.in_arcs[j]] and levels[u] < FAR and mark[u] < 0:
                mark[u] = v
                queue[size] = u
                size += 1
    length, v = 1.0, found
    while found >= 0 and v != head:
        length += 1.0
        v = mark[v]
    step = (levels[head] - low) / length
    v = found
    while found >= 0 and v != head:
        low += step
        levels[v] = low
        v = mark[v]
    for i in range(size):
        mark[queue[i]] = -1
    if found >= 0 and step < 1e-9:  # the levels are too close to each other to lie between them
        measure(graph, nodes[0], nodes[1], coins, levels, queue)
    return found >= 0


@kernel
def extend(graph, head, level, coins, levels, queue):
    """Reach `head` and all nodes behind it, unless a person among them has not joined; return whether."""
    size, at, is_possible = 1, 0, True
    queue[0], levels[head] = head, level
    while at < size:
        u = queue[at]
        at += 1
        is_possible = is_possible and graph.status[u] != OUT
        for j in range(graph.out_offsets[u], graph.out_offsets[u + 1]):
            v = graph.heads[graph.out_arcs[j]]
            if coins[graph.out_arcs[j]] and levels[v] == FAR:
                levels[v] = levels[u] + 1
                queue[size] = v
                size += 1
    if not is_possible:
        for i in range(size):
            levels[queue[i]] = FAR
    return is_possible


@kernel
def flip_joined(graph, nodes, arcs, chances, coins, levels, mark, queue, rng):
    """Draw each arc in turn given all others, such that those that joined are reached and no others.

    The levels prove that nodes are reached: each of them has a live arc from a node of a lower level. At the
    beginning, they are the distances.
    """
    for arc in range(arcs[0], arcs[1]):
        is_live, tail, head = rng.random() < chances[arc], graph.tails[arc], graph.heads[arc]
        if graph.fixed[arc] >= 0 or is_live == coins[arc]:
            continue
        if levels[tail] == FAR or (is_live and levels[head] < FAR):
            coins[arc] = is_live
        elif is_live:
            coins[arc] = extend(graph, head, levels[tail] + 1, coins, levels, queue)
        else:
            coins[arc] = 0
            if not reroute(graph, nodes, head, coins, levels, mark, queue) and (
                graph.status[head] == JOINED or measure(graph, nodes[0], nodes[1], coins, levels, queue) > 0
            ):
                coins[arc] = 1
                if graph.status[head] != JOINED:
                    measure(graph, nodes[0], nodes[1], coins, levels, queue)


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


@eager_kernel
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

    Return the number of people that joined and have no level.
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
REACHED, DISTANCES, WANDERING = range(3)
#: The number of flips of an excursion, as a multiple of the number of arcs.
_FAR_AND_BACK = 4
#: The most arcs that the searches of one visit may look at, if every flip needs a search.
_WORK = 20_000_000.0


@kernel
def count_outcomes(graph, arcs, sign, coins, tried, won, lost):
    """Add the outcomes of the tried arcs of a round to the counts, or remove them if `sign` is -1."""
    for arc in range(arcs[0], arcs[1]):
        if tried[arc] and graph.fixed[arc] < 0:
            won[graph.arms[arc]] += sign * coins[arc]
            lost[graph.arms[arc]] += sign * (1 - coins[arc])


@kernel
def mark_tried(graph, nodes, arcs, coins, tried, distances, queue):
    """Measure the distances, and write whether each arc was tried."""
    measure(graph, nodes[0], nodes[1], coins, distances, queue)
    for arc in range(arcs[0], arcs[1]):
        tried[arc] = distances[graph.tails[arc]] < FAR


@kernel
def redraw_untried(graph, arcs, chances, coins, tried, rng):
    """Draw the outcomes of arcs that were not tried.

    They are not counted, so those of the last visit were drawn under other priors and counts.
    """
    for arc in range(arcs[0], arcs[1]):
        if not tried[arc] and graph.fixed[arc] < 0:
            coins[arc] = rng.random() < chances[arc]


@eager_kernel
def visit(graph, table, r, inner, chances, coins, tried, room, rng):
    """Draw the hidden outcomes of round r, `inner` times, given the probability of each arc."""
    distances, mark, queue, kept = room
    nodes = (table[r, NODE], table[r, NODE_END])
    arcs = (table[r, ARC], table[r, ARC_END])
    size = arcs[1] - arcs[0]
    mark_tried(graph, nodes, arcs, coins, tried, distances, queue)
    redraw_untried(graph, arcs, chances, coins, tried, rng)
    # Steps of all people need no search. Otherwise, the number of flips is bounded, as the time is.
    few = int(min(1.0 * size, _WORK / (size * inner + 1.0)) + 1.0)
    flips = size if table[r, KIND] == DISTANCES else few
    for _ in range(inner):
        if table[r, KIND] == REACHED:
            flip_joined(graph, nodes, arcs, chances, coins, distances, mark, queue, rng)
            continue
        flip_distances(graph, nodes, arcs, flips, True, chances, coins, distances, queue, rng)
        if table[r, KIND] == WANDERING:
            away = 1 + int(rng.random() * _FAR_AND_BACK * few)
            excursion(graph, nodes, arcs, away, chances, coins, kept, distances, queue, rng)
    mark_tried(graph, nodes, arcs, coins, tried, distances, queue)


@eager_kernel
def pass_over(graph, table, first, last, inner, alpha, beta, won, lost, chances, coins, tried, room, rng):
    """Draw the hidden outcomes of rounds ``first, ..., last - 1``, each given the counts of all others."""
    for r in range(first, last):
        arcs = (table[r, ARC], table[r, ARC_END])
        count_outcomes(graph, arcs, -1, coins, tried, won, lost)
        for arc in range(arcs[0], arcs[1]):
            arm = graph.arms[arc]
            total = alpha[arm] + beta[arm] + won[arm] + lost[arm]
            chances[arc] = (alpha[arm] + won[arm]) / total
        visit(graph, table, r, inner, chances, coins, tried, room, rng)
        count_outcomes(graph, arcs, 1, coins, tried, won, lost)


# Draws of the Beta prior of each group of arms from a grid, given completed counts.


#: Counts that are so near to whole numbers are whole.
_WHOLE = 1e-6


@kernel
def draw_priors(groups, n_groups, wins, losses, won, lost, alpha, beta, rng):
    """Draw a point of the grid for each group, and write its parameters for each arm."""
    # Results within the support are no whole counts: what is left of them has its own factor, by arm.
    whole, rest = np.floor(won + _WHOLE), np.floor(lost + _WHOLE)
    logs = grid_log_weights(groups, n_groups, wins, losses, whole, rest)
    for arm in range(groups.shape[0]):
        if won[arm] - whole[arm] + lost[arm] - rest[arm] > _WHOLE:
            for p in range(wins.shape[0]):
                a, b, group = wins[p], losses[p], groups[arm]
                logs[group, p] += math.lgamma(a + won[arm]) - math.lgamma(a + whole[arm])
                logs[group, p] += math.lgamma(b + lost[arm]) - math.lgamma(b + rest[arm])
                logs[group, p] -= math.lgamma(a + b + won[arm] + lost[arm])
                logs[group, p] += math.lgamma(a + b + whole[arm] + rest[arm])
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
        How the outcomes are drawn: `REACHED`, `DISTANCES` or `WANDERING`.
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
        distances, queue = np.empty(len(status)), np.empty(len(status), np.int64)
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
        kind = REACHED
        if self.has_steps:
            kind = WANDERING if is_open or is_unknown.any() else DISTANCES
        start = np.ones(len(arcs), np.int8)
        start[graph.heads == len(nodes)] = 0
        if self.has_steps:
            start = self._explained(graph, nodes, start)
        sure = np.concatenate((self.sure, forced))
        sure = sure[self.is_counted[sure]]
        return Problem(graph, kind, sure, self.outcome[sure].astype(np.int64), start)

    def _explained(self, graph: Graph, nodes: IntArray, start: AnyArray) -> AnyArray:
        """Return outcomes with the reported steps, from a first attempt and a random search."""
        size, n = len(start), len(graph.status)
        levels, queue = np.empty(n), np.empty(n, np.int64)
        schedule(graph, levels, queue)
        late = levels[graph.heads] > levels[graph.tails] + 1
        coins = np.where(late | (graph.status[graph.heads] == OUT), 0, start).astype(np.int8)
        coins[graph.fixed == 1] = 1
        chances, rng = np.full(size, 0.5), np.random.default_rng(0)
        for _ in range(max(3, min(_TRIES, int(_SEARCHED / (4.0 * size * size + 1.0))))):
            if measure(graph, 0, n, coins, levels, queue) == 0:
                return coins
            flip_distances(graph, (0, n), (0, size), 4 * size, False, chances, coins, levels, queue, rng)
        late = (levels == FAR) | ((graph.steps >= 0) & (levels != graph.steps))
        wrong = np.flatnonzero((graph.status == JOINED) & late)
        raise Unexplained(int(nodes[wrong[0] if len(wrong) else 0]), "step")


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
        #: The outcome of each arc of the rounds, one after the other, and whether it was tried and counts.
        self.coins, self.tried = np.empty(0, np.int8), np.empty(0, np.int8)
        self._rounds: tuple[Graph, AnyArray] | None = None
        self.at = 0

    def observe(self, arms: AnyArray, outcomes: AnyArray) -> None:
        """Add observed outcomes to the counts."""
        np.add.at(self.won, arms, outcomes)
        np.add.at(self.lost, arms, 1.0 - outcomes)

    def tell(self, feedback: Feedback) -> None:
        """Add the observed outcomes of a report, and its hidden ones with their first values."""
        self.observe(feedback.arms, feedback.outcomes)
        if isinstance(feedback, CascadeFeedback):
            self.add(feedback.problem)

    def add(self, problem: Problem) -> None:
        """Add a round with its first outcomes. They are not counted before they are drawn."""
        self.observe(problem.sure, problem.outcomes)
        self.problems, self._rounds = [*self.problems, problem], None
        self.coins = np.concatenate([self.coins, problem.start])
        self.tried = np.concatenate([self.tried, np.zeros(len(problem.start), np.int8)])

    def settle(self, rng: np.random.Generator) -> None:
        """Draw all rounds from their first outcomes: one after the other, then all given each other."""
        self._pass(0, len(self.problems), _FIRST, rng)
        self._draw_priors(rng)
        self.run(max(1.0, self.affordable(SETTLING, _SETTLED) - _FIRST), rng)

    def follow(self, rng: np.random.Generator, fresh: int = 0) -> None:
        """Continue the chain after `fresh` new rounds: draw these often, and all rounds as time allows."""
        n = len(self.problems)
        if fresh:
            hidden = sum(len(problem.start) for problem in self.problems[n - fresh :])
            self._pass(n - fresh, n, max(1, min(_FRESH, FOLLOWING // max(1, hidden))), rng)
        self.run(self.affordable(FOLLOWING, _FOLLOWED), rng)

    def run(self, passes: float, rng: np.random.Generator) -> None:
        """Make some passes over all rounds; a fraction of a pass visits the next rounds in turn."""
        n = len(self.problems)
        if not len(self.coins):
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
        twin = copy(self)
        for name in ("won", "lost", "alpha", "beta", "coins", "tried"):
            twin.__dict__[name] = getattr(self, name).copy()
        return twin

    def affordable(self, flips: int, most: int) -> float:
        """Return how many passes, at most `most`, make about so many flips; a fraction if they are few."""
        passes = flips / max(1, len(self.coins))
        return min(float(most), passes) if passes < 1.0 else float(min(most, int(passes)))

    def _draw_priors(self, rng: np.random.Generator) -> None:
        prior = self.prior
        if prior.groups is not None:
            grid = prior.groups, prior.n_groups, prior.wins, prior.losses
            draw_priors(*grid, self.won, self.lost, self.alpha, self.beta, rng)

    def _pass(self, first: int, last: int, inner: int, rng: np.random.Generator) -> None:
        if first == last:
            return
        if self._rounds is None:
            self._rounds = _united(self.problems)
        graph, table = self._rounds
        counts = self.alpha, self.beta, self.won, self.lost
        chances = np.where(graph.fixed == 1, 1.0, 0.5)
        widest, longest = (int((table[:, end] - table[:, end - 1]).max()) for end in (NODE_END, ARC_END))
        n = int(table[-1, NODE_END])
        marks = np.full(n, -1, np.int64), np.empty(widest, np.int64)
        room = np.empty(n), *marks, np.empty(longest, np.int8)
        pass_over(graph, table, first, last, inner, *counts, chances, self.coins, self.tried, room, rng)


def _united(problems: list[Problem]) -> tuple[Graph, AnyArray]:
    """Return the rounds as one graph, whose nodes and arcs are in their order, and their table."""
    graphs = [problem.graph for problem in problems]
    nodes = np.cumsum([0, *(len(graph.status) for graph in graphs)])
    arcs = np.cumsum([0, *(len(graph.arms) for graph in graphs)])
    kinds = [problem.kind for problem in problems]
    table = np.stack([nodes[:-1], nodes[1:], arcs[:-1], arcs[1:], kinds], axis=1).astype(np.int64)
    joined = {
        name: np.concatenate([getattr(graph, name) for graph in graphs])
        for name in ("arms", "fixed", "status", "steps")
    }
    tails, heads = (
        np.concatenate([getattr(graph, name) + start for graph, start in zip(graphs, nodes, strict=False)])
        for name in ("tails", "heads")
    )
    graph = graph_of(joined["arms"], tails, heads, joined["fixed"], joined["status"], joined["steps"])
    return graph, table


#: The most flips of the passes for estimates, the most draws, and the most draws times arms.
_ESTIMATING, _DRAWS, _NUMBERS = 4_000_000, 400, 2_000_000


class Estimate(NamedTuple):
    """The posterior of the mean of one base arm: its expectation, and the ends of its credible interval."""

    name: Hashable
    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The posterior of the means: the average of Beta distributions, one for each draw of what is hidden.

    Parameters
    ----------
    wins, losses : FloatArray, shape (n_draws, n_arms)
        The parameters of the distributions of the means as shares of the support.
    counts : FloatArray, shape (n_arms,)
        The number of outcomes of each arm, observed or drawn.
    support : tuple of float
        The interval of the outcomes.
    """

    wins: FloatArray
    losses: FloatArray
    counts: FloatArray
    support: tuple[float, float]

    @classmethod
    def of(cls, chain: Chain, support: tuple[float, float], rng: np.random.Generator) -> Beliefs:
        """Return the posterior of a chain, which is run on."""
        n_arms, draws = len(chain.won), 1
        if len(chain.coins) or chain.prior.groups is not None:
            draws = max(20, min(int(chain.affordable(_ESTIMATING, _DRAWS)), _NUMBERS // max(n_arms, 1)))
        wins, losses, counts = np.empty((draws, n_arms)), np.empty((draws, n_arms)), np.zeros(n_arms)
        for i in range(draws):
            chain.run(1.0, rng)
            wins[i], losses[i] = chain.alpha + chain.won, chain.beta + chain.lost
            counts += (chain.won + chain.lost) / draws
        return cls(wins, losses, counts, support)

    @cached_property
    def means(self) -> FloatArray:
        """The expected mean outcome of each arm."""
        low, high = self.support
        means: FloatArray = low + (high - low) * (self.wins / (self.wins + self.losses)).mean(axis=0)
        return means

    def intervals(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Return intervals of the means at `level`, from Beta distributions with the same two moments."""
        from scipy.special import betaincinv  # takes a tenth of a second to import

        total = self.wins + self.losses
        mean = (self.wins / total).mean(axis=0)
        square = (self.wins * (self.wins + 1.0) / (total * (total + 1.0))).mean(axis=0)
        weight = np.maximum(mean * (1.0 - mean) / np.maximum(square - mean**2, 1e-15) - 1.0, 1e-6)
        a, b = np.maximum(mean * weight, 1e-9), np.maximum((1.0 - mean) * weight, 1e-9)
        # Arms without outcomes have the same distribution, so few of many arms need the slow inverse.
        pairs: AnyArray
        pairs, places = np.unique(np.stack([a, b]), axis=1, return_inverse=True)
        low, high = self.support
        below, above = (
            betaincinv(pairs[0], pairs[1], at)[places.ravel()]
            for at in (0.5 - level / 2.0, 0.5 + level / 2.0)
        )
        return low + (high - low) * below, low + (high - low) * above

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return one draw of all means."""
        (low, high), i = self.support, rng.integers(len(self.wins))
        drawn: FloatArray = rng.beta(self.wins[i], self.losses[i])
        return low + (high - low) * drawn


#: The most flips of the passes before a choice, and their largest number.
_CHOOSING, _CHOSEN = 500_000, 5


class HiddenOutcomes:
    """The reports with hidden outcomes, in the order in which they were told, and their chain.

    The chain is a function of the reports alone, so the same events give the same chain in every process.
    It continues from report to report. At the reports 1 to 10, and whenever their number has grown by a
    tenth, it starts again with more passes. A process that opens a long campaign begins with the last start.

    Parameters
    ----------
    prior : BetaPrior
        The prior of the means.
    state : ArmStatistics
        The observed outcomes before the first of these reports.
    """

    def __init__(self, prior: BetaPrior, state: ArmStatistics) -> None:
        self.prior = prior
        self.tried = state.counts.astype(np.float64)
        self.won = self.tried * state.means
        self._first = self.won, self.tried
        # Arrays, lists and chains are replaced and never changed, so that a shallow copy is independent.
        self.told: list[Feedback] = []
        self._chain: Chain | None = None
        #: The numbers of reports in the chain, and in its first part; and the next start.
        self._done, self._start, self._n_hidden, self._next = 0, 0, 0, 1

    def tell(self, feedback: Feedback) -> None:
        """Add a report, with or without hidden outcomes."""
        self.told = [*self.told, feedback]
        self.won, self.tried = self.won.copy(), self.tried.copy()
        np.add.at(self.won, feedback.arms, feedback.outcomes)
        np.add.at(self.tried, feedback.arms, 1.0)
        self._n_hidden += feedback.is_hidden
        if feedback.is_hidden and self._n_hidden == self._next:
            self._chain, self._start = None, len(self.told)
            self._next += max(1, self._next // 10)

    def chain(self) -> Chain:
        """Return the chain after all reports."""
        if self._chain is None:
            chain, done = Chain(self.prior, *self._first), self._start
            for one in self.told[:done]:
                chain.tell(one)
            chain.settle(np.random.default_rng(len(chain.problems)))
        else:
            chain, done = self._chain.copy(), self._done
        for one in self.told[done:]:
            chain.tell(one)
            if one.is_hidden:
                chain.follow(np.random.default_rng(len(chain.problems)), fresh=1)
        self._chain, self._done = chain, len(self.told)
        return chain

    def completed(
        self, policy: Any, state: ArmStatistics, chain: Chain, rng: np.random.Generator
    ) -> ArmStatistics:
        """Return the state of `policy` with the outcomes that `chain` has drawn after some more passes."""
        chain = chain.copy()
        chain.run(chain.affordable(_CHOOSING, _CHOSEN), np.random.default_rng(int(rng.integers(2**62))))
        won, lost = np.rint(chain.won - self.won), np.rint(chain.lost - (self.tried - self.won))
        completed: ArmStatistics = policy._completed(state, won, lost)
        return completed


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
    """Return the prior of a policy that draws from Beta posteriors of probabilities, otherwise None."""
    return shares_prior(policy) if getattr(policy, "support", None) == (0.0, 1.0) else None


def shares_prior(policy: Policy[Any]) -> BetaPrior | None:
    """Return the prior of the means as shares of the support, if the policy draws from Beta posteriors."""
    find = getattr(policy, "beta_prior", None)
    found: BetaPrior | None = None if find is None else find()
    return found
