"""Allocations: one level of each line, such as an amount of money, within a budget."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from itertools import chain

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import LinearOracle
from cmab.parameters import described
from cmab.validation import check_name, listed, real, shown, vector
from oracles.packing import check_exact, in_whole_numbers


class LevelAllocation(LinearOracle):
    """Sets with at most one level of each line, and a total cost of at most `budget`. Exact.

    A line can be an advertising line with several amounts per day, or a model with several amounts of effort.
    Base arm (line, level) is the outcome of the line at this level. The learner assumes nothing about the
    form of the response: levels may have increasing, saturating or falling means. A line without a chosen
    level costs nothing, and its outcome counts as 0. If a line without money still has outcomes, give it a
    level of cost 0. The problem is the multiple-choice knapsack problem. An arm of nonpositive mean is never
    chosen.

    Parameters
    ----------
    costs : mapping or sequence
        The costs of the levels of each line: a mapping from names of lines to sequences of costs, or a
        sequence of sequences, for lines named 0, 1, .... Each line has at least one level, and its costs are
        nonnegative and different. The arms are numbered line by line. Their names are the pairs (line, cost).
        As in `Knapsack`, integers are exact, and other numbers are rounded down to multiples of 2^-40 times
        the budget.
    budget : float
        The largest total cost of a super arm, nonnegative.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Dynamic programming by lists of undominated sets, line by line: a set is dominated if another set of the
    same lines costs at most as much and is worth at least as much. For integer costs, a list has at most
    ``budget + 1`` sets. For other costs it can be longer, so state money in whole cents.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import LevelAllocation
    >>> oracle = LevelAllocation({"search": [10, 20, 40], "video": [20, 30]}, budget=50)
    >>> means = np.array([0.3, 0.5, 0.6, 0.2, 0.4])
    >>> chosen = oracle.solve(means, np.random.default_rng(0))
    >>> oracle.labels(chosen), oracle.expected_reward(chosen, means)
    ([('search', 20), ('video', 30)], 0.9)

    References
    ----------
    H. Kellerer, U. Pferschy, D. Pisinger: Knapsack Problems (2004), chapter 11; G. L. Nemhauser, Z. Ullmann:
    Discrete Dynamic Programming and Capital Allocation, Management Science 15 (1969); both from memory. L. Ge
    et al.: Multi-Task Combinatorial Bandits for Budget Allocation, arXiv:2409.00561 (2024), for the
    application to advertising lines (abstract).
    """

    can_constrain = True
    has_membership = True

    def __init__(self, costs: Mapping[Hashable, ArrayLike] | Iterable[ArrayLike], budget: float) -> None:
        rows = costs if isinstance(costs, Mapping) else dict(enumerate(listed("costs", costs, "sequences")))
        for line, row in rows.items():
            check_name(line)
            numbers = vector(f"costs[{line!r}]", row, low=0.0)
            check_exact(f"costs[{line!r}]", row)
            if not len(numbers) or len(np.unique(numbers)) < len(numbers):
                raise ValueError(f"costs[{line!r}] must be different costs, at least one, got {shown(row)}")
        if not rows:
            raise ValueError("costs must have at least one line, got none")
        self.costs = {line: tuple(np.asarray(row).tolist()) for line, row in rows.items()}
        self.budget = real("budget", budget, 0.0)
        check_exact("budget", budget)
        self._names = [(line, cost) for line, row in self.costs.items() for cost in row]
        self.n_arms = len(self._names)
        self._lines = np.repeat(np.arange(len(self.costs)), [len(row) for row in self.costs.values()])
        flat = np.array([*chain.from_iterable(self.costs.values())], np.float64)
        self._sizes, self._room = in_whole_numbers(flat, self.budget)

    def __repr__(self) -> str:
        return described(self)

    @property
    def max_size(self) -> int:
        least = np.full(len(self.costs), self._room + 1)
        np.minimum.at(least, self._lines, self._sizes)
        return int((np.cumsum(np.sort(least), dtype=np.float64) <= self._room).sum())

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return self._room_beside(super_arm) >= 0

    def _room_beside(self, arms: IntArray) -> int:
        """Return the budget that is left beside the arms, or -1 if they belong to no super arm."""
        if len(np.unique(self._lines[arms])) < len(arms):
            return -1
        return max(self._room - int(self._sizes[arms].sum()), -1)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the best levels, in increasing order of the arms."""
        return self._best(self._check_means(means), self._room)

    def solve_constrained(
        self, means: FloatArray, include: ArrayLike, exclude: ArrayLike, rng: np.random.Generator
    ) -> IntArray | None:
        values = self._check_means(means).copy()
        required, banned = self._check_constraints(include, exclude)
        room = self._room_beside(required)
        if room < 0:
            return None
        values[banned] = values[np.isin(self._lines, self._lines[required])] = 0.0
        return np.sort(np.concatenate((required, self._best(values, room))))

    def _best(self, values: FloatArray, room: int) -> IntArray:
        """Return the best set of arms of positive value within the room."""
        # Scaling by a power of two is exact, and prevents infinite sums.
        worth = np.ldexp(values, -int(np.frexp(values.max())[1]))
        arms = np.flatnonzero((worth > 0.0) & (self._sizes <= room))
        used, gained = np.zeros(1, np.int64), np.zeros(1)
        steps: list[tuple[IntArray, IntArray]] = []
        for line in np.unique(self._lines[arms]).tolist():
            levels = arms[self._lines[arms] == line]
            # Each kept set without the line, and with each of its levels.
            sizes = np.concatenate((used, np.add.outer(self._sizes[levels], used).ravel()))
            sums = np.concatenate((gained, np.add.outer(worth[levels], gained).ravel()))
            order = np.lexsort((-sums, sizes))
            order = order[sizes[order] <= room]
            best = np.maximum.accumulate(sums[order])
            # A set is undominated if it is worth more than all that cost at most as much.
            kept = order[np.concatenate(([True], best[1:] > best[:-1]))]
            steps.append((np.concatenate(([-1], levels))[kept // len(used)], kept % len(used)))
            used, gained = sizes[kept], sums[kept]
        chosen, at = [], len(used) - 1
        for levels, before in reversed(steps):
            if levels[at] >= 0:
                chosen.append(int(levels[at]))
            at = int(before[at])
        return np.array(chosen[::-1], np.int64)
