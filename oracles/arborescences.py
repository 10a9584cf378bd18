"""Cheapest spanning arborescences by Edmonds' contractions, with mergeable heaps: O(m log n)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import Kernel, lean_kernel, solve_kernel
from cmab.oracle import LinearOracle, Sense
from cmab.parameters import described
from cmab.validation import one_of, shown
from oracles._graph_means import GraphOracle, KeptGraph
from oracles._networks import network_of, node_number
from oracles.paths import shrink

if TYPE_CHECKING:
    import networkx as nx

    from oracles.influence.graph import DirectedGraph


class Heaps(NamedTuple):
    """Skew heaps of arcs, with the cheapest on top; `later` has pending reductions of the costs in a heap."""

    cost: FloatArray
    later: FloatArray
    left: IntArray
    right: IntArray


class Sets(NamedTuple):
    """Disjoint sets of nodes with joins that can be undone; the `up` of a root is -1."""

    up: IntArray
    members: IntArray
    joined: IntArray


@lean_kernel
def _settle(heaps, arc):
    """Apply the pending cost reduction of an arc, and pass it to both heaps below."""
    change = heaps.later[arc]
    heaps.cost[arc] += change
    for below in (heaps.left[arc], heaps.right[arc]):
        if below >= 0:
            heaps.later[below] += change
    heaps.later[arc] = 0.0


@lean_kernel
def _meld(heaps, one, other):
    """Return the top of two heaps merged: skew heaps from the top down, Sleator and Tarjan 1986."""
    top, above = -1, -1
    while one >= 0 and other >= 0:
        _settle(heaps, one)
        _settle(heaps, other)
        if heaps.cost[other] < heaps.cost[one] or (heaps.cost[other] == heaps.cost[one] and other < one):
            one, other = other, one
        if above < 0:
            top = one
        else:
            heaps.left[above] = one
        # Swap the children; the rest is merged into the new left child.
        rest = heaps.right[one]
        heaps.right[one] = heaps.left[one]
        above, one = one, rest
    rest = max(one, other)
    if above < 0:
        return rest
    heaps.left[above] = rest
    return top


@lean_kernel
def _find(up, node):
    """Return the root of a node's set; without path compression, because joins are undone."""
    while up[node] >= 0:
        node = up[node]
    return node


@lean_kernel
def _join(sets, size, one, other):
    """Join the smaller set of two roots into the larger one, as join number `size`; return the new root."""
    if sets.members[one] < sets.members[other]:
        one, other = other, one
    sets.joined[size], sets.up[other] = other, one
    sets.members[one] += sets.members[other]
    return one


@lean_kernel
def _undo(sets, size):
    """Undo join number `size`, the last remaining join."""
    other = sets.joined[size]
    sets.members[sets.up[other]] -= sets.members[other]
    sets.up[other] = -1


class Arcs(NamedTuple):
    """Arc i leads from ``tails[i]`` to ``heads[i]``; node numbers are below `n_nodes`."""

    tails: IntArray
    heads: IntArray
    n_nodes: int
    root: int


