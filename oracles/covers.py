"""Set cover and vertex cover: greedy answers, dual bounds and integer programs.

Vertex covers are the complements of independent sets, which branch and bound finds on bit sets with weighted
clique covers, unless the graph is large and sparse.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled import eager_kernel, kernel, lean_kernel
from cmab.guarantees import SolverCertificate
from cmab.parameters import described
from cmab.selection import heap_drop, heap_rise
from cmab.validation import listed, one_of, shown
from oracles._networks import network_of
from oracles.anytime import Clock, Limits, OnLimit, checked_limits
from oracles.programs import FeasibleSet, Outcome, Program, PuLPOracle, scaled, unscaled, value_of

if TYPE_CHECKING:
    import networkx as nx


class Incidence(NamedTuple):
    """Which arm covers which element, by rows and by columns.

    Arm a covers ``elements[starts[a] : starts[a + 1]]``. The arms of element e are
    ``arms[firsts[e] : firsts[e + 1]]``.
    """

    starts: IntArray
    elements: IntArray
    firsts: IntArray
    arms: IntArray


@lean_kernel
def _choose(incidence, arm, chosen, times):
    """Choose an arm, and return the number of elements that it covers first."""
    chosen[arm], fresh = True, 0
    for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
        fresh += times[incidence.elements[i]] == 0
        times[incidence.elements[i]] += 1
    return fresh


@kernel
def greedy_cover(incidence, costs, chosen):
    """Choose the arm of least cost per new element until every element is covered (Chvátal 1979).

    Arms of negative cost are chosen first. Ties are broken by the lower arm.
    """
    n, left = costs.shape[0], incidence.firsts.shape[0] - 1
    times, fresh = np.zeros(left, np.int64), np.diff(incidence.starts)
    heap, keys, size = np.empty(n, np.int64), np.empty(n), 0
    chosen[:] = False
    for arm in range(n):
        if costs[arm] < 0.0:
            left -= _choose(incidence, arm, chosen, times)
    for arm in range(n):
        fresh[arm] = _count_fresh(incidence, arm, times)
        if fresh[arm] > 0 and not chosen[arm]:
            heap[size], keys[size] = arm, -costs[arm] / fresh[arm]
            heap_rise(heap, keys, size)
            size += 1
    while left > 0:
        arm = heap[0]
        size = heap_drop(heap, keys, size)
        now = _count_fresh(incidence, arm, times)
        if now == fresh[arm]:
            left -= _choose(incidence, arm, chosen, times)
        elif now > 0:
            # The number of new elements only decreases, so an outdated price is a lower bound.
            fresh[arm] = now
            heap[size], keys[size] = arm, -costs[arm] / now
            heap_rise(heap, keys, size)
            size += 1


@lean_kernel
def _count_fresh(incidence, arm, times):
    """Return the number of elements of an arm that are not covered."""
    fresh = 0
    for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
        fresh += times[incidence.elements[i]] == 0
    return fresh


@kernel
def prune(incidence, costs, chosen):
    """Remove arms that are not needed, in decreasing order of cost; arms of negative cost remain."""
    times = np.zeros(incidence.firsts.shape[0] - 1, np.int64)
    for arm in range(costs.shape[0]):
        if chosen[arm]:
            _choose(incidence, arm, chosen, times)
    for arm in np.argsort(-costs, kind="mergesort"):
        if not chosen[arm] or costs[arm] < 0.0:
            continue
        is_needed = False
        for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
            is_needed |= times[incidence.elements[i]] == 1
        if not is_needed:
            chosen[arm] = False
            for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
                times[incidence.elements[i]] -= 1


@kernel
def dual_bound(incidence, costs, order, left):
    """Return a lower bound on the cost of every cover: the value of a dual solution.

    Each element, in this order, takes the rest of the cheapest arm that covers it. `left` receives the costs
    that are left.
    """
    total = 0.0
    for arm in range(costs.shape[0]):
        left[arm] = max(costs[arm], 0.0)
        total += min(costs[arm], 0.0)
    for element in order:
        least = np.inf
        for i in range(incidence.firsts[element], incidence.firsts[element + 1]):
            least = min(least, left[incidence.arms[i]])
        if least > 0.0:
            total += least
            for i in range(incidence.firsts[element], incidence.firsts[element + 1]):
                left[incidence.arms[i]] -= least
    return total


_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.int64)
for _i in range(64):
    _PLACES[(int(_DE_BRUIJN) << _i & (2**64 - 1)) >> 58] = _i
_ONE, _TOP = np.uint64(1), np.uint64(58)


class Tree(NamedTuple):
    """The path of open nodes of the search.

    `apart` has the nodes that are not adjacent to each node, as bits. At depth d, `candidates` are the nodes
    that may be added, `branches` those that are yet to be tried, and `path` the node that was added last.
    `worth` has the weight of the path at each depth. `numbers`: the depth and the number of searched nodes.
    """

    apart: np.ndarray
    weights: FloatArray
    candidates: np.ndarray
    branches: np.ndarray
    path: IntArray
    worth: FloatArray
    rest: FloatArray
    clique: np.ndarray
    numbers: IntArray


DEPTH, NODES = range(2)


@lean_kernel
def _lowest(word):
    """Return the position of the lowest bit."""
    return _PLACES[((word & (~word + _ONE)) * _DE_BRUIJN) >> _TOP]


@lean_kernel
def _bound(tree, depth, slack):
    """Return an upper bound on the weight of independent candidates, or a number above `slack`.

    Cliques share the weights of the nodes. Each clique takes the least rest of its nodes and counts it once,
    because an independent set has at most one of them. The nodes with a positive rest when the sum exceeds
    `slack` remain in `branches`: an independent set without them has at most the weight `slack` (Held, Cook,
    Sewell 2012; Tavares 2016; both from memory).
    """
    left, clique = tree.branches[depth], tree.clique
    words, total = left.shape[0], 0.0
    for w in range(words):
        left[w] = tree.candidates[depth, w]
        word = left[w]
        while word:
            place = _lowest(word)
            word &= word - _ONE
            tree.rest[64 * w + place] = tree.weights[64 * w + place]
    first = 0
    while True:
        while first < words and left[first] == 0:
            first += 1
        if first == words:
            return total
        least = np.inf
        for w in range(first, words):
            clique[w] = left[w]
        members = 0
        for w in range(first, words):
            while clique[w]:
                place = _lowest(clique[w])
                node = 64 * w + place
                tree.path[tree.path.shape[0] - 1 - members] = node
                members += 1
                least = min(least, tree.rest[node])
                clique[w] &= clique[w] - _ONE
                for k in range(w, words):
                    clique[k] &= ~tree.apart[node, k]
        if total + least > slack:
            return total + least
        total += least
        for k in range(members):
            node = tree.path[tree.path.shape[0] - 1 - k]
            tree.rest[node] -= least
            if tree.rest[node] <= 0.0:
                left[node >> 6] &= ~(_ONE << np.uint64(node & 63))


@eager_kernel
def search_independent(tree, budget, best, chosen):
    """Search `budget` nodes; write the best set to `chosen`, and return its weight (at least `best`).

    The search is over if the depth is then -1. It can be continued with another call.
    """
    words = tree.clique.shape[0]
    limit = tree.numbers[NODES] + budget
    if tree.numbers[NODES] == 0:
        _bound(tree, 0, best)
        tree.numbers[NODES] = 1
    while tree.numbers[DEPTH] >= 0 and tree.numbers[NODES] < limit:
        depth = tree.numbers[DEPTH]
        node = -1
        for w in range(words - 1, -1, -1):
            if tree.branches[depth, w]:
                # The highest bit is the last candidate: it is in the largest cliques of the order.
                word = tree.branches[depth, w]
                while word:
                    node = 64 * w + _lowest(word)
                    word &= word - _ONE
                break
        if node < 0:
            tree.numbers[DEPTH] -= 1
            continue
        bit = ~(_ONE << np.uint64(node & 63))
        tree.branches[depth, node >> 6] &= bit
        tree.candidates[depth, node >> 6] &= bit
        worth = tree.worth[depth] + tree.weights[node]
        tree.path[depth] = node
        if worth > best:
            best = worth
            chosen[:] = False
            for d in range(depth + 1):
                chosen[tree.path[d]] = True
        is_empty = True
        for w in range(words):
            tree.candidates[depth + 1, w] = tree.candidates[depth, w] & tree.apart[node, w]
            is_empty &= tree.candidates[depth + 1, w] == 0
        tree.numbers[NODES] += 1
        if is_empty:
            continue
        tree.worth[depth + 1] = worth
        if _bound(tree, depth + 1, best - worth) > best - worth:
            tree.numbers[DEPTH] += 1
    return best


@kernel
def open_bound(tree, best):
    """Return an upper bound on the weight of every independent set, in the present state of the search."""
    most = best
    for depth in range(tree.numbers[DEPTH] + 1):
        kept = tree.branches[depth].copy()
        most = max(most, tree.worth[depth] + _bound(tree, depth, np.inf))
        tree.branches[depth] = kept
    return most


# The nodes of the search between two looks at the clock.
_NODES = 2_000


def independent(
    apart: Callable[[IntArray], BoolArray],
    weights: FloatArray,
    known: BoolArray,
    most_nodes: int,
    clock: Clock,
) -> tuple[BoolArray, float, bool]:
    """Return the independent set of largest weight found, an upper bound on all, and whether it is optimal.

    `apart` returns the matrix of pairs that are not adjacent, in a given order of the nodes.
    """
    n = len(weights)
    order = _order(apart(np.arange(n)), weights)
    matrix, sorted_weights = apart(order), weights[order]
    words = -(-n // 64)
    bits = np.zeros((n, words * 64), np.uint8)
    bits[:, :n] = matrix
    packed = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    everything = np.zeros(words * 64, np.uint8)
    everything[:n] = 1
    padded = np.zeros(words * 64)
    padded[:n] = sorted_weights
    candidates = np.zeros((n + 2, words), np.uint64)
    candidates[0] = np.packbits(everything, bitorder="little").view(np.uint64)
    tree = Tree(
        packed,
        padded,
        candidates,
        np.zeros_like(candidates),
        np.zeros(2 * n + 66, np.int64),
        np.zeros(n + 2),
        np.zeros(words * 64),
        np.zeros(words, np.uint64),
        np.zeros(2, np.int64),
    )
    chosen = np.zeros(len(padded), bool)
    chosen[:n] = known[order]
    best, done, bound = float(padded[chosen].sum()), 0, np.inf
    while tree.numbers[DEPTH] >= 0 and done < most_nodes and not clock.is_over:
        best = search_independent(tree, _NODES, best, chosen)
        done += _NODES
    is_over = bool(tree.numbers[DEPTH] < 0)
    bound = best if is_over else open_bound(tree, best)
    found = np.zeros(n, bool)
    found[order] = chosen[:n]
    return found, bound, is_over


def _order(apart: BoolArray, weights: FloatArray) -> IntArray:
    """Return the nodes in a degeneracy order of the graph of pairs that may be chosen together.

    The node of least degree comes last, so it is tried first, when few other nodes remain for it.
    """
    n = len(weights)
    degrees, left, order = apart.sum(axis=1).astype(np.float64), np.ones(n, bool), np.empty(n, np.int64)
    for place in range(n - 1, -1, -1):
        node = int(np.argmin(np.where(left, degrees, np.inf)))
        order[place], left[node] = node, False
        degrees -= apart[node]
    return order


# A cover is optimal if its cost exceeds the bound by at most this share.
_PROVED = 1e-12
# The share of the time for the program, which sees the clock only between its steps.
_SHARE = 0.9


class Cover(PuLPOracle):
    """Sets of arms that cover every element, with a cost for each arm.

    A subclass calls `_complete` with the pairs of arms and elements, and defines `_quickly`.
    """

    has_membership = True
    method: str

    def _complete(
        self,
        n_arms: int,
        arms: IntArray,
        elements: IntArray,
        method: Literal["program", "greedy"],
        ratio: float,
        limits: Limits,
    ) -> None:
        """Set the attributes that all covers share; `ratio` is the approximation ratio of `_quickly`.

        Arm ``arms[i]`` covers element ``elements[i]``; the pairs are different.
        """
        self.method = one_of("method", method, ("program", "greedy"))
        self._incidence = _incidence_of(n_arms, arms, elements)
        firsts, members = self._incidence.firsts, self._incidence.arms
        n_rows = len(firsts) - 1
        feasible = FeasibleSet(
            np.arange(n_arms),
            np.zeros(n_arms),
            np.ones(n_arms),
            np.ones(n_arms, bool),
            firsts,
            members,
            np.ones(len(members)),
            np.ones(n_rows),
            np.full(n_rows, np.inf),
        )
        self._begin(feasible, "min", limits, largest=np.arange(n_arms))
        # Elements with few arms come first: their arms are the ones that a cover certainly needs.
        self._scarce = np.argsort(np.diff(firsts), kind="stable")
        if method == "greedy":
            self.alpha = ratio

    def __repr__(self) -> str:
        return described(self, elements=len(self._incidence.firsts) - 1)

    @property
    def least_mean(self) -> float:
        """0 for the greedy method (its ratio is proved for nonnegative costs); otherwise minus infinity."""
        return 0.0 if self.method == "greedy" else -np.inf

    @property
    def certifies_calls(self) -> bool:  # type: ignore[override]
        """Whether calls have their own approximation ratios: true if a limit may end a search."""
        return self.method == "program" and self._may_stop_early

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        starts, elements = self._incidence.starts, self._incidence.elements
        is_covered = np.zeros(len(self._incidence.firsts) - 1, bool)
        for arm in super_arm:
            is_covered[elements[starts[arm] : starts[arm + 1]]] = True
        return bool(is_covered.all())

    def _search(self, values: FloatArray) -> SolverCertificate:
        """Return the best cover found; the bound of the greedy answer is the value of a dual solution."""
        is_greedy = self.method == "greedy"
        clock, (costs, exponent) = Clock(self.time_limit), scaled(values)
        chosen, bound = self._greedily(costs)
        if not (is_greedy or self.time_limit == 0.0 or bound >= _least(costs, chosen)):
            with clock:
                chosen, bound = self._searched_cover(costs, chosen, bound, clock)
        arms = np.flatnonzero(chosen)
        answer = self._certificate(arms, value_of(values[arms]), unscaled(bound, exponent))
        if bound >= _least(costs, chosen) or is_greedy:
            bound = answer.bound if is_greedy else answer.value
            return SolverCertificate(arms, answer.value, bound, True)
        return answer

    def _greedily(self, costs: FloatArray) -> tuple[BoolArray, float]:
        """Return the greedy cover and a lower bound on the cost of every cover."""
        chosen, other = self._quickly(costs), np.zeros(self.n_arms, bool)
        greedy_cover(self._incidence, costs, other)
        for cover in (chosen, other):
            prune(self._incidence, costs, cover)
        if costs[other].sum() < costs[chosen].sum():
            chosen = other
        return chosen, float(dual_bound(self._incidence, costs, self._scarce, np.empty(self.n_arms)))

    def _searched_cover(
        self, costs: FloatArray, greedy: BoolArray, bound: float, clock: Clock
    ) -> tuple[BoolArray, float]:
        """Return the best cover found and a lower bound, by the relaxation and the program."""
        best, known = greedy, bound
        is_unit = bool((costs[costs > 0.0] == costs.max()).all() and (costs >= 0.0).all())

        def rounded(value: float) -> float:
            # If all positive costs are equal, every cover costs a multiple.
            return float(np.ceil(value / costs.max() - 1e-6) * costs.max()) if is_unit else value

        def between(relaxed: Outcome) -> Outcome | FloatArray:
            """Return the optimum, or a cover with which branch and bound begins."""
            nonlocal best, known
            known = max(known, rounded(relaxed.bound))
            if known < _least(costs, best):
                fractions = relaxed.values
                assert fractions is not None, "only a solved relaxation comes here"
                best, known = self._reduced(costs, fractions, best, known, clock)
            if known >= _least(costs, best):
                return Outcome("optimal", best.astype(np.float64), float(costs[best].sum()))
            return best.astype(np.float64)

        program = Program(self._set, clock.limited(_SHARE), self.gap, self.node_limit)
        outcome = program.solve(costs, "min", None, between)
        if outcome.values is not None:
            found = outcome.values > 0.5
            if outcome.state == "optimal" or costs[found].sum() < costs[best].sum():
                best = found
        if outcome.state == "optimal":
            return best, float(costs[best].sum())
        return best, max(known, rounded(outcome.bound) if np.isfinite(outcome.bound) else known)

    def _reduced(
        self,
        costs: FloatArray,
        fractions: FloatArray,
        best: BoolArray,
        bound: float,
        clock: Clock,
    ) -> tuple[BoolArray, float]:
        """Return a better cover and bound by a method of the family; by default those that are known."""
        return best, bound

    @abstractmethod
    def _quickly(self, costs: FloatArray) -> BoolArray:
        """Return a cover that satisfies the approximation ratio, as a mask."""


def _incidence_of(n_arms: int, arms: IntArray, elements: IntArray) -> Incidence:
    """Return the incidence by rows and columns, each in increasing order."""
    n_elements = int(elements.max()) + 1
    by_arm, by_element = np.lexsort((elements, arms)), np.lexsort((arms, elements))
    starts = np.concatenate(([0], np.cumsum(np.bincount(arms, minlength=n_arms))))
    firsts = np.concatenate(([0], np.cumsum(np.bincount(elements, minlength=n_elements))))
    return Incidence(starts, elements[by_arm], firsts, arms[by_element])


def _least(costs: FloatArray, chosen: BoolArray) -> float:
    """Return the bound at which a cover counts as optimal: its cost, less the tolerance of the solver."""
    return float(costs[chosen].sum() - _PROVED * np.abs(costs[chosen]).sum())


def pairs_of(rows: Iterable[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the arms and elements of rows, one for each element."""
    listed = list(rows)
    sizes = np.array([len(row) for row in listed], np.int64)
    return np.concatenate(listed).astype(np.int64), np.repeat(np.arange(len(listed)), sizes)


