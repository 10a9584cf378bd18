"""Oracles from PuLP models; the only file that knows PuLP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cmab._validation import real, shown
from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.oracle import LinearOracle, Sense
from oracles._mixed_integer import FeasibleSet, KeptProgram, SolverError

_CHOSEN = 0.5


class PuLPOracle(LinearOracle):
    """The feasible 0-1 vectors of a PuLP model, with the means as costs.

    PuLP describes the feasible set, once; its objective is not used. The model is compiled to HiGHS in this
    process and kept: a call changes the costs, solves the relaxation from the last basis, and turns to
    integers only where the relaxation is fractional. An optimum that is not provably unique is computed
    again from nothing, so equal means give equal answers whatever was asked before.

    Parameters
    ----------
    problem : pulp.LpProblem
        Constraints over the variables; PuLP 3.3 or 4. It is not changed.
    variables : sequence of pulp.LpVariable
        Base arm i is ``variables[i]``; each binary. Other variables of the model may be of any kind and
        bear no cost.
    sense : {"max", "min"}, optional
        That of `problem` if left out.
    gap : float
        Relative gap, in [0, 1), at which integer solving may stop. Where it is positive, ``alpha`` is
        ``1 / (1 + gap)`` (``1 / (1 - gap)`` for costs), for means that are not negative.
    time_limit : float, optional
        Seconds for one call.
    solver : a PuLP solver, optional
        Such as ``pulp.COIN_CMD(msg=False)``: solves the model afresh in each call instead of HiGHS.

    Raises
    ------
    ValueError
        If a variable is not binary, not in the model or repeated, or if the model is infeasible.
    SolverError
        In any call that does not end in a proven optimum (within `gap`): no solver, no time, no bound.

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

    def __init__(
        self,
        problem: Any,
        variables: Sequence[Any],
        sense: Sense | None = None,
        *,
        gap: float = 0.0,
        time_limit: float | None = None,
        solver: Any = None,
    ) -> None:
        self._set = _compile(problem, variables)
        self._names = [variable.name for variable in variables]
        self.n_arms = len(variables)
        self.sense = sense or ("max" if problem.sense == -1 else "min")
        self.gap = real("gap", gap, 0.0, 1.0)
        self.time_limit = None if time_limit is None else real("time_limit", time_limit, 0.0, inside=True)
        self.solver = solver
        self.alpha = 1 / (1 + self.gap) if self.sense == "max" else 1 / (1 - self.gap)
        self._program: KeptProgram | None = None
        largest = self._kept().solve(self._costs(np.ones(self.n_arms)), "max")
        if largest is None:
            raise ValueError(
                f"problem must be feasible, got {shown(problem.name)}, which no assignment satisfies"
            )
        self._max_size = int((largest[self._set.arms] > _CHOSEN).sum())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_arms={self.n_arms}, sense={self.sense!r})"

    def __getstate__(self) -> dict[str, Any]:
        # A HiGHS object cannot be pickled; workers compile their own.
        return {**self.__dict__, "_program": None}

    @property
    def max_size(self) -> int:
        """Largest number of base arms in a super arm."""
        return self._max_size

    def labels(self, super_arm: IntArray) -> list[Any]:
        """Return the names of the variables."""
        return [self._names[arm] for arm in super_arm]

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the arms that are 1 in an optimal solution, in increasing order."""
        costs = self._costs(self._check_means(means))
        values = self._kept().solve(costs, self.sense) if self.solver is None else self._solve_by_pulp(costs)
        if values is None:
            raise SolverError("the solver called a feasible model infeasible")
        return self._chosen(values)

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        """Return the best super arm with all of `include` and none of `exclude`; None if there is none."""
        costs = self._costs(self._check_means(means))
        required, banned = self._check_constraints(include, exclude)
        fixed = {int(self._set.arms[arm]): 1.0 for arm in required}
        fixed |= {int(self._set.arms[arm]): 0.0 for arm in banned}
        values = self._kept().solve(costs, self.sense, fixed)
        return None if values is None else self._chosen(values)

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether some solution of the model chooses exactly these arms."""
        values = np.zeros(self._set.n_columns)
        values[self._set.arms[super_arm]] = 1.0
        if len(self._set.arms) == self._set.n_columns:
            return self._set.holds(values)
        fixed = {int(column): float(values[column]) for column in self._set.arms}
        return self._kept().solve(np.zeros(self._set.n_columns), "max", fixed) is not None

    def _kept(self) -> KeptProgram:
        if self._program is None:
            self._program = KeptProgram(self._set, self.gap, self.time_limit)
        return self._program

    def _costs(self, means: FloatArray) -> FloatArray:
        costs = np.zeros(self._set.n_columns)
        costs[self._set.arms] = means
        return costs

    def _chosen(self, values: FloatArray) -> IntArray:
        """Return the arms that are 1, after a check of our own that the whole values keep all constraints."""
        whole = np.where(self._set.integral, np.rint(values), values)
        if not self._set.holds(whole):
            raise SolverError("the solver's answer breaks a constraint once its integers are rounded")
        return np.flatnonzero(whole[self._set.arms] > _CHOSEN)

    def _solve_by_pulp(self, costs: FloatArray) -> FloatArray:
        """Solve with the user's PuLP solver; PuLP 3 returns a status, PuLP 4 an object that has one."""
        import pulp

        problem, columns = _rebuild(self._set, costs, self.sense)
        try:
            outcome = problem.solve(self.solver)
        except (pulp.PulpError, AttributeError, OSError) as error:
            raise SolverError(f"solver {self.solver!r} could not run: {error}") from error
        status = int(getattr(outcome, "status", outcome))
        # In PuLP 3 a time limit with an incumbent is called optimal; only sol_status tells.
        if status != 1 or getattr(problem, "sol_status", 1) != 1:
            raise SolverError(f"solver {self.solver!r} must prove an optimum, got status {outcome!r}")
        return np.array([column.value() for column in columns], np.float64)


