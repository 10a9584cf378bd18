"""The best slate within a budget, by integer programming."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import real, vector
from oracles.packing._rows import scaled_row
from oracles.programs._mixed_integer import INTEGRAL

#: The solver ignores improvements below 1e-6, so the scaled means are multiplied by 2^10.
_EXPONENT = 10


class Budget(NamedTuple):
    """The costs of the items and the budget, scaled so that the tolerances of the solver are relative."""

    costs: FloatArray
    room: float

    @classmethod
    def of(cls, costs: ArrayLike, budget: Any, n_items: int) -> Budget:
        """Return the scaled budget; raise ``ValueError`` if an argument is out of its range."""
        checked = vector("costs", costs, n_items, 0.0)
        return cls(*scaled_row(checked, real("budget", budget, 0.0)))

    def allows(self, items: IntArray) -> bool:
        """Return whether the items cost at most the budget."""
        return float(self.costs[items].sum()) <= self.room + INTEGRAL

    def longest(self, groups: IntArray, quota: IntArray) -> int:
        """Return the largest number of items within the budget and the quotas.

        The sets within the quotas form a matroid, so cheapest items first are the cheapest set of each size.
        """
        left, spent, taken = quota.copy(), 0.0, 0
        for item in np.argsort(self.costs, kind="stable").tolist():
            if left[groups[item]] > 0 and spent + self.costs[item] <= self.room + INTEGRAL:
                left[groups[item]] -= 1
                spent, taken = spent + float(self.costs[item]), taken + 1
        return taken


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
    n, ones = len(arms), np.ones(len(arms))
    # One item at the first position, at most as many at each position as at the one before it.
    earlier = np.flatnonzero(places < k - 1)
    parts = [
        (items, np.arange(n), ones),
        (len(worth) + groups[items], np.arange(n), ones),
        (np.full(n, len(worth) + len(quota)), np.arange(n), budget.costs[items]),
    ]
    top = len(worth) + len(quota) + 1
    parts += [
        (top + places, np.arange(n), ones),
        (top + places[earlier] + 1, earlier, -np.ones(len(earlier))),
    ]
    rows, columns, numbers = (np.concatenate(part) for part in zip(*parts, strict=True))
    table = csr_array((numbers, (rows, columns)), shape=(top + k, n))
    high = np.concatenate([np.ones(len(worth)), quota, [budget.room, 1.0], np.zeros(k - 1)])
    low = np.full(len(high), -np.inf)
    low[top] = 1.0
    found = milp(
        -np.ldexp(worth.ravel()[arms], _EXPONENT),
        integrality=np.ones(n, np.int64),
        bounds=Bounds(np.isin(arms, required).astype(np.float64), ones),
        constraints=LinearConstraint(table, low, high),
        options={"mip_rel_gap": 0.0},
    )
    if found.x is None:
        return None
    chosen = arms[found.x > 0.5]
    ordered: IntArray = chosen[np.argsort(chosen % k)]
    return ordered
