"""Spanning trees and forests."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import IntArray
from cmab.compiled.forms import Kernel
from cmab.oracle import Sense
from oracles._graph_means import GraphOracle, KeptGraph
from oracles._networks import network_of
from oracles.matroids.base import Matroid

if TYPE_CHECKING:
    import networkx as nx


class GraphicMatroid(Matroid, GraphOracle):
    """The spanning forests of an undirected graph, or its spanning trees if it is connected. Exact.

    Base arm i is the i-th edge of ``graph.edges``; parallel edges of a multigraph are separate arms. A
    self-loop is an arm that is in no super arm. The oracle uses Kruskal's algorithm with union-find.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        A graph with at least one edge. Its weights are not used.
    sense : {"max", "min"}
        Whether to return the maximum or the minimum spanning forest.

    Attributes
    ----------
    edges : list of tuple
        The edge of each arm: (u, v), or (u, v, key) for a multigraph.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import GraphicMatroid
    >>> oracle = GraphicMatroid(nx.cycle_graph(["a", "b", "c"]), sense="min")
    >>> tree = oracle.solve(np.array([0.1, 0.9, 0.3]), np.random.default_rng(0))
    >>> oracle.labels(tree)
    [('a', 'b'), ('b', 'c')]

    References
    ----------
    J. B. Kruskal: On the shortest spanning subtree of a graph and the traveling salesman problem,
    Proceedings of the AMS 7 (1956).
    """

    is_undirected = True

    def __init__(self, graph: nx.Graph[Any], sense: Sense = "max") -> None:
        number, self.edges, self._tails, self._heads = network_of(graph, undirected=True)
        self._source = KeptGraph(graph)
        self._n_nodes = len(number)
        self._complete(len(self.edges), sense)

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        super_arm = self._check_entries(super_arm)
        return [self.edges[arm] for arm in super_arm]

    def kernel(self) -> Kernel:
        from oracles.matroids._kernels_compiled import packed, solve_graphic

        integers = packed(
            self.sign, self._n_nodes, self.n_arms, self._tails, self._heads, scratch=2 * self._n_nodes
        )
        return Kernel(solve_graphic, integers, np.empty(self.n_arms))

    def _greedy(self, order: IntArray) -> IntArray:
        from oracles.matroids._kernels_greedy import kruskal

        taken, (root, size) = np.empty(self.n_arms, np.int64), np.empty((2, self._n_nodes), np.int64)
        kruskal(order, self._tails, self._heads, root, size, taken)
        return np.flatnonzero(taken)

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        from oracles.matroids._kernels_greedy import forest_path, root_forest

        rooted = root_forest(independent, self._tails, self._heads, self._n_nodes)
        return lambda arm: forest_path(self._tails[arm], self._heads[arm], rooted)
