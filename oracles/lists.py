"""Ordered lists of k arms, lists with a cost of each entry, and slates with quotas."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import Kernel, lean_kernel, solve_kernel
from cmab.feedback import Feedback
from cmab.guarantees import Smoothness
from cmab.oracle import LinearOracle, Oracle
from cmab.parameters import described
from cmab.selection import top_k
from cmab.validation import (
    check_name,
    frozen,
    integer,
    listed,
    one_of,
    place_of,
    real,
    real_array,
    shown,
    vector,
)
from oracles.programs import scaled


@lean_kernel
def rank(means, k, chosen):
    """Write the arms of the k largest means to `chosen`, best first; ties go to the lower index."""
    top_k(means, k, chosen)
    # The arms are in order of index, which a stable sort keeps among equal means.
    for i in range(1, k):
        arm, j = chosen[i], i
        while j > 0 and means[chosen[j - 1]] < means[arm]:
            chosen[j] = chosen[j - 1]
            j -= 1
        chosen[j] = arm


@solve_kernel
def solve_ranked(means, integers, reals, out):
    """Solve `RankedTopK`; `integers` contains k."""
    k = int(integers[0])
    rank(means, k, out)
    return k


@lean_kernel
def list_worth(super_arm, size, means, is_disjunctive):
    """Return the probability that at least one entry succeeds, or that all entries succeed."""
    worth = 0.0 if is_disjunctive else 1.0
    for j in range(size):
        # Kveton et al., ICML 2015, equation 2: f = 1 - prod (1 - w), computed here without cancellation for
        # small w; NIPS 2015, section 2: f = prod w.
        w = means[super_arm[j]]
        worth = worth + (1.0 - worth) * w if is_disjunctive else worth * w
    return worth


Reward = Literal["disjunctive", "conjunctive"]


class RankedTopK(Oracle):
    """Ordered lists of exactly `k` arms, best first, that a user examines from the top. Exact.

    With a disjunctive reward, the user wants one good entry and stops at the first one. The reward of the
    list is the probability that it has a good entry, ``1 - prod (1 - mean)``. With a conjunctive reward, all
    entries must be good, like the links of a connection, and the first bad entry ends the examination. The
    reward is ``prod mean``. A super arm lists the arms in the order in which they are shown. The order does
    not change the reward, but it changes the feedback: an entry shows its outcome only if the user reaches
    it, so better arms come first. Ties go to the lower index.

    With this oracle, `CUCB` is CascadeUCB1 (CombCascade for conjunctive rewards), `KLCUCB` is CascadeKL-UCB,
    `CTS` is TS-Cascade with Beta priors, and `C2UCB` with a constant `radius` is CascadeLinUCB.

    Parameters
    ----------
    n_arms : int
        The number of base arms, at least 1.
    k : int
        The length of a list, in ``[1, n_arms]``.
    reward : {"disjunctive", "conjunctive"}
        Whether one entry must succeed, or all entries.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import RankedTopK
    >>> oracle = RankedTopK(n_arms=4, k=2)
    >>> means = np.array([0.25, 0.5, 0.75, 0.5])
    >>> shown = oracle.solve(means, np.random.default_rng(0))
    >>> shown, oracle.expected_reward(shown, means)
    (array([2, 1]), 0.875)
    >>> oracle.triggering_probabilities(shown, means)
    array([0.  , 0.25, 1.  , 0.  ])

    References
    ----------
    B. Kveton, C. Szepesvari, Z. Wen, A. Ashkan: Cascading Bandits: Learning to Rank in the Cascade Model,
    ICML 2015. B. Kveton, Z. Wen, A. Ashkan, C. Szepesvari: Combinatorial Cascading Bandits, NIPS 2015.
    Q. Wang, W. Chen (NIPS 2017): smoothness of both rewards.
    """

    triggers_surely = False
    has_membership = True

    def __init__(self, n_arms: int, k: int, *, reward: Reward = "disjunctive") -> None:
        self.n_arms = integer("n_arms", n_arms, 1)
        self.k = integer("k", k, 1, self.n_arms)
        self.reward: Reward = one_of("reward", reward, ("disjunctive", "conjunctive"))

    @property
    def max_size(self) -> int:
        return self.k

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the list of the k best arms; ties go to the lower index."""
        return self._ranked(self._check_means(means))

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the best list of available arms; raise ``ValueError`` if fewer than k are available."""
        available = self._check_available(available)
        values, free = self._check_means(means), np.flatnonzero(available)
        if len(free) < self.k:
            raise self._none_within(available)
        return free[self._ranked(values[free])]

    def is_feasible(self, super_arm: IntArray) -> bool:
        return len(self._check_entries(super_arm)) == self.k

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the whole list, because the number of examined entries depends on the means."""
        return self._check_entries(super_arm)

    def _uniform_family(self, available: BoolArray) -> tuple[int, int] | None:
        """Return the number of lists of k available arms, and k."""
        available = self._check_available(available)
        return math.perm(int(available.sum()), self.k), self.k

    def kernel(self) -> Kernel | None:
        return Kernel(solve_ranked, np.array([self.k]))

    def _ranked(self, values: FloatArray) -> IntArray:
        chosen = np.empty(self.k, np.int64)
        rank(values, self.k, chosen)
        return chosen

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        super_arm, chances = self._check_entries(super_arm), self._check_means(means, 0.0, 1.0)
        return float(list_worth(super_arm, len(super_arm), chances, self.reward == "disjunctive"))

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray:
        """Return the probability that the user examines each arm, i.e. did not stop above it."""
        super_arm, chances = self._check_entries(super_arm), self._check_means(means, 0.0, 1.0)
        goes_on = 1.0 - chances if self.reward == "disjunctive" else chances
        reached = np.zeros(self.n_arms)
        reached[super_arm] = np.cumprod(np.concatenate([[1.0], goes_on[super_arm[:-1]]]))[: len(super_arm)]
        return reached

    def feedback_of(self, super_arm: IntArray, **report: Any) -> Feedback:
        """Return the feedback of a list for which the stopping entry is known.

        Parameters
        ----------
        super_arm : IntArray, shape (k,)
            The list.
        **report
            One argument. With a disjunctive reward ``clicked``, the clicked entry, or None if the user
            clicked no entry. With a conjunctive reward ``failed``, the first entry that failed, or None if
            all entries succeeded.

        Examples
        --------
        >>> from oracles import RankedTopK
        >>> seen = RankedTopK(5, k=3).feedback_of([4, 0, 2], clicked=0)
        >>> seen.arms, seen.outcomes, seen.reward
        (array([4, 0]), array([0., 1.]), 1.0)
        """
        super_arm = self._check_entries(super_arm)
        word = "clicked" if self.reward == "disjunctive" else "failed"
        if set(report) != {word}:
            raise ValueError(
                f"a report must have only the keyword {word}, got {', '.join(report) or 'nothing'}"
            )
        place = place_of(word, report[word], self.labels(super_arm))
        settles = 1.0 if self.reward == "disjunctive" else 0.0
        if place is None:
            return Feedback(super_arm, np.full(len(super_arm), 1.0 - settles), reward=1.0 - settles)
        outcomes = np.full(place + 1, 1.0 - settles)
        outcomes[place] = settles
        return Feedback(super_arm[: place + 1], outcomes, reward=settles)

    def smoothness(self) -> Smoothness:
        """Return ``k x``; the constant modulated by triggering is 1."""
        return Smoothness.linear(self.k)


