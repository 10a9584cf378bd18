"""Disjoint paths and cheapest flows.

Flows over arcs of capacity one use successive shortest paths. Flows with other capacities use the network
simplex method.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import kernel, lean_kernel
from cmab.oracle import LinearOracle, Oracle, Sense, check_super_arm
from cmab.parameters import described
from cmab.selection import heap_drop, heap_rise
from cmab.validation import as_array, integer, one_of, shown, vector
from oracles._networks import Network, edge_ends, end_numbers, network_of, node_number, topological_order

if TYPE_CHECKING:
    import networkx as nx

    from oracles.influence.graph import DirectedGraph


class Pipes(NamedTuple):
    """Arc i leads from ``tails[i]`` to ``heads[i]``.

    The arcs at node v are ``entries[offsets[v]:offsets[v + 1]]``: entry 2 i if arc i leaves v, 2 i + 1 if arc
    i enters v.
    """

    tails: IntArray
    heads: IntArray
    offsets: IntArray
    entries: IntArray


class Search(NamedTuple):
    """The output of a search: distance and last entry of each node, and whether both are final."""

    distance: FloatArray
    into: IntArray
    is_final: BoolArray
    heap: IntArray
    keys: FloatArray


def pipes_of(tails: IntArray, heads: IntArray, n_nodes: int) -> Pipes:
    """Return the arcs with the entries at each node."""
    offsets, ends = edge_ends(tails, heads, n_nodes)
    return Pipes(tails, heads, offsets, 2 * (ends % len(tails)) + ends // len(tails))


@kernel
def cheapest_flow(pipes, costs, excess, order, is_used):
    """Write the arcs of the cheapest flow from positive to negative `excess`; return whether a flow exists.

    ``costs[arc] = inf`` closes an arc. If `order` is a topological order of the nodes, costs may be negative.
    If the graph has cycles, `order` is empty. Each unit takes the shortest path in the residual graph, where
    a used arc can be released: successive shortest paths, Ahuja, Magnanti, Orlin 1993, section 9.7.
    """
    m, n = costs.shape[0], excess.shape[0]
    potential, source = np.zeros(n), 0
    for node in order:
        for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
            if entry & 1 == 0:
                head, through = pipes.heads[entry >> 1], potential[node] + costs[entry >> 1]
                potential[head] = min(potential[head], through)
    # An arc adds at most one heap entry for each of its directions.
    search = Search(
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(n, np.bool_),
        np.empty(2 * m + 1, np.int64),
        np.empty(2 * m + 1),
    )
    is_used[:] = False
    while source < n:
        if excess[source] <= 0:
            source += 1
            continue
        end = _nearest(pipes, costs, potential, excess, is_used, source, search)
        if end < 0:
            return False
        for node in range(n):
            # Nodes whose distance is not final are at least as far as the end.
            if search.is_final[node]:
                potential[node] += search.distance[node] - search.distance[end]
        excess[source] -= 1
        excess[end] += 1
        node = end
        while node != source:
            entry = search.into[node]
            is_used[entry >> 1] = entry & 1 == 0
            node = pipes.heads[entry >> 1] if entry & 1 else pipes.tails[entry >> 1]
    return True


@lean_kernel
def _nearest(pipes, costs, potential, excess, is_used, source, search):
    """Return the nearest node with negative excess, or -1: Dijkstra's algorithm on reduced costs."""
    distance, into, is_final, heap, keys = search
    distance[:], is_final[:] = np.inf, False
    distance[source], heap[0], keys[0], size = 0.0, source, 0.0, 1
    while size > 0:
        node = heap[0]
        size = heap_drop(heap, keys, size)
        if is_final[node]:
            continue
        is_final[node] = True
        if excess[node] < 0:
            return int(node)
        for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
            arc, is_back = entry >> 1, entry & 1 == 1
            if is_used[arc] != is_back or costs[arc] == np.inf:
                continue
            other = pipes.tails[arc] if is_back else pipes.heads[arc]
            cost = -costs[arc] if is_back else costs[arc]
            # Reduced costs are nonnegative except for rounding.
            through = distance[node] + max(0.0, cost + potential[node] - potential[other])
            if not is_final[other] and through < distance[other]:
                distance[other], into[other] = through, entry
                heap[size], keys[size] = other, -through
                heap_rise(heap, keys, size)
                size += 1
    return -1


