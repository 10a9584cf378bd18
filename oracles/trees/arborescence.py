"""Arborescences: trees with one path from a root to each node."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled.forms import Kernel
from cmab.description import described
from cmab.oracle import LinearOracle, Sense
from cmab.validation import one_of, shown
from oracles._graph_means import GraphOracle, KeptGraph
from oracles._networks import network_of, node_number

if TYPE_CHECKING:
    import networkx as nx

    from oracles.diffusion.directed_graph import DirectedGraph


class Arborescence(LinearOracle, GraphOracle):
    """The spanning arborescences of a directed graph: trees with a path from the root to each node. Exact.

    Base arm i is the i-th arc of ``graph.edges``. A super arm lists arcs in increasing order, one into each
    node except the root. If `root` is omitted, super arms are branchings: sets of arcs without a cycle and
    with at most one arc into each node. The empty set is a branching, so the answer has no arc that makes it
    worse. Means may have any sign. Self-loops and arcs into the root are in no super arm.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph or DirectedGraph
        A directed graph. Parallel arcs are separate base arms. Its weights are not used.
    root : node, optional
        The node from which all nodes must be reached; omit it for branchings.
    sense : {"max", "min"}
        Whether to maximise or to minimise the sum of the means.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import Arborescence
    >>> graph = nx.DiGraph([("hub", "a"), ("hub", "b"), ("a", "b"), ("b", "a")])
    >>> oracle = Arborescence(graph, "hub", sense="min")
    >>> oracle.labels(oracle.solve(np.array([0.9, 0.5, 0.1, 0.2]), np.random.default_rng(0)))
    [('hub', 'b'), ('b', 'a')]

    References
    ----------
    J. Edmonds: Optimum Branchings, Journal of Research of the National Bureau of Standards B 71 (1967).
    H. N. Gabow, Z. Galil, T. Spencer, R. E. Tarjan: Efficient algorithms for finding minimum spanning trees
    in undirected and directed graphs, Combinatorica 6 (1986); both from memory.
    """

    can_constrain = True

    has_membership = True

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        root: Hashable | None = None,
        *,
        sense: Sense = "max",
    ) -> None:
        number, self.edges, self._tails, self._heads = network_of(graph)
        self._source = KeptGraph(graph)
        if not graph.is_directed() or not self.edges:
            raise ValueError(f"graph must be directed and have an arc, got {graph}")
        self.sense = one_of("sense", sense, ("max", "min"))
        self.n_arms, self._n_nodes, self.root = len(self.edges), len(number), root
        # Branchings are arborescences from an additional root with a free arc to each node.
        nodes = np.arange(len(number) if root is None else 0)
        self._root = len(number) if root is None else node_number("root", root, number)
        self._from = np.append(self._tails, np.full(len(nodes), self._root))
        self._to = np.append(self._heads, nodes)
        if self._best(np.zeros(self.n_arms), np.zeros(len(self._to), bool)) is None:
            raise ValueError(f"root must reach every node of graph, got {shown(root)}")

    def __repr__(self) -> str:
        return described(self, n_nodes=self._n_nodes, sense=self.sense)

    @property
    def max_size(self) -> int:
        return self._n_nodes - 1

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether one arc leads into each node (at most one without a root), and there is no cycle."""
        super_arm = self._check_entries(super_arm)
        heads = self._heads[super_arm]
        before = np.arange(self._n_nodes + 1)
        before[heads] = self._tails[super_arm]
        is_start = np.ones(len(before), bool)
        is_start[heads] = False
        for _ in range(len(before).bit_length()):
            before = before[before]
        # A walk backward that ends at a node without an arc into it has not entered a cycle.
        is_forest = len(np.unique(heads)) == len(heads) and is_start[before].all()
        return bool(is_forest and (self.root is None or (is_start[:-1].sum() == 1 and is_start[self._root])))

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        super_arm = self._check_entries(super_arm)
        return [self.edges[arm] for arm in super_arm]

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the best arborescence, its arcs in increasing order."""
        best = self._best(self._check_means(means), np.zeros(len(self._to), bool))
        assert best is not None, "the constructor checked that one exists"
        return best

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        values = self._check_means(means)
        required, banned = self._check_constraints(include, exclude)
        # A required arc is used if it is the only open arc into its head.
        is_closed = np.isin(self._to, self._heads[required])
        is_closed[required] = False
        is_closed[banned] = True
        heads = self._heads[required]
        if len(np.unique(heads)) < len(heads) or (heads == self._root).any():
            return None
        return self._best(values, is_closed)

    def kernel(self) -> Kernel:
        from oracles.trees._kernels_arborescence import solve_arborescence

        arcs, nodes = len(self._to), self._all_nodes
        head, scratch = [int(self.sign), nodes, self._root, arcs], np.empty(2 * arcs + 13 * nodes, np.int64)
        integers = np.concatenate([head, self._from, self._to, scratch])
        return Kernel(solve_arborescence, integers, np.empty(2 * arcs))

    @property
    def _all_nodes(self) -> int:
        """The number of nodes, including the additional root."""
        return self._n_nodes + (self.root is None)

    def _best(self, means: FloatArray, is_closed: BoolArray) -> IntArray | None:
        from oracles.trees._kernels_arborescence import Arcs, arborescence

        arcs, nodes = len(self._to), self._all_nodes
        reals, into = np.zeros(2 * arcs), np.empty(nodes, np.int64)
        reals[: self.n_arms] = -self.sign * means
        reals[:arcs][is_closed] = np.inf
        scratch = np.empty(2 * arcs + 12 * nodes, np.int64)
        if not arborescence(Arcs(self._from, self._to, nodes, self._root), scratch, reals, into):
            return None
        return np.sort(into[(into >= 0) & (into < self.n_arms)])
