"""A fixed feasible set in HiGHS, solved repeatedly with new costs, from any number of threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import numpy as np

from cmab.arrays import FloatArray
from oracles._watch import Watch
from oracles.anytime import SolverError
from oracles.programs._mixed_integer import INTEGRAL, FeasibleSet, Outcome, scaled, unscaled

# Thresholds for reduced costs if the largest cost is at least 2^11: below the first a value counts as 0,
# above the second as positive.
_DUAL = 1e-10
_UNIQUE = 1e-6
# Branch and bound ignores improvements below its feasibility tolerance, 1e-6. Scaling the costs up is better
# than reducing the tolerance, which also applies to the rows.
_INTEGER_EXPONENT = 10


def import_highs() -> Any:
    """Import highspy, or raise ``ImportError`` with the likely reason."""
    try:
        import highspy
    except ImportError as error:
        raise ImportError(
            "highspy must be importable for PuLPOracle and Matching: python -m pip install highspy. If it is "
            "installed, another package (such as OR-tools) has loaded its own HiGHS in this process, and the "
            "two cannot share a process, in either order. Use OR-tools in another process, or pass a solver "
            f"that runs as a separate program, such as solver=pulp.COIN_CMD(). ({error})"
        ) from error
    return highspy


@cache
def silent_highs() -> Any:
    """Return the class of HiGHS objects without output.

    HiGHS writes a header at the first call other than the choice of options, unless the output is off. From
    version 1.16 on, the constructor of highspy makes such a call, to enable callbacks.
    """
    highs_class: Any = import_highs().Highs

    class SilentHighs(highs_class):  # type: ignore[misc]
        def enableCallbacks(self) -> None:
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()

    return SilentHighs


class ProgramPool:
    """Programs of one feasible set, each used by at most one call at a time.

    Two threads must not use the same HiGHS object. The pool has as many objects as there were simultaneous
    calls, i.e. one for a single thread. Threads that end leave no objects behind.
    """

    def __init__(self, feasible: FeasibleSet, gap: float, node_limit: int | None = None) -> None:
        self._set, self._gap, self._nodes = feasible, gap, node_limit
        self._free: list[KeptProgram] = []

    def __getstate__(self) -> dict[str, Any]:
        # A HiGHS object can be neither pickled nor copied, so the copy compiles its own.
        return {**self.__dict__, "_free": []}

    @contextmanager
    def lent(self) -> Iterator[KeptProgram]:
        """Lend a free program to one caller. After an interrupted call, a program is not lent again."""
        try:
            # `pop` is atomic, so two threads cannot get the same program.
            program = self._free.pop()
        except IndexError:
            program = KeptProgram(self._set, self._gap, self._nodes)
        yield program
        self._free.append(program)


class KeptProgram:
    """One HiGHS object with the feasible set; only costs and bounds change.

    The relaxation is solved first, from the last basis. The integer program is solved only if the relaxation
    is fractional. If an optimum is not provably unique, it is computed again without a starting basis. So the
    answer depends only on the costs, and not on earlier calls.
    """

    def __init__(self, feasible: FeasibleSet, gap: float, node_limit: int | None = None) -> None:
        self._set, self._watch = feasible, Watch("HiGHS")
        self._between: Callable[[Outcome], Outcome | FloatArray] | None = None
        self._hi = import_highs()
        self._highs = silent_highs()()
        options = {
            "output_flag": False,
            "threads": 1,
            "dual_feasibility_tolerance": _DUAL,
            "mip_rel_gap": gap,
            "mip_abs_gap": 0.0,
        }
        if node_limit is not None:
            options["mip_max_nodes"] = node_limit
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self._highs.passModel(self._model())
        self._highs.cbMipInterrupt.subscribe(self._see_nodes)
        self._highs.cbSimplexInterrupt.subscribe(self._see)
        self._all = np.arange(feasible.n_columns, dtype=np.int32)
        self._deadline, self._exponent = np.inf, 0

    def _see(self, event: Any) -> None:
        """Stop the search after Ctrl-C."""
        if self._watch.is_interrupted:
            event.interrupt()

    def _see_nodes(self, event: Any) -> None:
        """Show the progress of branch and bound, and stop it after Ctrl-C."""
        seen, exponent = event.data_out, self._exponent + _INTEGER_EXPONENT
        self._watch.tell(unscaled(seen.mip_primal_bound, exponent), unscaled(seen.mip_dual_bound, exponent))
        self._see(event)

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
        watch: Watch | None = None,
        between: Callable[[Outcome], Outcome | FloatArray] | None = None,
    ) -> Outcome:
        """Return optimal column values for `costs`, or the state of the search after `seconds`.

        `fixed` gives values of columns for this call. `watch` shows the progress and stops the search.
        `between` receives the relaxation if it is fractional. It returns the outcome, or feasible values with
        which branch and bound begins. The relaxation then has half of the time.

        Raises
        ------
        SolverError
            If the solver stops for any reason other than a proof or the time limit.
        """
        highs, kinds = self._highs, self._hi.ObjSense
        self._watch = Watch("HiGHS") if watch is None else watch
        self._between = between
        highs.changeObjectiveSense(kinds.kMaximize if sense == "max" else kinds.kMinimize)
        fitting, exponent = scaled(costs)
        self._exponent = exponent
        highs.changeColsCost(len(self._all), self._all, fitting)
        # The simplex method compares the limit with the total time of all runs of the object.
        self._deadline = highs.getRunTime() + seconds
        share = seconds if between is None else seconds / 2
        highs.setOptionValue("time_limit", highs.getRunTime() + share)
        for column, value in (fixed or {}).items():
            highs.changeColBounds(column, value, value)
        try:
            outcome = self._optimum(is_warm=not fixed)
        finally:
            for column in fixed or {}:
                highs.changeColBounds(column, self._set.lower[column], self._set.upper[column])
        if not np.isfinite(outcome.bound):
            return outcome._replace(bound=np.inf if sense == "max" else -np.inf)
        return outcome._replace(bound=unscaled(outcome.bound, exponent))

    def _optimum(self, is_warm: bool) -> Outcome:
        if is_warm:
            relaxed = self._run()
            if relaxed.state == "optimal" and self._is_unique():
                return self._whole(relaxed)
        self._highs.clearSolver()
        return self._whole(self._run())

    def _whole(self, relaxed: Outcome) -> Outcome:
        """Return `relaxed` if it is integral, otherwise the solution of the integer program."""
        if relaxed.state == "infeasible":
            return relaxed
        if relaxed.values is None or relaxed.state == "stopped":
            return relaxed._replace(values=None)
        whole = relaxed.values[self._set.integral]
        if (np.abs(whole - np.rint(whole)) <= INTEGRAL).all() and self._holds(relaxed.values):
            return relaxed
        if self._between is None:
            found = self._integers(None)
        else:
            started = time.perf_counter()
            start = self._between(relaxed._replace(bound=unscaled(relaxed.bound, self._exponent)))
            if isinstance(start, Outcome):
                return start._replace(bound=unscaled(start.bound, -self._exponent))
            self._deadline -= time.perf_counter() - started
            found = self._integers(start)
        return found if np.isfinite(found.bound) else found._replace(bound=relaxed.bound)

    def _holds(self, values: FloatArray) -> bool:
        """Return whether the values satisfy all constraints after rounding."""
        return self._set.holds(np.where(self._set.integral, np.rint(values), values))

    def _integers(self, start: FloatArray | None) -> Outcome:
        """Solve the integer program without a starting basis."""
        kinds = self._hi.HighsVarType
        whole = np.flatnonzero(self._set.integral).astype(np.int32)
        self._highs.clearSolver()
        costs = np.ldexp(self._highs.getLp().col_cost_, _INTEGER_EXPONENT)
        self._highs.changeColsCost(len(self._all), self._all, costs)
        self._highs.changeColsIntegrality(len(whole), whole, [kinds.kInteger] * len(whole))
        # Branch and bound measures the time from its own start, so pass the time that is left for this call.
        self._highs.setOptionValue("time_limit", max(self._deadline - self._highs.getRunTime(), 0.0))
        if start is not None:
            known = self._hi.HighsSolution()
            known.col_value = start
            self._highs.setSolution(known)
        try:
            found = self._run()
            bound = self._highs.getInfo().mip_dual_bound
            return found._replace(bound=unscaled(bound, _INTEGER_EXPONENT))
        finally:
            self._highs.changeColsIntegrality(len(whole), whole, [kinds.kContinuous] * len(whole))
            self._highs.clearSolver()

    def _run(self) -> Outcome:
        """Run HiGHS once; the bound is the objective value of the solved relaxation."""
        highs, kinds = self._highs, self._hi.HighsModelStatus
        highs.run()
        if highs.getModelStatus() == kinds.kNotset:
            # Other code started the scheduler of this thread with another number of threads: use that number.
            highs.setOptionValue("threads", 0)
            highs.run()
        status, info = highs.getModelStatus(), highs.getInfo()
        if status == kinds.kInfeasible:
            return Outcome("infeasible", None, np.inf)
        if status in (kinds.kOptimal, kinds.kModelEmpty):
            return Outcome("optimal", np.array(highs.getSolution().col_value), info.objective_function_value)
        if status not in (kinds.kTimeLimit, kinds.kSolutionLimit, kinds.kInterrupt):
            raise SolverError(
                f"HiGHS must prove an optimum, got status {highs.modelStatusToString(status)!r}"
            )
        is_found = info.primal_solution_status == int(self._hi.SolutionStatus.kSolutionStatusFeasible)
        values = np.array(highs.getSolution().col_value) if is_found else None
        return Outcome("stopped", values, np.inf)

    def _is_unique(self) -> bool:
        """Return whether every movable variable at a bound has a nonzero reduced cost (a unique optimum)."""
        basis, solution = self._highs.getBasis(), self._highs.getSolution()
        basic = self._hi.HighsBasisStatus.kBasic
        at_bound = np.array([status != basic for status in (*basis.col_status, *basis.row_status)])
        feasible = self._set
        lower = np.concatenate([feasible.lower, feasible.row_lower])
        upper = np.concatenate([feasible.upper, feasible.row_upper])
        prices = np.abs(np.concatenate([solution.col_dual, solution.row_dual]))
        return bool((prices[at_bound & (lower < upper)] > _UNIQUE).all())
