"""Matroids: their greedy algorithm and exchanges.

The matroids are spanning forests, capacities of all arms, of disjoint classes or of nested sets, linearly
independent columns, and arms that can be matched to different sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import Kernel, kernel, lean_kernel, solve_kernel
from cmab.oracle import LinearOracle, Sense
from cmab.parameters import described
from cmab.selection import descending_order
from cmab.validation import arm_indices, integer, listed, one_of, real, real_array, shown
from oracles._networks import GraphInput, network_of
from oracles.top_k import TopK


@lean_kernel
def laminar_greedy(order, innermost, parent, room, left, taken):
    """Write 1 to `taken` for the chosen arms and 0 otherwise; `left` is scratch of the length of `room`.

    Each chosen arm reduces the room of its innermost set and of all sets that contain it.
    """
    taken[:] = 0
    for s in range(room.shape[0]):  # copying a slice takes seconds to compile
        left[s] = room[s]
    for arm in order:
        s = innermost[arm]
        # An arm fits if all sets that contain it have room. They are nested, so one walk outward checks them
        # all.
        while s >= 0 and left[s] > 0:
            s = parent[s]
        # The walk ends outside the outermost set (s = -1) if no set was full.
        if s >= 0:
            continue
        taken[arm] = 1
        s = innermost[arm]
        while s >= 0:
            left[s] -= 1
            s = parent[s]


@lean_kernel
def _find(root, node):
    """Return the representative of the component of `node`, with path halving."""
    while root[node] != node:
        root[node] = root[root[node]]
        node = root[node]
    return node


@lean_kernel
def single_nodes(root, size, taken):
    """Write the components of a graph without edges."""
    taken[:] = 0
    for node in range(root.shape[0]):
        root[node], size[node] = node, 1


@kernel
def crossing(edges, tails, heads, root):
    """Return the edges between different components."""
    found, count = np.empty(edges.shape[0], np.int64), 0
    for edge in edges:
        found[count] = edge
        count += _find(root, tails[edge]) != _find(root, heads[edge])
    return found[:count]


@lean_kernel
def kruskal(order, tails, heads, root, size, taken):
    """Write 1 to `taken` for each edge that joins two components when added in this order.

    `root` and `size` have the components before and after, one entry per node: see `single_nodes`.
    """
    for edge in order:
        u, v = _find(root, tails[edge]), _find(root, heads[edge])
        if u == v:
            continue
        # Attach the smaller tree to the larger one: with path halving, a search takes nearly constant time.
        if size[u] < size[v]:
            u, v = v, u
        root[v] = u
        size[u] += size[v]
        taken[edge] = 1
        if size[u] == size.shape[0]:
            break


@kernel
def search(start, offsets, sets, holder, reached_by, seen, queue):
    """Search alternating paths from an arm to a set without a holder, through sets not yet in `seen`.

    Return that set (-1 if no set is reached) and the number of arms reached; these arms are in `queue`.
    """
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        arm = queue[head]
        head += 1
        for i in range(offsets[arm], offsets[arm + 1]):
            s = sets[i]
            if seen[s]:
                continue
            seen[s] = True
            reached_by[s] = arm
            # A free set: the path to it alternates between sets not held and sets held.
            if holder[s] < 0:
                return s, tail
            queue[tail] = holder[s]
            tail += 1
    return -1, tail


@kernel
def transversal_greedy(order, offsets, sets, holder):
    """Return which arms are chosen, and write the representative of each set to `holder` (-1 at first).

    Sets seen by a failed search are not searched again. Their holders reach no other set, and later exchanges
    do not change this. So all failed searches together take one pass over the sets of all arms.
    """
    n_arms, n_sets = offsets.shape[0] - 1, holder.shape[0]
    taken = np.zeros(n_arms, np.bool_)
    held = np.full(n_arms, -1, np.int64)
    reached_by = np.empty(n_sets, np.int64)
    queue = np.empty(n_sets + 1, np.int64)
    closed = np.zeros(n_sets, np.bool_)
    for start in order:
        seen = closed.copy()
        s, _ = search(start, offsets, sets, holder, reached_by, seen, queue)
        if s < 0:
            closed = seen
            continue
        taken[start] = True
        while s >= 0:  # pass the sets along the path to the start, which held none
            arm = reached_by[s]
            holder[s] = arm
            held[arm], s = s, held[arm]
    return taken


@lean_kernel
def _best_first(means, sign, reals, order, scratch):
    """Write the arms from best to worst mean to `order`, and the signed means to `reals`."""
    for i in range(means.shape[0]):
        # The product is exact because the sign is 1 or -1, so ties remain ties.
        reals[i] = sign * means[i]
    descending_order(reals, order, scratch)


@lean_kernel
def _write(taken, out):
    """Write the chosen arms in increasing order; return their number."""
    # The marks are in the order of the arms, so no sorting is needed.
    size = 0
    for arm in range(taken.shape[0]):
        if taken[arm]:
            out[size] = arm
            size += 1
    return size


@solve_kernel
def solve_laminar(means, integers, reals, out):
    """Solve; `integers`: sign, sets, order, scratch, innermost (m each), parent, room, scratch (sets)."""
    m, sign, n = means.shape[0], integers[0], integers[1]
    order, taken, rest = integers[2 : 2 + m], integers[2 + m : 2 + 2 * m], integers[2 + 2 * m :]
    innermost, sets = rest[:m], rest[m:]
    # The sort uses `taken` as scratch space first.
    _best_first(means, sign, reals, order, taken)
    laminar_greedy(order, innermost, sets[:n], sets[n : 2 * n], sets[2 * n :], taken)
    return _write(taken, out)


@solve_kernel
def solve_graphic(means, integers, reals, out):
    """Solve; `integers`: sign, nodes, order, scratch, tails, heads (m each), scratch (twice the nodes)."""
    m, sign, n = means.shape[0], integers[0], integers[1]
    order, taken, rest = integers[2 : 2 + m], integers[2 + m : 2 + 2 * m], integers[2 + 2 * m :]
    _best_first(means, sign, reals, order, taken)
    nodes = rest[2 * m :]
    single_nodes(nodes[:n], nodes[n:], taken)
    kruskal(order, rest[:m], rest[m : 2 * m], nodes[:n], nodes[n:], taken)
    return _write(taken, out)


def packed(sign: float, number: int, n_arms: int, *parts: IntArray, scratch: int) -> IntArray:
    """Return the `integers` argument of these kernels."""
    # The scratch space is at known positions of this array, so a call allocates no array.
    own, last = np.zeros(2 * n_arms, np.int64), np.zeros(scratch, np.int64)
    return np.concatenate([np.array([sign, number], np.int64), own, *parts, last])


class Matroid(LinearOracle):
    """The bases of a matroid, given by an independence test. Exact, by the greedy algorithm.

    A super arm is a *basis*, i.e. an independent set to which no arm can be added. So every super arm has
    `rank` arms, and it includes arms of negative or zero mean if a basis needs them. Ties go to the lower
    index, so with equal means the answer is the lexicographically first basis.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1.
    is_independent : callable
        A function that takes distinct arms as an int64 array, in any order, and returns whether they are
        independent. The empty set and every subset of an independent set must be independent. Of two
        independent sets of different sizes, some arm of the larger must extend the smaller to an independent
        set. The constructor does not check this; `cmab.testing.check_oracle` detects most families that are
        not matroids, because greedy fails on them.
    sense : {"max", "min"}
        Whether to return the basis of largest or of smallest weight.

    Attributes
    ----------
    rank : int
        The number of arms in each super arm.

    Examples
    --------
    At most one arm of each pair, and at most two in total:

    >>> import numpy as np
    >>> from oracles import Matroid
    >>> oracle = Matroid(6, lambda arms: len(arms) <= 2 and len(set(arms // 2)) == len(arms))
    >>> oracle.rank
    2
    >>> oracle.solve(np.array([0.9, 0.8, 0.1, 0.2, 0.7, 0.3]), np.random.default_rng(0))
    array([0, 4])

    References
    ----------
    J. Edmonds: Matroids and the greedy algorithm, Mathematical Programming 1 (1971).
    """

    can_constrain = True
    has_membership = True
    rank: int

    def __init__(
        self, n_arms: int, is_independent: Callable[[IntArray], bool], *, sense: Sense = "max"
    ) -> None:
        if not callable(is_independent):
            raise ValueError(f"is_independent must be callable, got {shown(is_independent)}")
        if not is_independent(np.empty(0, np.int64)):
            raise ValueError("is_independent must return True for the empty set, got False")
        self._test = is_independent
        self._complete(n_arms, sense)

    # A subclass defines `_greedy` and `_circuits`, and ends its constructor with `_complete`.

    def _complete(self, n_arms: int, sense: Sense) -> None:
        """Set the attributes that all matroids share."""
        self.n_arms = integer("n_arms", n_arms, 1)
        self.sense = one_of("sense", sense, ("max", "min"))
        self.rank = len(self._greedy(np.arange(self.n_arms)))

    def _greedy(self, order: IntArray) -> IntArray:
        """Return, in increasing order, the arms of `order` that extend the arms chosen before them."""
        taken = np.empty(len(order), np.int64)
        size = 0
        for arm in order:
            taken[size] = arm
            size += bool(self._test(taken[: size + 1].copy()))
        return np.sort(taken[:size])

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        """Return a function from an arm that cannot extend `independent` to the arms that it can replace."""

        def circuit(arm: int) -> IntArray:
            swapped = (np.where(independent == out, arm, independent) for out in independent)
            replaceable: IntArray = independent[np.array([self._test(arms) for arms in swapped], bool)]
            return replaceable

        return circuit

    def __repr__(self) -> str:
        return described(self, rank=self.rank)

    @property
    def max_size(self) -> int:
        return self.rank

    def is_independent(self, arms: ArrayLike) -> bool:
        """Return whether the distinct `arms` are independent, i.e. part of a super arm."""
        chosen = arm_indices("arms", arms, self.n_arms)
        return len(self._greedy(chosen)) == len(chosen)

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return len(super_arm) == self.rank and self.is_independent(super_arm)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the best basis in increasing order of index."""
        return self._greedy(self._order(self._check_means(means)))

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        required, banned = self._check_constraints(include, exclude)
        order = self._order(self._check_means(means))
        free = order[~np.isin(order, np.concatenate((required, banned)))]
        basis = self._greedy(np.concatenate((required, free)))
        return basis if len(basis) == self.rank and np.isin(required, basis).all() else None

    def gaps(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Return the optimum and the loss of moving each arm to the other side, computed by exchanges.

        The best basis with an arm on the other side is one exchange away from the optimum.
        """
        required, banned = self._check_constraints(include, exclude)
        best = self._optimum(means, required, banned, rng)
        values = np.asarray(means, np.float64)
        order, gaps = self._order(values), np.full(self.n_arms, np.inf)
        position = np.empty(self.n_arms, np.int64)
        position[order] = np.arange(self.n_arms)
        fixed = np.zeros(self.n_arms, bool)
        fixed[required] = True
        circuit = self._circuits(best)
        for arm in order[~np.isin(order, np.concatenate((best, banned)))]:  # the best outside arm first
            replaceable = circuit(arm)
            replaceable = replaceable[~fixed[replaceable]]
            if len(replaceable):
                worst = replaceable[np.argmax(position[replaceable])]
                gaps[arm] = abs(values[arm] - values[worst])
                # The partner of an arm of the optimum is the first arm that can replace it.
                rest = replaceable[np.isinf(gaps[replaceable])]
                gaps[rest] = np.abs(values[rest] - values[arm])
        return best, gaps

    def _order(self, values: FloatArray) -> IntArray:
        """Return the arms from best to worst; ties go to the lower index."""
        return np.argsort(-values if self.sense == "max" else values, kind="stable")


#: Graphs with fewer edges are sorted at once.
_FEW_EDGES = 10_000


class GraphicMatroid(Matroid):
    """The spanning forests of an undirected graph, or its spanning trees if it is connected. Exact.

    Base arm i is the i-th edge of ``graph.edges``; parallel edges of a multigraph are separate arms. A
    self-loop is an arm that is in no super arm. The oracle uses Kruskal's algorithm with union-find.

    Parameters
    ----------
    graph : networkx.Graph, networkx.MultiGraph, array_like or sparse matrix
        A graph with at least one edge. Its weights are not used. An integer array of shape (n_arms, 2) has
        the numbers of both ends of each edge. The edges of a symmetric sparse matrix are its entries on and
        above the diagonal, row by row.
    sense : {"max", "min"}
        Whether to return the maximum or the minimum spanning forest.

    Attributes
    ----------
    edges : list of tuple
        The edge of each arm: (u, v), or (u, v, key) for a multigraph.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import GraphicMatroid
    >>> oracle = GraphicMatroid(nx.cycle_graph(["a", "b", "c"]), sense="min")
    >>> tree = oracle.solve(np.array([0.1, 0.9, 0.3]), np.random.default_rng(0))
    >>> oracle.labels(tree)
    [('a', 'b'), ('b', 'c')]

    References
    ----------
    J. B. Kruskal: On the shortest spanning subtree of a graph and the traveling salesman problem,
    Proceedings of the AMS 7 (1956).
    """

    is_undirected = True

    def __init__(self, graph: GraphInput, sense: Sense = "max") -> None:
        number, self.edges, self._tails, self._heads = network_of(graph, undirected=True)
        self._names = self.edges
        self._n_nodes = len(number)
        self._complete(len(self.edges), sense)

    def kernel(self) -> Kernel:
        integers = packed(
            self._sign, self._n_nodes, self.n_arms, self._tails, self._heads, scratch=2 * self._n_nodes
        )
        return Kernel(solve_graphic, integers, np.empty(self.n_arms))

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the best forest in increasing order of index.

        On large graphs, most edges are within a component of the best edges, and are never sorted
        (filter-Kruskal; Osipov, Sanders, Singler 2009).
        """
        values, (root, size, taken) = self._sign * self._check_means(means), self._scratch()
        rest, most = np.arange(self.n_arms), max(_FEW_EDGES, 2 * self._n_nodes)
        while len(rest):
            best, rest = rest, rest[:0]
            if len(best) > 2 * most:
                # Edges as good as the last of the best ones are among them, so ties go to the lower index.
                own = values[best]
                is_good = own >= np.partition(own, len(own) - most)[len(own) - most]
                best, rest = best[is_good], best[~is_good]
            order = best[np.argsort(-values[best], kind="stable")]
            kruskal(order, self._tails, self._heads, root, size, taken)
            rest = crossing(rest, self._tails, self._heads, root)
        return np.flatnonzero(taken)

    def _scratch(self) -> tuple[IntArray, IntArray, IntArray]:
        root, size = np.empty((2, self._n_nodes), np.int64)
        taken = np.empty(self.n_arms, np.int64)
        single_nodes(root, size, taken)
        return root, size, taken

    def _greedy(self, order: IntArray) -> IntArray:
        root, size, taken = self._scratch()
        kruskal(order, self._tails, self._heads, root, size, taken)
        return np.flatnonzero(taken)

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        neighbours: dict[int, list[tuple[int, int]]] = {}
        for edge in independent.tolist():
            u, v = int(self._tails[edge]), int(self._heads[edge])
            neighbours.setdefault(u, []).append((v, edge))
            neighbours.setdefault(v, []).append((u, edge))
        # The parent of each node, the edge to the parent, and the depth.
        rooted: dict[int, tuple[int, int, int]] = {}
        for root in neighbours:
            queue = [] if root in rooted else [root]
            rooted.setdefault(root, (root, -1, 0))
            for node in queue:
                for other, edge in neighbours[node]:
                    if other not in rooted:
                        rooted[other] = node, edge, rooted[node][2] + 1
                        queue.append(other)

        def circuit(arm: int) -> IntArray:
            u, v, path = int(self._tails[arm]), int(self._heads[arm]), []
            while u != v:
                # The deeper end moves up, so the two ends meet at their lowest common ancestor.
                if rooted[u][2] < rooted[v][2]:
                    u, v = v, u
                path.append(rooted[u][1])
                u = rooted[u][0]
            return np.array(path, np.int64)

        return circuit


class UniformMatroid(TopK, Matroid):
    """Super arms of exactly `k` arms: `TopK` with the methods of a matroid. Exact.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1.
    k : int
        The size of a super arm, in ``[0, n_arms]``.
    sense : {"max", "min"}
        Whether the k largest or the k smallest means are selected.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import UniformMatroid
    >>> oracle = UniformMatroid(4, k=2)
    >>> means = np.array([0.2, 0.9, 0.5, 0.6])
    >>> oracle.solve(means, np.random.default_rng(0))
    array([1, 3])
    >>> oracle.is_independent([0, 2])
    True
    """

    def __init__(self, n_arms: int, k: int, *, sense: Sense = "max") -> None:
        self.k = integer("k", k, 0, integer("n_arms", n_arms, 1))
        self._complete(n_arms, sense)

    def _greedy(self, order: IntArray) -> IntArray:
        return np.sort(order[: self.k])

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        return lambda arm: independent


class LaminarMatroid(Matroid):
    """At most a given number of arms of each set, where sets are disjoint or nested. Exact.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1. Arms that are in no set are in every super arm.
    sets : iterable of (array_like of int, int)
        The distinct arms of each set, and its capacity, at least 0. Any two sets must be disjoint or nested.
    sense : {"max", "min"}
        Whether to return the basis of largest or of smallest weight.

    Examples
    --------
    At most two of the first three arms and at most three of all five:

    >>> import numpy as np
    >>> from oracles import LaminarMatroid
    >>> oracle = LaminarMatroid(5, [([0, 1, 2], 2), (range(5), 3)])
    >>> oracle.solve(np.array([0.9, 0.8, 0.7, 0.2, 0.1]), np.random.default_rng(0))
    array([0, 1, 3])
    """

    def __init__(
        self, n_arms: int, sets: Iterable[tuple[ArrayLike | Set[int], int]], *, sense: Sense = "max"
    ) -> None:
        n_arms = integer("n_arms", n_arms, 1)
        pairs = []
        for i, pair in enumerate(listed("sets", sets, "pairs")):
            if len(given := listed(f"sets[{i}]", pair, "arms and capacity")) != 2:
                raise ValueError(f"sets[{i}] must be a pair of arms and capacity, got {shown(pair)}")
            arms = arm_indices(f"sets[{i}][0]", given[0], n_arms)
            pairs.append((arms, _capacity(f"sets[{i}][1]", given[1])))
        pairs.sort(key=lambda pair: -len(pair[0]))
        self._set_up([arms for arms, _ in pairs], [capacity for _, capacity in pairs], n_arms, sense)

    def _set_up(self, members: list[IntArray], capacities: list[int], n_arms: int, sense: Sense) -> None:
        """Build the tree of the sets, given from the largest to the smallest."""
        self._members = members
        self._room = np.array([min(capacity, n_arms) for capacity in capacities], np.int64)
        self._innermost = np.full(n_arms, -1, np.int64)
        self._parent = np.full(len(members), -1, np.int64)
        for s, arms in enumerate(members):
            around = self._innermost[arms]
            if len(arms) and (around != around[0]).any():
                raise ValueError(
                    f"sets must be disjoint or nested, got {shown(arms.tolist())}, which overlaps another set"
                )
            self._parent[s] = around[0] if len(arms) else -1
            self._innermost[arms] = s
        self._complete(n_arms, sense)

    def __repr__(self) -> str:
        return described(self, rank=self.rank, sets=len(self._members))

    def kernel(self) -> Kernel:
        sets = (self._innermost, self._parent, self._room)
        integers = packed(self._sign, len(self._members), self.n_arms, *sets, scratch=len(self._members))
        return Kernel(solve_laminar, integers, np.empty(self.n_arms))

    def _greedy(self, order: IntArray) -> IntArray:
        taken, scratch = np.empty(self.n_arms, np.int64), np.empty_like(self._room)
        laminar_greedy(order, self._innermost, self._parent, self._room, scratch, taken)
        return np.flatnonzero(taken)

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        inside: list[IntArray] = [arms[np.isin(arms, independent)] for arms in self._members]
        room = self._room - np.array([len(arms) for arms in inside], np.int64)

        def circuit(arm: int) -> IntArray:
            tight = int(self._innermost[arm])
            # Find the innermost full set. A swap within it keeps the counts of the sets around it, and sets
            # inside have room.
            while room[tight] > 0:
                tight = int(self._parent[tight])
            return inside[tight]

        return circuit


class PartitionMatroid(LaminarMatroid):
    """At most a given number of arms of each class. Exact.

    Parameters
    ----------
    classes : sequence of hashable, length n_arms
        The class of each arm.
    capacities : int or mapping from class to int
        The largest number of arms of a class, at least 0: one number for all classes, or a number for each.
    sense : {"max", "min"}
        Whether to return the basis of largest or of smallest weight.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import PartitionMatroid
    >>> oracle = PartitionMatroid(["news", "news", "sport", "sport", "sport"], {"news": 1, "sport": 2})
    >>> oracle.solve(np.array([0.5, 0.6, 0.1, 0.2, 0.3]), np.random.default_rng(0))
    array([1, 3, 4])
    """

    def __init__(
        self,
        classes: Sequence[Hashable],
        capacities: int | Mapping[Hashable, int] = 1,
        *,
        sense: Sense = "max",
    ) -> None:
        members: dict[Hashable, list[int]] = {}
        for arm, name in enumerate(listed("classes", classes, "names, one for each arm")):
            if not isinstance(name, Hashable):
                raise ValueError(f"classes must be hashable names, got {shown(name)} for arm {arm}")
            members.setdefault(name, []).append(arm)
        if not isinstance(capacities, Mapping):
            capacities = dict.fromkeys(members, _capacity("capacities", capacities))
        if capacities.keys() != members.keys():
            wrong = sorted(map(repr, capacities.keys() ^ members.keys()))
            raise ValueError(f"capacities must have the classes of the arms, got a difference in {wrong}")
        rooms = [_capacity(f"capacities[{name!r}]", capacities[name]) for name in members]
        sets = [np.array(arms, np.int64) for arms in members.values()]
        self._set_up(sets, rooms, integer("the number of classes", len(classes), 1), sense)

    def _uniform_family(self, available: BoolArray) -> tuple[int, int]:
        """Return the number of sets with as many available arms of each class as possible, and their size."""
        available = self._check_available(available)
        rooms = [min(len(arms), int(room)) for arms, room in zip(self._members, self._room, strict=True)]
        free = (int(available[arms].sum()) for arms in self._members)
        return math.prod(map(math.comb, free, rooms)), sum(rooms)

    def __repr__(self) -> str:
        return described(self, rank=self.rank, classes=len(self._members), capacities=self._room)


def _capacity(name: str, value: object) -> int:
    """Return a capacity; larger integers than 64 bits are not restrictive and are reduced."""
    return integer(name, min(value, 2**62) if type(value) is int else value, 0)


class LinearMatroid(Matroid):
    """The sets of columns that form a basis of the column space of a real matrix. Exact, up to rounding.

    Base arm i is column i. The oracle first divides each column by its length. An arm can join others if its
    distance from their span exceeds `tolerance`. Rounding changes distances by about 1e-16 times the
    condition number of the chosen columns. If this error, or a distance, is close to the tolerance, the rank
    is not well defined, and the answer may be below the optimum.

    Parameters
    ----------
    matrix : array_like, shape (dimension, n_arms)
        The matrix; its entries must be finite. A column of zeros is an arm that is in no super arm.
    tolerance : float
        The distance above which a column is independent of others, in (0, 1).
    sense : {"max", "min"}
        Whether to return the basis of largest or of smallest weight.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import LinearMatroid
    >>> oracle = LinearMatroid([[1, 0, 1, 2], [0, 1, 1, 0]])
    >>> oracle.solve(np.array([0.8, 0.1, 0.5, 0.9]), np.random.default_rng(0))
    array([2, 3])
    """

    def __init__(self, matrix: ArrayLike, tolerance: float = 1e-8, *, sense: Sense = "max") -> None:
        columns = real_array("matrix", matrix)
        if columns.ndim != 2 or 0 in columns.shape:
            raise ValueError(f"matrix must be 2-D with rows and columns, got shape {columns.shape}")
        if not np.isfinite(columns).all():
            raise ValueError(f"matrix must be finite, got {shown(columns.tolist())}")
        self._vectors = _directions(np.ascontiguousarray(columns.T))
        self.tolerance = real("tolerance", tolerance, 0.0, 1.0, inside=True)
        self._complete(len(self._vectors), sense)

    def _greedy(self, order: IntArray) -> IntArray:
        dimension, chosen = self._vectors.shape[1], list[int]()
        basis = np.empty((0, dimension))
        for arm in order.tolist():
            # A full basis spans the space, so no further vector can join.
            if len(chosen) == dimension:
                break
            # Gram-Schmidt twice is as accurate as Householder.
            rest = self._vectors[arm] - (basis @ self._vectors[arm]) @ basis
            rest -= (basis @ rest) @ basis
            distance = np.linalg.norm(rest)
            if distance > self.tolerance:
                basis = np.vstack([basis, rest / distance])
                chosen.append(arm)
        return np.array(sorted(chosen), np.int64)

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        # The rows of the pseudo-inverse, divided by their lengths, are normal to the spans of the other
        # columns. Their products with an arm in the span are its distances from these spans.
        normals = np.linalg.pinv(self._vectors[independent].T)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        return lambda arm: independent[abs(normals @ self._vectors[arm]) > self.tolerance]


def _directions(vectors: FloatArray) -> FloatArray:
    """Return the rows divided by their lengths; rows of zeros are unchanged."""
    largest = abs(vectors).max(axis=1, keepdims=True)  # first, so that squares do not overflow or underflow
    scaled = vectors / np.where(largest > 0, largest, 1.0)
    directions: FloatArray = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1.0)
    return directions


_MOST = 2**31 - 1


class TransversalMatroid(Matroid):
    """Sets of arms that can be matched to different sets, each arm to a set that contains it. Exact.

    For example, workers can each be given one job: the arms are workers, a set lists the workers able to do
    one job, and the value of a match depends only on the worker. If the value depends on the pair, use
    `Matching`.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1. Arms that are in no set are in no super arm.
    sets : iterable of array_like of int
        The distinct arms of each set. Sets may overlap and repeat.
    sense : {"max", "min"}
        Whether to return the basis of largest or of smallest weight.

    Examples
    --------
    Arms 0 and 1 can only do the first job:

    >>> import numpy as np
    >>> from oracles import TransversalMatroid
    >>> oracle = TransversalMatroid(4, [[0, 1, 2], [2, 3]])
    >>> oracle.solve(np.array([0.9, 0.8, 0.1, 0.2]), np.random.default_rng(0))
    array([0, 3])

    References
    ----------
    J. Edmonds, D. R. Fulkerson: Transversals and matroid partition, Journal of Research of the National
    Bureau of Standards 69B (1965).
    """

    def __init__(self, n_arms: int, sets: Iterable[ArrayLike | Set[int]], *, sense: Sense = "max") -> None:
        n_arms = integer("n_arms", n_arms, 1, _MOST)
        given = listed("sets", sets, "arrays of arms")
        members = [arm_indices(f"sets[{i}]", arms, n_arms) for i, arms in enumerate(given)]
        arms = np.concatenate([np.empty(0, np.int64), *members])
        numbers = np.repeat(np.arange(len(members)), [len(each) for each in members])
        # The sets of arm i, in increasing order, are self._sets[self._offsets[i] : self._offsets[i + 1]].
        self._sets = numbers[np.argsort(arms, kind="stable")]
        self._offsets = np.concatenate(([0], np.cumsum(np.bincount(arms, minlength=n_arms))))
        self._n_sets = len(members)
        self._complete(n_arms, sense)

    def __repr__(self) -> str:
        return described(self, rank=self.rank, sets=self._n_sets)

    def _match(self, order: IntArray) -> tuple[IntArray, IntArray]:
        """Return the chosen arms and the representative of each set, -1 for an unmatched set."""
        holder = np.full(self._n_sets, -1, np.int64)
        return np.flatnonzero(transversal_greedy(order, self._offsets, self._sets, holder)), holder

    def _greedy(self, order: IntArray) -> IntArray:
        return self._match(order)[0]

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        _, holder = self._match(independent)
        reached_by = np.empty(self._n_sets, np.int64)
        queue = np.empty(self._n_sets + 1, np.int64)

        def circuit(arm: int) -> IntArray:
            seen = np.zeros(self._n_sets, bool)
            _, reached = search(arm, self._offsets, self._sets, holder, reached_by, seen, queue)
            return queue[1:reached].copy()

        return circuit
