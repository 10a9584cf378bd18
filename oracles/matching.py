"""Matchings of bipartite and general graphs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab._validation import integer, one_of, shown
from cmab.arrays import FloatArray, IntArray
from cmab.oracle import Sense
from oracles.linear_program import PuLPOracle, degree_model

if TYPE_CHECKING:
    import networkx as nx


class Matching(PuLPOracle):
    """Sets of edges without a common node, or with at most so many at each. Exact.

    Base arm i is the i-th edge of ``graph.edges``. Without `perfect`, the empty set is a matching: edges of
    negative mean (positive cost) are never needed, and of edges with mean 0 some may be chosen.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        Undirected, without self-loops, with at least one edge. Parallel edges are arms of their own.
    perfect : bool
        Whether every node must have as many edges as its capacity.
    capacity : int, mapping or str
        Most edges at a node: one number, a number for each node, or the name of a node attribute. 1 gives
        matchings, more gives b-matchings.
    method : {"pulp", "assignment"}
        ``"pulp"`` is for all graphs, see `PuLPOracle`. ``"assignment"`` (scipy's) is for bipartite graphs
        and capacity 1, and is many times faster; of equally good matchings it may return another.
    sense : {"max", "min"}
        Whether the matching of largest mean or of smallest cost is wanted.
    solver : a PuLP solver, optional
        Used afresh in each call instead of the kept HiGHS model.

    Raises
    ------
    ValueError
        If the graph cannot be used, an argument is out of its range, or there is no perfect matching.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import Matching
    >>> oracle = Matching(nx.path_graph(["a", "b", "c", "d"]))
    >>> matching = oracle.solve(np.array([0.4, 0.7, 0.5]), np.random.default_rng(0))
    >>> oracle.labels(matching)
    [('a', 'b'), ('c', 'd')]
    """

    def __init__(
        self,
        graph: nx.Graph[Any],
        perfect: bool = False,
        *,
        capacity: int | Mapping[Hashable, int] | str = 1,
        method: Literal["pulp", "assignment"] = "pulp",
        sense: Sense = "max",
        solver: Any = None,
    ) -> None:
        self.edges = _checked_edges(graph)
        self.perfect = bool(perfect)
        self.method = one_of("method", method, ("pulp", "assignment"))
        number = {node: i for i, node in enumerate(graph)}
        self._tails = np.array([number[edge[0]] for edge in self.edges], np.int64)
        self._heads = np.array([number[edge[1]] for edge in self.edges], np.int64)
        self._room = _capacities(graph, capacity)
        if method == "assignment":
            self._rows, self._columns = _two_sides(graph, self._room)
        try:
            problem, variables = degree_model(self._tails, self._heads, self._room, self.perfect)
            super().__init__(problem, variables, one_of("sense", sense, ("max", "min")), solver=solver)
        except ValueError as error:
            if not self.perfect:
                raise
            raise ValueError(f"graph must have a perfect matching, got {graph} without one") from error

    def labels(self, super_arm: IntArray) -> list[Any]:
        """Return the edges of `super_arm`."""
        return [self.edges[arm] for arm in super_arm]

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether no node has more edges than its capacity (exactly as many, if perfect)."""
        ends = np.concatenate([self._tails[super_arm], self._heads[super_arm]])
        degrees = np.bincount(ends, minlength=len(self._room))
        return bool((degrees == self._room).all() if self.perfect else (degrees <= self._room).all())

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the edges of the best matching in increasing order of index."""
        return super().solve(means, rng) if self.method == "pulp" else self._assign(self._check_means(means))

    def _assign(self, means: FloatArray) -> IntArray:
        """Solve the assignment problem over a dense matrix of the best parallel edges."""
        from scipy.optimize import linear_sum_assignment

        worth = means if self.sense == "max" else -means
        on_left = self._rows[self._tails] >= 0
        row = np.where(on_left, self._rows[self._tails], self._rows[self._heads])
        column = np.where(on_left, self._columns[self._heads], self._columns[self._tails])
        matrix = np.full((self._rows.max() + 1, self._columns.max() + 1), -np.inf if self.perfect else 0.0)
        arms = np.full(matrix.shape, -1, np.int64)
        # From the worst to the best, ties by falling index: the last one written stays.
        order = np.lexsort((-np.arange(self.n_arms), worth))
        if not self.perfect:
            order = order[worth[order] > 0]
        matrix[row[order], column[order]] = worth[order]
        arms[row[order], column[order]] = order
        chosen = arms[linear_sum_assignment(matrix, maximize=True)]
        return np.sort(chosen[chosen >= 0])


def _checked_edges(graph: nx.Graph[Any]) -> list[tuple[Hashable, ...]]:
    import networkx as nx

    if graph.is_directed():
        raise ValueError(f"graph must be undirected, got {graph}; graph.to_undirected() makes it so")
    edges: list[tuple[Hashable, ...]] = list(graph.edges)
    if not edges:
        raise ValueError(f"graph must have an edge, got {graph}")
    loops = list(nx.selfloop_edges(graph))
    if loops:
        raise ValueError(f"graph must have no self-loops, got {shown(loops)}")
    return edges


def _capacities(graph: nx.Graph[Any], capacity: int | Mapping[Hashable, int] | str) -> IntArray:
    """Return the capacity of each node."""
    if isinstance(capacity, str):
        capacity = dict(graph.nodes(data=capacity))
    if not isinstance(capacity, Mapping):
        return np.full(len(graph), integer("capacity", capacity, 1))
    missing = [node for node in graph if capacity.get(node) is None]
    if missing:
        raise ValueError(f"capacity must be given for every node, got none for {shown(missing)}")
    return np.array([integer(f"capacity of {node!r}", capacity[node], 0) for node in graph], np.int64)


def _two_sides(graph: nx.Graph[Any], room: IntArray) -> tuple[IntArray, IntArray]:
    """Return the row of each node of one side and the column of each of the other, -1 elsewhere."""
    import networkx as nx

    if not nx.is_bipartite(graph):
        raise ValueError(f"graph must be bipartite for method='assignment', got {graph}")
    if (room != 1).any():
        raise ValueError(f"capacity must be 1 for method='assignment', got {shown(room.tolist())}")
    colour = nx.bipartite.color(graph)
    is_row = np.array([colour[node] == 0 for node in graph])
    rows, columns = np.cumsum(is_row) - 1, np.cumsum(~is_row) - 1
    return np.where(is_row, rows, -1), np.where(is_row, -1, columns)
