"""Matchings of bipartite and general graphs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.oracle import Sense
from cmab.validation import check_flag, integer, one_of, shown
from oracles._networks import network_of
from oracles.programs._assignment import TwoSides
from oracles.programs._blossom import best_matching
from oracles.programs._pulp_models import degree_model
from oracles.programs.linear_program import PuLPOracle, SolverCertificate, value_of

if TYPE_CHECKING:
    import networkx as nx


class Matching(PuLPOracle):
    """Sets of edges with at most one edge at each node, or at most `capacity` edges.

    Exact, up to ``1e-12 * n_arms`` times the largest absolute mean: see `PuLPOracle`. Several threads may
    share it.

    Base arm i is the i-th edge of ``graph.edges``. Without `perfect`, the empty set is a matching, so the
    answer has no edges of negative mean (positive cost). It may contain edges of mean 0.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        An undirected graph without self-loops and with at least one edge. Parallel edges are separate arms.
    perfect : bool
        Whether the number of chosen edges at each node must equal the capacity of the node.
    capacity : int, mapping or str
        The largest number of chosen edges at a node: one number, a number for each node, or the name of a
        node attribute. With 1, the super arms are matchings; with larger numbers, b-matchings.
    method : {"auto", "pulp", "assignment", "blossom"}
        The algorithm. ``"pulp"`` supports all graphs, see `PuLPOracle`. ``"assignment"`` (scipy, dense or
        sparse) supports bipartite graphs of capacity 1; it is 11 to 29 times faster on complete graphs and 2
        to 7 times faster on sparse graphs. ``"blossom"`` (rustworkx) supports all graphs of capacity 1; it is
        1 to 200 times faster, with the largest gain on graphs with many odd cycles
        (`tests/benchmarks/matching.py`). ``"auto"`` uses ``"pulp"`` if a `solver` is given. Otherwise it uses
        the first supported method of ``"assignment"``, ``"blossom"`` and ``"pulp"``. If several matchings are
        optimal, different methods may return different ones.
    sense : {"max", "min"}
        Whether to return the matching of largest mean or of least cost.
    solver : a PuLP solver, optional
        A solver that solves the model in each call, instead of the kept HiGHS model.

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

    is_undirected = True

    def __init__(
        self,
        graph: nx.Graph[Any],
        perfect: bool = False,
        *,
        capacity: int | Mapping[Hashable, int] | str = 1,
        method: Literal["auto", "pulp", "assignment", "blossom"] = "auto",
        sense: Sense = "max",
        solver: Any = None,
    ) -> None:
        _, self.edges, self._tails, self._heads = network_of(graph, undirected=True)
        loops = [edge for edge in self.edges if edge[0] == edge[1]]
        if loops:
            raise ValueError(f"graph must not have self-loops, got {shown(loops)}")
        check_flag("perfect", perfect)
        self.perfect = bool(perfect)
        self.method = one_of("method", method, ("auto", "pulp", "assignment", "blossom"))
        self._room = _capacities(graph, capacity)
        self._way = _fastest(graph, self._room, solver) if method == "auto" else method
        if self._way == "blossom" and (self._room != 1).any():
            raise ValueError(f"capacity must be 1 for method='blossom', got {shown(self._room.tolist())}")
        if self._way == "assignment":
            self._sides = TwoSides.of(graph, self._tails, self._heads, self._room)
        try:
            problem, variables = degree_model(self._tails, self._heads, self._room, self.perfect)
            super().__init__(problem, variables, sense=one_of("sense", sense, ("max", "min")), solver=solver)
        except ValueError as error:
            if not self.perfect:
                raise
            raise ValueError(f"graph must have a perfect matching, got {graph} without one") from error

    def __repr__(self) -> str:
        return described(self, sense=self.sense, capacity=None if (self._room == 1).all() else self._room)

    def labels(self, super_arm: IntArray) -> list[Any]:
        return [self.edges[arm] for arm in super_arm]

    def is_feasible(self, super_arm: IntArray) -> bool:
        ends = np.concatenate([self._tails[super_arm], self._heads[super_arm]])
        degrees = np.bincount(ends, minlength=len(self._room))
        return bool((degrees == self._room).all() if self.perfect else (degrees <= self._room).all())

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> SolverCertificate:
        if self._way == "pulp":
            return super().solve_certified(means, rng)
        values = self._check_means(means)
        chosen = self._matched(values)
        assert chosen is not None, "the constructor checked that a matching exists"
        # Both methods are exact, so the value is also the bound.
        value = value_of(values[chosen])
        return SolverCertificate(chosen, value, value, True)

    def solve_constrained(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> IntArray | None:
        if self._way == "pulp":
            return super().solve_constrained(means, include, exclude, rng)
        values = self._check_means(means)
        required, banned = self._check_constraints(include, exclude)
        is_taken = np.zeros(len(self._room), bool)
        is_taken[self._tails[required]] = is_taken[self._heads[required]] = True
        if int(is_taken.sum()) < 2 * len(required):
            return None
        # Exclude edges that share a node with an edge of `include`, and solve the rest.
        is_free = ~(is_taken[self._tails] | is_taken[self._heads])
        is_free[banned] = False
        # A perfect matching still includes the required edges.
        is_free[required] = self.perfect
        chosen = self._matched(values, np.flatnonzero(is_free))
        return chosen if chosen is None or self.perfect else np.sort(np.concatenate((required, chosen)))

    def _matched(self, values: FloatArray, allowed: IntArray | None = None) -> IntArray | None:
        """Return the best matching among the `allowed` edges (by default all); None if no matching exists."""
        worth = values if self.sense == "max" else -values
        if self._way == "assignment":
            return self._sides.best(worth, self.perfect, allowed)
        return best_matching(self._tails, self._heads, worth, self.perfect, allowed)


def _fastest(graph: nx.Graph[Any], room: IntArray, solver: Any) -> Literal["pulp", "assignment", "blossom"]:
    """Return the fastest method for such a graph, according to `tests/benchmarks/matching.py`."""
    import networkx as nx

    if solver is not None or (room != 1).any():
        return "pulp"
    return "assignment" if nx.is_bipartite(graph) else "blossom"


def _capacities(graph: nx.Graph[Any], capacity: int | Mapping[Hashable, int] | str) -> IntArray:
    """Return the capacity of each node."""
    if isinstance(capacity, str):
        capacity = dict(graph.nodes(data=capacity))
    if not isinstance(capacity, Mapping):
        return np.full(len(graph), integer("capacity", capacity, 1))
    missing = [node for node in graph if capacity.get(node) is None]
    if missing:
        raise ValueError(f"capacity must have a value for every node, got no value for {shown(missing)}")
    return np.array([integer(f"capacity of {node!r}", capacity[node], 0) for node in graph], np.int64)
