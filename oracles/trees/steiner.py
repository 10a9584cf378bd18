"""Steiner trees: connections of terminals."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.description import described
from cmab.solver_certificate import SolverCertificate
from cmab.validation import listed, one_of, shown
from oracles._graph_means import KeptGraph
from oracles._networks import network_of, node_number
from oracles._sufficing import Sufficing
from oracles._watch import watched
from oracles.anytime import AnytimeOracle, Clock, OnLimit, SolverError, checked_limits
from oracles.programs.linear_program import value_of
from oracles.trees._steiner_search import Search

if TYPE_CHECKING:
    import networkx as nx

    from oracles.paths._kernels_paths import Roads


class SteinerTree(AnytimeOracle, Sufficing):
    """The sets of edges that connect all terminals, at least cost.

    Base arm i is the i-th edge of ``graph.edges``; a super arm lists edges in increasing order. With positive
    costs, the answer is a tree, and its other nodes are on paths between terminals. In general, a super arm
    may contain more edges than necessary, and every exact answer contains all edges of negative cost.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        An undirected graph. Parallel edges are separate arms. Its weights are not used; see `means_of`.
    terminals : sequence of nodes
        The nodes to be connected, at least two.
    method : {"exact", "approximate"}
        The algorithm. ``"approximate"`` grows trees by shortest paths from several terminals, improves the
        best one by local search on nodes and paths, and bounds the optimum by dual ascent once. Its ``alpha``
        is ``2 - 2 / t`` for t terminals and nonnegative costs; `solve_certified` returns the ratio of the
        call, which was 1 to 1.11 on four public instances (`tests/benchmarks/graphs_at_work.py`).
        ``"exact"`` repeats this for several roots, excludes edges by their reduced costs, and then proves the
        optimum: by subsets of terminals (Dreyfus, Wagner 1971) if they are few, otherwise by cuts (HiGHS).
        Its values are exact up to a share of 1e-9.
    gap : float
        The relative gap, in [0, 1), at which an exact search may stop. If it is positive, ``alpha`` is
        ``1 / (1 - gap)``.
    time_limit : float, optional
        The time limit of a call in seconds. With 0, a call returns the tree of Mehlhorn 1988 without a
        search, in the time of one shortest-path search.
    node_limit : int, optional
        The largest number of nodes of branch and bound for each integer program of a call. Unlike
        `time_limit`, it does not depend on the speed of the machine.
    on_limit : {"raise", "best"}
        The behaviour of `solve` at a limit: raise an error, or return the best tree found. With the second
        option, ``alpha`` is ``2 - 2 / t``. `solve_certified` returns this tree with a bound.

    Raises
    ------
    ValueError
        If the graph is directed or has no edge, if a terminal is unknown or repeated, if the terminals are
        not connected, or if there are fewer than two. In `solve`, if a cost is negative and ``alpha`` is
        above 1.
    SolverError
        In a call, if a limit ends an exact search and `on_limit` is ``"raise"``.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import SteinerTree
    >>> graph = nx.Graph([("a", "b"), ("a", "hub"), ("b", "c"), ("b", "hub"), ("c", "hub")])
    >>> costs = np.array([0.875, 0.5, 0.875, 0.5, 0.5])
    >>> oracle = SteinerTree(graph, ["a", "b", "c"])
    >>> oracle.labels(oracle.solve(costs, np.random.default_rng(0)))
    [('a', 'hub'), ('b', 'hub'), ('hub', 'c')]

    A search with a limit, and the ratio that it proved:

    >>> oracle = SteinerTree(graph, ["a", "b", "c"], method="approximate", time_limit=1.0)
    >>> answer = oracle.solve_certified(costs, np.random.default_rng(0))
    >>> round(oracle.alpha, 2), answer.value, answer.bound, answer.ratio
    (1.33, 1.5, 1.5, 1.0)

    References
    ----------
    S. E. Dreyfus, R. A. Wagner: The Steiner Problem in Graphs, Networks 1 (1971). H. Takahashi, A. Matsuyama:
    An Approximate Solution for the Steiner Problem in Graphs, Mathematica Japonica 24 (1980). R. T. Wong: A
    Dual Ascent Approach for Steiner Tree Problems on a Directed Graph, Mathematical Programming 28 (1984).
    K. Mehlhorn: A Faster Approximation Algorithm for the Steiner Problem in Graphs, Information Processing
    Letters 27 (1988). T. Koch, A. Martin: Solving Steiner Tree Problems in Graphs to Optimality, Networks 32
    (1998). E. Uchoa, R. F. Werneck: Fast Local Search for the Steiner Problem in Graphs, ACM Journal of
    Experimental Algorithmics 17 (2012). All from memory.
    """

    has_membership = True
    is_undirected = True

    def __init__(
        self,
        graph: nx.Graph[Any],
        terminals: Iterable[Hashable],
        *,
        method: Literal["exact", "approximate"] = "exact",
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        number, self.edges, self._tails, self._heads = network_of(graph, undirected=True)
        self._source = KeptGraph(graph)
        named = listed("terminals", terminals, "nodes")
        self._terminals = np.array([node_number("terminals", node, number) for node in named], np.int64)
        if len(named) < 2 or len(np.unique(self._terminals)) < len(named):
            raise ValueError(f"terminals must be at least two distinct nodes, got {shown(named)}")
        self.method = one_of("method", method, ("exact", "approximate"))
        # Takahashi, Matsuyama 1980, and Mehlhorn 1988; with two terminals, a shortest path.
        self._greedy_ratio = 2.0 - 2.0 / len(named)
        self._set_limits(checked_limits(time_limit, gap, on_limit, node_limit), self._greedy_ratio)
        if method == "approximate":
            self.alpha = self._greedy_ratio
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
        super_arm = self._check_entries(super_arm)
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ends = self._tails[super_arm], self._heads[super_arm]
        shape = (self._n_nodes, self._n_nodes)
        matrix = coo_array((np.ones(len(super_arm)), ends), shape=shape)
        part = connected_components(matrix, directed=False)[1]
        return bool((part[self._terminals] == part[self._terminals[0]]).all())

    @property
    def certifies_calls(self) -> bool:
        """Whether calls have their own approximation ratios: true unless every answer is exact."""
        return self._may_stop_early or self.method == "approximate" or self.gap > 0.0

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> SolverCertificate:
        """Return the best super arm found, with a lower bound on the cost of every super arm.

        Examples
        --------
        >>> import networkx as nx
        >>> import numpy as np
        >>> from oracles import SteinerTree
        >>> oracle = SteinerTree(nx.cycle_graph(4), [0, 2], time_limit=0.0)
        >>> oracle.solve_certified(np.array([0.25, 0.5, 0.5, 0.5]), np.random.default_rng(0)).value
        0.75
        """
        return super().solve_certified(means, rng)

    def _search(self, values: FloatArray) -> SolverCertificate:
        none = np.empty(0, np.int64)
        is_had, rest = self._split(values, none, none)
        found = self._searched(rest)
        assert found is not None, "the constructor checked that the terminals are connected"
        needed, share, is_closed = found
        chosen = np.flatnonzero(needed | is_had)
        value = value_of(values[chosen])
        if is_closed:
            return SolverCertificate(chosen, value, value, True)
        answer = self._certificate(chosen, value, share * value_of(rest[needed]) + value_of(values[is_had]))
        is_promised = self.method == "approximate" or answer.certified
        return SolverCertificate(chosen, value, answer.bound, is_promised)

    def _cheapest(self, costs: FloatArray) -> BoolArray | None:
        found = self._searched(costs)
        if found is None:
            return None
        chosen, share, is_closed = found
        is_late = not is_closed and self.method == "exact" and share < 1.0 - self.gap
        if is_late and not self._may_stop_early:
            raise SolverError(self._stopped())
        return chosen

    def _searched(self, costs: FloatArray) -> tuple[BoolArray, float, bool] | None:
        """Return a tree, a lower bound as a share of its cost, and whether it is optimal; or None."""
        from oracles.paths._kernels_paths import shrink
        from oracles.trees._kernels_steiner import nearly_cheapest
        from oracles.trees._steiner_steps import best_tree

        weights, chosen = costs.copy(), np.empty(self.n_arms, bool)
        shrink(weights, 4 * self._n_nodes)
        if not nearly_cheapest(self._roads, weights, self._terminals, chosen):
            return None
        if self.time_limit == 0.0:
            is_closed = not costs[chosen].any() or len(self._terminals) == 2
            return chosen, 1.0 / self._greedy_ratio, is_closed
        clock = Clock(self.time_limit)
        with watched(type(self).__name__) as watch:
            search = Search(self._roads, weights, self._terminals, clock, watch, self.gap, self.node_limit)
            best_tree(search, chosen, is_exact=self.method == "exact")
        if search.is_closed():
            return search.chosen, 1.0, True
        return search.chosen, search.bound / search.value, False