@kernel
def strip_cycles(pipes, is_used):
    """Remove used arcs that form cycles, including both directions of an edge."""
    n = pipes.offsets.shape[0] - 1
    arriving, stack, before = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    while True:
        arriving[:] = 0
        left = size = 0
        for arc in np.flatnonzero(is_used):
            arriving[pipes.heads[arc]] += 1
            left += 1
        for node in range(n):
            if arriving[node] == 0:
                stack[size] = node
                size += 1
        while size > 0:
            size -= 1
            node = stack[size]
            for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
                if entry & 1 == 0 and is_used[entry >> 1]:
                    head = pipes.heads[entry >> 1]
                    left -= 1
                    arriving[head] -= 1
                    if arriving[head] == 0:
                        stack[size] = head
                        size += 1
        if left == 0:
            return
        # Each remaining node with an arrival has one from another such node, so going backward leads to a
        # cycle.
        before[:] = -1
        node = int(np.argmax(arriving))
        while before[node] < 0:
            for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
                arc = entry >> 1
                if entry & 1 and is_used[arc] and arriving[pipes.tails[arc]] > 0:
                    before[node] = arc
            node = pipes.tails[before[node]]
        while is_used[before[node]]:
            is_used[before[node]] = False
            node = pipes.tails[before[node]]


class Tree(NamedTuple):
    """A spanning tree of the nodes and an additional root.

    Each node has its parent, the arc between them, its depth and its potential. The children of a node are a
    linked list.
    """

    parent: IntArray
    arc: IntArray
    depth: IntArray
    potential: IntArray
    child: IntArray
    after: IntArray
    before: IntArray


@lean_kernel
def _attach(tree, node, parent, arc):
    """Make `node` the first child of `parent`."""
    tree.parent[node], tree.arc[node] = parent, arc
    next_one = tree.child[parent]
    tree.after[node], tree.before[node] = next_one, -1
    if next_one >= 0:
        tree.before[next_one] = node
    tree.child[parent] = node


@lean_kernel
def _detach(tree, node):
    """Remove `node` from the children of its parent."""
    before, after = tree.before[node], tree.after[node]
    if before >= 0:
        tree.after[before] = after
    else:
        tree.child[tree.parent[node]] = after
    if after >= 0:
        tree.before[after] = before


@lean_kernel
def _settle(tree, tails, costs, top, stack):
    """Compute depths and potentials below `top`, so that the arcs of the tree have reduced cost 0."""
    stack[0], size = top, 1
    while size > 0:
        size -= 1
        node = stack[size]
        parent, arc = tree.parent[node], tree.arc[node]
        tree.depth[node] = tree.depth[parent] + 1
        cost = -costs[arc] if tails[arc] == node else costs[arc]
        tree.potential[node] = tree.potential[parent] + cost
        child = tree.child[node]
        while child >= 0:
            stack[size] = child
            size += 1
            child = tree.after[child]


@kernel
def capacitated_flow(tails, heads, costs, room, supply, flow):
    """Write the cheapest flow with ``0 <= flow <= room``; return whether a flow exists.

    All arrays are integer, so the method is exact. The trees are strongly feasible, so it ends (Cunningham
    1976; Ahuja, Magnanti, Orlin 1993, section 11.6). The last ``n`` arcs are artificial: the arc of a node
    leads to or from the root, and its cost exceeds that of every path.
    """
    n, m = supply.shape[0], flow.shape[0]
    total = m + n
    all_tails, all_heads = np.empty(total, np.int64), np.empty(total, np.int64)
    all_costs, cap, units = np.empty(total, np.int64), np.empty(total, np.int64), np.zeros(total, np.int64)
    state = np.ones(total, np.int64)
    all_tails[:m], all_heads[:m], all_costs[:m], cap[:m] = tails, heads, costs, room
    large = np.int64(1)
    for arc in range(m):
        large = max(large, abs(costs[arc]) + 1)
    large *= n + 1
    tree = Tree(
        np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64),
        np.full(n + 1, -1, np.int64),
    )
    stack = np.empty(n + 1, np.int64)
    for node in range(n):
        arc = m + node
        all_costs[arc], cap[arc], units[arc], state[arc] = large, np.int64(2) ** 62, abs(supply[node]), 0
        all_tails[arc], all_heads[arc] = (node, n) if supply[node] >= 0 else (n, node)
        _attach(tree, node, n, arc)
        _settle(tree, all_tails, all_costs, node, stack)
    block, at = max(16, int(np.sqrt(m))), 0
    while True:
        entering, at = _entering(tree, all_tails, all_heads, all_costs, state, m, block, at)
        if entering < 0:
            break
        _pivot(tree, all_tails, all_heads, all_costs, cap, units, state, entering, stack)
    for arc in range(m, total):
        if units[arc] > 0:
            return False
    flow[:] = units[:m]
    return True


