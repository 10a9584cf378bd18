"""Oracles defined by PuLP models, and feasible sets that HiGHS solves for given costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.guarantees import SolverCertificate
from cmab.oracle import Sense
from cmab.parameters import described
from cmab.validation import one_of, shown
from oracles.anytime import AnytimeOracle, Clock, Limits, OnLimit, SolverError, checked_limits

INTEGRAL = 1e-6
# Scaled costs have their largest value in [2^11, 2^12), so the solver's absolute tolerances become relative.
_EXPONENT = 12


class Outcome(NamedTuple):
    """The result for one program: column values, if any were found, and a bound on the optimal value.

    `bound` is in the units of the costs. If the solver was stopped, the bound may be infinite.
    """

    state: Literal["optimal", "infeasible", "stopped"]
    values: FloatArray | None
    bound: float


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Rows, bounds and integrality of a program; `arms` has the binary columns that are base arms.

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
        """The number of columns, including columns that are not base arms."""
        return len(self.lower)

    @cached_property
    def _is_whole(self) -> BoolArray:
        """Whether a row has only integers and integer columns, and sums that double precision represents."""
        rows = np.repeat(np.arange(len(self.row_lower)), np.diff(self.starts))
        fine = self.integral[self.columns] & (self.coefficients == np.floor(self.coefficients))
        most = np.maximum(np.abs(self.lower), np.abs(self.upper))[self.columns]
        sums = np.bincount(rows, np.abs(self.coefficients) * most, minlength=len(self.row_lower))
        broken = np.bincount(rows, ~fine, minlength=len(self.row_lower))
        is_whole: BoolArray = (broken == 0) & (sums < 2.0**53)
        return is_whole

    def holds(self, values: FloatArray) -> bool:
        """Return whether the column values satisfy all rows and bounds, up to 1e-6.

        Rows of integers over integer columns must be satisfied exactly.
        """
        rows = np.repeat(np.arange(len(self.row_lower)), np.diff(self.starts))
        activity = np.bincount(rows, self.coefficients * values[self.columns], minlength=len(self.row_lower))
        slack = INTEGRAL * (1 + np.abs(activity))
        # Integers have a distance of at least 1.
        slack = np.where(self._is_whole, np.minimum(slack, 0.5), slack)
        inside = (values >= self.lower - INTEGRAL) & (values <= self.upper + INTEGRAL)
        kept = (activity >= self.row_lower - slack) & (activity <= self.row_upper + slack)
        return bool(inside.all() and kept.all())


def rows_of(n_columns: int, rows: Iterable[tuple[IntArray, FloatArray, float, float]]) -> FeasibleSet:
    """Return the 0-1 vectors of base arms that satisfy rows (columns, coefficients, low, high)."""
    listed = list(rows)
    sizes = [len(arms) for arms, *_ in listed]
    return FeasibleSet(
        np.arange(n_columns),
        np.zeros(n_columns),
        np.ones(n_columns),
        np.ones(n_columns, bool),
        np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
        np.concatenate([arms for arms, *_ in listed]).astype(np.int64),
        np.concatenate([coefficients for _, coefficients, *_ in listed]).astype(np.float64),
        np.array([low for *_, low, _ in listed], np.float64),
        np.array([high for *_, high in listed], np.float64),
    )


def scaled(costs: FloatArray) -> tuple[FloatArray, int]:
    """Return `costs` times 2^e and e, where the largest result is in [2^11, 2^12).

    Scaling by a power of two is exact, so means of size 1e-300 give the same answer as means of size 1. Only
    costs far below the largest are rounded, by less than 2^-1074.
    """
    largest = float(np.abs(costs).max(initial=0.0))
    exponent = _EXPONENT - int(np.frexp(largest)[1]) if largest > 0.0 else 0
    # A product is faster than `ldexp`, and equal to it if the factor is a normal number.
    return costs * 2.0**exponent if abs(exponent) < 1000 else np.ldexp(costs, exponent), exponent


def unscaled(value: float, exponent: int) -> float:
    """Return ``value * 2**-exponent``, the inverse of `scaled`; infinite beyond the largest number."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(value, -exponent))


