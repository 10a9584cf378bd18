"""Matroids with capacities: for all arms together, for disjoint classes, or for nested sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, IntArray
from cmab.compiled.forms import Kernel
from cmab.description import described
from cmab.oracle import Sense
from cmab.validation import arm_indices, integer, listed, shown
from oracles.matroids.base import Matroid
from oracles.top_k import TopK


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
    >>> oracle.exchanges(means, basis=[1, 3])
    array([3, 2, 3, 2])
    """

    def __init__(self, n_arms: int, k: int, *, sense: Sense = "max") -> None:
        self.k = integer("k", k, 0, integer("n_arms", n_arms, 1))
        self._complete(n_arms, sense)

    def _greedy(self, order: IntArray) -> IntArray:
        return np.sort(order[: self.k])

    def _circuits(self, independent: IntArray) -> Callable[[int], IntArray]:
        return lambda arm: independent  # noqa: ARG005


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
        given = [
            listed(f"sets[{i}]", pair, "arms and capacity")
            for i, pair in enumerate(listed("sets", sets, "pairs"))
        ]
        for i, pair in enumerate(given):
            if len(pair) != 2:
                raise ValueError(f"sets[{i}] must be a pair of arms and capacity, got {shown(pair)}")
        pairs = [
            (arm_indices(f"sets[{i}][0]", arms, n_arms), _capacity(f"sets[{i}][1]", capacity))
            for i, (arms, capacity) in enumerate(given)
        ]
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
        from oracles.matroids._kernels_compiled import packed, solve_laminar

        sets = (self._innermost, self._parent, self._room)
        integers = packed(self.sign, len(self._members), self.n_arms, *sets, scratch=len(self._members))
        return Kernel(solve_laminar, integers, np.empty(self.n_arms))

    def _greedy(self, order: IntArray) -> IntArray:
        from oracles.matroids._kernels_greedy import laminar_greedy

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

    def uniform_family(self, available: BoolArray) -> tuple[int, int]:
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
