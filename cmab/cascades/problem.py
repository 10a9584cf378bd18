"""The hidden outcomes of one reported cascade, and their constraint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, IntArray

if TYPE_CHECKING:
    from cmab.cascades._kernels_forest import Graph
    from cmab.cascades.cascade import Cascade, Network

#: The most searches that are made for outcomes that explain given steps, and their total of visited arcs.
_TRIES, _WORK = 400, 1e8


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
        How the outcomes are drawn: see ``_kernels_passes``.
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
    from cmab.cascades._kernels_forest import Graph

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
        from cmab.cascades._kernels_forest import JOINED, OUT, SEED, UNSEEN

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
        from cmab.cascades._kernels_distances import FAR, measure
        from cmab.cascades._kernels_forest import JOINED, OUT, UNSEEN
        from cmab.cascades._kernels_passes import DISTANCES, FOREST, WANDERING

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
        from cmab.cascades._kernels_distances import flip_distances, measure, schedule
        from cmab.cascades._kernels_forest import OUT

        size, n = len(start), len(graph.status)
        levels, queue = np.empty(n, np.int64), np.empty(2 * n, np.int64)
        schedule(graph, levels, queue)
        late = levels[graph.heads] > levels[graph.tails] + 1
        coins = np.where(late | (graph.status[graph.heads] == OUT), 0, start).astype(np.int8)
        coins[graph.fixed == 1] = 1
        chances, rng = np.full(size, 0.5), np.random.default_rng(0)
        for _ in range(max(3, min(_TRIES, int(_WORK / (4.0 * size * size + 1.0))))):
            if measure(graph, 0, n, coins, levels, queue) == 0:
                return coins
            flip_distances(graph, (0, n), (0, size), 4 * size, False, chances, coins, levels, queue, rng)
        wrong = _violated(graph, levels)
        raise Unexplained(
            int(nodes[np.flatnonzero(wrong[:-1])[0]]) if wrong[:-1].any() else int(nodes[0]), "step"
        )


def _violated(graph: Graph, distances: IntArray) -> BoolArray:
    """Return the nodes whose distance differs from their step, or that are not reached."""
    from cmab.cascades._kernels_distances import FAR
    from cmab.cascades._kernels_forest import JOINED

    joined = graph.status == JOINED
    wrong: BoolArray = joined & ((distances == FAR) | ((graph.steps >= 0) & (distances != graph.steps)))
    return wrong