# The dual tolerance of the solver, for costs whose largest is at least 2^11.
_DUAL = 1e-10
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
            f"two cannot share a process, in either order. Use OR-tools in another process. ({error})"
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


class Program:
    """A HiGHS object with a feasible set, for one call.

    The relaxation is solved first, and the integer program only if the relaxation is fractional. The answer
    depends only on the costs, and not on earlier calls.

    Parameters
    ----------
    feasible : FeasibleSet
        The feasible set.
    clock : Clock
        The deadline of the call.
    gap : float
        The relative gap at which branch and bound may stop.
    node_limit : int, optional
        The largest number of nodes of branch and bound.
    """

    def __init__(
        self, feasible: FeasibleSet, clock: Clock, gap: float = 0.0, node_limit: int | None = None
    ) -> None:
        self._set, self._clock, self._hi = feasible, clock, import_highs()
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
        self._highs.cbMipInterrupt.subscribe(self._see)
        self._highs.cbSimplexInterrupt.subscribe(self._see)

    def _see(self, event: Any) -> None:
        """Stop the search after Ctrl-C or at the deadline."""
        if self._clock.is_over:
            event.interrupt()

    def _model(self, costs: FloatArray, sense: Sense, fixed: Mapping[int, float]) -> Any:
        lp, feasible = self._hi.HighsLp(), self._set
        lp.num_col_, lp.num_row_ = feasible.n_columns, len(feasible.row_lower)
        lp.sense_ = self._hi.ObjSense.kMaximize if sense == "max" else self._hi.ObjSense.kMinimize
        lower, upper = feasible.lower.copy(), feasible.upper.copy()
        for column, value in fixed.items():
            lower[column] = upper[column] = value
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, lower, upper
        lp.row_lower_, lp.row_upper_ = feasible.row_lower, feasible.row_upper
        lp.a_matrix_.format_ = self._hi.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = feasible.starts.astype(np.int32)
        lp.a_matrix_.index_ = feasible.columns.astype(np.int32)
        lp.a_matrix_.value_ = feasible.coefficients
        return lp

    def solve(
        self,
        costs: FloatArray,
        sense: Sense,
        fixed: Mapping[int, float] | None = None,
        between: Callable[[Outcome], Outcome | FloatArray] | None = None,
    ) -> Outcome:
        """Return optimal column values for `costs`, or the state of the search when the clock is over.

        `fixed` gives values of columns. `between` receives the relaxation if it is fractional. It returns the
        outcome, or feasible values with which branch and bound begins. The relaxation then has half of the
        time.

        Raises
        ------
        SolverError
            If the solver stops for any reason other than a proof or the time limit.
        """
        fitting, exponent = scaled(costs)
        self._highs.passModel(self._model(fitting, sense, fixed or {}))
        seconds = self._clock.left
        self._highs.setOptionValue("time_limit", seconds if between is None else seconds / 2)
        outcome = self._run()
        is_whole = outcome.values is not None and self._is_whole(outcome.values)
        if outcome.state == "stopped":
            outcome = outcome._replace(values=None)
        elif outcome.state == "optimal" and not is_whole:
            relaxed = outcome._replace(bound=unscaled(outcome.bound, exponent))
            start = None if between is None else between(relaxed)
            if isinstance(start, Outcome):
                return start
            found = self._integers(start, fitting)
            outcome = found if np.isfinite(found.bound) else found._replace(bound=outcome.bound)
        if not np.isfinite(outcome.bound):
            return outcome._replace(bound=np.inf if sense == "max" else -np.inf)
        return outcome._replace(bound=unscaled(outcome.bound, exponent))

    def _is_whole(self, values: FloatArray) -> bool:
        """Return whether the values are integers and satisfy all constraints after rounding."""
        whole = np.where(self._set.integral, np.rint(values), values)
        return bool((np.abs(values - whole) <= INTEGRAL).all()) and self._set.holds(whole)

    def _integers(self, start: FloatArray | None, costs: FloatArray) -> Outcome:
        """Solve the integer program without a starting basis."""
        columns, whole = np.arange(len(costs)), np.flatnonzero(self._set.integral)
        self._highs.clearSolver()
        larger = np.ldexp(costs, _INTEGER_EXPONENT)
        self._highs.changeColsCost(len(costs), columns.astype(np.int32), larger)
        kinds = [self._hi.HighsVarType.kInteger] * len(whole)
        self._highs.changeColsIntegrality(len(whole), whole.astype(np.int32), kinds)
        # Branch and bound measures the time from its own start.
        self._highs.setOptionValue("time_limit", self._clock.left)
        if start is not None:
            known = self._hi.HighsSolution()
            known.col_value = start
            self._highs.setSolution(known)
        found = self._run()
        return found._replace(bound=unscaled(self._highs.getInfo().mip_dual_bound, _INTEGER_EXPONENT))

    def _run(self) -> Outcome:
        """Run HiGHS once; the bound is the objective value of the solved relaxation."""
        highs, kinds = self._highs, self._hi.HighsModelStatus
        highs.run()
        if highs.getModelStatus() == kinds.kNotset:
            # Other code started the scheduler of this thread with another number of threads: use that number.
            highs.setOptionValue("threads", 0)
            highs.run()
        if highs.getModelStatus() == kinds.kUnknown:
            # With columns that are fixed and weights of many digits, presolve may end without an answer.
            highs.clearSolver()
            highs.setOptionValue("presolve", "off")
            highs.run()
            highs.setOptionValue("presolve", "choose")
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


