"""Conversion from and to PuLP models; the only module that uses PuLP, versions 3.3 and 4."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.oracle import Sense
from cmab.validation import shown
from oracles.anytime import SolverError
from oracles.programs._mixed_integer import FeasibleSet, Outcome, scaled

# A PuLP solver is the user's object and keeps state while it runs. Several oracles may share it.
_ONE_AT_A_TIME = threading.RLock()
_SOLVED, _INFEASIBLE, _OPTIMAL, _FOUND = 1, -1, 1, 2


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


def check_solver(solver: Any) -> Any:
    """Return `solver`; raise ``ValueError`` unless it is None or a PuLP solver."""
    is_one = callable(getattr(solver, "actualSolve", None)) and not isinstance(solver, type)
    if solver is not None and not is_one:
        raise ValueError(
            f"solver must be a PuLP solver such as pulp.COIN_CMD(msg=False), got {shown(solver)}; "
            "pulp.getSolver(name) returns one"
        )
    return solver


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
    return FeasibleSet(
        arms,
        lower,
        upper,
        integral,
        starts.astype(np.int64),
        np.array([column for column, _ in terms], np.int64),
        np.array([value for _, value in terms], np.float64),
        np.where(senses < 0, -np.inf, sides),
        np.where(senses > 0, np.inf, sides),
    )


def _all_variables(problem: Any, variables: Sequence[Any]) -> list[Any]:
    """Return the variables of the model; for PuLP 3 also those of `variables` without a constraint.

    A PuLP 3 variable does not belong to a model, so a variable that the model does not contain is free. In
    both versions, a variable of another model is detected if it has the name of a variable of this model.
    """
    every = list(problem.variables())
    of_name = {variable.name: variable for variable in every}
    names = [variable.name for variable in variables]
    known = [
        name not in of_name or _is_same(of_name[name], v) for name, v in zip(names, variables, strict=True)
    ]
    free = [variable for variable in variables if variable.name not in of_name]
    if any(map(_knows_its_model, free)) or not all(known) or len(set(names)) != len(names) or not names:
        raise ValueError(f"variables must be distinct variables of problem, at least one, got {shown(names)}")
    return every + free


def _knows_its_model(variable: Any) -> bool:
    """Return whether this is a PuLP 4 variable, which belongs to one model."""
    return hasattr(variable, "_var")


def _is_same(one: Any, other: Any) -> bool:
    """Return whether both are the same variable: by identity in PuLP 3, by model and number in PuLP 4."""
    if not (_knows_its_model(one) and _knows_its_model(other)):
        return one is other
    model = [getattr(variable._var, "model_identity", lambda: None)() for variable in (one, other)]
    return one.id == other.id and model[0] == model[1]


def solve_by_pulp(
    feasible: FeasibleSet, costs: FloatArray, sense: Sense, fixed: Mapping[int, float], solver: Any
) -> Outcome:
    """Solve the model with the user's solver; PuLP 3 returns a status, PuLP 4 an object with a status."""
    import pulp

    with _ONE_AT_A_TIME:
        problem, columns = _rebuild(feasible, scaled(costs)[0], sense, fixed)
        try:
            outcome = problem.solve(solver)
        except (pulp.PulpError, AttributeError, OSError) as error:
            raise SolverError(f"solver {solver!r} could not run: {error}") from error
        status, found, is_proven = _ending(problem, outcome)
        if status == _INFEASIBLE:
            return Outcome("infeasible", None, np.inf)
        # Different PuLP solvers report different bounds after a stop, so use none.
        unknown = np.inf if sense == "max" else -np.inf
        if not found:
            return Outcome("stopped", None, unknown)
        values = np.array([column.value() for column in columns], np.float64)
    if not is_proven:
        return Outcome("stopped", values, unknown)
    with np.errstate(over="ignore"):
        return Outcome("optimal", values, float(costs @ np.where(feasible.integral, np.rint(values), values)))


def _ending(problem: Any, outcome: Any) -> tuple[int, bool, bool]:
    """Return the status, whether there are values, and whether these are proven optimal."""
    status = int(getattr(outcome, "status", outcome))
    if hasattr(outcome, "has_solution"):  # PuLP 4
        return status, outcome.has_solution, status == _SOLVED and outcome.has_solution
    # PuLP 3 calls an incumbent at a time limit optimal; only sol_status shows the difference.
    solution = getattr(problem, "sol_status", _OPTIMAL)
    return status, status == _SOLVED or solution == _FOUND, status == _SOLVED and solution == _OPTIMAL


def _rebuild(
    feasible: FeasibleSet, costs: FloatArray, sense: Sense, fixed: Mapping[int, float]
) -> tuple[Any, list[Any]]:
    """Return a PuLP model of the arrays (arrays can be pickled, models cannot) and its variables."""
    import pulp

    problem = pulp.LpProblem("oracle", pulp.LpMaximize if sense == "max" else pulp.LpMinimize)
    columns = []
    for i in range(feasible.n_columns):
        ends = (fixed.get(i, feasible.lower[i]), fixed.get(i, feasible.upper[i]))
        low, high = (None if np.isinf(end) else float(end) for end in ends)
        kind: Any = "Integer" if feasible.integral[i] else "Continuous"
        columns.append(problem.add_variable(f"c{i}", lowBound=low, upBound=high, cat=kind))
    for r, (low, high) in enumerate(zip(feasible.row_lower, feasible.row_upper, strict=True)):
        row = slice(feasible.starts[r], feasible.starts[r + 1])
        terms = zip(feasible.columns[row], feasible.coefficients[row], strict=True)
        expression = pulp.lpSum(float(value) * columns[column] for column, value in terms)
        if low == high:
            problem += expression == float(low)
        elif np.isinf(low):
            problem += expression <= float(high)
        else:
            problem += expression >= float(low)
    problem.setObjective(pulp.lpSum(float(c) * x for c, x in zip(costs, columns, strict=True)))
    return problem, columns
