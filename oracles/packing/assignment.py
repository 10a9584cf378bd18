"""Generalised assignment of jobs to agents with limited capacities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.oracle import Sense
from cmab.solver_certificate import SolverCertificate
from cmab.validation import check_flag, one_of, real_array, shown, vector
from oracles.anytime import OnLimit, checked_limits
from oracles.packing._rows import Rows, check_exact
from oracles.packing.knapsack import Knapsack
from oracles.programs._mixed_integer import rows_of, scaled
from oracles.programs.linear_program import PuLPOracle, value_of

# Prices of the capacities that the greedy assignment tries, relative to the mean of the means.
_PRICES = (0.0, 0.25, 0.5, 1.0, 2.0)


class GeneralizedAssignment(PuLPOracle):
    """Assignments of each job to at most one agent, where the jobs of an agent must fit its capacity.

    Base arm ``agent * jobs + job`` is the pair of `agent` and `job`. If all weights are 1, the super arms are
    b-matchings, which `Matching` with capacities solves for any graph of pairs.

    Parameters
    ----------
    weights : array_like, shape (agents, jobs)
        The capacity that each job needs of each agent, nonnegative. Integers must be at most 2^53; larger
        numbers must be floats. Capacities of integer rows are satisfied as in `MultidimensionalKnapsack`.
    capacities : array_like, shape (agents,)
        The capacity of each agent, nonnegative.
    complete : bool
        Whether every job must be assigned.
    method : {"program", "local_ratio"}
        The algorithm. ``"program"`` is exact, or within `gap`; see `PuLPOracle`. ``"local_ratio"`` solves one
        knapsack for each agent in turn, where the value of a job is its gain over the agent that has it so
        far (Cohen, Katzir, Raz 2006). Its ``alpha`` is 1/2. It requires nonnegative rewards and
        ``complete=False``. Calls with constraints always use the program.
    sense : {"max", "min"}
        Whether the means are rewards or costs.
    gap : float
    time_limit : float, optional
    node_limit : int, optional
    solver : a PuLP solver, optional
    on_limit : {"raise", "best"}
        As in `PuLPOracle`. With ``time_limit=0``, a call returns the greedy answer.

    Raises
    ------
    ValueError
        If an argument is out of range or does not fit the method, or if no complete assignment fits the
        capacities. In `solve`, if a mean is negative and the method is ``"local_ratio"``.
    SolverError
        As in `PuLPOracle`.

    Examples
    --------
    Two agents with five hours each, and three jobs:

    >>> import numpy as np
    >>> from oracles import GeneralizedAssignment
    >>> oracle = GeneralizedAssignment([[3, 4, 2], [5, 2, 3]], capacities=[5, 5])
    >>> oracle.labels(oracle.solve(np.array([0.5, 0.9, 0.4, 0.8, 0.7, 0.6]), np.random.default_rng(0)))
    [(0, 0), (1, 1), (1, 2)]

    References
    ----------
    R. Cohen, L. Katzir, D. Raz: An efficient approximation for the generalized assignment problem,
    Information Processing Letters 100 (2006); from memory.
    """

    has_membership = True

    def __init__(
        self,
        weights: ArrayLike,
        capacities: ArrayLike,
        *,
        complete: bool = False,
        method: Literal["program", "local_ratio"] = "program",
        sense: Sense = "max",
        gap: float = 0.0,
        time_limit: float | None = None,
        node_limit: int | None = None,
        solver: Any = None,
        on_limit: OnLimit = "raise",
    ) -> None:
        self.weights = np.array(real_array("weights", weights))
        check_exact("weights", weights)
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise ValueError(f"weights must have shape (agents, jobs), got {self.weights.shape}")
        vector("weights", self.weights.reshape(-1), low=0.0)
        self.capacities = vector("capacities", capacities, len(self.weights), 0.0)
        check_exact("capacities", capacities)
        check_flag("complete", complete)
        self.complete = bool(complete)
        self.method = one_of("method", method, ("program", "local_ratio"))
        if method == "local_ratio" and (self.complete or sense == "min"):
            raise ValueError("method must be 'program' for costs and complete assignments, got 'local_ratio'")
        limits = checked_limits(time_limit, gap, on_limit, node_limit)
        arms = np.arange(self.weights.size).reshape(self.weights.shape)
        least = 1.0 if self.complete else -np.inf
        rows = [(jobs, np.ones(len(jobs)), least, 1.0) for jobs in arms.T]
        self._packing = Rows.of(self.weights, self.capacities)
        self._rows, self._room, _ = self._packing
        packing, carries = self._packing.program(arms, self.weights.size)
        feasible = rows_of(self.weights.size, rows + packing, carries)
        try:
            self._begin(
                feasible,
                sense,
                limits,
                solver,
                largest=None if self.complete else np.empty(0, np.int64),
                max_size=self.weights.shape[1],
            )
        except ValueError as error:
            if not (self.complete and "feasible" in str(error)):
                raise
            room = shown(self.capacities.tolist())
            raise ValueError(f"capacities must fit every job if complete=True, got {room}") from error
        if method == "local_ratio":
            self._agents = [
                Knapsack(row, room) for row, room in zip(self.weights, self.capacities, strict=True)
            ]
            self.alpha = 0.5

    def __repr__(self) -> str:
        return described(self, sense=self.sense, weights=self.weights.shape)

    @property
    def least_mean(self) -> float:
        """0 for ``"local_ratio"`` (its ratio is proved for nonnegative means); otherwise minus infinity."""
        return 0.0 if self.method == "local_ratio" else -np.inf

    def labels(self, super_arm: IntArray) -> list[Any]:
        super_arm = self._check_entries(super_arm)
        return [divmod(int(arm), self.weights.shape[1]) for arm in super_arm]

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether each job has at most one agent (exactly one if complete), and all jobs fit."""
        super_arm = self._check_entries(super_arm)
        agents, jobs = np.divmod(super_arm, self.weights.shape[1])
        counts = np.bincount(jobs, minlength=self.weights.shape[1])
        if (counts > 1).any() or (self.complete and not counts.all()):
            return False
        return all(self._packing.allow(agent, jobs[agents == agent]) for agent in range(len(self._room)))

    @property
    def certifies_calls(self) -> bool:
        """Whether calls have their own approximation ratios: true if a limit may end a search."""
        return self.method == "program" and self._may_stop_early

    def _search(self, values: FloatArray) -> SolverCertificate:
        """Return the best assignment found, with a bound on the optimum.

        For ``"local_ratio"``, the bound is the smaller of twice the value and the sum of the best agents.
        """
        if self.method == "program":
            return super()._search(values)
        worth, rng = values.reshape(self.weights.shape), np.random.default_rng(0)
        jobs = np.arange(self.weights.shape[1])
        # The profit of a job for an agent beyond its profit for the current agent (the local-ratio
        # decomposition).
        has, given = np.full(len(jobs), -1), np.zeros(len(jobs))
        for agent, knapsack in enumerate(self._agents):
            more = worth[agent] - given
            taken = knapsack.solve(np.maximum(more, 0.0), rng)
            taken = taken[more[taken] > 0.0]
            has[taken], given[taken] = agent, worth[agent, taken]
        chosen = has >= 0
        arms = np.sort(has[chosen] * len(jobs) + jobs[chosen])
        value = value_of(worth.reshape(-1)[arms])
        bound = max(value, min(2.0 * value, self._easy_bound(worth.reshape(-1))))
        return SolverCertificate(arms, value, bound, True)

    def _easy_bound(self, values: FloatArray) -> float:
        """Return the value if each job had its best agent, without capacities."""
        best = (self.sign * values.reshape(self.weights.shape)).max(axis=0)
        return self.sign * value_of(best if self.complete else np.maximum(best, 0.0))

    def _greedy(self, values: FloatArray) -> IntArray:
        """Return the best of several greedy assignments, or the one that the constructor found."""
        values, _ = scaled(values)
        worth = self.sign * values.reshape(self.weights.shape)
        sizes = self._rows / np.where(self._room > 0.0, self._room, 1.0)[:, np.newaxis]
        # The price of a capacity, in units of the means; relative sizes are at most the number of pairs.
        relative = sizes / max(sizes.mean(), np.finfo(np.float64).tiny)
        measures = [worth - price * np.abs(worth).mean() * relative for price in _PRICES]
        found = [self._assigned(worth, measure) for measure in (*measures, -sizes)]
        complete = [arms for arms in found if arms is not None]
        return max(complete, key=lambda arms: self.sign * values[arms].sum(), default=self._largest)

    def _assigned(self, worth: FloatArray, measure: FloatArray) -> IntArray | None:
        """Return a greedy assignment; None if it cannot be completed.

        The next job is the one that loses most by its second-best agent (Martello and Toth 1990, section 7.4,
        from memory). `measure` is the desirability of each pair.
        """
        left, chosen, jobs = self._room.copy(), [], np.arange(worth.shape[1])
        while len(jobs):
            is_good = self._rows[:, jobs] <= left[:, np.newaxis]
            if not self.complete:
                is_good &= worth[:, jobs] > 0.0
            if self.complete and not is_good.any(axis=0).all():
                return None
            jobs, is_good = jobs[is_good.any(axis=0)], is_good[:, is_good.any(axis=0)]
            if not len(jobs):
                break
            values = np.where(is_good, measure[:, jobs], -np.inf)
            agents = np.argmax(values, axis=0)
            best = values[agents, np.arange(len(jobs))]
            values[agents, np.arange(len(jobs))] = -np.inf
            with np.errstate(invalid="ignore", over="ignore"):
                place = int(np.argmax(best - values.max(axis=0)))
            agent, job = int(agents[place]), int(jobs[place])
            chosen.append(agent * worth.shape[1] + job)
            left[agent] -= self._rows[agent, job]
            jobs = np.delete(jobs, place)
        return np.sort(np.array(chosen, np.int64))