@lean_kernel
def _entering(tree, tails, heads, costs, state, m, block, at):
    """Return the arc of the worst reduced cost in the first block that has one, and where to continue."""
    best, worst, looked = -1, 0, 0
    for _ in range(m):
        arc = at
        at = at + 1 if at + 1 < m else 0
        looked += 1
        reduced = state[arc] * (costs[arc] + tree.potential[tails[arc]] - tree.potential[heads[arc]])
        if reduced < worst:
            best, worst = arc, reduced
        if looked >= block:
            if best >= 0:
                break
            looked = 0
    return best, at


@lean_kernel
def _pivot(tree, tails, heads, costs, cap, units, state, entering, stack):
    """Send as many units as possible around the cycle that an arc closes, and exchange it for a full arc."""
    is_up = state[entering] == 1
    first = tails[entering] if is_up else heads[entering]
    second = heads[entering] if is_up else tails[entering]
    one, other = first, second
    while one != other:
        if tree.depth[one] >= tree.depth[other]:
            one = tree.parent[one]
        else:
            other = tree.parent[other]
    top = one
    # The last full arc in the direction of the cycle, from its top, leaves the tree.
    most, leaving, is_first = cap[entering], -1, False
    node = first
    while node != top:
        arc = tree.arc[node]
        left = cap[arc] - units[arc] if heads[arc] == node else units[arc]
        if left < most:
            most, leaving, is_first = left, node, True
        node = tree.parent[node]
    node = second
    while node != top:
        arc = tree.arc[node]
        left = cap[arc] - units[arc] if tails[arc] == node else units[arc]
        if left <= most:
            most, leaving, is_first = left, node, False
        node = tree.parent[node]
    if most > 0:
        units[entering] += most if is_up else -most
        node = first
        while node != top:
            arc = tree.arc[node]
            units[arc] += most if heads[arc] == node else -most
            node = tree.parent[node]
        node = second
        while node != top:
            arc = tree.arc[node]
            units[arc] += most if tails[arc] == node else -most
            node = tree.parent[node]
    if leaving < 0:
        state[entering] = -state[entering]
        return
    gone = tree.arc[leaving]
    state[gone] = 1 if units[gone] == 0 else -1
    state[entering] = 0
    node, parent = (first, second) if is_first else (second, first)
    moved, arc = node, entering
    while True:
        old_parent, old_arc = tree.parent[node], tree.arc[node]
        _detach(tree, node)
        _attach(tree, node, parent, arc)
        if node == leaving:
            break
        parent, arc, node = node, old_arc, old_parent
    _settle(tree, tails, costs, moved, stack)


