"""A fixed feasible set of a mixed-integer program, solved again and again with new costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray

_INTEGRAL = 1e-6
_UNIQUE = 1e-6


class SolverError(RuntimeError):
    """A solver that is missing, ran out of time, or could not prove its answer optimal.

    Examples
    --------
    >>> from oracles import SolverError
    >>> issubclass(SolverError, RuntimeError)
    True
    """


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Rows, bounds and integrality of a program; `arms` names the binary columns that are base arms.

    Row r holds ``columns[starts[r]:starts[r + 1]]`` with their coefficients.
    """

    arms: IntArray
    lower: FloatArray
    upper: FloatArray
    integral: BoolArray
    starts: IntArray
    columns: IntArray
    coefficients: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray

    @property
    def n_columns(self) -> int:
        """Number of columns, base arms and others."""
        return len(self.lower)

    def holds(self, values: FloatArray) -> bool:
        """Return whether column values keep all rows and bounds, to 1e-6."""
        rows = np.repeat(np.arange(len(self.row_lower)), np.diff(self.starts))
        activity = np.bincount(rows, self.coefficients * values[self.columns], minlength=len(self.row_lower))
        slack = _INTEGRAL * (1 + np.abs(activity))
        inside = (values >= self.lower - _INTEGRAL) & (values <= self.upper + _INTEGRAL)
        kept = (activity >= self.row_lower - slack) & (activity <= self.row_upper + slack)
        return bool(inside.all() and kept.all())


class KeptProgram:
    """One HiGHS object with the feasible set in it; only costs and bounds change.

    The relaxation is solved first, warm; integers only where it is fractional. An optimum that is not
    provably unique is computed again from nothing, so that the answer is a function of the costs and never
    of the calls before.
    """

    def __init__(self, feasible: FeasibleSet, gap: float, time_limit: float | None) -> None:
        import highspy

        self._set = feasible
        self._hi: Any = highspy
        self._highs = self._hi.Highs()
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": max(gap, 1e-9), "mip_abs_gap": 1e-9}
        if time_limit is not None:
            options["time_limit"] = time_limit
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._highs.passModel(self._model())
        self._all = np.arange(feasible.n_columns, dtype=np.int32)

    def _model(self) -> Any:
        lp, feasible = self._hi.HighsLp(), self._set
        lp.num_col_, lp.num_row_ = feasible.n_columns, len(feasible.row_lower)
        lp.col_cost_ = np.zeros(feasible.n_columns)
        lp.col_lower_, lp.col_upper_ = feasible.lower, feasible.upper
        lp.row_lower_, lp.row_upper_ = feasible.row_lower, feasible.row_upper
        lp.a_matrix_.format_ = self._hi.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = feasible.starts.astype(np.int32)
        lp.a_matrix_.index_ = feasible.columns.astype(np.int32)
        lp.a_matrix_.value_ = feasible.coefficients
        return lp

    def solve(
        self, costs: FloatArray, sense: Literal["max", "min"], fixed: dict[int, float] | None = None
    ) -> FloatArray | None:
        """Return optimal column values for `costs`, None if the set is empty.

        `fixed` gives columns a value for this call.

        Raises
        ------
        SolverError
            If the solver ends in any other state than a proven optimum.
        """
        highs, kinds = self._highs, self._hi.ObjSense
        highs.changeObjectiveSense(kinds.kMaximize if sense == "max" else kinds.kMinimize)
        highs.changeColsCost(len(self._all), self._all, costs)
        for column, value in (fixed or {}).items():
            highs.changeColBounds(column, value, value)
        try:
            return self._optimum(is_warm=not fixed)
        finally:
            for column in fixed or {}:
                highs.changeColBounds(column, self._set.lower[column], self._set.upper[column])

    def _optimum(self, is_warm: bool) -> FloatArray | None:
        if is_warm:
            values = self._run()
            if values is not None and self._is_unique():
                return self._whole(values)
        self._highs.clearSolver()
        values = self._run()
        return None if values is None else self._whole(values)

    def _whole(self, values: FloatArray) -> FloatArray | None:
        """Return `values` if the integers are whole in them, the best values with whole ones otherwise."""
        whole = values[self._set.integral]
        is_whole = (np.abs(whole - np.rint(whole)) <= _INTEGRAL).all()
        return values if is_whole else self._integers()

    def _integers(self) -> FloatArray | None:
        """Solve with the integers in force, from nothing."""
        kinds = self._hi.HighsVarType
        whole = np.flatnonzero(self._set.integral).astype(np.int32)
        self._highs.clearSolver()
        self._highs.changeColsIntegrality(len(whole), whole, [kinds.kInteger] * len(whole))
        try:
            return self._run()
        finally:
            self._highs.changeColsIntegrality(len(whole), whole, [kinds.kContinuous] * len(whole))
            self._highs.clearSolver()

    def _run(self) -> FloatArray | None:
        self._highs.run()
        status, kinds = self._highs.getModelStatus(), self._hi.HighsModelStatus
        if status == kinds.kInfeasible:
            return None
        if status not in (kinds.kOptimal, kinds.kModelEmpty):
            text = self._highs.modelStatusToString(status)
            raise SolverError(f"HiGHS must prove an optimum, got status {text!r}")
        return np.array(self._highs.getSolution().col_value)

    def _is_unique(self) -> bool:
        """Return whether everything at a bound that could leave it has a price: no other point is optimal."""
        basis, solution = self._highs.getBasis(), self._highs.getSolution()
        basic = self._hi.HighsBasisStatus.kBasic
        at_bound = np.array([status != basic for status in (*basis.col_status, *basis.row_status)])
        feasible = self._set
        lower = np.concatenate([feasible.lower, feasible.row_lower])
        upper = np.concatenate([feasible.upper, feasible.row_upper])
        prices = np.abs(np.concatenate([solution.col_dual, solution.row_dual]))
        return bool((prices[at_bound & (lower < upper)] > _UNIQUE).all())
