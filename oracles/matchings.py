"""Matchings of bipartite graphs by scipy, of general graphs by rustworkx, and b-matchings by HiGHS."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.guarantees import SolverCertificate
from cmab.oracle import Sense
from cmab.parameters import described
from cmab.validation import check_flag, integer, one_of, shown
from oracles._networks import GraphInput, edge_ends, network_of
from oracles.anytime import OnLimit, checked_limits
from oracles.programs import FeasibleSet, PuLPOracle, scaled, value_of

# The weights in rustworkx are 128-bit integers: about 62 bits for the largest mean, 40 bits to separate ties,
# and the bits of a sum.
_EXPONENT, _NOISE = 50, 40


def best_matching(
    tails: IntArray, heads: IntArray, worth: FloatArray, perfect: bool, allowed: IntArray | None = None
) -> IntArray | None:
    """Return the edges of the best (perfect) matching in increasing order, or None if it does not exist.

    `allowed` are the edges that may be chosen; by default all edges.

    Means are rounded to 2^-61 of the largest. Each edge also gets its own smaller weight (a hash), so that
    the best matching is unique (isolation lemma; Mulmuley, Vazirani, Vazirani 1987). So the answer does not
    depend on the order in which the library examines edges.
    """
    import rustworkx

    edges = np.arange(len(worth)) if allowed is None else allowed
    values = np.zeros(len(worth))
    values[edges] = np.ldexp(scaled(worth[edges])[0], _EXPONENT)
    if not perfect:
        edges = edges[values[edges] > 0.0]
    n_nodes = int(max(tails.max(), heads.max())) + 1
    shift = _NOISE + n_nodes.bit_length()
    noise = np.random.default_rng(0).integers(0, 2**_NOISE, len(values)).tolist()
    weights = {int(edge): (int(values[edge]) << shift) + noise[edge] for edge in edges}
    # Only the best of several parallel edges can be in the matching.
    of_pair: dict[tuple[int, int], int] = {}
    for edge in sorted(weights, key=weights.__getitem__):
        of_pair[_pair(tails[edge], heads[edge])] = edge
    graph: Any = rustworkx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(n_nodes))
    graph.add_edges_from([(*pair, weights[edge]) for pair, edge in of_pair.items()])
    matched = rustworkx.max_weight_matching(graph, max_cardinality=perfect, weight_fn=int)
    if perfect and 2 * len(matched) < n_nodes:
        return None
    return np.array(sorted(of_pair[_pair(*pair)] for pair in matched), np.int64)


def _pair(one: Any, other: Any) -> tuple[int, int]:
    return (int(one), int(other)) if one < other else (int(other), int(one))


# Measured: on large matrices with few edges the sparse method is 2 to 3 times faster; otherwise the dense
# method is faster.
_LARGE, _SPARSE = 100_000, 20
# Larger means, and means that are all closer to 0, are scaled.
_USUAL = 1e150


@dataclass(frozen=True, eq=False)
class TwoSides:
    """The row and the column of each edge."""

    rows: IntArray
    columns: IntArray
    shape: tuple[int, int]
    has_parallels: bool

    @classmethod
    def of(cls, side: IntArray, tails: IntArray, heads: IntArray, may_repeat: bool) -> TwoSides:
        """Return the rows, the nodes of side 0, and the columns of the edges of a bipartite graph."""
        is_row = side == 0
        place = np.where(is_row, np.cumsum(is_row), np.cumsum(~is_row)) - 1
        is_forward = is_row[tails]
        rows, columns = place[np.where(is_forward, tails, heads)], place[np.where(is_forward, heads, tails)]
        shape = int(is_row.sum()), int((~is_row).sum())
        cells = np.sort(rows * shape[1] + columns) if may_repeat else np.empty(0, np.int64)
        return cls(rows, columns, shape, bool((cells[1:] == cells[:-1]).any()))

    @cached_property
    def _cells(self) -> IntArray:
        """The position of each edge in a dense matrix."""
        return self.rows * self.shape[1] + self.columns

    @cached_property
    def _is_full(self) -> bool:
        """Whether the edges are all entries of a dense matrix, row by row."""
        return bool(np.array_equal(self._cells, np.arange(self.shape[0] * self.shape[1])))

    @cached_property
    def _edge_of(self) -> IntArray:
        """The edge of each position in a dense matrix, -1 for no edge."""
        return self._edges_at(np.arange(len(self.rows)))

    def _edges_at(self, edges: IntArray) -> IntArray:
        found = np.full(self.shape[0] * self.shape[1], -1, np.int64)
        found[self._cells[edges]] = edges
        return found

    def best(self, costs: FloatArray, perfect: bool, allowed: IntArray | None = None) -> IntArray | None:
        """Return the edges of the cheapest matching, in increasing order; None if there is no matching.

        `allowed` are the edges that may be chosen; by default all edges.
        """
        if not 1.0 / _USUAL < max(costs.max(), -costs.min()) < _USUAL:
            costs = scaled(costs)[0]
        edges = np.arange(len(costs)) if allowed is None else allowed
        if not perfect:
            edges = edges[costs[edges] < 0.0]
        if self.has_parallels:
            edges = self._without_parallels(edges, costs)
        cells = self.shape[0] * self.shape[1]
        is_sparse = cells >= _LARGE and cells > _SPARSE * (len(edges) + self.shape[0])
        try:
            return np.sort((self._sparse if is_sparse else self._dense)(edges, costs, perfect))
        except ValueError:
            # Both methods of scipy raise this error if a row cannot be matched; other causes were excluded
            # before.
            if perfect and allowed is not None:
                return None
            raise

    def _without_parallels(self, edges: IntArray, costs: FloatArray) -> IntArray:
        """Return the best edge of each cell; ties go to the first edge."""
        edges = edges[np.lexsort((edges, costs[edges]))]
        return edges[np.unique(self._cells[edges], return_index=True)[1]]

    def _dense(self, edges: IntArray, costs: FloatArray, perfect: bool) -> IntArray:
        from scipy.optimize import linear_sum_assignment

        if len(edges) == len(costs) and self._is_full:
            matrix = costs
        else:
            matrix = np.full(self.shape[0] * self.shape[1], np.inf if perfect else 0.0)
            matrix[self._cells[edges]] = costs[edges]
        rows, columns = linear_sum_assignment(matrix.reshape(self.shape))
        places = rows * self.shape[1] + columns
        if not perfect:
            places = places[matrix[places] < 0.0]
        chosen: IntArray = (self._edges_at(edges) if self.has_parallels else self._edge_of)[places]
        return chosen

    def _sparse(self, edges: IntArray, costs: FloatArray, perfect: bool) -> IntArray:
        """Match every row. If rows may stay unmatched, add a column of cost 0 for each row."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        n_rows, n_columns = self.shape
        alone = np.arange(0 if perfect else n_rows)
        rows, columns = np.append(self.rows[edges], alone), np.append(self.columns[edges], n_columns + alone)
        # Entries of 0 would be missing edges. All rows are matched, so adding a constant to all entries
        # changes nothing. The constant is of the order of the largest cost, so rounding affects only the
        # last digit of that cost.
        shift = 2.0 * np.ldexp(1.0, int(np.frexp(np.abs(costs[edges]).max(initial=0.0))[1]))
        entries = np.append(shift + costs[edges], np.full(len(alone), shift))
        graph = csr_array((entries, (rows, columns)), shape=(n_rows, n_columns + len(alone)))
        matched = np.full(n_rows, -1, np.int64)
        left, right = min_weight_full_bipartite_matching(graph)
        matched[left] = right
        chosen: IntArray = edges[matched[self.rows[edges]] == self.columns[edges]]
        return chosen


