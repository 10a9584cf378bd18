"""Minimum cuts between two nodes."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.description import described
from cmab.validation import shown
from oracles._graph_means import KeptGraph
from oracles._networks import end_numbers, network_of
from oracles._sufficing import Sufficing

if TYPE_CHECKING:
    import networkx as nx

    from oracles.diffusion.directed_graph import DirectedGraph
    from oracles.flows._kernels_flows import Pipes


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
        self._source = KeptGraph(graph)
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
        from oracles.flows._kernels_flows import pipes_of

        return pipes_of(self._tails, self._heads, self._n_nodes)

    def _cheapest(self, costs: FloatArray) -> BoolArray | None:
        from oracles.flows._kernels_cuts import minimum_cut
        from oracles.paths._kernels_paths import shrink

        rooms = costs.copy()
        shrink(rooms, self.n_arms + 1)
        back = rooms if self.is_undirected else np.zeros(self.n_arms)
        is_near = np.empty(self._n_nodes, bool)
        if not minimum_cut(self._pipes, np.column_stack([rooms, back]).reshape(-1), *self._ends, is_near):
            return None
        tails, heads = is_near[self._tails], is_near[self._heads]
        return tails & ~heads if self._is_directed else tails != heads
