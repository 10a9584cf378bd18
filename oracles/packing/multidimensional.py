"""Knapsacks with several capacities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.validation import real_array, vector
from oracles.programs._pulp_models import row_model
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
    solver : a PuLP solver, optional
    on_limit : {"raise", "incumbent"}
        As in `PuLPOracle`.

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
        solver: Any = None,
        on_limit: Literal["raise", "incumbent"] = "raise",
    ) -> None:
        self.weights = np.array(real_array("weights", weights))
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise ValueError(f"weights must have shape (rows, n_arms), got {self.weights.shape}")
        vector("weights", self.weights.reshape(-1), low=0.0)
        self.capacities = vector("capacities", capacities, len(self.weights), 0.0)
        arms = np.arange(self.weights.shape[1])
        rows = [scaled_row(row, room) for row, room in zip(self.weights, self.capacities, strict=True)]
        problem, takes = row_model(len(arms), [(arms, row, -np.inf, room) for row, room in rows])
        super().__init__(
            problem, takes, sense="max", gap=gap, time_limit=time_limit, solver=solver, on_limit=on_limit
        )

    def __repr__(self) -> str:
        return described(self, sense=None, weights=self.weights.shape)

    def labels(self, super_arm: IntArray) -> list[Any]:
        return [int(arm) for arm in super_arm]


def scaled_row(weights: FloatArray, room: float) -> tuple[FloatArray, float]:
    """Return integers unchanged, other rows as fractions of the capacity: solver tolerances are absolute."""
    if (weights == np.floor(weights)).all() and room == np.floor(room) and room < 2**20:
        return np.minimum(weights, room + 1.0), room
    if room == 0.0:
        return (weights > 0.0).astype(np.float64), 0.0
    return np.minimum(weights / room, 2.0), 1.0
