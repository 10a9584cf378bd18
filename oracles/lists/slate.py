"""Slates: different items for the positions of a page, with quotas for groups of items and a budget."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.description import described
from cmab.oracle import LinearOracle
from cmab.validation import check_name, frozen, integer, listed, real_array, shown, vector
from oracles.lists._budgeted_slates import Budget, best_affordable
from oracles.programs._mixed_integer import scaled


class Slate(LinearOracle):
    """Pages with different items at the positions, and at most a given number of items of each group. Exact.

    Base arm ``item * positions + position`` is an item at a position, because the same item can have
    different outcomes at different positions. The reward is the sum over the positions. A super arm lists its
    arms from the first position to the last. It fills the positions from the first one without gaps, and it
    fills all positions if enough items are available and allowed by the quotas. Otherwise it is shorter.

    With `costs` and `budget`, the total cost of the items is at most the budget. A slate of few expensive
    items may then be better than a longer one, and `solve` uses integer programming. Integer costs are
    respected exactly and must be at most 2^53, other costs up to 1e-6 of the budget. The sum of the means is
    at most ``1e-12 n_arms`` times the largest mean below the best.

    The means must not be negative, because only then the longest slate is best.

    Parameters
    ----------
    items : int or sequence of hashable
        The number of items, or their names.
    positions : int
        The number of positions, at least 1.
    groups : sequence of hashable, optional
        The group of each item.
    quotas : int or mapping from group to int, optional
        The largest number of items of a group on a slate, at least 0: one number for all groups, or a number
        for each. Groups that are not in the mapping have no quota.
    costs : array_like, shape (n_items,), optional
        The cost of each item, at least 0.
    budget : float, optional
        The largest total cost of a slate, at least 0.

    Raises
    ------
    ValueError
        If a parameter is out of its range, `groups` and `quotas` or `costs` and `budget` are not given
        together, or the quotas and the budget allow no item.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles.lists import Slate
    >>> oracle = Slate(["tea", "milk", "juice"], positions=2, groups=["hot", "cold", "cold"], quotas=1)
    >>> means = np.array([[0.2, 0.1], [0.9, 0.6], [0.8, 0.7]])
    >>> oracle.labels(oracle.solve(means.ravel(), np.random.default_rng(0)))
    [('milk', 1), ('tea', 2)]
    >>> flags = oracle.available([True, False, False])
    >>> oracle.labels(oracle.solve_within(means.ravel(), flags, np.random.default_rng(0)))
    [('tea', 1)]
    """

    can_constrain = True

    has_membership = True

    def __init__(
        self,
        items: int | Sequence[Hashable],
        positions: int,
        *,
        groups: Sequence[Hashable] | None = None,
        quotas: int | Mapping[Any, int] | None = None,
        costs: ArrayLike | None = None,
        budget: float | None = None,
    ) -> None:
        self.items = _names(items)
        self.positions = integer("positions", positions, 1)
        self.n_arms = len(self.items) * self.positions
        if (groups is None) != (quotas is None):
            raise ValueError(
                f"groups and quotas must be given together, got {shown(groups)}, {shown(quotas)}"
            )
        self.groups = None if groups is None else tuple(listed("groups", groups, "groups, one for each item"))
        self.quotas = quotas
        # Without groups, all items are of one group, whose quota is no constraint.
        self._group, self._quota = _rooms(self.groups, quotas, len(self.items), self.positions)
        if (costs is None) != (budget is None):
            raise ValueError(f"costs and budget must be given together, got {shown(costs)}, {shown(budget)}")
        self.costs = None if costs is None else frozen(vector("costs", costs, len(self.items), 0.0))
        self.budget = budget
        self._budget = None if costs is None else Budget.of(costs, budget, len(self.items))
        self._length = self._longest(np.ones(len(self.items), np.bool_))
        if not self._length:
            raise ValueError(f"quotas must allow at least one item, got {shown(quotas)}")
        if self._budget is not None:
            self._length = min(self._length, self._budget.longest(self._group, self._quota))
            if not self._length:
                raise ValueError(f"budget must allow at least one item, got {shown(budget)}")

    def __repr__(self) -> str:
        return described(self, items=len(self.items), groups=None, quotas=self.quotas)

    @property
    def max_size(self) -> int:
        return self._length

    @property
    def least_mean(self) -> float:
        """0, because a shorter slate would be better if means were negative."""
        return 0.0

    def labels(self, super_arm: IntArray) -> list[Any]:
        """Return the pairs of an item and its position, counted from 1."""
        super_arm = self._check_entries(super_arm)
        pairs = (divmod(int(arm), self.positions) for arm in super_arm)
        return [(self.items[item], place + 1) for item, place in pairs]

    def available(self, items: ArrayLike) -> BoolArray:
        """Return the flags of the base arms (for `Context.available`) for flags of the items.

        Parameters
        ----------
        items : array_like of bool, shape (n_items,)
            Whether each item is available.

        Raises
        ------
        ValueError
            If `items` is not an array of one boolean for each item.
        """
        flags = np.asarray(items)
        if flags.dtype != np.bool_ or flags.shape != (len(self.items),):
            raise ValueError(f"items must be {len(self.items)} booleans, got {shown(items)}")
        return np.repeat(flags, self.positions)

    def uniform_family(self, available: BoolArray) -> tuple[int, int] | None:
        """Return the number and the length of the slates of available items, without quotas and budgets.

        It returns None if there are quotas or a budget, or if only some positions of an item are available.
        """
        available = self._check_available(available)
        flags = available.reshape(-1, self.positions)
        free = flags[:, 0]
        if self.groups is not None or self._budget is not None or (flags != free[:, None]).any():
            return None
        length = min(int(free.sum()), self.positions)
        return math.perm(int(free.sum()), length), length

    def pair_features(self, features: ArrayLike, examination: ArrayLike | None = None) -> FloatArray:
        """Return features of the base arms: those of the item, followed by those of the position.

        Parameters
        ----------
        features : array_like, shape (n_items, d)
            Features of the items.
        examination : array_like, shape (positions,), optional
            A known effect of each position, such as its examination probability. If omitted, each position
            has an indicator, so that the model learns the effects.

        Returns
        -------
        FloatArray, shape (n_arms, d + 1) or (n_arms, d + positions)
            The rows for `Context.features`.

        Raises
        ------
        ValueError
            If an array has a wrong shape.

        Examples
        --------
        >>> from oracles.lists import Slate
        >>> Slate(2, positions=2).pair_features([[0.5], [0.7]], examination=[1.0, 0.4]).tolist()
        [[0.5, 1.0], [0.5, 0.4], [0.7, 1.0], [0.7, 0.4]]
        """
        rows, n, k = real_array("features", features), len(self.items), self.positions
        if rows.ndim != 2 or len(rows) != n:
            raise ValueError(f"features must have shape ({n}, d), got {rows.shape}")
        places = np.eye(k) if examination is None else real_array("examination", examination).reshape(-1, 1)
        if len(places) != k:
            raise ValueError(f"examination must have {k} numbers, one for each position, got {len(places)}")
        return np.hstack([np.repeat(rows, k, axis=0), np.tile(places, (n, 1))])

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the best slate, from the first position to the last."""
        if self._budget is not None:
            best = best_affordable(
                self._worth(means), self._group, self._quota, self._budget, np.empty(0, np.int64)
            )
        else:
            best = self._best(self._worth(means), self._quota, np.arange(self._length))
        assert best is not None, "a slate of this length exists"
        return best

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        required, banned = self._check_constraints(include, exclude)
        worth = self._worth(means)
        if self._budget is not None:
            worth.reshape(-1)[banned] = -np.inf
            return best_affordable(worth, self._group, self._quota, self._budget, required)
        values = worth.reshape(-1).copy()
        items, places = np.divmod(required, self.positions)
        quota = self._quota - np.bincount(self._group[items], minlength=len(self._quota))
        if len(set(items)) < len(items) or len(set(places)) < len(places) or (quota < 0).any():
            return None
        worth.reshape(-1)[banned] = -np.inf
        worth[items] = -np.inf
        # If whole items are banned, the longest slate is best. Otherwise an extension may move other items.
        gone = np.isneginf(worth)
        is_whole = (gone.all(axis=1) | ~gone.any(axis=1)).all()
        least = int(places.max(initial=-1)) + 1
        left: BoolArray = np.logical_not(gone.all(axis=1))
        most = min(self.positions, len(items) + self._longest(left, quota))
        best: IntArray | None = None
        value = -np.inf
        for length in range(most, max(least, 1) - 1, -1):
            rest = np.setdiff1d(np.arange(length), places)
            found = self._best(worth, quota, rest)
            if found is None:
                continue
            whole = np.concatenate([required, found])
            total = float(values[whole].sum())
            if total > value:
                best, value = whole[np.argsort(whole % self.positions)], total
            if is_whole:
                break
        return best

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether the arms fill the first positions with different items within the quotas."""
        super_arm = self._check_entries(super_arm)
        items, places = np.divmod(super_arm, self.positions)
        counts = np.bincount(self._group[items], minlength=len(self._quota))
        is_gapless = np.array_equal(np.sort(places), np.arange(len(places)))
        distinct = len(np.unique(items)) == len(items)
        is_affordable = self._budget is None or self._budget.allows(items)
        return bool(
            len(items) and is_gapless and distinct and is_affordable and (counts <= self._quota).all()
        )

    def _longest(self, free: BoolArray, quota: IntArray | None = None) -> int:
        """Return the largest number of free items on a slate."""
        room = self._quota if quota is None else quota
        counts = np.bincount(self._group[free], minlength=len(room))
        return min(self.positions, int(np.minimum(counts, room).sum()))

    def _worth(self, means: FloatArray) -> FloatArray:
        """Return the means of items (rows) at positions, scaled so that sums are finite."""
        return scaled(self._check_means(means, 0.0))[0].reshape(-1, self.positions)

    def _best(self, worth: FloatArray, quota: IntArray, places: IntArray) -> IntArray | None:
        """Return the best arms for `places`, by an assignment problem; None if they cannot be filled.

        Items of a group beyond its quota must fill additional columns of value 0, one for each such item.
        """
        from scipy.optimize import linear_sum_assignment

        rows = np.flatnonzero((worth[:, places] > -np.inf).any(axis=1)) if len(places) else np.arange(0)
        groups = self._group[rows]
        spare = np.maximum(np.bincount(groups, minlength=len(quota)) - quota, 0)
        owners = np.repeat(np.arange(len(quota)), spare)
        if len(places) + len(owners) > len(rows):
            return None if len(places) else np.empty(0, np.int64)
        table = np.hstack([worth[np.ix_(rows, places)], np.where(groups[:, None] == owners, 0.0, -np.inf)])
        try:
            chosen, columns = linear_sum_assignment(table, maximize=True)
        except ValueError:  # a position cannot be filled
            return None
        shown_at = columns < len(places)
        arms = rows[chosen[shown_at]] * self.positions + places[columns[shown_at]]
        return np.asarray(arms[np.argsort(arms % self.positions)], np.int64)


def _names(items: int | Sequence[Hashable]) -> tuple[Hashable, ...]:
    if isinstance(items, int | np.integer):
        return tuple(range(integer("items", items, 1)))
    names = tuple(listed("items", items, "items, or their number"))
    try:
        for name in names:
            check_name(name)
    except ValueError as error:
        raise ValueError(f"items must be valid names: {error}") from None
    if not names or len(set(names)) < len(names):
        raise ValueError(f"items must be different names, at least one, got {shown(items)}")
    return names


def _rooms(
    groups: tuple[Hashable, ...] | None, quotas: Any, n_items: int, positions: int
) -> tuple[IntArray, IntArray]:
    """Return the number of the group of each item, and the quota of each group."""
    if groups is None:
        return np.zeros(n_items, np.int64), np.array([positions])
    if len(groups) != n_items:
        raise ValueError(f"groups must have one entry for each of {n_items} items, got {len(groups)}")
    known: dict[Hashable, int] = {}
    numbers = np.array([known.setdefault(group, len(known)) for group in groups], np.int64)
    if isinstance(quotas, Mapping):
        if strange := [group for group in quotas if group not in known]:
            raise ValueError(f"quotas must be for groups of items, got also {shown(strange)}")
        rooms: Iterable[Any] = (quotas.get(group, positions) for group in known)
    else:
        rooms = [quotas] * len(known)
    return numbers, np.array([min(integer("quotas", room, 0), positions) for room in rooms], np.int64)