@lean_kernel
def arborescence(graph, integers, reals, into):
    """Write the arc into each node (-1 for the root) of a cheapest arborescence; return whether one exists.

    `reals` begins with the costs of the arcs, infinite for closed arcs. It also serves as scratch space, two
    numbers per arc. `integers` is scratch space, 2 numbers per arc and 12 per node. From each node, follow
    the cheapest arc into its component backward, until the tree of the root is reached. A cycle becomes one
    component; the cost of each other arc into it is reduced by the cost of the cycle's arc that it would
    replace (Edmonds 1967; Gabow et al. 1986, section 3, with skew heaps instead of Fibonacci heaps).
    """
    tails, heads, n, root = graph
    m = tails.shape[0]
    shrink(reals[:m], n)
    costs = reals[:m]
    heaps = Heaps(costs, reals[m : 2 * m], integers[:m], integers[m : 2 * m])
    rows = integers[2 * m : 2 * m + 12 * n].reshape((12, n))
    sets, size = Sets(rows[0], rows[1], rows[2]), 0
    top, seen = rows[3], rows[4]
    # The path backward: components and the arc into each. A contracted cycle has its component, the number of
    # joins before it, and the end of its arcs, which are stored cycle after cycle.
    way, arcs, wholes, befores, ends, n_cycles = rows[5], rows[6], rows[7], rows[8], rows[9], 0
    held, n_held = integers[2 * m + 10 * n : 2 * m + 12 * n], 0
    heaps.later[:], heaps.left[:], heaps.right[:] = 0.0, -1, -1
    sets.up[:], sets.members[:], top[:], seen[:], into[:] = -1, 1, -1, -1, -1
    seen[root] = root
    for arc in range(m):
        if costs[arc] < np.inf and tails[arc] != heads[arc] and heads[arc] != root:
            top[heads[arc]] = _meld(heaps, top[heads[arc]], arc)
    for start in range(n):
        node, length = _find(sets.up, start), 0
        while seen[node] < 0:
            # Drop arcs that are now within a contracted component.
            while top[node] >= 0 and _find(sets.up, tails[top[node]]) == node:
                _settle(heaps, top[node])
                top[node] = _meld(heaps, heaps.left[top[node]], heaps.right[top[node]])
            arc = top[node]
            if arc < 0:
                return False
            _settle(heaps, arc)
            price = heaps.cost[arc]
            top[node] = _meld(heaps, heaps.left[arc], heaps.right[arc])
            if top[node] >= 0:
                heaps.later[top[node]] -= price
            way[length], arcs[length], seen[node] = node, arc, start
            length += 1
            node = _find(sets.up, tails[arc])
            if seen[node] == start:
                before, whole, merged = size, node, -1
                # From the end of the path to the component where the cycle begins.
                while True:
                    length -= 1
                    other = way[length]
                    merged = _meld(heaps, merged, top[other])
                    held[n_held] = arcs[length]
                    n_held += 1
                    if other == node:
                        break
                    whole = _join(sets, size, whole, other)
                    size += 1
                top[whole], seen[whole] = merged, -1
                wholes[n_cycles], befores[n_cycles], ends[n_cycles] = whole, before, n_held
                n_cycles += 1
                node = whole
        for i in range(length):
            into[_find(sets.up, heads[arcs[i]])] = arcs[i]
    # Expand the cycles, last one first, at the node that the arc into the cycle enters.
    for cycle in range(n_cycles - 1, -1, -1):
        whole, before = wholes[cycle], befores[cycle]
        while size > before:
            size -= 1
            _undo(sets, size)
        entering = into[whole]
        for i in range(ends[cycle - 1] if cycle > 0 else 0, ends[cycle]):
            into[_find(sets.up, heads[held[i]])] = held[i]
        into[_find(sets.up, heads[entering])] = entering
    return True


@solve_kernel
def solve_arborescence(means, integers, reals, out):
    """Solve; `integers`: sign, nodes, root, arcs; their tails and heads; arcs into nodes; scratch.

    `reals` is scratch space. Arcs beyond the base arms are free.
    """
    m, n, arcs, size = means.shape[0], integers[1], integers[3], 0
    ends, rest = integers[4 : 4 + 2 * arcs], integers[4 + 2 * arcs :]
    for arm in range(arcs):
        reals[arm] = -integers[0] * means[arm] if arm < m else 0.0
    arborescence(Arcs(ends[:arcs], ends[arcs:], n, integers[2]), rest[n:], reals, rest[:n])
    taken = rest[n : n + m]  # now scratch space
    taken[:] = 0
    for arc in rest[:n]:
        if 0 <= arc < m:
            taken[arc] = 1
    for arm in range(m):
        if taken[arm]:
            out[size] = arm
            size += 1
    return size


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

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the best arborescence, its arcs in increasing order."""
        best = self._best(self._check_means(means), np.zeros(len(self._to), bool))
        assert best is not None, "the constructor checked that one exists"
        return best

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
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
        arcs, nodes = len(self._to), self._all_nodes
        head, scratch = [int(self._sign), nodes, self._root, arcs], np.empty(2 * arcs + 13 * nodes, np.int64)
        integers = np.concatenate([head, self._from, self._to, scratch])
        return Kernel(solve_arborescence, integers, np.empty(2 * arcs))

    @property
    def _all_nodes(self) -> int:
        """The number of nodes, including the additional root."""
        return self._n_nodes + (self.root is None)

    def _best(self, means: FloatArray, is_closed: BoolArray) -> IntArray | None:
        arcs, nodes = len(self._to), self._all_nodes
        reals, into = np.zeros(2 * arcs), np.empty(nodes, np.int64)
        reals[: self.n_arms] = -self._sign * means
        reals[:arcs][is_closed] = np.inf
        scratch = np.empty(2 * arcs + 12 * nodes, np.int64)
        if not arborescence(Arcs(self._from, self._to, nodes, self._root), scratch, reals, into):
            return None
        return np.sort(into[(into >= 0) & (into < self.n_arms)])
