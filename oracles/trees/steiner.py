"""Steiner trees: connections of terminals."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.description import described
from cmab.validation import listed, one_of, shown
from oracles._networks import network_of, node_number
from oracles._sufficing import Sufficing

if TYPE_CHECKING:
    import networkx as nx

    from oracles.paths._kernels_paths import Roads

_MOST = 12


class SteinerTree(Sufficing):
    """The sets of edges that connect all terminals, at least cost.

    Base arm i is the i-th edge of ``graph.edges``; a super arm lists edges in increasing order. With positive
    costs, the answer is a tree, and its other nodes are on paths between terminals. In general, a super arm
    may contain more edges than necessary, and every exact answer contains all edges of negative cost.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        An undirected graph. Parallel edges are separate arms. Its weights are not used.
    terminals : sequence of nodes
        The nodes to be connected, at least two.
    method : {"exact", "approximate"}
        The algorithm. ``"exact"`` uses subsets of terminals (Dreyfus, Wagner 1971) and supports at most 12
        terminals: a call takes 3^t n steps for t terminals and n nodes. ``"approximate"`` takes the time of
        one shortest-path search (Mehlhorn 1988), for any number of terminals. Its ``alpha`` is ``2 - 2 / t``
        for nonnegative costs.

    Raises
    ------
    ValueError
        If the graph is directed or has no edge, if a terminal is unknown or repeated, if the terminals are
        not connected, or if there are fewer than two or too many for the method. In `solve`, if a cost is
        negative and the method is ``"approximate"``.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import SteinerTree
    >>> graph = nx.Graph([("a", "hub"), ("a", "b"), ("hub", "b"), ("hub", "c"), ("b", "c")])
    >>> costs = np.array([0.5, 0.8, 0.5, 0.5, 0.8])
    >>> for method in ("exact", "approximate"):
    ...     oracle = SteinerTree(graph, ["a", "b", "c"], method=method)
    ...     print(oracle.labels(oracle.solve(costs, np.random.default_rng(0))), round(oracle.alpha, 2))
    [('a', 'hub'), ('hub', 'b'), ('hub', 'c')] 1.0
    [('a', 'b'), ('b', 'c')] 1.33

    References
    ----------
    S. E. Dreyfus, R. A. Wagner: The Steiner Problem in Graphs, Networks 1 (1971). L. Kou, G. Markowsky,
    L. Berman: A Fast Algorithm for Steiner Trees, Acta Informatica 15 (1981). K. Mehlhorn: A Faster
    Approximation Algorithm for the Steiner Problem in Graphs, Information Processing Letters 27 (1988). All
    from memory.
    """

    is_undirected = True

    def __init__(
        self,
        graph: nx.Graph[Any],
        terminals: Iterable[Hashable],
        *,
        method: Literal["exact", "approximate"] = "exact",
    ) -> None:
        number, self.edges, self._tails, self._heads = network_of(graph, undirected=True)
        named = listed("terminals", terminals, "nodes")
        self._terminals = np.array([node_number("terminals", node, number) for node in named], np.int64)
        if len(named) < 2 or len(np.unique(self._terminals)) < len(named):
            raise ValueError(f"terminals must be at least two distinct nodes, got {shown(named)}")
        self.method = one_of("method", method, ("exact", "approximate"))
        if method == "exact" and len(named) > _MOST:
            raise ValueError(
                f"terminals must be at most {_MOST} for method='exact', got {len(named)}; pass 'approximate'"
            )
        # Kou, Markowsky, Berman 1981, theorem 1; with two terminals, a shortest path.
        self.alpha = 1.0 if method == "exact" else 2.0 - 2.0 / len(named)
        self.n_arms, self._n_nodes = len(self.edges), len(number)
        if not self.is_feasible(np.arange(self.n_arms)):
            raise ValueError(f"terminals must be connected in graph, got {shown(named)}")

    def __repr__(self) -> str:
        return described(self, n_nodes=self._n_nodes, terminals=len(self._terminals))

    @cached_property
    def _roads(self) -> Roads:
        from oracles.paths._kernels_paths import Roads

        starts, ends = np.concatenate([self._tails, self._heads]), np.concatenate([self._heads, self._tails])
        by_start = np.argsort(starts, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=self._n_nodes))])
        edges = by_start % self.n_arms
        return Roads(offsets.astype(np.int64), ends[by_start], edges, self._tails, self._heads)

    def is_feasible(self, super_arm: IntArray) -> bool:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ends = self._tails[super_arm], self._heads[super_arm]
        shape = (self._n_nodes, self._n_nodes)
        matrix = coo_array((np.ones(len(super_arm)), ends), shape=shape)
        part = connected_components(matrix, directed=False)[1]
        return bool((part[self._terminals] == part[self._terminals[0]]).all())

    def _cheapest(self, costs: FloatArray) -> BoolArray | None:
        from oracles.paths._kernels_paths import shrink
        from oracles.trees._kernels_steiner import cheapest, nearly_cheapest

        weights, chosen = costs.copy(), np.empty(self.n_arms, bool)
        shrink(weights, 4 * self._n_nodes)
        search = cheapest if self.method == "exact" else nearly_cheapest
        return chosen if search(self._roads, weights, self._terminals, chosen) else None