class Matching(PuLPOracle):
    """Sets of edges with at most one edge at each node, or at most `capacity` edges.

    Exact, up to ``1e-12 * n_arms`` times the largest absolute mean: see `PuLPOracle`. Several threads may
    share it.

    Base arm i is the i-th edge of ``graph.edges``. Without `perfect`, the empty set is a matching, so the
    answer has no edges of negative mean (positive cost). It may contain edges of mean 0.

    Parameters
    ----------
    graph : networkx.Graph, networkx.MultiGraph, array_like or sparse matrix
        An undirected graph without self-loops and with at least one edge. Parallel edges are separate arms.
        An integer array of shape (n_arms, 2) has the numbers of both ends of each edge. The edges of a
        symmetric sparse matrix are its entries on and above the diagonal, row by row.
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
        is 1 to 200 times faster, with the largest gain on graphs with many odd cycles. ``"auto"`` uses
        the first supported method of ``"assignment"``, ``"blossom"`` and ``"pulp"``. If several matchings are
        optimal, different methods may return different ones.
    sense : {"max", "min"}
        Whether to return the matching of largest mean or of least cost.
    gap : float
    time_limit : float, optional
    node_limit : int, optional
    on_limit : {"raise", "best"}
        As in `PuLPOracle`, for ``"pulp"``. The other methods take polynomial time and complete each call.

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
        graph: GraphInput,
        perfect: bool = False,
        *,
        capacity: int | Mapping[Hashable, int] | str = 1,
        method: Literal["auto", "pulp", "assignment", "blossom"] = "auto",
        sense: Sense = "max",
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        self._nodes, self.edges, self._tails, self._heads = network_of(graph, undirected=True)
        self._names = self.edges
        loops = np.flatnonzero(self._tails == self._heads)
        if len(loops):
            raise ValueError(
                f"graph must not have self-loops, got {shown([self.edges[edge] for edge in loops])}"
            )
        check_flag("perfect", perfect)
        self.perfect = bool(perfect)
        self.method = one_of("method", method, ("auto", "pulp", "assignment", "blossom"))
        self.sense = one_of("sense", sense, ("max", "min"))
        self._room = _capacities(graph, self._nodes, capacity)
        is_plain = bool((self._room == 1).all())
        self._way = method if method != "auto" else "blossom" if is_plain else "pulp"
        if self._way != "pulp" and not is_plain:
            raise ValueError(f"capacity must be 1 for method={method!r}, got {shown(self._room.tolist())}")
        side = None if self._way == "pulp" or method == "blossom" else self._two_sides()
        if side is not None:
            self._way = "assignment"
            may_repeat = not hasattr(graph, "is_multigraph") or graph.is_multigraph()
            self._sides = TwoSides.of(side, self._tails, self._heads, may_repeat)
        elif self._way == "assignment":
            raise ValueError(f"graph must be bipartite for method='assignment', got {graph}")
        no_matching = f"graph must have a perfect matching, got {graph} without one"
        if self._way != "pulp" and self.perfect and 2 * self.max_size < len(self._room):
            raise ValueError(no_matching)
        if self._way != "pulp":
            self.n_arms = len(self.edges)
            return
        try:
            self._begin(self._degrees(), self.sense, limits)
        except ValueError as error:
            if not self.perfect or "feasible" not in str(error):
                raise
            raise ValueError(no_matching) from error

    def __repr__(self) -> str:
        return described(self, sense=self.sense, capacity=None if (self._room == 1).all() else self._room)

    @property
    def max_size(self) -> int:
        """The largest number of edges of a matching."""
        return super().max_size if self._way == "pulp" else len(self._largest_matching)

    def _degrees(self) -> FeasibleSet:
        """Return the program: at each node, at most (or exactly) as many edges as the capacity."""
        n_arms, room = len(self.edges), self._room.astype(np.float64)
        starts, by_node = edge_ends(self._tails, self._heads, len(room))
        return FeasibleSet(
            np.arange(n_arms),
            np.zeros(n_arms),
            np.ones(n_arms),
            np.ones(n_arms, bool),
            starts,
            by_node % n_arms,
            np.ones(2 * n_arms),
            room if self.perfect else np.full(len(room), -np.inf),
            room,
        )

    def _two_sides(self) -> IntArray | None:
        """Return the side of each node, 0 or 1; None if the graph is not bipartite."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        # A graph with two copies of each node, whose edges join copies of different kinds. A path between the
        # copies of one node is a closed walk of odd length.
        n, tails, heads = len(self._room), self._tails, self._heads
        ends = np.concatenate([tails, heads]), np.concatenate([heads, tails]) + n
        copies = coo_array((np.ones(2 * len(tails), np.int8), ends), shape=(2 * n, 2 * n))
        one, other = connected_components(copies, directed=False)[1].reshape(2, n)
        return None if (one == other).any() else (one > other).astype(np.int64)

    @cached_property
    def _largest_matching(self) -> IntArray:
        """The edges of a matching of largest size."""
        ones = np.ones(len(self.edges))
        found = (
            self._sides.best(-ones, perfect=False)
            if self._way == "assignment"
            else best_matching(self._tails, self._heads, ones, perfect=False)
        )
        assert found is not None, "the empty set is a matching"
        return found

    def available(self, nodes: Collection[Hashable]) -> BoolArray:
        """Return whether each edge is available if only these nodes are, for `Context.available`.

        Parameters
        ----------
        nodes : collection
            The names of the available nodes.

        Returns
        -------
        BoolArray, shape (n_arms,)
            Whether both ends of each edge are available.

        Examples
        --------
        >>> import networkx as nx
        >>> from oracles import Matching
        >>> couriers = nx.Graph([("c1", "north"), ("c2", "north"), ("c2", "south")])
        >>> Matching(couriers).available(["c1", "north", "south"])  # courier c2 is off
        array([ True, False, False])
        """
        if isinstance(nodes, Mapping):
            raise ValueError(f"nodes must be a list of the available nodes, got the mapping {shown(nodes)}")
        if unknown := [name for name in nodes if name not in self._nodes]:
            raise ValueError(f"nodes must be nodes of the graph, got {shown(unknown[0])}")
        flags = np.zeros(len(self._nodes), np.bool_)
        flags[[self._nodes[name] for name in nodes]] = True
        found: BoolArray = flags[self._tails] & flags[self._heads]
        return found

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        ends = np.concatenate([self._tails[super_arm], self._heads[super_arm]])
        degrees = np.bincount(ends, minlength=len(self._room))
        return bool((degrees == self._room).all() if self.perfect else (degrees <= self._room).all())

    def _search(self, values: FloatArray) -> SolverCertificate:
        if self._way == "pulp":
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
        if self._way == "assignment":
            return self._sides.best(-values if self.sense == "max" else values, self.perfect, allowed)
        return best_matching(self._tails, self._heads, self._sign * values, self.perfect, allowed)


def _capacities(
    graph: Any, nodes: Collection[Hashable], capacity: int | Mapping[Hashable, int] | str
) -> IntArray:
    """Return the capacity of each node."""
    if isinstance(capacity, str) and hasattr(graph, "nodes"):
        capacity = dict(graph.nodes(data=capacity))
    if not isinstance(capacity, Mapping):
        return np.full(len(nodes), integer("capacity", capacity, 1))
    unknown = [node for node in capacity if node not in nodes]
    if unknown:
        raise ValueError(f"capacity must have only nodes of graph, got {shown(unknown)}")
    missing = [node for node in nodes if capacity.get(node) is None]
    if missing:
        raise ValueError(f"capacity must have a value for every node, got no value for {shown(missing)}")
    return np.array([integer(f"capacity of {node!r}", capacity[node], 0) for node in nodes], np.int64)