class Flows(LinearOracle):
    """Sets of edges that carry one unit each from supply nodes to demand nodes, without cycles.

    A subclass calls `_complete`. The first `n_arms` arcs are the base arms. If edges are undirected, the next
    `n_arms` arcs are their other directions. Further arcs have cost 0.
    """

    is_undirected = False

    can_constrain = True
    has_membership = True
    edges: list[tuple[Hashable, ...]]

    def _complete(self, tails: IntArray, heads: IntArray, supply: IntArray, order: IntArray) -> None:
        """Set the arcs, the supply of each node, and a topological order of the nodes if one exists."""
        self.n_arms, self._names, self._order = len(self.edges), self.edges, order
        self._tails, self._heads, self._supply = tails, heads, supply
        arms = np.arange(len(tails))
        is_way = arms < self.n_arms * (1 + self.is_undirected)
        self._arms = np.where(is_way, arms % max(1, self.n_arms), -1)

    @cached_property
    def _pipes(self) -> Pipes:
        return pipes_of(self._tails, self._heads, len(self._supply))

    @property
    def is_acyclic(self) -> bool:
        """Whether the graph is directed and acyclic."""
        return len(self._order) > 0

    @property
    def least_mean(self) -> float:
        """0, or minus infinity if the graph is directed and acyclic, because costs may then have any sign."""
        return -np.inf if self.is_acyclic else 0.0

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether the edges carry the flow and no edge could be omitted."""
        # An acyclic flow is the only flow on its edges, because another flow would differ by cycles of these
        # edges.
        super_arm = self._check_entries(super_arm)
        carried = self._flow(np.where(_among(super_arm, self.n_arms), 0.0, np.inf))
        return carried is not None and len(carried) == len(super_arm)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the edges of the best flow, in increasing order."""
        best = self._flow(self._costs(means))
        assert best is not None, "the constructor checked that a flow exists"
        return best

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        """Return the best flow with all of `include` and none of `exclude`; None if no such flow exists.

        A nonempty `include` requires a directed acyclic graph, because the problem is hard on other graphs.

        Raises
        ------
        TypeError
            If `include` is not empty and the graph is undirected or has a cycle.
        """
        costs = self._costs(means)
        required, banned = self._check_constraints(include, exclude)
        if len(required) and not self.is_acyclic:
            raise TypeError("include must be empty unless graph is directed and acyclic")
        costs[banned] = np.inf
        return self._flow(costs, required)

    def _costs(self, means: FloatArray) -> FloatArray:
        return -self._sign * self._check_means(means, self.least_mean)

    def _flow(self, costs: FloatArray, forced: IntArray | None = None) -> IntArray | None:
        """Return the arms of the cheapest flow over edges of finite cost; None if there is no such flow."""
        is_used = self._used_arcs(costs, np.empty(0, np.int64) if forced is None else forced)
        if is_used is None:
            return None
        arms = self._arms[is_used]
        return np.unique(arms[arms >= 0])

    def _used_arcs(self, costs: FloatArray, forced: IntArray) -> BoolArray | None:
        from oracles.paths import shrink

        prices = np.where(self._arms >= 0, costs[self._arms], 0.0)
        shrink(prices, 4 * len(self._supply))
        # The unit of a required arc is already sent.
        prices[forced] = np.inf
        excess = self._supply.copy()
        np.subtract.at(excess, self._tails[forced], 1)
        np.add.at(excess, self._heads[forced], 1)
        is_used = np.empty(len(prices), bool)
        if not cheapest_flow(self._pipes, prices, excess, self._order, is_used):
            return None
        if not self.is_acyclic:
            strip_cycles(self._pipes, is_used)
        is_used[forced] = True
        return is_used


def _among(arms: IntArray, n_arms: int) -> BoolArray:
    is_among = np.zeros(n_arms, bool)
    is_among[arms] = True
    return is_among


