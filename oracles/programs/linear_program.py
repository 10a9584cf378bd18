"""Oracles from PuLP models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.oracle import LinearOracle, Sense
from cmab.validation import one_of, real, shown
from oracles.programs._kept_programs import ProgramPool
from oracles.programs._mixed_integer import INTEGRAL, Outcome, SolverError
from oracles.programs._pulp_models import (
    check_model,
    check_solver,
    compile_model,
    is_maximised,
    solve_by_pulp,
)

_CHOSEN = 0.5


@dataclass(frozen=True, eq=False)
class SolverCertificate:
    """A super arm, and how good a solver proved it to be.

    Parameters
    ----------
    super_arm : IntArray, shape (size,)
        Base arms in increasing order.
    value : float
        The sum of their means.
    bound : float
        No super arm is worth more (costs less): proven by the solver, to its tolerances. Where it had no
        time to prove anything, and where a PuLP solver was stopped, the sum of all positive (negative) means.
    certified : bool
        Whether the super arm is optimal (within the oracle's `gap`); false only when a time limit ended the
        search.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import Matching
    >>> oracle = Matching(nx.path_graph(4))
    >>> answer = oracle.solve_certified(np.array([0.25, 0.75, 0.25]), np.random.default_rng(0))
    >>> answer.super_arm, answer.value, answer.bound, answer.certified
    (array([1]), 0.75, 0.75, True)
    """

    super_arm: IntArray
    value: float
    bound: float
    certified: bool

    @property
    def gap(self) -> float:
        """What the super arm may lack, in the units of the means: ``abs(bound - value)``."""
        return 0.0 if self.bound == self.value else abs(self.bound - self.value)


class PuLPOracle(LinearOracle):
    """The feasible 0-1 vectors of a PuLP model, with the means as costs.

    PuLP describes the feasible set, once; its objective is not used. The model is compiled to HiGHS in this
    process and kept: a call changes the costs, solves the relaxation from the last basis, and turns to
    integers only where the relaxation is fractional. An optimum that is not provably unique is computed
    again from nothing, so equal means give equal answers whatever was asked before. Threads may share an
    oracle: each call has a HiGHS object to itself, of which there are as many as calls at one time.

    Costs are scaled by a power of two before they are solved, so that means of any size, 1e-300 or 1e100,
    get the answer of means of size 1. What is exact: without a `gap`, the value is below the best value by
    at most ``1e-12 * n_arms`` times the largest absolute mean. Differences below that, of near ties or of
    means that much smaller than the largest, are not resolved.

    Parameters
    ----------
    problem : pulp.LpProblem
        Constraints over the variables; PuLP 3.3 or 4. It is not changed.
    variables : sequence of pulp.LpVariable
        Base arm i is ``variables[i]``; each binary. One that stands in no constraint is free. Other
        variables of the model may be of any kind and bear no cost. A variable of another model is refused,
        but PuLP 3 does not know whose a variable is: there, one whose name the model lacks counts as free.
        ``problem.add_variable(name, cat="Binary")`` makes one in both versions of PuLP; a bare
        ``pulp.LpVariable(name)`` is PuLP 3's.
    sense : {"max", "min"}, optional
        That of `problem` if left out.
    gap : float
        Relative gap, in [0, 1), at which integer solving may stop. Where it is positive, ``alpha`` is
        ``1 / (1 + gap)`` (``1 / (1 - gap)`` for costs), for means that are not negative.
    time_limit : float, optional
        Seconds of solving for one call, that of the constructor included, which needs one solution.
    solver : a PuLP solver, optional
        Such as ``pulp.COIN_CMD(msg=False, timeLimit=5)``: solves the model afresh in each call instead of
        HiGHS, one call at a time, to its own tolerances. `gap` and `time_limit` do not reach it.
    on_limit : {"raise", "incumbent"}
        What `solve` does when a time limit ends the search: raise, or return the best super arm found. No
        ratio holds for that one: `alpha` is then ``nan``, as that of heuristics is, and the answer may
        depend on the speed of the machine. `solve_certified` returns it with a bound.

    Raises
    ------
    ValueError
        If an argument is out of its range, a variable is not binary, not in the model or repeated, or the
        model is infeasible.
    SolverError
        In any call that does not end in a proven optimum (within `gap`), unless `on_limit` allows it: no
        solver, no time.
    ImportError
        If highspy cannot be imported and no `solver` is given.

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
        *,
        sense: Sense | None = None,
        gap: float = 0.0,
        time_limit: float | None = None,
        solver: Any = None,
        on_limit: Literal["raise", "incumbent"] = "raise",
    ) -> None:
        variables = check_model(problem, variables)
        self._set = compile_model(problem, variables)
        self._names = [variable.name for variable in variables]
        self.n_arms = len(variables)
        of_model: Sense = "max" if is_maximised(problem) else "min"
        self.sense = of_model if sense is None else one_of("sense", sense, ("max", "min"))
        self.gap = real("gap", gap, 0.0, 1.0)
        if self.gap == 1.0:
            raise ValueError("gap must be a finite number in [0, 1), got 1.0")
        self.time_limit = None if time_limit is None else real("time_limit", time_limit, 0.0, inside=True)
        self.solver = check_solver(solver)
        self.on_limit = one_of("on_limit", on_limit, ("raise", "incumbent"))
        self.alpha = 1 / (1 + self.gap) if self.sense == "max" else 1 / (1 - self.gap)
        if self.on_limit == "incumbent":
            self.alpha = float("nan")
        self._pool = ProgramPool(self._set, self.gap)
        self._largest, self._max_size = self._largest_super_arm(problem)

    def _largest_super_arm(self, problem: Any) -> tuple[IntArray, int]:
        """Return a large super arm and a bound on the size of all, or raise if there is none."""
        outcome = self._run(self._costs(np.ones(self.n_arms)), "max")
        if outcome.state == "infeasible":
            raise ValueError(
                f"problem must be feasible, got {shown(problem.name)}, which no assignment satisfies"
            )
        found = self._chosen(outcome)
        # A gap or a limit may end the search before the largest is found; the bound holds all the same.
        return found, int(min(self.n_arms, max(len(found), outcome.bound + INTEGRAL)))

    def __repr__(self) -> str:
        return described(self, sense=self.sense)

    @property
    def max_size(self) -> int:
        """Largest number of base arms in a super arm; where the solver was stopped, a bound on it."""
        return self._max_size

    def labels(self, super_arm: IntArray) -> list[Any]:
        return [self._names[arm] for arm in super_arm]

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the arms that are 1 in an optimal solution, in increasing order."""
        answer = self.solve_certified(means, rng)
        if not answer.certified and self.on_limit == "raise":
            raise SolverError(self._stopped())
        return answer.super_arm

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> SolverCertificate:  # noqa: ARG002
        """Return the best super arm found, how good it is, and what bounds all others.

        Where a time limit ends the search, whatever `on_limit` says, this is the incumbent; a large super
        arm that the constructor found, where the search found none.

        Parameters
        ----------
        means : FloatArray, shape (n_arms,)
            The means of the base arms.
        rng : numpy.random.Generator
            Not used.

        Returns
        -------
        SolverCertificate

        Raises
        ------
        SolverError
            If the solver ends in any other state than a proof or the end of its time.

        Examples
        --------
        >>> import numpy as np
        >>> import pulp
        >>> from oracles import PuLPOracle
        >>> problem = pulp.LpProblem("two_of_three", pulp.LpMaximize)
        >>> x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(3)]
        >>> problem += x[0] + x[1] + x[2] <= 2
        >>> oracle = PuLPOracle(problem, x, time_limit=1.0, on_limit="incumbent")
        >>> answer = oracle.solve_certified(np.array([0.5, 0.25, 0.125]), np.random.default_rng(0))
        >>> answer.super_arm, answer.gap
        (array([0, 1]), 0.0)
        """
        values = self._check_means(means)
        outcome = self._run(self._costs(values), self.sense)
        if outcome.state == "infeasible":
            raise SolverError("the solver called a feasible model infeasible")
        chosen = self._largest if outcome.values is None else self._chosen(outcome)
        better, worse = (max, min) if self.sense == "max" else (min, max)
        # No sum exceeds that of the positive means; a stopped search may know no better.
        bound = worse(outcome.bound, value_of(self.sign * np.maximum(self.sign * values, 0.0)))
        value = value_of(values[chosen])
        return SolverCertificate(chosen, value, better(value, bound), outcome.state == "optimal")

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        costs = self._costs(self._check_means(means))
        required, banned = self._check_constraints(include, exclude)
        fixed = {int(self._set.arms[arm]): 1.0 for arm in required}
        fixed |= {int(self._set.arms[arm]): 0.0 for arm in banned}
        outcome = self._run(costs, self.sense, fixed)
        if outcome.state == "infeasible":
            return None
        if outcome.state == "stopped" and self.on_limit == "raise":
            raise SolverError(self._stopped())
        return self._chosen(outcome)

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether some solution of the model chooses exactly these arms."""
        values = np.zeros(self._set.n_columns)
        values[self._set.arms[super_arm]] = 1.0
        if len(self._set.arms) == self._set.n_columns:
            return self._set.holds(values)
        fixed = {int(column): float(values[column]) for column in self._set.arms}
        outcome = self._run(np.zeros(self._set.n_columns), "max", fixed)
        if outcome.state == "stopped" and outcome.values is None:
            raise SolverError(self._stopped())
        return outcome.state != "infeasible"

    def _run(self, costs: FloatArray, sense: Sense, fixed: Mapping[int, float] | None = None) -> Outcome:
        """Solve by the user's solver if any, by a kept program that is this call's alone otherwise."""
        if self.solver is not None:
            return solve_by_pulp(self._set, costs, sense, fixed or {}, self.solver)
        with self._pool.lent() as program:
            return program.solve(costs, sense, fixed, np.inf if self.time_limit is None else self.time_limit)

    def _stopped(self) -> str:
        who = "HiGHS" if self.solver is None else f"solver {self.solver!r}"
        return f"{who} must prove an optimum, got to its time limit first; see on_limit and solve_certified"

    def _costs(self, means: FloatArray) -> FloatArray:
        costs = np.zeros(self._set.n_columns)
        costs[self._set.arms] = means
        return costs

    def _chosen(self, outcome: Outcome) -> IntArray:
        """Return the arms that are 1, after a check of our own that the whole values keep all constraints."""
        values = outcome.values
        if values is None:
            raise SolverError(self._stopped())
        whole = np.where(self._set.integral, np.rint(values), values)
        if not self._set.holds(whole):
            raise SolverError("the solver's answer breaks a constraint once its integers are rounded")
        return np.flatnonzero(whole[self._set.arms] > _CHOSEN)


def value_of(means: FloatArray) -> float:
    """Return the sum, infinite where it is beyond the largest number."""
    with np.errstate(over="ignore"):
        return float(means.sum())
