"""Generalised assignment of jobs to agents with limited capacities."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.oracle import Sense
from cmab.validation import check_flag, one_of, real_array, shown, vector
from oracles.packing.knapsack import Knapsack
from oracles.packing.multidimensional import scaled_row
from oracles.programs._pulp_models import row_model
from oracles.programs.linear_program import PuLPOracle


class GeneralizedAssignment(PuLPOracle):
    """Assignments of each job to at most one agent, where the jobs of an agent must fit its capacity.

    Base arm ``agent * jobs + job`` is the pair of `agent` and `job`. If all weights are 1, the super arms are
    b-matchings, which `Matching` with capacities solves for any graph of pairs.

    Parameters
    ----------
    weights : array_like, shape (agents, jobs)
        The capacity that each job needs of each agent, nonnegative.
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
    solver : a PuLP solver, optional
    on_limit : {"raise", "incumbent"}
        As in `PuLPOracle`.

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
        solver: Any = None,
        on_limit: Literal["raise", "incumbent"] = "raise",
    ) -> None:
        self.weights = np.array(real_array("weights", weights))
        if self.weights.ndim != 2 or 0 in self.weights.shape:
            raise ValueError(f"weights must have shape (agents, jobs), got {self.weights.shape}")
        vector("weights", self.weights.reshape(-1), low=0.0)
        self.capacities = vector("capacities", capacities, len(self.weights), 0.0)
        check_flag("complete", complete)
        self.complete = bool(complete)
        self.method = one_of("method", method, ("program", "local_ratio"))
        if method == "local_ratio" and (self.complete or sense == "min"):
            raise ValueError("method must be 'program' for costs and complete assignments, got 'local_ratio'")
        arms = np.arange(self.weights.size).reshape(self.weights.shape)
        least = 1.0 if self.complete else -np.inf
        rows = [(jobs, np.ones(len(jobs)), least, 1.0) for jobs in arms.T]
        for agent, (row, room) in enumerate(zip(self.weights, self.capacities, strict=True)):
            scaled, most = scaled_row(row, room)
            rows.append((arms[agent], scaled, -np.inf, most))
        problem, takes = row_model(self.weights.size, rows)
        try:
            super().__init__(
                problem,
                takes,
                sense=one_of("sense", sense, ("max", "min")),
                gap=gap,
                time_limit=time_limit,
                solver=solver,
                on_limit=on_limit,
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
        return [divmod(int(arm), self.weights.shape[1]) for arm in super_arm]

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the best assignment, or one of at least `alpha` times its value, in increasing order."""
        if self.method == "program":
            return super().solve(means, rng)
        worth = self._check_means(means, 0.0).reshape(self.weights.shape)
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
        return np.sort(has[chosen] * len(jobs) + jobs[chosen])
