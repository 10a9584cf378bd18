"""Shortest paths: Dijkstra's algorithm with a binary heap, and dynamic programming on acyclic graphs."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import Kernel, kernel, lean_kernel, solve_kernel
from cmab.guarantees import Smoothness
from cmab.oracle import LinearOracle, Oracle, Sense
from cmab.parameters import described
from cmab.selection import heap_drop, heap_rise
from cmab.validation import one_of, shown
from oracles._networks import end_numbers, network_of, topological_order

if TYPE_CHECKING:
    import networkx as nx

    from oracles.influence.graph import DirectedGraph


class Roads(NamedTuple):
    """Edge e joins ``tails[e]`` and ``heads[e]``.

    The edges out of node v are ``edges[offsets[v]:offsets[v + 1]]``; `ends` has their other ends in the same
    order.
    """

    offsets: IntArray
    ends: IntArray
    edges: IntArray
    tails: IntArray
    heads: IntArray


@kernel
def dijkstra(roads, weights, source, target, path):
    """Write a cheapest path as `trace` does, for nonnegative weights; ties go to lower nodes.

    ``weights[e] = inf`` closes edge e.
    """
    offsets, ends, edges = roads.offsets, roads.ends, roads.edges
    n = offsets.shape[0] - 1
    cost, into, settled = np.full(n, np.inf), np.full(n, -1, np.int64), np.zeros(n, np.bool_)
    # If the cost of a node decreases, push the node again and ignore its old entry: at most one entry for
    # each end of an edge.
    heap, keys = np.empty(ends.shape[0] + 1, np.int64), np.empty(ends.shape[0] + 1)
    cost[source], heap[0], keys[0], size = 0.0, source, 0.0, 1
    while size > 0:
        node = heap[0]
        size = heap_drop(heap, keys, size)
        # Skip an outdated entry.
        if settled[node]:
            continue
        settled[node] = True
        # Nodes are settled in order of cost, so the cost of the target is final.
        if node == target:
            break
        for i in range(offsets[node], offsets[node + 1]):
            other, through = ends[i], cost[node] + weights[edges[i]]
            if not settled[other] and through < cost[other]:
                cost[other] = through
                into[other] = edges[i]
                heap[size], keys[size] = other, -through
                heap_rise(heap, keys, size)
                size += 1
    return trace(into, roads.tails, roads.heads, source, target, path)


@lean_kernel
def shrink(weights, n_nodes):
    """Scale the weights by a power of two if a sum over a path could overflow; comparisons stay equal."""
    largest = 0.0
    for weight in weights:
        if abs(weight) != np.inf:
            largest = max(largest, abs(weight))
    if largest * n_nodes == np.inf:
        factor = 2.0 ** -math.ceil(math.log2(n_nodes))
        for i in range(weights.shape[0]):
            weights[i] *= factor


class Search(NamedTuple):
    """The nodes in topological order, and scratch space for the cost of each node and the edge into it."""

    order: IntArray
    cost: FloatArray
    into: IntArray


@lean_kernel
def acyclic(roads, search, weights, source, target, path):
    """Write a cheapest path as `trace` does, for weights of any sign, which may be scaled in place.

    In topological order, the cost of a node is final at its turn, so one pass is sufficient.
    """
    offsets, ends, edges = roads.offsets, roads.ends, roads.edges
    cost, into = search.cost, search.into
    shrink(weights, cost.shape[0])
    cost[:] = np.inf
    into[:] = -1
    cost[source] = 0.0
    for node in search.order:
        # The source does not reach this node.
        if cost[node] == np.inf:
            continue
        for i in range(offsets[node], offsets[node + 1]):
            through = cost[node] + weights[edges[i]]
            if through < cost[ends[i]]:
                cost[ends[i]] = through
                into[ends[i]] = edges[i]
    return trace(into, roads.tails, roads.heads, source, target, path)


@lean_kernel
def trace(into, tails, heads, source, target, path):
    """Write the edges from `source` to `target` in order; return their number, or -1 if there is no path."""
    size, node = 0, target
    while node != source:
        edge = into[node]
        if edge < 0:
            return -1
        path[size] = edge
        size += 1
        node = tails[edge] + heads[edge] - node  # the other end of the edge, in either direction
    # The edges were written from the end, so reverse them.
    for i in range(size // 2):
        path[i], path[size - 1 - i] = path[size - 1 - i], path[i]
    return size


@solve_kernel
def solve_acyclic(means, integers, reals, out):
    """Solve; `integers`: sign, nodes, source, target; order, scratch, offsets (nodes each); the arcs.

    The arcs are ends, edges, tails and heads. `reals` is scratch space for arcs and nodes.
    """
    m = means.shape[0]
    sign, n, source, target = integers[0], integers[1], integers[2], integers[3]
    nodes, arcs = integers[4 : 5 + 3 * n], integers[5 + 3 * n :]
    roads = Roads(nodes[2 * n :], arcs[:m], arcs[m : 2 * m], arcs[2 * m : 3 * m], arcs[3 * m :])
    weights = reals[:m]
    for i in range(m):
        weights[i] = sign * means[i]
    return acyclic(roads, Search(nodes[:n], reals[m:], nodes[n : 2 * n]), weights, source, target, out)


@dataclass(frozen=True, eq=False)
class RoadMap:
    """The roads of a graph with edges numbered as in ``graph.edges``; undirected edges leave both their ends.

    `order` is a topological order of the nodes; it is empty if the graph is undirected or has a cycle.
    """

    labels: list[tuple[Hashable, ...]]
    roads: Roads
    order: IntArray
    source: int
    target: int

    @cached_property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.roads.offsets) - 1

    @classmethod
    def of(cls, graph: nx.Graph[Any] | DirectedGraph, source: Hashable, target: Hashable) -> RoadMap:
        """Return the arrays of a graph of any kind."""
        number, labels, tails, heads = network_of(graph)
        start, end = end_numbers(source, target, number)
        directed = graph.is_directed()
        starts = tails if directed else np.concatenate([tails, heads])
        ends = heads if directed else np.concatenate([heads, tails])
        # Sort by start node; edges of one start node keep their order.
        by_start = np.lexsort((np.arange(len(starts)) % len(labels), starts))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=len(number)))])
        if not _leads_to(offsets, ends[by_start], start, end):
            raise ValueError(f"graph must have a path from {shown(source)} to {shown(target)}, got none")
        order = topological_order(tails, heads, len(number)) if directed else np.empty(0, np.int64)
        roads = Roads(offsets.astype(np.int64), ends[by_start], by_start % len(labels), tails, heads)
        return cls(labels, roads, order, start, end)

    def holds_path(self, arms: IntArray) -> bool:
        """Return whether `arms`, in any order, form a path from source to target without repeated nodes."""
        roads, node, met, left = self.roads, self.source, {self.source}, arms.tolist()
        is_directed = len(roads.edges) == len(roads.tails)
        while left:
            onward = [
                edge
                for edge in left
                if roads.tails[edge] == node or (roads.heads[edge] == node and not is_directed)
            ]
            # If the path branches, some edge remains unused or some node is repeated.
            if len(onward) != 1:
                return False
            left.remove(onward[0])
            node = int(roads.tails[onward[0]] + roads.heads[onward[0]] - node)
            if node in met:
                return False
            met.add(node)
        return node == self.target


def _leads_to(offsets: IntArray, ends: IntArray, start: int, end: int) -> bool:
    """Return whether a path leads from `start` to `end`."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n = len(offsets) - 1
    graph: Any = csr_array((np.ones(len(ends)), ends, offsets), shape=(n, n))
    return bool((breadth_first_order(graph, start, return_predecessors=False) == end).any())


