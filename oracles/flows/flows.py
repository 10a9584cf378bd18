"""Disjoint paths, and flows from several sources to several sinks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import IntArray
from cmab.description import described
from cmab.oracle import Sense
from cmab.validation import integer, one_of, shown
from oracles._graph_means import KeptGraph
from oracles._networks import Network, end_numbers, network_of, node_number, topological_order
from oracles.flows.base import Flows

if TYPE_CHECKING:
    import networkx as nx

    from oracles.diffusion.directed_graph import DirectedGraph


class DisjointPaths(Flows):
    """The edges of `k` paths from `source` to `target` that share no edge, or no inner node. Exact.

    Base arm i is the i-th edge of ``graph.edges``. A super arm lists edges in increasing order; `paths`
    splits it into paths. It is a set of edges that contains k disjoint paths and would not do so without any
    one of its edges. With ``k=1`` these are the paths of `ShortestPath`. As there, costs must be nonnegative,
    except on directed acyclic graphs, where costs may have any sign and rewards can be maximised.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        A directed or undirected graph. Parallel edges are separate arms. Its weights are not used.
    source, target : node
        The start and the end of the paths.
    k : int
        The number of paths.
    disjoint : {"edges", "nodes"}
        Whether two paths must not share edges, or must not share inner nodes either.
    sense : {"min", "max"}
        Whether the means are costs or rewards; ``"max"`` requires a directed acyclic graph.

    Raises
    ------
    ValueError
        If a node is unknown, if source and target are equal, if there are fewer than k such paths, or if
        `sense` does not fit the graph. In `solve`, if a cost is negative and the graph is undirected or has a
        cycle.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import DisjointPaths
    >>> graph = nx.Graph([("a", "b"), ("a", "c"), ("b", "d"), ("b", "c"), ("c", "d")])
    >>> oracle = DisjointPaths(graph, "a", "d", k=2)
    >>> oracle.paths(oracle.solve(np.array([0.2, 0.3, 0.9, 0.1, 0.1]), np.random.default_rng(0)))
    [[('a', 'b'), ('b', 'd')], [('a', 'c'), ('c', 'd')]]

    References
    ----------
    J. W. Suurballe: Disjoint Paths in a Network, Networks 4 (1974). R. K. Ahuja, T. L. Magnanti, J. B. Orlin:
    Network Flows (1993), section 9.7; both from memory.
    """

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        source: Hashable,
        target: Hashable,
        *,
        k: int = 2,
        disjoint: Literal["edges", "nodes"] = "edges",
        sense: Sense = "min",
    ) -> None:
        number, self.edges, tails, heads = network = network_of(graph)
        self._source = KeptGraph(graph)
        start, end = end_numbers(source, target, number)
        self.source, self.target, self.k = source, target, integer("k", k, 1)
        self.disjoint = one_of("disjoint", disjoint, ("edges", "nodes"))
        self.sense, order = _sense_and_order(graph, sense, network)
        self._n_nodes, self._is_directed = len(number), graph.is_directed()
        self._end = end
        if not self._is_directed:
            tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        if disjoint == "nodes":
            # Split v into two nodes joined by one free arc, so that at most one path uses v.
            n, between = len(number), np.setdiff1d(np.arange(len(number)), [start, end])
            start += n
            tails, heads = np.concatenate([tails + n, between]), np.concatenate([heads, between + n])
            order = np.column_stack([order, order + n]).reshape(-1)
        supply = np.zeros(len(number) * (1 + (disjoint == "nodes")), np.int64)
        # No more units than edges can leave. This also limits the size of the array.
        carried = min(self.k, len(self.edges) + 1)
        supply[start], supply[end] = carried, -carried
        self._complete(tails, heads, supply, order)
        if not self.edges or self._flow(np.zeros(self.n_arms)) is None:
            raise ValueError(
                f"graph must have k={k} paths from {shown(source)} to {shown(target)} without common"
                f" {disjoint}, got {graph}, which has fewer"
            )

    def __repr__(self) -> str:
        return described(self, n_nodes=self._n_nodes)

    @property
    def is_undirected(self) -> bool:  # type: ignore[override]
        return not self._is_directed

    @property
    def max_size(self) -> int:
        """A bound: each path visits each node at most once; node-disjoint paths do so together."""
        longest = self._n_nodes - 2 + self.k if self.disjoint == "nodes" else self.k * (self._n_nodes - 1)
        return min(self.n_arms, longest)

    def paths(self, super_arm: IntArray) -> list[list[Hashable]]:
        """Return the paths, each as a list of its edges in order.

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            A super arm of the family.

        Returns
        -------
        list of list
            The k paths. If only edges are disjoint, other paths with the same edges may exist.
        """
        chosen = self.check_super_arm(super_arm)
        costs = np.full(self.n_arms, np.inf)
        costs[chosen] = 0.0
        is_used = self._used_arcs(costs, chosen[:0])
        assert is_used is not None, "the super arm is feasible"
        onward: dict[int, list[int]] = {}
        for arc in np.flatnonzero(is_used)[::-1].tolist():
            onward.setdefault(int(self._tails[arc]), []).append(arc)
        start = int(np.argmax(self._supply))
        return [self._one_path(onward, start) for _ in range(self.k)]

    def _one_path(self, onward: dict[int, list[int]], node: int) -> list[Hashable]:
        """Remove the arcs of one path from `node` to the target from `onward`, and return its edges."""
        path = []
        while node != self._end:
            arc = onward[node].pop()
            node = int(self._heads[arc])
            if self._arms[arc] >= 0:
                path.append(self.edges[self._arms[arc]])
        return path


class MinCostFlow(Flows):
    """The sets of arcs that carry integral flow from supply nodes to demand nodes. Exact.

    Base arm i is the i-th arc of ``graph.edges`` and carries at most one unit. A super arm lists the arcs
    that carry one unit, in increasing order. Its reward is the sum of their means, the cost of the flow. It
    has no directed cycle. A set of arcs cannot represent two units on one arc: `CapacitatedFlow` supports
    larger capacities, and parallel arcs of a `networkx.MultiDiGraph` are separate base arms.

    Costs must be nonnegative, except on acyclic graphs, where costs may have any sign and rewards can be
    maximised.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph or DirectedGraph
        The graph. Its weights and capacities are not used.
    demand : mapping or str
        The inflow minus the outflow of each node, as in networkx: negative for a source, 0 for nodes that are
        omitted. Either the name of a node attribute or a mapping from nodes to integers. The sum must be 0.
    sense : {"min", "max"}
        Whether the means are costs or rewards; ``"max"`` requires an acyclic graph.

    Raises
    ------
    ValueError
        If the graph is undirected, if the demands are not integers, do not sum to 0 or cannot be satisfied,
        or if `sense` does not fit the graph. In `solve`, if a cost is negative and the graph has a cycle.

    Examples
    --------
    Two vans and two shops:

    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import MinCostFlow
    >>> graph = nx.DiGraph([("x", "hub"), ("hub", "s"), ("hub", "t"), ("y", "hub"), ("y", "s")])
    >>> oracle = MinCostFlow(graph, {"x": -1, "y": -1, "s": 1, "t": 1})
    >>> oracle.labels(oracle.solve(np.array([0.1, 0.2, 0.3, 0.1, 0.9]), np.random.default_rng(0)))
    [('x', 'hub'), ('hub', 's'), ('hub', 't'), ('y', 'hub')]

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin: Network Flows (1993), section 9.7; from memory.
    """

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        demand: Mapping[Hashable, int] | str = "demand",
        *,
        sense: Sense = "min",
    ) -> None:
        number, self.edges, tails, heads = network = network_of(graph)
        self._source = KeptGraph(graph)
        if not graph.is_directed() or not self.edges:
            raise ValueError(f"graph must be directed and have an arc, got {graph}")
        nodes: Any = getattr(graph, "nodes", None)
        named = dict(nodes(data=demand, default=0)) if nodes and isinstance(demand, str) else demand
        if not isinstance(named, Mapping):
            raise ValueError(f"demand must be a mapping or the name of a node attribute, got {shown(demand)}")
        supply, most = (
            np.zeros(len(number), np.int64),
            len(self.edges),
        )  # a bound on the units of a node
        for node, units in named.items():
            supply[node_number("demand", node, number)] = -integer(f"demand of {node!r}", units, -most, most)
        if supply.sum() != 0 or not supply.any():
            raise ValueError(f"demand must sum to 0 and not be 0 everywhere, got {shown(named)}")
        self.sense, order = _sense_and_order(graph, sense, network)
        self._complete(tails, heads, supply, order)
        if self._flow(np.zeros(self.n_arms)) is None:
            raise ValueError(f"demand must be satisfiable with arcs of capacity 1, got {shown(named)}")

    def __repr__(self) -> str:
        return described(self, n_nodes=len(self._supply), units=self._units)

    @property
    def _units(self) -> int:
        return int(self._supply[self._supply > 0].sum())

    @property
    def max_size(self) -> int:
        """A bound: each unit visits each node at most once."""
        return min(self.n_arms, self._units * (len(self._supply) - 1))


def _sense_and_order(
    graph: nx.Graph[Any] | DirectedGraph, sense: Sense, network: Network
) -> tuple[Sense, IntArray]:
    """Return the sense, if it fits the graph, and a topological order of the nodes (empty if none exists)."""
    order = np.empty(0, np.int64)
    if graph.is_directed():
        order = topological_order(network.tails, network.heads, len(network.number))
    if one_of("sense", sense, ("min", "max")) == "max" and not len(order):
        raise ValueError(f"sense must be 'min' unless graph is directed and acyclic, got 'max' for {graph}")
    return sense, order
