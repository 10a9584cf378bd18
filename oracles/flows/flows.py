"""Disjoint paths, and flows from many sources to many sinks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import IntArray
from cmab.description import described
from cmab.oracle import Sense
from cmab.validation import integer, one_of, shown
from oracles._networks import end_numbers, network_of, node_number
from oracles.flows.base import Flows

if TYPE_CHECKING:
    import networkx as nx


class DisjointPaths(Flows):
    """The edges of k paths from `source` to `target` that share no edge, or no node between. Exact.

    Base arm i is the i-th edge of ``graph.edges``; a super arm lists edges in increasing order, and `paths`
    tells them apart. It is a set that holds k disjoint paths and would not without any of its edges. With
    ``k=1`` these are the paths of `ShortestPath`, and the same holds of costs: not negative, but of any sign
    on acyclic directed graphs, where the longest paths may be asked for.

    Parameters
    ----------
    graph : networkx graph
        Directed or undirected, parallel edges allowed (arms of their own). Its weights play no part.
    source, target : node
        Where paths begin and end.
    k : int
        Number of paths.
    disjoint : {"edges", "nodes"}
        What two paths do not share.
    sense : {"min", "max"}
        Whether the means are costs or rewards; ``"max"`` on acyclic directed graphs only.

    Raises
    ------
    ValueError
        If a node is unknown, source and target are the same, there are not k such paths, or `sense` does not
        fit. In `solve`: if a cost is negative and the graph has a cycle or is undirected.

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
        graph: nx.Graph[Any],
        source: Hashable,
        target: Hashable,
        *,
        k: int = 2,
        disjoint: Literal["edges", "nodes"] = "edges",
        sense: Sense = "min",
    ) -> None:
        number, self.edges, tails, heads = network_of(graph)
        start, end = end_numbers(source, target, number)
        self.source, self.target, self.k = source, target, integer("k", k, 1)
        self.disjoint = one_of("disjoint", disjoint, ("edges", "nodes"))
        self.sense, order = _sense_and_order(graph, sense, number)
        self._n_nodes, self._is_directed = len(number), graph.is_directed()
        self._end = end
        if not self._is_directed:
            tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        if disjoint == "nodes":
            # What arrives at v leaves it from a second node, to which one free arc leads: one path at most.
            n, between = len(number), np.setdiff1d(np.arange(len(number)), [start, end])
            start += n
            tails, heads = np.concatenate([tails + n, between]), np.concatenate([heads, between + n])
            order = np.column_stack([order, order + n]).reshape(-1)
        supply = np.zeros(len(number) * (1 + (disjoint == "nodes")), np.int64)
        # So many at most can leave: more would have no place in an array.
        carried = min(self.k, len(self.edges) + 1)
        supply[start], supply[end] = carried, -carried
        self._complete(tails, heads, supply, order)
        if not self.edges or self._flow(np.zeros(self.n_arms)) is None:
            raise ValueError(
                f"graph must have k={k} paths from {shown(source)} to {shown(target)} without common"
                f" {disjoint}, got {graph}, which has less"
            )

    def __repr__(self) -> str:
        return described(self, n_nodes=self._n_nodes)

    @property
    def is_undirected(self) -> bool:  # type: ignore[override]
        return not self._is_directed

    @property
    def max_size(self) -> int:
        """Each path visits each node once at most; all of them together, if nodes are not shared."""
        longest = self._n_nodes - 2 + self.k if self.disjoint == "nodes" else self.k * (self._n_nodes - 1)
        return min(self.n_arms, longest)

    def paths(self, super_arm: IntArray) -> list[list[Hashable]]:
        """Return the paths, each as its edges in order.

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            A super arm of the family.

        Returns
        -------
        list of list
            k paths; where edges alone are not shared, there may be others with the same edges.

        Raises
        ------
        ValueError
            If it is no super arm of the family.
        """
        chosen = self.check_super_arm(super_arm)
        costs = np.full(self.n_arms, np.inf)
        costs[chosen] = 0.0
        is_used = self._used_arcs(costs, chosen[:0])
        assert is_used is not None, "it is in the family"
        onward: dict[int, list[int]] = {}
        for arc in np.flatnonzero(is_used)[::-1].tolist():
            onward.setdefault(int(self._tails[arc]), []).append(arc)
        start = int(np.argmax(self._supply))
        return [self._one_path(onward, start) for _ in range(self.k)]

    def _one_path(self, onward: dict[int, list[int]], node: int) -> list[Hashable]:
        """Take one path from a node to the target out of the arcs by their tails."""
        path = []
        while node != self._end:
            arc = onward[node].pop()
            node = int(self._heads[arc])
            if self._arms[arc] >= 0:
                path.append(self.edges[self._arms[arc]])
        return path