def check_model(problem: Any, variables: Any) -> list[Any]:
    """Return `variables` as a list; raise ``ValueError`` unless `problem` and `variables` are from PuLP."""
    if not all(hasattr(problem, name) for name in ("variables", "constraints", "sense")):
        raise ValueError(f"problem must be a pulp.LpProblem, got {shown(problem)}")
    listed = not isinstance(variables, Mapping | str) and isinstance(variables, Iterable)
    listed = listed and not (isinstance(variables, np.ndarray) and variables.ndim == 0)
    arms = list(variables) if listed else []
    if not listed or not all(hasattr(arm, name) for arm in arms for name in ("name", "cat", "lowBound")):
        hint = "; pass list(variables.values())" if isinstance(variables, Mapping) else ""
        raise ValueError(f"variables must be a sequence of PuLP variables, got {shown(variables)}{hint}")
    return arms


def is_maximised(problem: Any) -> bool:
    """Return whether the objective of the model is maximised."""
    import pulp

    return bool(problem.sense == pulp.LpMaximize)


def compile_model(problem: Any, variables: Sequence[Any]) -> FeasibleSet:
    """Return the arrays of a PuLP model, using only the interface that PuLP 3.3 and 4 share."""
    every = _all_variables(problem, variables)
    position = {variable.name: i for i, variable in enumerate(every)}
    if len(position) != len(every):
        raise ValueError("problem must have a different name for each variable, got repeated names")
    names = [variable.name for variable in variables]
    # A bound of None becomes nan.
    lower = np.nan_to_num(np.array([v.lowBound for v in every], np.float64), nan=-np.inf, neginf=-np.inf)
    upper = np.nan_to_num(np.array([v.upBound for v in every], np.float64), nan=np.inf, posinf=np.inf)
    integral = np.array([v.cat == "Integer" for v in every])
    arms = np.array([position[name] for name in names], np.int64)
    binary = integral[arms] & (lower[arms] >= 0) & (upper[arms] <= 1)
    if not binary.all():
        raise ValueError(f"variables must be binary, got {names[int(np.argmin(binary))]!r}, which is not")
    rows = [(row.sense, -row.constant, list(row.items())) for row in problem.constraints()]
    starts = np.cumsum([0, *(len(terms) for *_, terms in rows)])
    terms = [(position[variable.name], value) for *_, row in rows for variable, value in row]
    senses, sides = np.array([(s, side) for s, side, _ in rows], np.float64).reshape(-1, 2).T
    values = np.array([value for _, value in terms], np.float64)
    # The tolerance of a row is absolute, so a row in small units is multiplied by a power of two: its largest
    # coefficient is then at least 1.
    of_term = np.repeat(np.arange(len(rows)), np.diff(starts))
    largest = np.zeros(len(rows))
    np.maximum.at(largest, of_term, np.abs(values))
    exponents = np.maximum(0, 1 - np.frexp(largest)[1]) * (largest > 0.0)
    values, sides = np.ldexp(values, exponents[of_term]), np.ldexp(sides, exponents)
    return FeasibleSet(
        arms,
        lower,
        upper,
        integral,
        starts.astype(np.int64),
        np.array([column for column, _ in terms], np.int64),
        values,
        np.where(senses < 0, -np.inf, sides),
        np.where(senses > 0, np.inf, sides),
    )


