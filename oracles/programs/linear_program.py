"""Oracles defined by PuLP models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.oracle import Sense
from cmab.solver_certificate import SolverCertificate
from cmab.validation import one_of, shown
from oracles._watch import watched
from oracles.anytime import AnytimeOracle, Limits, OnLimit, SolverError, checked_limits
from oracles.programs._kept_programs import ProgramPool
from oracles.programs._mixed_integer import INTEGRAL, FeasibleSet, Outcome
from oracles.programs._pulp_models import (
    check_model,
    check_solver,
    compile_model,
    is_maximised,
    solve_by_pulp,
)

_CHOSEN = 0.5
_UNLIMITED = Limits()


class PuLPOracle(AnytimeOracle):
    """The feasible 0-1 vectors of a PuLP model, with the means as objective coefficients.

    PuLP describes the feasible set; the objective of the model is not used. The constructor compiles the
    model to HiGHS in this process. Each call changes the costs and solves the relaxation from the last basis.
    It solves the integer program only if the relaxation is fractional. If an optimum is not provably unique,
    it is computed again without a starting basis, so equal means give equal answers, whatever the earlier
    calls were. Several threads may share an oracle: each call uses its own HiGHS object, and there are as
    many objects as simultaneous calls.

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
        free. Other variables of the model may have any type and have cost 0. A variable of another model is
        rejected, except in PuLP 3, where a variable with a name that is not in the model counts as free. In
        both versions of PuLP, ``problem.add_variable(name, cat="Binary")`` creates a variable;
        ``pulp.LpVariable(name)`` is for PuLP 3 only.
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
    solver : a PuLP solver, optional
        A solver that solves the model in each call instead of HiGHS, for example
        ``pulp.COIN_CMD(msg=False, timeLimit=5)``. It processes one call at a time, with its own tolerances.
        The other limits do not apply to it.
    on_limit : {"raise", "best"}
        The behaviour of `solve` at a limit: raise an error, or return the best super arm found. If a limit is
        given, the second option has no approximation ratio in advance, so `alpha` is ``nan``. Each call has
        its own ratio, which `solve_certified` returns and `Simulation.regret_at_proved_ratios` uses. With a
        time limit, the answer depends on the speed of the machine. The former name of ``"best"`` is
        ``"incumbent"``.

    Raises
    ------
    ValueError
        If an argument is out of range, if a variable is not binary, not in the model or repeated, or if the
        model is infeasible.
    SolverError
        In a call, if the solver is missing or stops without a proven optimum (within `gap`) and `on_limit`
        does not allow this.
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
        solver: Any = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        variables = check_model(problem, variables)
        feasible = compile_model(problem, variables)
        self._names = [variable.name for variable in variables]
        of_model: Sense = "max" if is_maximised(problem) else "min"
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        try:
            self._begin(feasible, of_model if sense is None else sense, limits, solver)
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
        solver: Any = None,
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
        self.solver = check_solver(solver)
        self._set_limits(limits)
        self._pool = ProgramPool(feasible, self.gap, self.node_limit)
        if largest is None:
            self._largest, self._max_size = self._largest_super_arm()
        else:
            self._largest, self._max_size = largest, self.n_arms if max_size is None else max_size

    @property
    def _may_stop_early(self) -> bool:
        return super()._may_stop_early or (self.solver is not None and self.on_limit == "best")

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

    def labels(self, super_arm: IntArray) -> list[Any]:
        super_arm = self._check_entries(super_arm)
        return [self._names[arm] for arm in super_arm]

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> SolverCertificate:
        """Return the best super arm found, with a bound on the optimum.

        If a limit ends the search, the result is the best super arm found, regardless of `on_limit`. If the
        search found no super arm, it is the large super arm that the constructor found.

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
            If the solver stops for any reason other than a proof or the time limit.

        Examples
        --------
        >>> import numpy as np
        >>> import pulp
        >>> from oracles import PuLPOracle
        >>> problem = pulp.LpProblem("two_of_three", pulp.LpMaximize)
        >>> x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(3)]
        >>> problem += x[0] + x[1] + x[2] <= 2
        >>> oracle = PuLPOracle(problem, x, time_limit=1.0, on_limit="best")
        >>> answer = oracle.solve_certified(np.array([0.5, 0.25, 0.125]), np.random.default_rng(0))
        >>> answer.super_arm, answer.gap
        (array([0, 1]), 0.0)
        """
        return super().solve_certified(means, rng)

    def _search(self, values: FloatArray) -> SolverCertificate:
        return self._searched(values, self._greedy(values))

    def _greedy(self, values: FloatArray) -> IntArray:  # noqa: ARG002
        """Return a super arm without a search; it is the answer with ``time_limit=0``."""
        return self._largest

    def _easy_bound(self, values: FloatArray) -> float:
        """Return a bound on the value of every super arm without a search: the sum of the positive means."""
        return value_of(self.sign * np.maximum(self.sign * values, 0.0))

    def _searched(
        self, values: FloatArray, known: IntArray, seconds: float | None = None
    ) -> SolverCertificate:
        """Return the certificate of the program, or of `known` if the search finds nothing better."""
        better, worse = (max, min) if self.sense == "max" else (min, max)
        # A stopped search may not have a better bound.
        bound = self._easy_bound(values)
        limit = self.time_limit if seconds is None else seconds
        if limit == 0.0:
            return self._certificate(known, value_of(values[known]), bound)
        outcome = self._run(self._costs(values), self.sense, seconds=limit)
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
        rng: np.random.Generator,  # noqa: ARG002
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
        """Solve by the user's solver, or by a kept program that no other call uses."""
        if self.solver is not None:
            return solve_by_pulp(self._set, costs, sense, fixed or {}, self.solver)
        with self._pool.lent() as program, watched(type(self).__name__) as watch:
            return program.solve(costs, sense, fixed, np.inf if seconds is None else seconds, watch)

    def _stopped(self) -> str:
        who = "HiGHS" if self.solver is None else f"solver {self.solver!r}"
        return (
            f"{who} must prove an optimum, got to its time limit or node limit first; raise the limit,"
            " or write on_limit='best' for the best super arm found; see solve_certified for its bound"
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
