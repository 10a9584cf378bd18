"""Families that contain each superset of their members, and minimum cuts by blocking flows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import kernel, lean_kernel
from cmab.oracle import LinearOracle, Sense
from cmab.parameters import described
from cmab.validation import shown
from oracles._networks import end_numbers, network_of

if TYPE_CHECKING:
    import networkx as nx

    from oracles.flows import Pipes
    from oracles.influence.graph import DirectedGraph


class Levels(NamedTuple):
    """The distance of each node from the source, the next entry to try at each node, and a queue."""

    level: IntArray
    at: IntArray
    queue: IntArray


@lean_kernel
def _end(pipes, entry):
    """Return the node to which an entry leads."""
    return int(pipes.tails[entry >> 1] if entry & 1 else pipes.heads[entry >> 1])


@lean_kernel
def _measure(pipes, room, source, levels):
    """Write the distances over entries that have room; -1 for nodes that are not reached."""
    level, at, queue = levels
    level[:] = -1
    level[source], queue[0], size, first = 0, source, 1, 0
    while first < size:
        node = queue[first]
        first += 1
        at[node] = pipes.offsets[node]
        for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
            end = _end(pipes, entry)
            if room[entry] > 0.0 and level[end] < 0:
                level[end] = level[node] + 1
                queue[size] = end
                size += 1


@kernel
def minimum_cut(pipes, room, source, target, is_near):
    """Write which nodes are on the source's side of a cheapest cut; return whether a finite cut exists.

    ``room[2 i]`` is the remaining capacity of arc i forward, ``room[2 i + 1]`` backward; both are modified.
    Dinic 1970.
    """
    n = is_near.shape[0]
    levels = Levels(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64))
    level, at, way = levels.level, levels.at, np.empty(n, np.int64)
    while True:
        _measure(pipes, room, source, levels)
        if level[target] < 0:
            is_near[:] = level >= 0
            return True
        node, length = source, 0
        while True:
            if node == target:
                least = np.inf
                for i in range(length):
                    least = min(least, room[way[i]])
                if least == np.inf:
                    return False
                # Go backward, so that the search continues from the first entry that is full.
                for i in range(length - 1, -1, -1):
                    room[way[i]] -= least
                    room[way[i] ^ 1] += least
                    if room[way[i]] == 0.0:
                        length = i
                node = _end(pipes, way[length] ^ 1)
            while at[node] < pipes.offsets[node + 1]:
                entry = pipes.entries[at[node]]
                if room[entry] > 0.0 and level[_end(pipes, entry)] == level[node] + 1:
                    break
                at[node] += 1
            if at[node] < pipes.offsets[node + 1]:
                way[length] = pipes.entries[at[node]]
                node = _end(pipes, way[length])
                length += 1
            elif node == source:
                break
            else:
                length -= 1
                node = _end(pipes, way[length] ^ 1)
                at[node] += 1


class Sufficing(LinearOracle):
    """A family of edge sets in which every superset of a member is also a member.

    Only the costs keep a super arm small. A subclass defines `_cheapest` and `is_feasible`. The other methods
    accept costs of any sign: they include all required arms and all arms of negative cost, and pass these
    arms to `_cheapest` at cost 0.
    """

    can_constrain = True
    sense: Sense = "min"
    edges: list[tuple[Hashable, ...]]

    @property
    def least_mean(self) -> float:
        """0 if `alpha` is above 1 (the ratio is proved for nonnegative costs), else minus infinity."""
        return -np.inf if self.is_exact else 0.0

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return a super arm of at most `alpha` times the least cost, in increasing order."""
        none = np.empty(0, np.int64)
        best = self._best(self._check_means(means, self.least_mean), none, none)
        assert best is not None, "the constructor checked that one exists"
        return best

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        costs = self._check_means(means, self.least_mean)
        return self._best(costs, *self._check_constraints(include, exclude))

    def _best(self, costs: FloatArray, required: IntArray, banned: IntArray) -> IntArray | None:
        is_had, rest = self._split(costs, required, banned)
        needed = self._cheapest(rest)
        return None if needed is None else np.flatnonzero(needed | is_had)

    def _split(self, costs: FloatArray, required: IntArray, banned: IntArray) -> tuple[BoolArray, FloatArray]:
        """Return the arms that every answer contains as a mask, and the costs that remain."""
        is_had = costs < 0.0
        is_had[required], is_had[banned] = True, False
        rest = np.where(is_had, 0.0, costs)
        rest[banned] = np.inf
        return is_had, rest

    @abstractmethod
    def _cheapest(self, costs: FloatArray) -> BoolArray | None:
        """Return a cheapest set as a mask. Costs are nonnegative; infinite costs exclude an arm."""


class MinimumCut(Sufficing):
    """The sets of edges that separate `target` from `source`, at least cost. Exact.

    Base arm i is the i-th edge of ``graph.edges``; a super arm lists edges in increasing order. A super arm
    may contain more edges than necessary. Every answer contains all edges of negative cost.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        A directed or undirected graph. Parallel edges are separate arms. Its weights are not used.
    source, target : node
        The nodes to be separated.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import MinimumCut
    >>> oracle = MinimumCut(nx.Graph([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]), "a", "d")
    >>> oracle.labels(oracle.solve(np.array([0.9, 0.2, 0.4, 0.3]), np.random.default_rng(0)))
    [('a', 'c'), ('b', 'd')]

    References
    ----------
    E. A. Dinic: Algorithm for solution of a problem of maximum flow in networks with power estimation, Soviet
    Mathematics Doklady 11 (1970); from memory.
    """

    has_membership = True

    def __init__(self, graph: nx.Graph[Any] | DirectedGraph, source: Hashable, target: Hashable) -> None:
        number, self.edges, tails, heads = network_of(graph)
        self._names = self.edges
        self._ends = end_numbers(source, target, number)
        self.source, self.target, self.n_arms = source, target, len(self.edges)
        self._tails, self._heads, self._is_directed = tails, heads, graph.is_directed()
        self._n_nodes = len(number)
        if self.is_feasible(np.empty(0, np.int64)):
            raise ValueError(f"graph must have a path from {shown(source)} to {shown(target)}, got none")

    def __repr__(self) -> str:
        return described(self, n_nodes=self._n_nodes)

    @property
    def is_undirected(self) -> bool:  # type: ignore[override]
        return not self._is_directed

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        costs = np.full(self.n_arms, np.inf)
        costs[super_arm] = 0.0
        return self._cheapest(costs) is not None

    @cached_property
    def _pipes(self) -> Pipes:
        from oracles.flows import pipes_of

        return pipes_of(self._tails, self._heads, self._n_nodes)

    def _cheapest(self, costs: FloatArray) -> BoolArray | None:
        from oracles.paths import shrink

        rooms = costs.copy()
        shrink(rooms, self.n_arms + 1)
        back = rooms if self.is_undirected else np.zeros(self.n_arms)
        is_near = np.empty(self._n_nodes, bool)
        if not minimum_cut(self._pipes, np.column_stack([rooms, back]).reshape(-1), *self._ends, is_near):
            return None
        tails, heads = is_near[self._tails], is_near[self._heads]
        return tails & ~heads if self._is_directed else tails != heads