class CostAwareCascade(RankedTopK):
    """Ordered lists of any length that are tried from the top until an entry succeeds, at a cost each. Exact.

    For example, models are asked from cheap to strong until an answer passes a check. An entry succeeds with
    the probability `mean`, independently of the others. The reward of a list is `value` if an entry succeeds,
    minus the costs of the entries that were tried. The oracle finds the best order and the place to stop: a
    list has all entries with ``mean x value`` above their cost, in increasing order of ``cost / mean``. Ties
    go to the lower index. The list is empty if no entry is worth its cost.

    Parameters
    ----------
    costs : array_like, shape (n_arms,)
        The cost of each entry when it is tried, at least 0.
    value : float
        The value of a success, positive, in the unit of the costs.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import CostAwareCascade
    >>> oracle = CostAwareCascade(costs=[0.02, 0.1, 0.5, 0.4], value=1.0)
    >>> means = np.array([0.5, 0.8, 0.9, 0.3])
    >>> models = oracle.solve(means, np.random.default_rng(0))
    >>> models, round(oracle.expected_reward(models, means), 3)
    (array([0, 1, 2]), 0.87)
    >>> seen = oracle.feedback_of(models, clicked=1)    # model 0 failed, and model 1 passed the check
    >>> seen.arms, seen.outcomes, seen.reward
    (array([0, 1]), array([0., 1.]), 0.88)

    Notes
    -----
    Exchanging two neighbours shows the order. An entry before a list of reward W adds
    ``mean (value - W) - cost``. This is positive for all entries with ``cost / mean < value`` if the list has
    only entries of a larger ratio, because then ``value - W`` is above the ratio of the entry.

    References
    ----------
    R. Zhou, C. Gan, J. Yang, C. Shen: Cost-aware Cascading Bandits, IJCAI 2018 (from memory).
    """

    def __init__(self, costs: ArrayLike, value: float = 1.0) -> None:
        self.costs = frozen(vector("costs", costs, low=0.0))
        super().__init__(len(self.costs), len(self.costs))
        self.value = real("value", value, 0.0, inside=True)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the entries that are worth their cost, best ratio first."""
        means = self._check_means(means)
        worthy = np.flatnonzero(means * self.value > self.costs)
        return worthy[np.argsort(self.costs[worthy] / means[worthy], kind="stable")]

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        available = self._check_available(available)
        return self.solve(np.where(available, self._check_means(means), 0.0), rng)

    def kernel(self) -> None:
        return None

    def _uniform_family(self, available: BoolArray) -> None:
        return None

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return True, because lists of all lengths are feasible."""
        self._check_entries(super_arm)
        return True

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        reached = self.triggering_probabilities(super_arm, means)
        return float(reached @ (self._check_means(means) * self.value - self.costs))

    def feedback_of(self, super_arm: IntArray, **report: Any) -> Feedback:
        """Return the feedback of a list of which the successful entry is known.

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            The list.
        **report
            The argument ``clicked``: the entry that succeeded, or None if all entries failed.
        """
        feedback = super().feedback_of(super_arm, **report)
        spent = self.costs[feedback.arms].sum()
        return feedback.with_reward(float(self.value * feedback.reward - spent))

    def smoothness(self) -> Smoothness:
        """Return ``n (value + C) x``, with the sum C of the costs; the modulated constant is value + C."""
        return Smoothness.linear(self.n_arms, self.value + float(self.costs.sum()))