class DisjointPaths(Flows):
    """The edges of `k` paths from `source` to `target` that share no edge, or no inner node. Exact.

    Base arm i is the i-th edge of ``graph.edges``. A super arm lists edges in increasing order; `paths`
    splits it into paths. It is a set of edges that contains k disjoint paths and would not do so without any
    one of its edges. With ``k=1`` these are the paths of `ShortestPath`. As there, costs must be nonnegative,
    except on directed acyclic graphs, where costs may have any sign and rewards can be maximised.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        A directed or undirected graph. Parallel edges are separate arms. Its weights are not used.
    source, target : node
        The start and the end of the paths.
    k : int
        The number of paths.
    disjoint : {"edges", "nodes"}
        Whether two paths must not share edges, or must not share inner nodes either.
    sense : {"min", "max"}
        Whether the means are costs or rewards; ``"max"`` requires a directed acyclic graph.

    Raises
    ------
    ValueError
        If a node is unknown, if source and target are equal, if there are fewer than k such paths, or if
        `sense` does not fit the graph. In `solve`, if a cost is negative and the graph is undirected or has a
        cycle.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import DisjointPaths
    >>> graph = nx.Graph([("a", "b"), ("a", "c"), ("b", "d"), ("b", "c"), ("c", "d")])
    >>> oracle = DisjointPaths(graph, "a", "d", k=2)
    >>> oracle.paths(oracle.solve(np.array([0.2, 0.3, 0.9, 0.1, 0.1]), np.random.default_rng(0)))
    [[('a', 'b'), ('b', 'd')], [('a', 'c'), ('c', 'd')]]

    References
    ----------
    J. W. Suurballe: Disjoint Paths in a Network, Networks 4 (1974). R. K. Ahuja, T. L. Magnanti, J. B. Orlin:
    Network Flows (1993), section 9.7; both from memory.
    """

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        source: Hashable,
        target: Hashable,
        *,
        k: int = 2,
        disjoint: Literal["edges", "nodes"] = "edges",
        sense: Sense = "min",
    ) -> None:
        number, self.edges, tails, heads = network = network_of(graph)
        start, end = end_numbers(source, target, number)
        self.source, self.target, self.k = source, target, integer("k", k, 1)
        self.disjoint = one_of("disjoint", disjoint, ("edges", "nodes"))
        self.sense, order = _sense_and_order(graph, sense, network)
        self._n_nodes, self._is_directed = len(number), graph.is_directed()
        self._end = end
        if not self._is_directed:
            tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        if disjoint == "nodes":
            # Split v into two nodes joined by one free arc, so that at most one path uses v.
            n, between = len(number), np.setdiff1d(np.arange(len(number)), [start, end])
            start += n
            tails, heads = np.concatenate([tails + n, between]), np.concatenate([heads, between + n])
            order = np.column_stack([order, order + n]).reshape(-1)
        supply = np.zeros(len(number) * (1 + (disjoint == "nodes")), np.int64)
        # No more units than edges can leave. This also limits the size of the array.
        carried = min(self.k, len(self.edges) + 1)
        supply[start], supply[end] = carried, -carried
        self._complete(tails, heads, supply, order)
        if not self.edges or self._flow(np.zeros(self.n_arms)) is None:
            raise ValueError(
                f"graph must have k={k} paths from {shown(source)} to {shown(target)} without common"
                f" {disjoint}, got {graph}, which has fewer"
            )

    def __repr__(self) -> str:
        return described(self, n_nodes=self._n_nodes)

    @property
    def is_undirected(self) -> bool:  # type: ignore[override]
        return not self._is_directed

    @property
    def max_size(self) -> int:
        """A bound: each path visits each node at most once; node-disjoint paths do so together."""
        longest = self._n_nodes - 2 + self.k if self.disjoint == "nodes" else self.k * (self._n_nodes - 1)
        return min(self.n_arms, longest)

    def paths(self, super_arm: IntArray) -> list[list[Hashable]]:
        """Return the paths, each as a list of its edges in order.

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            A super arm of the family.

        Returns
        -------
        list of list
            The k paths. If only edges are disjoint, other paths with the same edges may exist.
        """
        chosen = check_super_arm(self, super_arm)
        costs = np.full(self.n_arms, np.inf)
        costs[chosen] = 0.0
        is_used = self._used_arcs(costs, chosen[:0])
        assert is_used is not None, "the super arm is feasible"
        onward: dict[int, list[int]] = {}
        for arc in np.flatnonzero(is_used)[::-1].tolist():
            onward.setdefault(int(self._tails[arc]), []).append(arc)
        start = int(np.argmax(self._supply))
        return [self._one_path(onward, start) for _ in range(self.k)]

    def _one_path(self, onward: dict[int, list[int]], node: int) -> list[Hashable]:
        """Remove the arcs of one path from `node` to the target from `onward`, and return its edges."""
        path = []
        while node != self._end:
            arc = onward[node].pop()
            node = int(self._heads[arc])
            if self._arms[arc] >= 0:
                path.append(self.edges[self._arms[arc]])
        return path