def _compile(problem: Any, variables: Sequence[Any]) -> FeasibleSet:
    """Return the arrays of a PuLP model: through what PuLP 3.3 and 4 have in common."""
    every = problem.variables()
    position = {variable.name: i for i, variable in enumerate(every)}
    if len(position) != len(every):
        raise ValueError("problem must give every variable a name of its own")
    names = [variable.name for variable in variables]
    unknown = [name for name in names if name not in position]
    if unknown or len(set(names)) != len(names) or not names:
        raise ValueError(f"variables must be distinct variables of problem, at least one, got {shown(names)}")
    # None, no bound, becomes nan.
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


def _rebuild(feasible: FeasibleSet, costs: FloatArray, sense: Sense) -> tuple[Any, list[Any]]:
    """Return a PuLP model of the arrays (models cannot be pickled, arrays can) and its variables."""
    import pulp

    problem = pulp.LpProblem("oracle", pulp.LpMaximize if sense == "max" else pulp.LpMinimize)
    columns = []
    for i in range(feasible.n_columns):
        low, high = (None if np.isinf(end) else end for end in (feasible.lower[i], feasible.upper[i]))
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


def degree_model(tails: IntArray, heads: IntArray, room: IntArray, exact: bool) -> tuple[Any, list[Any]]:
    """Return the PuLP model of the sets with at most (exactly) `room` edges at a node, and its variables."""
    import pulp

    problem = pulp.LpProblem("matching", pulp.LpMaximize)
    edges = [problem.add_variable(f"edge{i}", cat="Binary") for i in range(len(tails))]
    at_node: list[list[Any]] = [[] for _ in room]
    for edge, u, v in zip(edges, tails, heads, strict=True):
        at_node[u].append(edge)
        at_node[v].append(edge)
    for incident, most in zip(at_node, room, strict=True):
        if incident:
            degree = pulp.lpSum(incident)
            problem += degree == int(most) if exact else degree <= int(most)
        elif exact and most > 0:
            raise ValueError("a node without edges cannot be matched")
    return problem, edges