class Slate(LinearOracle):
    """Pages with different items at the positions, and at most a given number of items of each group. Exact.

    Base arm ``item * positions + position`` is an item at a position, because the same item can have
    different outcomes at different positions. The reward is the sum over the positions. A super arm lists its
    arms from the first position to the last. It fills the positions from the first one without gaps, and it
    fills all positions if enough items are available and allowed by the quotas. Otherwise it is shorter.

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

    Raises
    ------
    ValueError
        If a parameter is out of its range, `groups` and `quotas` are not given together, or the quotas allow
        no item.

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
    ) -> None:
        self.items = _names(items)
        self.positions = integer("positions", positions, 1)
        self._names = [(item, place + 1) for item in self.items for place in range(self.positions)]
        self.n_arms = len(self._names)
        if (groups is None) != (quotas is None):
            raise ValueError(
                f"groups and quotas must be given together, got {shown(groups)}, {shown(quotas)}"
            )
        self.groups = None if groups is None else tuple(listed("groups", groups, "groups, one for each item"))
        self.quotas = quotas
        # Without groups, all items are of one group, whose quota is no constraint.
        self._group, self._quota = _rooms(self.groups, quotas, len(self.items), self.positions)
        self._length = self._longest(np.ones(len(self.items), np.bool_))
        if not self._length:
            raise ValueError(f"quotas must allow at least one item, got {shown(quotas)}")

    def __repr__(self) -> str:
        return described(self, items=len(self.items), groups=None, quotas=self.quotas)

    @property
    def max_size(self) -> int:
        return self._length

    @property
    def least_mean(self) -> float:
        """0, because a shorter slate would be better if means were negative."""
        return 0.0

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

    def _uniform_family(self, available: BoolArray) -> tuple[int, int] | None:
        """Return the number and the length of the slates of available items, without quotas.

        It returns None if there are quotas, or if only some positions of an item are available.
        """
        available = self._check_available(available)
        flags = available.reshape(-1, self.positions)
        free = flags[:, 0]
        if self.groups is not None or (flags != free[:, None]).any():
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

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the best slate, from the first position to the last."""
        best = self._best(self._worth(means), self._quota, np.arange(self._length))
        assert best is not None, "a slate of this length exists"
        return best

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        required, banned = self._check_constraints(include, exclude)
        worth = self._worth(means)
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
        return bool(len(items) and is_gapless and distinct and (counts <= self._quota).all())

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
    for name in names:
        check_name(name, "items")
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