class MinCostFlow(Flows):
    """The sets of arcs that carry integral flow from supply nodes to demand nodes. Exact.

    Base arm i is the i-th arc of ``graph.edges`` and carries at most one unit. A super arm lists the arcs
    that carry one unit, in increasing order. Its reward is the sum of their means, the cost of the flow. It
    has no directed cycle. A set of arcs cannot represent two units on one arc: `CapacitatedFlow` supports
    larger capacities, and parallel arcs of a `networkx.MultiDiGraph` are separate base arms.

    Costs must be nonnegative, except on acyclic graphs, where costs may have any sign and rewards can be
    maximised.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph or DirectedGraph
        The graph. Its weights and capacities are not used.
    demand : mapping or str
        The inflow minus the outflow of each node, as in networkx: negative for a source, 0 for nodes that are
        omitted. Either the name of a node attribute or a mapping from nodes to integers. The sum must be 0.
    sense : {"min", "max"}
        Whether the means are costs or rewards; ``"max"`` requires an acyclic graph.

    Raises
    ------
    ValueError
        If the graph is undirected, if the demands are not integers, do not sum to 0 or cannot be satisfied,
        or if `sense` does not fit the graph. In `solve`, if a cost is negative and the graph has a cycle.

    Examples
    --------
    Two vans and two shops:

    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import MinCostFlow
    >>> graph = nx.DiGraph([("x", "hub"), ("hub", "s"), ("hub", "t"), ("y", "hub"), ("y", "s")])
    >>> oracle = MinCostFlow(graph, {"x": -1, "y": -1, "s": 1, "t": 1})
    >>> oracle.labels(oracle.solve(np.array([0.1, 0.2, 0.3, 0.1, 0.9]), np.random.default_rng(0)))
    [('x', 'hub'), ('hub', 's'), ('hub', 't'), ('y', 'hub')]

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin: Network Flows (1993), section 9.7; from memory.
    """

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        demand: Mapping[Hashable, int] | str = "demand",
        *,
        sense: Sense = "min",
    ) -> None:
        number, self.edges, tails, heads = network = network_of(graph)
        if not graph.is_directed() or not self.edges:
            raise ValueError(f"graph must be directed and have an arc, got {graph}")
        supply, most = -demands_of(graph, demand, number), len(self.edges)
        if not supply.any() or np.abs(supply).max() > most:
            raise ValueError(
                f"demand must be positive somewhere and at most the {most} arcs, got {shown(demand)}"
            )
        self.sense, order = _sense_and_order(graph, sense, network)
        self._complete(tails, heads, supply, order)
        if self._flow(np.zeros(self.n_arms)) is None:
            raise ValueError(f"demand must be satisfiable with arcs of capacity 1, got {shown(demand)}")

    def __repr__(self) -> str:
        return described(self, n_nodes=len(self._supply), units=self._units)

    @property
    def _units(self) -> int:
        return int(self._supply[self._supply > 0].sum())

    @property
    def max_size(self) -> int:
        """A bound: each unit visits each node at most once."""
        return min(self.n_arms, self._units * (len(self._supply) - 1))


def _sense_and_order(
    graph: nx.Graph[Any] | DirectedGraph, sense: Sense, network: Network
) -> tuple[Sense, IntArray]:
    """Return the sense, if it fits the graph, and a topological order of the nodes (empty if none exists)."""
    order = np.empty(0, np.int64)
    if graph.is_directed():
        order = topological_order(network.tails, network.heads, len(network.number))
    if one_of("sense", sense, ("min", "max")) == "max" and not len(order):
        raise ValueError(f"sense must be 'min' unless graph is directed and acyclic, got 'max' for {graph}")
    return sense, order


# The costs are rounded to integers of so many bits, less the bits of the number of nodes.
_BITS = 58
_MOST_UNITS = 2**53


