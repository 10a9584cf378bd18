"""Set cover and vertex cover."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray
from cmab.validation import listed, shown
from oracles._networks import network_of
from oracles.covers.base import Cover

if TYPE_CHECKING:
    import networkx as nx


class SetCover(Cover):
    """The collections of sets that cover every element, at least cost.

    Base arm i is the i-th set. A super arm may contain more sets than necessary.

    Parameters
    ----------
    sets : mapping or sequence
        The elements of each set, as a mapping from names or as a sequence. The sets together give the
        elements.
    method : {"program", "greedy"}
        The algorithm. ``"program"`` is exact, see `PuLPOracle`. ``"greedy"`` repeatedly chooses the set of
        least cost per new element. Its ``alpha`` is ``1 + 1/2 + ... + 1/d`` for nonnegative costs, where d is
        the size of the largest set (Chvátal 1979). Calls with constraints always use the program.

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
    ) -> None:
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
        largest = max(np.bincount(np.concatenate(list(held.values()))))
        ratio = float((1.0 / np.arange(1, largest + 1)).sum())
        self._complete(len(given), [np.array(arms, np.int64) for arms in held.values()], method, ratio)

    def _quickly(self, costs: FloatArray) -> BoolArray:
        chosen, left = np.zeros(self.n_arms, bool), np.ones(self._meets.shape[1], bool)
        while left.any():
            new = (self._meets & left).sum(axis=1)
            prices = np.full(self.n_arms, np.inf)
            np.divide(costs, new, out=prices, where=new > 0)
            best = int(np.argmin(prices))
            chosen[best] = True
            left &= ~self._meets[best]
        return chosen


class VertexCover(Cover):
    """The sets of nodes that cover every edge, at least cost.

    Base arm i is the i-th node of the graph. A super arm may contain more nodes than necessary.

    Parameters
    ----------
    graph : networkx.Graph or networkx.MultiGraph
        An undirected graph with at least one edge. The node of a self-loop is in every cover.
    method : {"program", "greedy"}
        The algorithm. ``"program"`` is exact, see `PuLPOracle`. ``"greedy"`` reduces, for each edge, the
        remaining costs of both ends by the smaller of the two (local ratio, Bar-Yehuda and Even 1985). Its
        ``alpha`` is 2 for nonnegative costs. Calls with constraints always use the program.

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

    def __init__(self, graph: nx.Graph[Any], *, method: Literal["program", "greedy"] = "program") -> None:
        number, _, tails, heads = network_of(graph, undirected=True)
        self._arm_names = list(number)
        pairs = sorted({(min(pair), max(pair)) for pair in zip(tails.tolist(), heads.tolist(), strict=True)})
        self._pairs = [np.unique(pair) for pair in pairs]
        self._complete(len(number), self._pairs, method, 2.0)

    def _quickly(self, costs: FloatArray) -> BoolArray:
        left = costs.copy()
        for pair in self._pairs:
            left[pair] -= left[pair].min()
        is_paid: BoolArray = np.logical_and(self._meets.any(axis=1), left == 0.0)
        return is_paid
