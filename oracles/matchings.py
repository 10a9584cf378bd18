"""Matchings of bipartite graphs by scipy, of general graphs by rustworkx, and by integer programs of PuLP."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.oracle import LinearOracle, Sense
from cmab.parameters import described
from cmab.validation import check_flag, one_of, shown
from oracles._networks import GraphInput, edge_ends, network_of
from oracles.programs import one_of_each, scaled

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


class TwoSides:
    """The row and the column of each edge of a bipartite graph; the rows are the nodes of side 0."""

    def __init__(self, side: IntArray, tails: IntArray, heads: IntArray, may_repeat: bool) -> None:
        is_row = side == 0
        place = np.where(is_row, np.cumsum(is_row), np.cumsum(~is_row)) - 1
        is_forward = is_row[tails]
        self.rows: IntArray = place[np.where(is_forward, tails, heads)]
        self.columns: IntArray = place[np.where(is_forward, heads, tails)]
        self.shape = int(is_row.sum()), int((~is_row).sum())
        cells = np.sort(self._cells) if may_repeat else np.empty(0, np.int64)
        self.has_parallels = bool((cells[1:] == cells[:-1]).any())

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
        """Return the edges of the cheapest matching of the `allowed` ones, or None, in increasing order."""
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
        except ValueError:  # of both methods of scipy, if a row cannot be matched; nothing else causes it
            return None

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
        matched = min_weight_full_bipartite_matching(graph)[1]
        chosen: IntArray = edges[matched[self.rows[edges]] == self.columns[edges]]
        return chosen


class Matching(LinearOracle):
    """Sets of edges with at most one edge at each node. Exact, up to rounding of sums.

    Base arm i is the i-th edge of ``graph.edges``. Without `perfect`, the empty set is a matching, so the
    answer has no edges of negative mean (positive cost). It may contain edges of mean 0. Several threads may
    share the oracle. If a node may have several edges, use `GeneralizedAssignment`, `MinCostFlow` or
    `PuLPOracle`.

    Parameters
    ----------
    graph : networkx.Graph, networkx.MultiGraph, array_like or sparse matrix
        An undirected graph without self-loops and with at least one edge. Parallel edges are separate arms.
        An integer array of shape (n_arms, 2) has the numbers of both ends of each edge. The edges of a
        symmetric sparse matrix are its entries on and above the diagonal, row by row.
    perfect : bool
        Whether each node must have an edge.
    method : {"auto", "assignment", "blossom", "pulp"}
        The algorithm: ``"assignment"`` (scipy, dense or sparse) for bipartite graphs, ``"blossom"``
        (rustworkx) for all graphs, or the integer program of a `PuLPOracle`, which is slower. ``"auto"``
        uses one of the first two. If several matchings are optimal, the answers may differ.
    sense : {"max", "min"}
        Whether to return the matching of largest mean or of least cost.

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
        method: Literal["auto", "assignment", "blossom", "pulp"] = "auto",
        sense: Sense = "max",
    ) -> None:
        self._nodes, self.edges, self._tails, self._heads = network_of(graph, undirected=True)
        self._names, self.n_arms = self.edges, len(self.edges)
        loops = np.flatnonzero(self._tails == self._heads)
        if len(loops):
            raise ValueError(
                f"graph must not have self-loops, got {shown([self.edges[edge] for edge in loops])}"
            )
        check_flag("perfect", perfect)
        self.perfect = bool(perfect)
        self.method = one_of("method", method, ("auto", "assignment", "blossom", "pulp"))
        self.sense = one_of("sense", sense, ("max", "min"))
        side = None if method in ("blossom", "pulp") else self._two_sides()
        if side is None and method == "assignment":
            raise ValueError(f"graph must be bipartite for method='assignment', got {graph}")
        may_repeat = not hasattr(graph, "is_multigraph") or graph.is_multigraph()
        self._sides = None if side is None else TwoSides(side, self._tails, self._heads, may_repeat)
        if self.perfect and 2 * self.max_size < len(self._nodes):
            raise ValueError(f"graph must have a perfect matching, got {graph} without one")
        self._program = None
        if method == "pulp":
            starts, ends = edge_ends(self._tails, self._heads, len(self._nodes))
            at_nodes = np.split(ends % self.n_arms, starts[1:-1])
            self._program = one_of_each(at_nodes, self.n_arms, self.perfect, self.sense)

    def __repr__(self) -> str:
        return described(self, sense=self.sense)

    @cached_property
    def max_size(self) -> int:
        """The largest number of edges of a matching."""
        ones = np.ones(self.n_arms)
        if self._sides is None:
            found = best_matching(self._tails, self._heads, ones, perfect=False)
        else:
            found = self._sides.best(-ones, perfect=False)
        assert found is not None, "the empty set is a matching"
        return len(found)

    def _two_sides(self) -> IntArray | None:
        """Return the side of each node, 0 or 1; None if the graph is not bipartite."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        # A graph with two copies of each node, whose edges join copies of different kinds. A path between the
        # copies of one node is a closed walk of odd length.
        n, tails, heads = len(self._nodes), self._tails, self._heads
        ends = np.concatenate([tails, heads]), np.concatenate([heads, tails]) + n
        copies = coo_array((np.ones(2 * len(tails), np.int8), ends), shape=(2 * n, 2 * n))
        one, other = connected_components(copies, directed=False)[1].reshape(2, n)
        return None if (one == other).any() else (one > other).astype(np.int64)

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
        is_complete = not self.perfect or len(ends) == len(self._nodes)
        return is_complete and len(np.unique(ends)) == len(ends)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the best matching, in increasing order."""
        chosen = self._matched(self._check_means(means))
        assert chosen is not None, "the constructor checked that a matching exists"
        return chosen

    def solve_constrained(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> IntArray | None:
        values = self._check_means(means)
        required, banned = self._check_constraints(include, exclude)
        is_taken = np.zeros(len(self._nodes), bool)
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
        if self._program is not None:
            every = np.arange(self.n_arms)
            banned = every[:0] if allowed is None else np.setdiff1d(every, allowed)
            return self._program.solve_constrained(values, [], banned, np.random.default_rng(0))
        if self._sides is None:
            return best_matching(self._tails, self._heads, self._sign * values, self.perfect, allowed)
        return self._sides.best(-self._sign * values, self.perfect, allowed)
