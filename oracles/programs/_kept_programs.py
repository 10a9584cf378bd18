"""A fixed feasible set in HiGHS, solved again and again with new costs, by any number of threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import numpy as np

from cmab.arrays import FloatArray
from oracles.programs._mixed_integer import INTEGRAL, FeasibleSet, Outcome, SolverError, scaled

# Reduced costs, with the largest cost at 2^11 or more: what counts as 0, and what surely is not.
_DUAL = 1e-10
_UNIQUE = 1e-6
# Branch and bound does not look for what is better by less than its feasibility tolerance, 1e-6. Larger costs
# are kinder than a smaller tolerance, which would also be that of the rows.
_INTEGER_EXPONENT = 10


def import_highs() -> Any:
    """Return highspy, or say what keeps it out."""
    try:
        import highspy
    except ImportError as error:
        raise ImportError(
            "highspy must be importable for PuLPOracle and Matching: python -m pip install highspy. If it is "
            "installed, another package of this process has loaded a HiGHS of its own; OR-tools is known to, "
            "and the two cannot share a process, in either order. Then use OR-tools in another process, or "
            f"give the oracle a solver that runs as a program of its own, solver=pulp.COIN_CMD(). ({error})"
        ) from error
    return highspy


@cache
def _silent_highs() -> Any:
    """Return the class of HiGHS objects that write nothing.

    Any call but the choice of options writes a header unless the output is off already, and from version
    1.16 on the constructor of highspy makes such a call: it enables callbacks.
    """
    highs_class: Any = import_highs().Highs

    class SilentHighs(highs_class):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return SilentHighs


class ProgramPool:
    """Programs of one feasible set, each in one call's hands at a time.

    A HiGHS object must not be used by two threads at once. There are as many objects as calls were ever at
    work together, one for a single thread; threads that come and go leave none behind.
    """

    def __init__(self, feasible: FeasibleSet, gap: float) -> None:
        self._set, self._gap = feasible, gap
        self._free: list[KeptProgram] = []

    def __getstate__(self) -> dict[str, Any]:
        # A HiGHS object can be neither pickled nor copied; whoever gets this compiles their own.
        return {**self.__dict__, "_free": []}

    @contextmanager
    def lent(self) -> Iterator[KeptProgram]:
        """Lend a program that nobody else uses. One that was interrupted is not lent again."""
        try:
            # One operation, so that two threads cannot get the same one.
            program = self._free.pop()
        except IndexError:
            program = KeptProgram(self._set, self._gap)
        yield program
        self._free.append(program)


class KeptProgram:
    """One HiGHS object with the feasible set in it; only costs and bounds change.

    The relaxation is solved first, warm; integers only where it is fractional. An optimum that is not
    provably unique is computed again from nothing, so that the answer is a function of the costs and never
    of the calls before.
    """

    def __init__(self, feasible: FeasibleSet, gap: float) -> None:
        self._set = feasible
        self._hi = import_highs()
        self._highs = _silent_highs()()
        options = {
            "output_flag": False,
            "threads": 1,
            "dual_feasibility_tolerance": _DUAL,
            "mip_rel_gap": gap,
            "mip_abs_gap": 0.0,
        }
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._highs.passModel(self._model())
        self._all = np.arange(feasible.n_columns, dtype=np.int32)
        self._deadline = np.inf

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
        self,
        costs: FloatArray,
        sense: Literal["max", "min"],
        fixed: Mapping[int, float] | None = None,
        seconds: float = np.inf,
    ) -> Outcome:
        """Return optimal column values for `costs`, or how far `seconds` reached.

        `fixed` gives columns a value for this call.

        Raises
        ------
        SolverError
            If the solver ends in any other state than a proof or the end of its time.
        """
        highs, kinds = self._highs, self._hi.ObjSense
        highs.changeObjectiveSense(kinds.kMaximize if sense == "max" else kinds.kMinimize)
        fitting, exponent = scaled(costs)
        highs.changeColsCost(len(self._all), self._all, fitting)
        # The simplex method compares the limit with the time of all runs of the object so far.
        self._deadline = highs.getRunTime() + seconds
        highs.setOptionValue("time_limit", self._deadline)
        for column, value in (fixed or {}).items():
            highs.changeColBounds(column, value, value)
        try:
            outcome = self._optimum(is_warm=not fixed)
        finally:
            for column in fixed or {}:
                highs.changeColBounds(column, self._set.lower[column], self._set.upper[column])
        if not np.isfinite(outcome.bound):
            return outcome._replace(bound=np.inf if sense == "max" else -np.inf)
        with np.errstate(over="ignore"):  # what no number is as large as has the bound infinity
            return outcome._replace(bound=float(np.ldexp(outcome.bound, -exponent)))

    def _optimum(self, is_warm: bool) -> Outcome:
        if is_warm:
            relaxed = self._run()
            if relaxed.state == "optimal" and self._is_unique():
                return self._whole(relaxed)
        self._highs.clearSolver()
        return self._whole(self._run())

    def _whole(self, relaxed: Outcome) -> Outcome:
        """Return `relaxed` if the integers are whole in it, the best values with whole ones otherwise."""
        if relaxed.state == "infeasible":
            return relaxed
        if relaxed.values is None or relaxed.state == "stopped":
            return relaxed._replace(values=None)
        whole = relaxed.values[self._set.integral]
        if (np.abs(whole - np.rint(whole)) <= INTEGRAL).all():
            return relaxed
        found = self._integers()
        return found if np.isfinite(found.bound) else found._replace(bound=relaxed.bound)

    def _integers(self) -> Outcome:
        """Solve with the integers in force, from nothing."""
        kinds = self._hi.HighsVarType
        whole = np.flatnonzero(self._set.integral).astype(np.int32)
        self._highs.clearSolver()
        costs = np.ldexp(self._highs.getLp().col_cost_, _INTEGER_EXPONENT)
        self._highs.changeColsCost(len(self._all), self._all, costs)
        self._highs.changeColsIntegrality(len(whole), whole, [kinds.kInteger] * len(whole))
        # Branch and bound counts from its own start: what is left of this call.
        self._highs.setOptionValue("time_limit", max(self._deadline - self._highs.getRunTime(), 0.0))
        try:
            found = self._run()
            bound = self._highs.getInfo().mip_dual_bound
            return found._replace(bound=float(np.ldexp(bound, -_INTEGER_EXPONENT)))
        finally:
            self._highs.changeColsIntegrality(len(whole), whole, [kinds.kContinuous] * len(whole))
            self._highs.clearSolver()

    def _run(self) -> Outcome:
        """Run HiGHS once; the bound is the objective of a relaxation that was solved."""
        highs, kinds = self._highs, self._hi.HighsModelStatus
        highs.run()
        if highs.getModelStatus() == kinds.kNotset:
            # The thread's scheduler was started by others with another number of threads: take theirs.
            highs.setOptionValue("threads", 0)
            highs.run()
        status, info = highs.getModelStatus(), highs.getInfo()
        if status == kinds.kInfeasible:
            return Outcome("infeasible", None, np.inf)
        if status in (kinds.kOptimal, kinds.kModelEmpty):
            return Outcome("optimal", np.array(highs.getSolution().col_value), info.objective_function_value)
        if status != kinds.kTimeLimit:
            raise SolverError(
                f"HiGHS must prove an optimum, got status {highs.modelStatusToString(status)!r}"
            )
        is_found = info.primal_solution_status == int(self._hi.SolutionStatus.kSolutionStatusFeasible)
        values = np.array(highs.getSolution().col_value) if is_found else None
        return Outcome("stopped", values, np.inf)

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