class MinCostFlow(Flows):
    """The sets of arcs that carry units from where they are to where they are wanted. Exact.

    Base arm i is the i-th arc of ``graph.edges`` and carries one unit or none: a super arm lists the arcs
    that carry one, in increasing order. It is worth their sum, which is what the flow costs. It has no
    directed cycle. Two units over one arc would pay its cost twice, which no set of arcs says: an arc of
    larger capacity is as many parallel arcs of a `networkx.MultiDiGraph`, each a base arm.

    Costs must not be negative, but on acyclic graphs may have any sign, and rewards may be maximised.

    Parameters
    ----------
    graph : networkx.DiGraph or networkx.MultiDiGraph
        Its weights and capacities play no part.
    demand : mapping or str
        How many units more arrive at a node than leave it, as in networkx: negative where they come from, 0
        for nodes that are left out. An attribute of the nodes, or a number by node; the sum must be 0.
    sense : {"min", "max"}
        Whether the means are costs or rewards; ``"max"`` on acyclic graphs only.

    Raises
    ------
    ValueError
        If the graph is undirected, the demands are no whole numbers that cancel or cannot be met, or `sense`
        does not fit. In `solve`: if a cost is negative and the graph has a cycle.

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
        self, graph: nx.Graph[Any], demand: Mapping[Hashable, int] | str = "demand", *, sense: Sense = "min"
    ) -> None:
        number, self.edges, tails, heads = network_of(graph)
        if not graph.is_directed() or not self.edges:
            raise ValueError(f"graph must be directed and have an arc, got {graph}")
        named = dict(graph.nodes(data=demand, default=0)) if isinstance(demand, str) else demand
        if not isinstance(named, Mapping):
            raise ValueError(f"demand must be a mapping or the name of a node attribute, got {shown(demand)}")
        supply, most = np.zeros(len(number), np.int64), len(self.edges)  # no more can leave a node, or arrive
        for node, units in named.items():
            supply[node_number("demand", node, number)] = -integer(f"demand of {node!r}", units, -most, most)
        if supply.sum() != 0 or not supply.any():
            raise ValueError(f"demand must sum to 0 and not be 0 everywhere, got {shown(named)}")
        self.sense, order = _sense_and_order(graph, sense, number)
        self._complete(tails, heads, supply, order)
        if self._flow(np.zeros(self.n_arms)) is None:
            raise ValueError(f"demand must be one that arcs of capacity 1 can carry, got {shown(named)}")

    def __repr__(self) -> str:
        return described(self, n_nodes=len(self._supply), units=self._units)

    @property
    def _units(self) -> int:
        return int(self._supply[self._supply > 0].sum())

    @property
    def max_size(self) -> int:
        """Each unit visits each node once at most."""
        return min(self.n_arms, self._units * (len(self._supply) - 1))


def _sense_and_order(
    graph: nx.Graph[Any], sense: Sense, number: dict[Hashable, int]
) -> tuple[Sense, IntArray]:
    """Return the sense, if it fits the graph, and a topological order of the nodes, empty without one."""
    import networkx as nx

    is_acyclic = graph.is_directed() and nx.is_directed_acyclic_graph(graph)
    if one_of("sense", sense, ("min", "max")) == "max" and not is_acyclic:
        raise ValueError(f"sense must be 'min' unless graph is directed and acyclic, got 'max' for {graph}")
    any_graph: Any = graph
    order = [number[node] for node in nx.topological_sort(any_graph)] if is_acyclic else []
    return sense, np.array(order, np.int64)