# Values of the relaxation closer than this to 0 or 1 are 0 or 1; the others are 1/2.
_HALF = 0.25
# The largest kernel that branch and bound with bit sets searches, and the nodes that it examines: it needs
# few for dense graphs, and the program is better for sparse ones.
_LARGEST, _SMALL, _DENSE = 4_000, 100, 0.08
_DENSE_NODES, _SPARSE_NODES = 20_000_000, 20_000


class SetCover(Cover):
    """The collections of sets that cover every element, at least cost.

    Base arm i is the i-th set. A super arm may contain more sets than necessary.

    Parameters
    ----------
    sets : mapping or sequence
        The elements of each set, as a mapping from names or as a sequence. The sets together give the
        elements.
    method : {"program", "greedy"}
        The algorithm. ``"program"`` is exact unless a limit ends it. ``"greedy"`` repeatedly chooses the set
        of least cost per new element. Its ``alpha`` is ``1 + 1/2 + ... + 1/d`` for nonnegative costs, where d
        is the size of the largest set (Chvátal 1979). Calls with constraints always use the program.
    gap : float
        The relative gap, in [0, 1), at which a call may stop.
    time_limit : float, optional
        The time limit of a call in seconds. With 0, a call returns the greedy answer.
    node_limit : int, optional
        The largest number of nodes of the program's branch and bound in a call.
    on_limit : {"raise", "best"}
        Whether `solve` raises an error at a limit, or returns the best cover found. See `PuLPOracle`.

    Raises
    ------
    ValueError
        If there is no element, or if an argument is out of range. In `solve`, if a cost is negative and the
        method is ``"greedy"``.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import SetCover
    >>> oracle = SetCover({"north": [1, 2], "south": [3, 4], "all": [1, 2, 3, 4], "east": [2, 3]})
    >>> oracle.labels(oracle.solve(np.array([0.25, 0.5, 1.0, 0.25]), np.random.default_rng(0)))
    ['north', 'south']

    References
    ----------
    V. Chvátal: A Greedy Heuristic for the Set-Covering Problem, Mathematics of Operations Research 4 (1979);
    from memory.
    """

    def __init__(
        self,
        sets: Mapping[Hashable, Iterable[Hashable]] | Sequence[Iterable[Hashable]],
        *,
        method: Literal["program", "greedy"] = "program",
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        if isinstance(sets, Mapping):
            self._names, given = list(sets), list(sets.values())
        else:
            given = listed("sets", sets, "lists of elements")
        held: dict[Hashable, list[int]] = {}
        for arm, elements in enumerate(given):
            name = f"sets[{arm if self._names is None else self._names[arm]!r}]"
            own = listed(name, elements, "elements")
            for element in own:
                if not isinstance(element, Hashable):
                    raise ValueError(f"{name} must contain hashable elements, got {shown(element)}")
            for element in dict.fromkeys(own):
                held.setdefault(element, []).append(arm)
        if not held:
            raise ValueError(f"sets must contain at least one element, got {shown(sets)}")
        arms, members = pairs_of(np.array(own, np.int64) for own in held.values())
        ratio = float((1.0 / np.arange(1, max(np.bincount(arms)) + 1)).sum())
        self._complete(len(given), arms, members, method, ratio, limits)

    def _quickly(self, costs: FloatArray) -> BoolArray:
        chosen = np.zeros(self.n_arms, bool)
        greedy_cover(self._incidence, costs, chosen)
        return chosen


class VertexCover(Cover):
    """The sets of nodes that cover every edge, at least cost.

    Base arm i is the i-th node of the graph. A super arm may contain more nodes than necessary.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        An undirected graph with at least one edge. The node of a self-loop is in every cover.
    method : {"program", "greedy"}
        The algorithm. ``"program"`` is exact unless a limit ends it. ``"greedy"`` reduces at each edge the
        remaining costs of both ends by the smaller of the two (local ratio, Bar-Yehuda and Even 1985). Its
        ``alpha`` is 2 for nonnegative costs. Calls with constraints always use the program.
    gap : float
    time_limit : float, optional
    node_limit : int, optional
    on_limit : {"raise", "best"}
        As in `SetCover`.

    Raises
    ------
    ValueError
        If the graph is invalid or an argument is out of range. In `solve`, if a cost is negative and the
        method is ``"greedy"``.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import VertexCover
    >>> oracle = VertexCover(nx.path_graph(["a", "b", "c", "d"]))
    >>> oracle.labels(oracle.solve(np.array([0.5, 0.25, 0.5, 0.75]), np.random.default_rng(0)))
    ['b', 'c']

    References
    ----------
    R. Bar-Yehuda, S. Even: A local-ratio theorem for approximating the weighted vertex cover problem, Annals
    of Discrete Mathematics 25 (1985); from memory.
    """

    def __init__(
        self,
        graph: nx.Graph[Any],
        *,
        method: Literal["program", "greedy"] = "program",
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        number, _, tails, heads = network_of(graph, undirected=True)
        self._names = list(number)
        pairs = np.unique(np.column_stack((np.minimum(tails, heads), np.maximum(tails, heads))), axis=0)
        self._tails, self._heads = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        edges, is_loop = np.arange(len(pairs)), self._tails == self._heads
        arms = np.concatenate((self._tails, self._heads[~is_loop]))
        self._complete(len(number), arms, np.concatenate((edges, edges[~is_loop])), method, 2.0, limits)

    def _quickly(self, costs: FloatArray) -> BoolArray:
        left = np.empty(self.n_arms)
        dual_bound(self._incidence, costs, np.arange(len(self._tails)), left)
        is_paid: BoolArray = (np.diff(self._incidence.starts) > 0) & (left == 0.0)
        return is_paid | (costs < 0.0)

    def _reduced(
        self,
        costs: FloatArray,
        fractions: FloatArray,
        best: BoolArray,
        bound: float,
        clock: Clock,
    ) -> tuple[BoolArray, float]:
        """Search the kernel: the nodes that are neither 0 nor 1 in the relaxation.

        An optimal cover has the nodes of value 1 and none of value 0 (Nemhauser, Trotter 1975).
        """
        kernel = np.flatnonzero((fractions > _HALF) & (fractions < 1.0 - _HALF))
        place = np.full(self.n_arms, -1)
        place[kernel] = np.arange(len(kernel))
        one, other = place[self._tails], place[self._heads]
        inside = (one >= 0) & (other >= 0)
        one, other = one[inside], other[inside]
        if len(kernel) > _LARGEST:
            return best, bound
        joined = np.eye(len(kernel), dtype=bool)
        joined[one, other] = joined[other, one] = True
        outside = fractions > 1.0 - _HALF
        fixed = float(costs[outside].sum())
        share = len(one) / max(1, len(kernel) * (len(kernel) - 1) / 2)
        most = _DENSE_NODES if share >= _DENSE or len(kernel) <= _SMALL else _SPARSE_NODES
        whole = float(costs[kernel].sum())
        found, most_worth, _ = independent(
            lambda order: ~joined[np.ix_(order, order)],
            costs[kernel],
            ~best[kernel],
            most,
            clock,
        )
        cover = outside.copy()
        cover[kernel] = ~found
        if costs[cover].sum() < costs[best].sum():
            best = cover
        return best, max(bound, fixed + whole - most_worth)
