"""Knapsacks with several capacities."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.validation import real_array, vector
from oracles.anytime import OnLimit, checked_limits
from oracles.packing._core import fractional_bound
from oracles.packing._rows import Rows, check_exact
from oracles.programs._mixed_integer import INTEGRAL, rows_of
from oracles.programs.linear_program import PuLPOracle


class MultidimensionalKnapsack(PuLPOracle):
    """The sets of arms that satisfy several capacities, including the empty set.

    The oracle uses integer programming as in `PuLPOracle`; it is exact unless `gap` is positive. For one row,
    `Knapsack` is faster. Rows of integers with a capacity of at most 2^53 are satisfied exactly, other rows
    up to 1e-6 of their capacity.

    Parameters
    ----------
    weights : array_like, shape (rows, n_arms)
        The amount of each capacity that each arm uses, nonnegative. Integers must be at most 2^53; larger
        numbers must be floats.
    capacities : array_like, shape (rows,)
        The capacities, nonnegative, with the same largest integer.
    gap : float
    time_limit : float, optional
    node_limit : int, optional
    solver : a PuLP solver, optional
    on_limit : {"raise", "best"}
        As in `PuLPOracle`. With ``time_limit=0``, a call returns the greedy answer.

    Raises
    ------
    ValueError
        If an argument is out of range.
    SolverError
        As in `PuLPOracle`.

    Examples
    --------
    Money and hours:

    >>> import numpy as np
    >>> from oracles import MultidimensionalKnapsack
    >>> oracle = MultidimensionalKnapsack([[3, 2, 2, 1], [1, 1, 4, 1]], capacities=[5, 4])
    >>> oracle.solve(np.array([0.4, 0.6, 0.9, 0.3]), np.random.default_rng(0))
    array([0, 1])

    References
    ----------
    H. Kellerer, U. Pferschy, D. Pisinger: Knapsack Problems (2004), chapter 9.
    """

    has_membership = True

    def __init__(
        self,
        weights: ArrayLike,
        capacities: ArrayLike,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        solver: Any = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        self.weights = np.array(real_array("weights", weights))
        check_exact("weights", weights)
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise ValueError(f"weights must have shape (rows, n_arms), got {self.weights.shape}")
        vector("weights", self.weights.reshape(-1), low=0.0)
        self.capacities = vector("capacities", capacities, len(self.weights), 0.0)
        check_exact("capacities", capacities)
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        arms = np.arange(self.weights.shape[1])
        self._packing = Rows.of(self.weights, self.capacities)
        self._rows, self._room, _ = self._packing
        fitting = (np.cumsum(np.sort(self._rows), axis=1) <= self._room[:, np.newaxis] + INTEGRAL).sum(axis=1)
        places = np.tile(arms, (len(self.weights), 1))
        feasible = rows_of(len(arms), *self._packing.program(places, len(arms)))
        self._begin(
            feasible, "max", limits, solver, largest=np.empty(0, np.int64), max_size=int(fitting.min())
        )

    def __repr__(self) -> str:
        return described(self, sense=None, weights=self.weights.shape)

    def labels(self, super_arm: IntArray) -> list[Any]:
        super_arm = self._check_entries(super_arm)
        return [int(arm) for arm in super_arm]

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether the arms satisfy all capacities."""
        super_arm = self._check_entries(super_arm)
        return all(self._packing.allow(row, super_arm) for row in range(len(self._room)))

    def _greedy(self, values: FloatArray) -> IntArray:
        """Return the arms that fit, in decreasing order of the mean per share of all capacities."""
        shares = self._rows / np.where(self._room > 0.0, self._room, 1.0)[:, np.newaxis]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            order = np.argsort(-values / shares.sum(axis=0), kind="stable")
        left, chosen = self._room.copy(), []
        for arm in order:
            if values[arm] > 0.0 and (self._rows[:, arm] <= left).all():
                chosen.append(arm)
                left -= self._rows[:, arm]
        return np.sort(np.array(chosen, np.int64))

    def _easy_bound(self, values: FloatArray) -> float:
        """Return the least upper bound of the fractional knapsacks of all rows (Dantzig 1957)."""
        return min(
            fractional_bound(values, row, room) for row, room in zip(self._rows, self._room, strict=True)
        )
