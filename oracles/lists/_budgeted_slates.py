"""The best slate within a budget, by integer programming."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import real, vector
from oracles.packing._rows import Row, Rows, check_exact

#: The solver ignores improvements below 1e-6, so the scaled means are multiplied by 2^10.
_EXPONENT = 10


class Budget(NamedTuple):
    """The costs of the items and the budget, as the only row of a packing problem."""

    row: Rows

    @classmethod
    def of(cls, costs: ArrayLike, budget: Any, n_items: int) -> Budget:
        """Return the budget; raise ``ValueError`` if an argument is out of its range."""
        checked, room = vector("costs", costs, n_items, 0.0), real("budget", budget, 0.0)
        check_exact("costs", costs)
        check_exact("budget", budget)
        return cls(Rows.of(checked[np.newaxis], np.array([room])))

    def allows(self, items: IntArray) -> bool:
        """Return whether the items cost at most the budget."""
        return self.row.allow(0, items)

    def longest(self, groups: IntArray, quota: IntArray) -> int:
        """Return the largest number of items within the budget and the quotas.

        The sets within the quotas form a matroid, so cheapest items first are the cheapest set of each size.
        """
        left, taken = quota.copy(), list[int]()
        for item in np.argsort(self.row.sizes[0], kind="stable").tolist():
            if left[groups[item]] > 0:
                taken.append(item)
                left[groups[item]] -= 1
        # The longest affordable beginning, by bisection, because the costs are not negative.
        return bisect_right(range(len(taken)), False, key=lambda i: not self.allows(np.array(taken[: i + 1])))

    def program(self, items: IntArray) -> tuple[list[Row], list[float]]:
        """Return the rows of columns of these items, and the largest values of the columns after them."""
        columns = np.arange(len(items))[np.newaxis]
        return self.row._replace(sizes=self.row.sizes[:, items]).program(columns, len(items))


def best_affordable(
    worth: FloatArray, groups: IntArray, quota: IntArray, budget: Budget, required: IntArray
) -> IntArray | None:
    """Return the arms of the best slate, or None if no slate contains the required arms.

    The sum of the means is at most ``1e-12 n_arms`` times the largest mean below the best.

    Parameters
    ----------
    worth : FloatArray, shape (n_items, positions)
        The means, scaled; minus infinity for excluded arms.
    groups : IntArray, shape (n_items,)
        The number of the group of each item.
    quota : IntArray, shape (n_groups,)
        The largest number of items of each group.
    budget : Budget
        The budget.
    required : IntArray
        The required arms.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    k = worth.shape[1]
    allowed = worth.ravel() > -np.inf
    arms = np.flatnonzero(allowed)
    if not allowed[required].all() or not len(arms):
        return None
    items, places = np.divmod(arms, k)
    columns, ones, free = np.arange(len(arms)), np.ones(len(arms)), -np.inf
    of_items = np.split(columns, np.flatnonzero(np.diff(items)) + 1)
    rows: list[Row] = [(own, np.ones(len(own)), free, 1.0) for own in of_items]
    for group, most in enumerate(quota.tolist()):
        members = columns[groups[items] == group]
        rows.append((members, np.ones(len(members)), free, float(most)))
    # One item at the first position, at most as many at each position as at the one before it.
    rows.append((columns[places == 0], ones[places == 0], 1.0, 1.0))
    for place in range(1, k):
        here, before = columns[places == place], columns[places == place - 1]
        signs = np.concatenate([np.ones(len(here)), -np.ones(len(before))])
        rows.append((np.concatenate([here, before]), signs, free, 0.0))
    affordable, carries = budget.program(items)
    rows += affordable
    lengths = [len(row[0]) for row in rows]
    entries = (np.repeat(np.arange(len(rows)), lengths), np.concatenate([row[0] for row in rows]))
    n = len(arms) + len(carries)
    table = csr_array((np.concatenate([row[1] for row in rows]), entries), shape=(len(rows), n))
    low, high = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    found = milp(
        np.concatenate([-np.ldexp(worth.ravel()[arms], _EXPONENT), np.zeros(len(carries))]),
        integrality=np.ones(n, np.int64),
        bounds=Bounds(
            np.concatenate([np.isin(arms, required), np.zeros(len(carries))]), np.append(ones, carries)
        ),
        constraints=LinearConstraint(table, low, high),
        options={"mip_rel_gap": 0.0},
    )
    if found.x is None:
        return None
    chosen = arms[found.x[: len(arms)] > 0.5]
    ordered: IntArray = chosen[np.argsort(chosen % k)]
    return ordered