class _Paths(Oracle):
    """The common methods of the two path oracles."""

    has_membership = True

    def __init__(self, graph: nx.Graph[Any] | DirectedGraph, source: Hashable, target: Hashable) -> None:
        self._map = RoadMap.of(graph, source, target)
        self._names = self._map.labels
        self.n_arms = len(self._map.labels)
        self.source, self.target = source, target

    def __repr__(self) -> str:
        return described(self, n_nodes=self._map.n_nodes)

    @property
    def max_size(self) -> int:
        """A bound: a path visits each node at most once."""
        return self._map.n_nodes - 1

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return self._map.holds_path(super_arm)

    @property
    def is_undirected(self) -> bool:  # type: ignore[override]
        return len(self._map.roads.edges) > len(self._map.labels)


class ShortestPath(_Paths, LinearOracle):
    """The paths from `source` to `target`, each with the sum of its edges' means as its reward. Exact.

    Base arm i is the i-th edge of ``graph.edges``; a super arm lists edges in the order of the path. On
    directed acyclic graphs, costs may have any sign, and the longest path can be found with ``sense="max"``.
    On other graphs, costs must be nonnegative (Dijkstra's algorithm). Ties are broken deterministically.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        A directed or undirected graph. Parallel edges are separate arms. Its weights are not used.
    source, target : node
        The start and the end of the paths.
    sense : {"min", "max"}
        Whether the means are costs or rewards; ``"max"`` requires a directed acyclic graph.

    Raises
    ------
    ValueError
        If a node is unknown, if source and target are equal or not connected, or if `sense` does not fit the
        graph. In `solve`, if a cost is negative and the graph is undirected or has a cycle.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import ShortestPath
    >>> oracle = ShortestPath(nx.Graph([("a", "b"), ("b", "c"), ("a", "c")]), "a", "c")
    >>> oracle.labels(oracle.solve(np.array([0.2, 0.9, 0.3]), np.random.default_rng(0)))
    [('a', 'b'), ('b', 'c')]
    """

    can_constrain = True

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        source: Hashable,
        target: Hashable,
        *,
        sense: Sense = "min",
    ) -> None:
        super().__init__(graph, source, target)
        self.sense = one_of("sense", sense, ("min", "max"))
        self._is_acyclic = len(self._map.order) > 0
        if self.sense == "max" and not self._is_acyclic:
            raise ValueError(
                f"sense must be 'min' unless graph is directed and acyclic, got 'max' for {graph}"
            )

    @property
    def least_mean(self) -> float:
        """0, or minus infinity if the graph is directed and acyclic, because costs may then have any sign."""
        return -np.inf if self._is_acyclic else 0.0

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the edges of the best path, in the order of the path."""
        costs = self._check_costs(means)
        path = _best_path(self._map, costs)
        assert path is not None, "the constructor checked that a path exists"
        return path

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        """Return the best path with all of `include` and none of `exclude`; None if there is no such path.

        A nonempty `include` requires a directed acyclic graph, because the problem is hard on other graphs.

        Raises
        ------
        TypeError
            If `include` is not empty and the graph is undirected or has a cycle.
        """
        costs = self._check_costs(means).copy()
        required, banned = self._check_constraints(include, exclude)
        costs[banned] = np.inf
        if len(required) == 0:
            return _best_path(self._map, costs)
        if not self._is_acyclic:
            raise TypeError("include must be empty unless graph is directed and acyclic")
        return self._through(required, costs)

    def _through(self, required: IntArray, costs: FloatArray) -> IntArray | None:
        """Return the best path through the required edges of an acyclic graph, from legs between them."""
        roads, rank = self._map.roads, np.empty(self._map.n_nodes, np.int64)
        rank[self._map.order] = np.arange(self._map.n_nodes)
        stops = required[np.argsort(rank[roads.tails[required]], kind="stable")]
        starts = np.concatenate([[self._map.source], roads.heads[stops]])
        ends = np.concatenate([roads.tails[stops], [self._map.target]])
        legs = [_best_path(self._map, costs, int(u), int(v)) for u, v in zip(starts, ends, strict=True)]
        if any(leg is None for leg in legs) or not np.isfinite(costs[required]).all():
            return None
        pieces = [piece for leg, stop in zip(legs, [*stops, -1], strict=True) for piece in (leg, [stop])]
        return np.concatenate(pieces[:-1]).astype(np.int64)  # type: ignore[arg-type]

    def kernel(self) -> Kernel | None:
        """Return the compiled rule for a directed acyclic graph; None for other graphs."""
        if not self._is_acyclic:
            return None
        road = self._map
        head = [-int(self._sign), road.n_nodes, road.source, road.target]
        scratch = np.empty(road.n_nodes, np.int64)
        return Kernel(
            solve_acyclic,
            np.concatenate([head, road.order, scratch, *road.roads]),
            np.empty(self.n_arms + road.n_nodes),
        )

    def _check_costs(self, means: FloatArray) -> FloatArray:
        costs = self._check_means(means, self.least_mean)
        return costs if self.sense == "min" else -costs


class MostReliablePath(_Paths):
    """The paths from `source` to `target`, each with the product of its probabilities as its reward. Exact.

    Base arm i is the i-th edge of ``graph.edges``; a super arm lists edges in the order of the path. The path
    of largest probability is the shortest path for the lengths ``-log p``. If every path has probability 0,
    the answer is a path with the fewest edges of probability 0.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        A directed or undirected graph. Parallel edges are separate arms.
    source, target : node
        The start and the end of the paths.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import MostReliablePath
    >>> oracle = MostReliablePath(nx.Graph([("a", "b"), ("b", "c"), ("a", "c")]), "a", "c")
    >>> path = oracle.solve(np.array([0.5, 0.2, 0.5]), np.random.default_rng(0))
    >>> oracle.labels(path), oracle.expected_reward(path, np.array([0.5, 0.2, 0.5]))
    ([('a', 'b'), ('b', 'c')], 0.25)
    """

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the edges of the most reliable path, in the order of the path."""
        path = _best_path(self._map, self._lengths(means))
        assert path is not None, "the constructor checked that a path exists"
        return path

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        available = self._check_available(available)
        path = _best_path(self._map, np.where(available, self._lengths(means), np.inf))
        if path is None:
            raise self._none_within(available)
        return path

    def _lengths(self, means: FloatArray) -> FloatArray:
        """Return edge lengths for which the shortest path has the largest product."""
        probabilities = self._check_means(means, 0.0, 1.0)
        lengths = -np.log(np.where(probabilities > 0, probabilities, 1.0))
        # Longer than any path of other edges, so that an edge of probability 0 is used only if necessary.
        lengths[probabilities == 0] = 1.0 + lengths.sum()
        return lengths

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        return float(np.prod(self._check_means(means, 0.0, 1.0)[super_arm]))

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        return self._check_entries(super_arm)

    def smoothness(self) -> Smoothness:
        """Return the smoothness of a product of at most `max_size` means."""
        return Smoothness.linear(self.max_size)


def _best_path(
    road: RoadMap, costs: FloatArray, source: int | None = None, target: int | None = None
) -> IntArray | None:
    """Return the cheapest path between two nodes (by default the terminals); infinite costs close edges."""
    roads = road.roads
    ends = road.source if source is None else source, road.target if target is None else target
    path = np.empty(road.n_nodes, np.int64)
    if len(road.order):
        search = Search(road.order, np.empty(road.n_nodes), np.empty(road.n_nodes, np.int64))
        size = acyclic(roads, search, costs.copy(), *ends, path)
    else:
        size = dijkstra(roads, costs, *ends, path)
        if size < 0:
            # Sums that overflow cannot be compared, so repeat with smaller costs.
            smaller = costs.copy()
            shrink(smaller, road.n_nodes)
            size = dijkstra(roads, smaller, *ends, path)
    return None if size < 0 else path[:size]
