"""Set cover and vertex cover."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray
from cmab.validation import listed, shown
from oracles._graph_means import GraphOracle, KeptGraph
from oracles._networks import network_of
from oracles._watch import Watch
from oracles.anytime import Clock, OnLimit, checked_limits
from oracles.covers.base import Cover, pairs_of

if TYPE_CHECKING:
    import networkx as nx


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
            self._arm_names, given = list(sets), list(sets.values())
        else:
            given = listed("sets", sets, "lists of elements")
            self._arm_names = list(range(len(given)))
        held: dict[Hashable, list[int]] = {}
        for arm, elements in enumerate(given):
            name = f"sets[{self._arm_names[arm]!r}]"
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
        from oracles.covers._kernels_covers import greedy_cover

        chosen = np.zeros(self.n_arms, bool)
        greedy_cover(self._incidence, costs, chosen)
        return chosen


class VertexCover(Cover, GraphOracle):
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

    _arms_are_nodes = True

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
        self._source = KeptGraph(graph)
        self._arm_names = list(number)
        pairs = np.unique(np.column_stack((np.minimum(tails, heads), np.maximum(tails, heads))), axis=0)
        self._tails, self._heads = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        edges, is_loop = np.arange(len(pairs)), self._tails == self._heads
        arms = np.concatenate((self._tails, self._heads[~is_loop]))
        self._complete(len(number), arms, np.concatenate((edges, edges[~is_loop])), method, 2.0, limits)

    def _quickly(self, costs: FloatArray) -> BoolArray:
        from oracles.covers._kernels_covers import dual_bound

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
        watch: Watch,
    ) -> tuple[BoolArray, float]:
        """Search the kernel: the nodes that are neither 0 nor 1 in the relaxation.

        An optimal cover has the nodes of value 1 and none of value 0 (Nemhauser, Trotter 1975).
        """
        from oracles.covers._search import independent

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
            watch,
            fixed + whole,
        )
        cover = outside.copy()
        cover[kernel] = ~found
        if costs[cover].sum() < costs[best].sum():
            best = cover
        return best, max(bound, fixed + whole - most_worth)
