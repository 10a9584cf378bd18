"""Knapsacks with several capacities."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.validation import real_array, vector
from oracles.anytime import OnLimit, checked_limits
from oracles.packing._core import fractional_bound
from oracles.programs._mixed_integer import INTEGRAL, rows_of
from oracles.programs.linear_program import PuLPOracle


class MultidimensionalKnapsack(PuLPOracle):
    """The sets of arms that satisfy several capacities, including the empty set.

    The oracle uses integer programming as in `PuLPOracle`; it is exact unless `gap` is positive. For one row,
    `Knapsack` is faster. Rows of integers are satisfied exactly, other rows up to 1e-6 of their capacity.

    Parameters
    ----------
    weights : array_like, shape (rows, n_arms)
        The amount of each capacity that each arm uses, nonnegative.
    capacities : array_like, shape (rows,)
        The capacities, nonnegative.
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
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise ValueError(f"weights must have shape (rows, n_arms), got {self.weights.shape}")
        vector("weights", self.weights.reshape(-1), low=0.0)
        self.capacities = vector("capacities", capacities, len(self.weights), 0.0)
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        arms = np.arange(self.weights.shape[1])
        rows = [scaled_row(row, room) for row, room in zip(self.weights, self.capacities, strict=True)]
        self._rows = np.array([row for row, _ in rows])
        self._room = np.array([room for _, room in rows])
        fitting = [(np.cumsum(np.sort(row)) <= room + INTEGRAL).sum() for row, room in rows]
        feasible = rows_of(len(arms), [(arms, row, -np.inf, room) for row, room in rows])
        self._begin(
            feasible, "max", limits, solver, largest=np.empty(0, np.int64), max_size=int(min(fitting))
        )

    def __repr__(self) -> str:
        return described(self, sense=None, weights=self.weights.shape)

    def labels(self, super_arm: IntArray) -> list[Any]:
        return [int(arm) for arm in super_arm]

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


def scaled_row(weights: FloatArray, room: float) -> tuple[FloatArray, float]:
    """Return integers unchanged, other rows as fractions of the capacity: solver tolerances are absolute."""
    if (weights == np.floor(weights)).all() and room == np.floor(room) and room < 2**20:
        return np.minimum(weights, room + 1.0), room
    if room == 0.0:
        return (weights > 0.0).astype(np.float64), 0.0
    with np.errstate(over="ignore"):  # a weight that exceeds a tiny capacity never fits
        return np.minimum(weights / room, 2.0), 1.0