class CapacitatedFlow(Oracle):
    """The integral flows that satisfy all demands on arcs with capacities and lower bounds. Exact.

    Base arm i is the i-th arc of ``graph.edges``; its mean is the cost (or reward) of one unit on it. An
    entry of a super arm is a pair of an arc and a number of units: entry ``offsets[i] + u - 1`` sends u units
    over arc i. A super arm has one entry for each arc with flow, in increasing order; `units` returns the
    units of each arc. The reward is the sum of the means times the units. `MinCostFlow` is the special case
    of capacity 1, whose super arms are sets of arcs.

    The means may have any sign. Costs are rounded to multiples of about ``2**-57 * n_nodes`` times the
    largest cost (in absolute value), and the rounded problem is solved exactly.

    Parameters
    ----------
    graph : networkx.DiGraph, networkx.MultiDiGraph or DirectedGraph
        The graph.
    demand : mapping or str
        The inflow minus the outflow of each node, as in networkx: negative for a source, 0 for nodes that are
        omitted. Either the name of a node attribute or a mapping from nodes to integers. The sum must be 0.
    capacity, lower : str, int or array_like of int, shape (n_arms,)
        The largest and the least number of units on each arc: the name of an edge attribute, one number, or a
        number for each arc. An arc without the attribute has no lower bound, and the total demand plus the
        lower bounds as its capacity. Only the attribute of the default name may be absent from all arcs.
    sense : {"min", "max"}
        Whether the means are costs or rewards.

    Attributes
    ----------
    capacity, lower : IntArray, shape (n_arms,)
        The bounds of each arc.
    offsets : IntArray, shape (n_arms + 1,)
        The first entry of each arc; the last number is `n_choices`.

    Raises
    ------
    ValueError
        If the graph is undirected or has no arc, if the demands are not integers or do not sum to 0, if a
        lower bound is negative or above the capacity, if no arc has the attribute that `capacity` or `lower`
        names, or if no flow satisfies the demands.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import CapacitatedFlow
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("plant", "shop", capacity=2)
    >>> graph.add_edge("plant", "depot", capacity=5)
    >>> graph.add_edge("depot", "shop", capacity=5)
    >>> oracle = CapacitatedFlow(graph, {"plant": -4, "shop": 4})
    >>> flow = oracle.solve(np.array([0.5, 0.25, 0.5]), np.random.default_rng(0))
    >>> oracle.labels(flow), oracle.expected_reward(flow, np.array([0.5, 0.25, 0.5]))
    ([(('plant', 'shop'), 2), (('plant', 'depot'), 2), (('depot', 'shop'), 2)], 2.5)

    References
    ----------
    R. K. Ahuja, T. L. Magnanti, J. B. Orlin: Network Flows (1993), chapter 11; W. H. Cunningham: A Network
    Simplex Method, Mathematical Programming 11 (1976); both from memory.
    """

    has_membership = True

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        demand: Mapping[Hashable, int] | str = "demand",
        *,
        capacity: str | int | ArrayLike = "capacity",
        lower: str | int | ArrayLike = "lower",
        sense: Sense = "min",
    ) -> None:
        number, self.edges, self._tails, self._heads = network_of(graph)
        if not graph.is_directed() or not self.edges:
            raise ValueError(f"graph must be directed and have an arc, got {graph}")
        self.sense, self.n_arms = one_of("sense", sense, ("min", "max")), len(self.edges)
        self._supply = -demands_of(graph, demand, number)
        total = int(self._supply[self._supply > 0].sum())
        self.lower = self._bound("lower", lower, graph, 0)
        self.capacity = self._bound("capacity", capacity, graph, total + int(self.lower.sum()))
        wrong = np.flatnonzero(self.lower > self.capacity)
        if len(wrong):
            arc = int(wrong[0])
            raise ValueError(
                f"lower must be at most capacity, got {self.lower[arc]} > {self.capacity[arc]} for arc"
                f" {self.edges[arc]!r}"
            )
        self.offsets = np.concatenate([[0], np.cumsum(self.capacity)])
        # With equal costs of 0, the method would need more steps.
        if self._flow(np.ones(self.n_arms)) is None:
            raise ValueError(f"demand must be satisfiable within the capacities, got {shown(demand)}")

    def _bound(self, name: str, given: str | int | ArrayLike, graph: Any, missing: int) -> IntArray:
        """Return the bounds of all arcs."""
        if isinstance(given, str):
            edges = list(graph.edges(data=True)) if hasattr(graph, "edges") else []
            # The attribute of the default name is optional. Another name that no edge has is an error.
            if given != name and not any(given in edge[-1] for edge in edges):
                raise ValueError(f"{name} must be the name of an attribute of an edge, got {shown(given)}")
            given = [edge[-1].get(given, missing) for edge in edges] or [missing] * self.n_arms
        elif as_array(name, given).ndim == 0:
            given = np.full(self.n_arms, integer(name, given, 0, _MOST_UNITS))
        values = vector(name, given, self.n_arms, 0.0, _MOST_UNITS)
        if (values != np.rint(values)).any():
            raise ValueError(f"{name} must contain integers, got {shown(values)}")
        if values.sum() > _MOST_UNITS:
            raise ValueError(f"{name} must sum to at most 2^53 units, got {values.sum():.3g}")
        return values.astype(np.int64)

    def __repr__(self) -> str:
        units = int(self._supply[self._supply > 0].sum())
        return described(self, n_nodes=len(self._supply), units=units)

    @property
    def n_choices(self) -> int:
        return int(self.offsets[-1])

    @property
    def max_size(self) -> int:
        """The number of arcs."""
        return self.n_arms

    def units(self, super_arm: IntArray) -> IntArray:
        """Return the number of units on each arc, shape (n_arms,).

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            A super arm of the family.
        """
        entries = check_super_arm(self, super_arm)
        arcs = self._arcs(entries)
        units = np.zeros(self.n_arms, np.int64)
        units[arcs] = entries - self.offsets[arcs] + 1
        return units

    def super_arm_of(self, units: ArrayLike) -> IntArray:
        """Return the super arm that sends `units` over the arcs, the inverse of `units`.

        Parameters
        ----------
        units : array_like of int, shape (n_arms,)
            The number of units on each arc, at most its capacity.
        """
        numbers = vector("units", units, self.n_arms, 0.0)
        if (numbers > self.capacity).any():
            raise ValueError(f"units must be at most the capacities, got {shown(numbers.tolist())}")
        if (numbers != np.rint(numbers)).any():
            raise ValueError(f"units must contain integers, got {shown(numbers.tolist())}")
        given = numbers.astype(np.int64)
        used = np.flatnonzero(given)
        entries: IntArray = self.offsets[used] + given[used] - 1
        return entries

    def _arcs(self, entries: IntArray) -> IntArray:
        return np.searchsorted(self.offsets, entries, side="right") - 1

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        """Return the arc and the number of units of each entry."""
        super_arm = self._check_entries(super_arm)
        arcs = self._arcs(super_arm)
        counts = (super_arm - self.offsets[arcs] + 1).tolist()
        return [(self.edges[arc], count) for arc, count in zip(arcs, counts, strict=True)]

    def _arm_labels(self) -> list[Hashable]:
        """Return the arcs."""
        return list(self.edges)

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return the sum of the means of the arcs times their units; infinite beyond the largest float."""
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        arcs = self._arcs(super_arm)
        with np.errstate(over="ignore"):
            return float((means[arcs] * (super_arm - self.offsets[arcs] + 1)).sum())

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the arcs with flow."""
        super_arm = self._check_entries(super_arm)
        return np.unique(self._arcs(super_arm))

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether the entries are a flow that satisfies the demands and the bounds."""
        super_arm = self._check_entries(super_arm)
        arcs = self._arcs(super_arm)
        if len(np.unique(arcs)) < len(arcs):
            return False
        units = np.zeros(self.n_arms, np.int64)
        units[arcs] = super_arm - self.offsets[arcs] + 1
        balance = self._supply.copy()
        np.subtract.at(balance, self._tails, units)
        np.add.at(balance, self._heads, units)
        return bool((units >= self.lower).all() and (balance == 0).all())

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the best flow, its entries in increasing order."""
        units = self._flow(-self._sign * self._check_means(means))
        assert units is not None, "the constructor checked that a flow exists"
        return self.super_arm_of(units)

    def _flow(self, costs: FloatArray) -> IntArray | None:
        """Return the units on each arc of a cheapest flow; None if there is no flow."""
        n = len(self._supply)
        exponent = _BITS - n.bit_length() - int(np.frexp(np.abs(costs).max(initial=0.0))[1])
        whole = np.rint(np.ldexp(costs, exponent)).astype(np.int64)
        supply, units = self._supply.copy(), np.empty(self.n_arms, np.int64)
        np.subtract.at(supply, self._tails, self.lower)
        np.add.at(supply, self._heads, self.lower)
        room = self.capacity - self.lower
        if not capacitated_flow(self._tails, self._heads, whole, room, supply, units):
            return None
        return units + self.lower


def demands_of(
    graph: nx.Graph[Any] | DirectedGraph, demand: Mapping[Hashable, int] | str, number: dict[Hashable, int]
) -> IntArray:
    """Return the demand of each node; raise ``ValueError`` unless they are integers that sum to 0."""
    nodes: Any = getattr(graph, "nodes", None)
    named = dict(nodes(data=demand, default=0)) if nodes and isinstance(demand, str) else demand
    if not isinstance(named, Mapping):
        raise ValueError(f"demand must be a mapping or the name of a node attribute, got {shown(demand)}")
    demands = np.zeros(len(number), np.int64)
    for node, units in named.items():
        place = node_number("demand", node, number)
        demands[place] = integer(f"demand of {node!r}", units, -_MOST_UNITS, _MOST_UNITS)
    if demands.sum() != 0:
        raise ValueError(f"demand must sum to 0, got {shown(named)}")
    return demands
