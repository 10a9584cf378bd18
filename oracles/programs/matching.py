"""Matchings of bipartite and general graphs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.oracle import Sense
from cmab.solver_certificate import SolverCertificate
from cmab.validation import check_flag, integer, one_of, shown
from oracles._graph_means import GraphOracle, KeptGraph
from oracles._networks import network_of
from oracles.anytime import OnLimit, checked_limits
from oracles.programs._assignment import TwoSides
from oracles.programs._blossom import best_matching
from oracles.programs._mixed_integer import FeasibleSet
from oracles.programs._pulp_models import check_solver
from oracles.programs.linear_program import PuLPOracle, value_of

if TYPE_CHECKING:
    import networkx as nx


class Matching(PuLPOracle, GraphOracle):
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
        The algorithm. ``"pulp"`` supports all graphs, see `PuLPOracle`; only this method builds an integer
        program, which takes minutes for a perfect matching of 250,000 edges. ``"assignment"`` (scipy, dense
        or sparse) supports bipartite graphs of capacity 1; it is 11 to 29 times faster on complete graphs and
        2 to 7 times faster on sparse graphs. ``"blossom"`` (rustworkx) supports all graphs of capacity 1; it
        is 1 to 200 times faster, with the largest gain on graphs with many odd cycles
        (`tests/benchmarks/matching.py`). ``"auto"`` uses ``"pulp"`` if a `solver` is given. Otherwise it uses
        the first supported method of ``"assignment"``, ``"blossom"`` and ``"pulp"``. If several matchings are
        optimal, different methods may return different ones.
    sense : {"max", "min"}
        Whether to return the matching of largest mean or of least cost.
    gap : float
    time_limit : float, optional
    node_limit : int, optional
    solver : a PuLP solver, optional
    on_limit : {"raise", "best"}
        As in `PuLPOracle`, for ``"pulp"``. The other methods take polynomial time and complete each call.
        With ``time_limit=0``, a call of any method adds edges greedily, in order of their means; its
        ``alpha`` is 1/2 for rewards. A perfect matching is then the one that the constructor found.

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

    can_constrain = True
    has_membership = True
    is_undirected = True

    def __init__(
        self,
        graph: nx.Graph[Any],
        perfect: bool = False,
        *,
        capacity: int | Mapping[Hashable, int] | str = 1,
        method: Literal["auto", "pulp", "assignment", "blossom"] = "auto",
        sense: Sense = "max",
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        solver: Any = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        _, self.edges, self._tails, self._heads = network_of(graph, undirected=True)
        self._source = KeptGraph(graph)
        loops = np.flatnonzero(self._tails == self._heads)
        if len(loops):
            raise ValueError(
                f"graph must not have self-loops, got {shown([self.edges[edge] for edge in loops])}"
            )
        check_flag("perfect", perfect)
        self.perfect = bool(perfect)
        self.method = one_of("method", method, ("auto", "pulp", "assignment", "blossom"))
        self.sense = one_of("sense", sense, ("max", "min"))
        self._room = _capacities(graph, capacity)
        is_plain = bool((self._room == 1).all())
        self._way = method if method != "auto" else "blossom" if is_plain and solver is None else "pulp"
        if self._way != "pulp" and not is_plain:
            raise ValueError(f"capacity must be 1 for method={method!r}, got {shown(self._room.tolist())}")
        side = None if self._way == "pulp" or method == "blossom" else self._two_sides()
        if side is not None:
            self._way = "assignment"
            self._sides = TwoSides.of(side, self._tails, self._heads, graph.is_multigraph())
        elif self._way == "assignment":
            raise ValueError(f"graph must be bipartite for method='assignment', got {graph}")
        no_matching = f"graph must have a perfect matching, got {graph} without one"
        if is_plain and self.perfect and 2 * self._largest_matching[0] < len(self._room):
            raise ValueError(no_matching)
        greedy_ratio = 0.5 if self.sense == "max" and not self.perfect else math.nan
        if self._way != "pulp":
            self.n_arms, self.solver = len(self.edges), check_solver(solver)
            self._set_limits(limits)
            self.alpha = greedy_ratio if self._may_stop_early else 1.0
            return
        try:
            self._begin(self._degrees(), self.sense, limits, solver)
            self.alpha = greedy_ratio if self.time_limit == 0.0 else self.alpha
        except ValueError as error:
            if not self.perfect or "feasible" not in str(error):
                raise
            raise ValueError(no_matching) from error

    def __repr__(self) -> str:
        return described(self, sense=self.sense, capacity=None if (self._room == 1).all() else self._room)

    @property
    def max_size(self) -> int:
        """The largest number of edges of a matching."""
        return super().max_size if self._way == "pulp" else self._largest_matching[0]

    @property
    def _may_stop_early(self) -> bool:
        return super()._may_stop_early if self._way == "pulp" else self.time_limit == 0.0

    def _degrees(self) -> FeasibleSet:
        """Return the program: at each node, at most (or exactly) as many edges as the capacity."""
        n_arms, ends = len(self.edges), np.concatenate([self._tails, self._heads])
        by_node = np.argsort(ends, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=len(self._room)))])
        room = self._room.astype(np.float64)
        return FeasibleSet(
            np.arange(n_arms),
            np.zeros(n_arms),
            np.ones(n_arms),
            np.ones(n_arms, bool),
            starts.astype(np.int64),
            by_node % n_arms,
            np.ones(2 * n_arms),
            room if self.perfect else np.full(len(room), -np.inf),
            room,
        )

    @cached_property
    def _neighbours(self) -> tuple[IntArray, IntArray]:
        """Arrays of offsets and ends; the neighbours of node v are ``ends[offsets[v]:offsets[v + 1]]``."""
        starts, ends = np.concatenate([self._tails, self._heads]), np.concatenate([self._heads, self._tails])
        offsets = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=len(self._room)))])
        return offsets.astype(np.int64), ends[np.argsort(starts, kind="stable")]

    def _two_sides(self) -> IntArray | None:
        """Return the side of each node, 0 or 1; None if the graph is not bipartite."""
        from oracles.programs._kernels_matching import two_sides

        side = np.empty(len(self._room), np.int64)
        return side if two_sides(*self._neighbours, side) else None

    @cached_property
    def _largest_matching(self) -> tuple[int, IntArray]:
        """The size of a largest matching, or -1 if `perfect` is impossible, and the partner of each node."""
        from oracles.programs._kernels_matching import largest_matching

        mate = np.empty(len(self._room), np.int64)
        return int(largest_matching(*self._neighbours, mate, self.perfect)), mate

    def labels(self, super_arm: IntArray) -> list[Any]:
        super_arm = self._check_entries(super_arm)
        return [self.edges[arm] for arm in super_arm]

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        ends = np.concatenate([self._tails[super_arm], self._heads[super_arm]])
        degrees = np.bincount(ends, minlength=len(self._room))
        return bool((degrees == self._room).all() if self.perfect else (degrees <= self._room).all())

    def _greedy(self, values: FloatArray) -> IntArray:
        """Return edges of positive worth in decreasing order, or a perfect matching."""
        from oracles.programs._kernels_matching import greedy_edges

        worth = self.sign * values
        if self.perfect and self._way == "pulp":
            return super()._greedy(values)
        is_good = self._largest_matching[1][self._tails] == self._heads if self.perfect else worth > 0.0
        order = np.flatnonzero(is_good)
        order, chosen = order[np.argsort(-worth[order], kind="stable")], np.zeros(self.n_arms, bool)
        greedy_edges(order, self._tails, self._heads, self._room.copy(), chosen)
        return np.flatnonzero(chosen)

    def _easy_bound(self, values: FloatArray) -> float:
        """Return half the sum of the best edges of each node, as many as its capacity."""
        worth, ends = np.tile(self.sign * values, 2), np.concatenate([self._tails, self._heads])
        order = np.lexsort((-worth, ends))
        firsts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=len(self._room)))])
        ranks = np.arange(len(ends)) - firsts[ends[order]]
        best = worth[order][ranks < self._room[ends[order]]]
        # An edge is at two nodes. Without `perfect`, a node needs no edge.
        return self.sign * value_of(0.5 * (best if self.perfect else np.maximum(best, 0.0)))

    def _search(self, values: FloatArray) -> SolverCertificate:
        if self._way == "pulp" or self.time_limit == 0.0:
            return super()._search(values)
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


def _capacities(graph: nx.Graph[Any], capacity: int | Mapping[Hashable, int] | str) -> IntArray:
    """Return the capacity of each node."""
    if isinstance(capacity, str):
        capacity = dict(graph.nodes(data=capacity))
    if not isinstance(capacity, Mapping):
        return np.full(len(graph), integer("capacity", capacity, 1))
    unknown = [node for node in capacity if node not in graph]
    if unknown:
        raise ValueError(f"capacity must have only nodes of graph, got {shown(unknown)}")
    missing = [node for node in graph if capacity.get(node) is None]
    if missing:
        raise ValueError(f"capacity must have a value for every node, got no value for {shown(missing)}")
    return np.array([integer(f"capacity of {node!r}", capacity[node], 0) for node in graph], np.int64)