def _all_variables(problem: Any, variables: Sequence[Any]) -> list[Any]:
    """Return the variables of the model; for PuLP 3 also those of `variables` without a constraint.

    A PuLP 3 variable does not belong to a model, so a variable that the model does not contain is free.
    """
    every = list(problem.variables())
    of_name = {variable.name for variable in every}
    names = [variable.name for variable in variables]
    free = [variable for variable in variables if variable.name not in of_name]
    if any(hasattr(variable, "_var") for variable in free) or len({*names}) != len(names) or not names:
        raise ValueError(f"variables must be distinct variables of problem, at least one, got {shown(names)}")
    return every + free


_CHOSEN = 0.5
_UNLIMITED = Limits()


class PuLPOracle(AnytimeOracle):
    """The feasible 0-1 vectors of a PuLP model, with the means as objective coefficients.

    PuLP describes the feasible set; the objective of the model is not used. The constructor compiles the
    model to the arrays of HiGHS. Each call solves the relaxation, and the integer program only if the
    relaxation is fractional. Equal means give equal answers, whatever the earlier calls were. Several threads
    may share an oracle, because each call uses its own HiGHS object.

    Costs are scaled by a power of two, so the size of the means, 1e-300 or 1e100, does not change the answer.
    Accuracy: without a `gap`, the value of the answer is below the optimum by at most ``1e-12 * n_arms``
    times the largest absolute mean. Smaller differences, between near ties or between means that are this
    much smaller than the largest, are not resolved.

    Parameters
    ----------
    problem : pulp.LpProblem
        The constraints over the variables, in PuLP 3.3 or 4. The model is not changed.
    variables : sequence of pulp.LpVariable
        The binary variables of the base arms; arm i is ``variables[i]``. A variable without a constraint is
        free. Other variables of the model may have any type and have cost 0. In both versions of PuLP,
        ``problem.add_variable(name, cat="Binary")`` creates a variable; ``pulp.LpVariable(name)`` is for
        PuLP 3 only.
    sense : {"max", "min"}, optional
        Whether to maximise or to minimise; by default as `problem` does.
    gap : float
        The relative gap, in [0, 1), at which integer solving may stop. If it is positive and the means are
        nonnegative, ``alpha`` is ``1 / (1 + gap)`` (``1 / (1 - gap)`` for costs).
    time_limit : float, optional
        The time limit of a call in seconds. With 0, a call solves no program: it returns the large super arm
        that the constructor found. The constructor itself solves one program without this limit. Searches
        for which no answer is known, `solve_constrained` and `is_feasible`, then have no limit either.
    node_limit : int, optional
        The largest number of nodes of branch and bound in a call. Unlike `time_limit`, it gives the same
        answer on every machine. With 0, branch and bound stops after the first node.
    on_limit : {"raise", "best"}
        The behaviour of `solve` at a limit: raise an error, or return the best super arm found. If a limit is
        given, the second option has no approximation ratio in advance, so `alpha` is ``nan``. Each call has
        its own ratio, which `solve_certified` returns. With a time limit, the answer depends on the speed of
        the machine.

    Raises
    ------
    ValueError
        If an argument is out of range, if a variable is not binary, not in the model or repeated, or if the
        model is infeasible.
    SolverError
        In a call, if a limit ends the search without a proven optimum (within `gap`) and `on_limit` is
        ``"raise"``.
    ImportError
        If highspy cannot be imported.

    Examples
    --------
    A knapsack:

    >>> import numpy as np
    >>> import pulp
    >>> from oracles import PuLPOracle
    >>> problem = pulp.LpProblem("knapsack", pulp.LpMaximize)
    >>> x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(4)]
    >>> problem += 3 * x[0] + 2 * x[1] + 2 * x[2] + 1 * x[3] <= 5
    >>> oracle = PuLPOracle(problem, x)
    >>> oracle.solve(np.array([0.7, 0.6, 0.5, 0.1]), np.random.default_rng(0))
    array([0, 1])
    """

    can_constrain = True

    has_membership = True

    def __init__(
        self,
        problem: Any,
        variables: Sequence[Any],
        *,
        sense: Sense | None = None,
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        variables = check_model(problem, variables)
        feasible = compile_model(problem, variables)
        self._names = [variable.name for variable in variables]
        of_model: Sense = "max" if is_maximised(problem) else "min"
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        try:
            self._begin(feasible, of_model if sense is None else sense, limits)
        except ValueError as error:
            if "feasible" not in str(error):
                raise
            raise ValueError(
                f"problem must be feasible, got {shown(problem.name)}, which has no solution"
            ) from error

    def _begin(
        self,
        feasible: FeasibleSet,
        sense: Sense,
        limits: Limits = _UNLIMITED,
        *,
        largest: IntArray | None = None,
        max_size: int | None = None,
    ) -> None:
        """Set the attributes of a program.

        `largest` is a super arm, which is the answer if a search finds none. `max_size` is a bound on the
        number of arms. If `largest` is omitted, a program of this set is solved for both.
        """
        self._set, self.n_arms = feasible, len(feasible.arms)
        self.sense = one_of("sense", sense, ("max", "min"))
        self._set_limits(limits)
        if largest is None:
            self._largest, self._max_size = self._largest_super_arm()
        else:
            self._largest, self._max_size = largest, self.n_arms if max_size is None else max_size

    def _largest_super_arm(self) -> tuple[IntArray, int]:
        """Return a large super arm and a bound on the size of all; raise if there is no super arm."""
        outcome = self._run(self._costs(np.ones(self.n_arms)), "max", seconds=None)
        if outcome.state == "infeasible":
            raise ValueError("problem must be feasible, got one without a solution")
        found = self._chosen(outcome)
        # A gap or a limit may end the search before the largest super arm is found; the bound is valid
        # anyway.
        return found, int(min(self.n_arms, max(len(found), outcome.bound + INTEGRAL)))

    def __repr__(self) -> str:
        return described(self, sense=self.sense)

    @property
    def max_size(self) -> int:
        """The largest number of base arms in a super arm; an upper bound if the solver was stopped."""
        return self._max_size

    def _greedy(self, values: FloatArray) -> IntArray:
        """Return a super arm without a search; it is the answer with ``time_limit=0``."""
        return self._largest

    def _easy_bound(self, values: FloatArray) -> float:
        """Return a bound on the value of every super arm without a search: the sum of the positive means."""
        return value_of(self._sign * np.maximum(self._sign * values, 0.0))

    def _search(self, values: FloatArray) -> SolverCertificate:
        """Return the certificate of the program, or of `_greedy` if the search finds nothing better."""
        better, worse = (max, min) if self.sense == "max" else (min, max)
        # A stopped search may not have a better bound.
        bound = self._easy_bound(values)
        known = self._greedy(values)
        if self.time_limit == 0.0:
            return self._certificate(known, value_of(values[known]), bound)
        outcome = self._run(self._costs(values), self.sense, seconds=self.time_limit)
        if outcome.state == "infeasible":
            raise SolverError("the solver must prove an optimum, got 'infeasible' for a feasible model")
        chosen, value = known, value_of(values[known])
        if outcome.values is not None:
            found = self._chosen(outcome)
            if outcome.state == "optimal" or better(value_of(values[found]), value) != value:
                chosen, value = found, value_of(values[found])
        bound = better(value, worse(outcome.bound, bound))
        return SolverCertificate(chosen, value, bound, outcome.state == "optimal")

    def optimum_bound(self, means: FloatArray, rng: np.random.Generator) -> float:
        """Return the bound of `solve_certified`, which the solver proved up to its tolerances."""
        return self.solve_certified(means, rng).bound

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        costs = self._costs(self._check_means(means))
        required, banned = self._check_constraints(include, exclude)
        fixed = {int(self._set.arms[arm]): 1.0 for arm in required}
        fixed |= {int(self._set.arms[arm]): 0.0 for arm in banned}
        limit = None if self.time_limit == 0.0 else self.time_limit
        outcome = self._run(costs, self.sense, fixed, limit)
        if outcome.state == "infeasible":
            return None
        if outcome.state == "stopped" and self.on_limit == "raise":
            raise SolverError(self._stopped())
        return self._chosen(outcome)

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether a solution of the model selects exactly these arms."""
        super_arm = self._check_entries(super_arm)
        values = np.zeros(self._set.n_columns)
        values[self._set.arms[super_arm]] = 1.0
        if len(self._set.arms) == self._set.n_columns:
            return self._set.holds(values)
        fixed = {int(column): float(values[column]) for column in self._set.arms}
        outcome = self._run(np.zeros(self._set.n_columns), "max", fixed, self.time_limit or None)
        if outcome.state == "stopped" and outcome.values is None:
            raise SolverError(self._stopped())
        return outcome.state != "infeasible"

    def _run(
        self,
        costs: FloatArray,
        sense: Sense,
        fixed: Mapping[int, float] | None = None,
        seconds: float | None = None,
    ) -> Outcome:
        """Solve by HiGHS."""
        with Clock(seconds) as clock:
            return Program(self._set, clock, self.gap, self.node_limit).solve(costs, sense, fixed)

    def _stopped(self) -> str:
        return (
            "HiGHS must prove an optimum, got to its time limit or node limit first; raise the limit, or"
            " write on_limit='best' for the best super arm found; see solve_certified for its bound"
        )

    def _costs(self, means: FloatArray) -> FloatArray:
        costs = np.zeros(self._set.n_columns)
        costs[self._set.arms] = means
        return costs

    def _chosen(self, outcome: Outcome) -> IntArray:
        """Return the selected arms, after verifying that the rounded values satisfy all constraints."""
        values = outcome.values
        if values is None:
            raise SolverError(self._stopped())
        whole = np.where(self._set.integral, np.rint(values), values)
        if not self._set.holds(whole):
            raise SolverError(
                "the solver's answer must satisfy all constraints after rounding, got a violated one"
            )
        return np.flatnonzero(whole[self._set.arms] > _CHOSEN)


def value_of(means: FloatArray) -> float:
    """Return the sum; it is infinite if it exceeds the largest number."""
    with np.errstate(over="ignore"):
        return float(means.sum())


def one_of_each(sets: Sequence[IntArray], n_arms: int, is_exact: bool, sense: Sense) -> PuLPOracle:
    """Return the oracle of super arms with at most one arm of each set, or exactly one if `is_exact`."""
    import pulp

    problem = pulp.LpProblem("one_of_each", pulp.LpMaximize)
    arms = [problem.add_variable(f"arm_{i}", cat="Binary") for i in range(n_arms)]
    for members in sets:
        number = pulp.lpSum(arms[i] for i in members)
        problem += number == 1 if is_exact else number <= 1
    return PuLPOracle(problem, arms, sense=sense)
