"""The base class of cover oracles: sets of arms that together cover every element."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.description import described
from cmab.solver_certificate import SolverCertificate
from cmab.validation import one_of
from oracles._watch import Watch, watched
from oracles.anytime import Clock, Limits
from oracles.programs._mixed_integer import FeasibleSet, Outcome, scaled, unscaled
from oracles.programs.linear_program import PuLPOracle, value_of

if TYPE_CHECKING:
    from oracles.covers._kernels_covers import Incidence

# A cover is optimal if its cost exceeds the bound by at most this share.
_PROVED = 1e-12
# The share of the time for the program, which sees the clock only between its steps.
_SHARE = 0.9
# The number of elements above which a limited call prefers local search to branch and bound.
_LARGE = 5_000


class Cover(PuLPOracle):
    """Sets of arms that cover every element, with a cost for each arm.

    A subclass calls `_complete` with the pairs of arms and elements, and defines `_quickly`.
    """

    has_membership = True
    method: str

    def _complete(
        self,
        n_arms: int,
        arms: IntArray,
        elements: IntArray,
        method: Literal["program", "greedy"],
        ratio: float,
        limits: Limits,
    ) -> None:
        """Set the attributes that all covers share; `ratio` is the approximation ratio of `_quickly`.

        Arm ``arms[i]`` covers element ``elements[i]``; the pairs are different.
        """
        self.method = one_of("method", method, ("program", "greedy"))
        self._incidence = _incidence_of(n_arms, arms, elements)
        firsts, members = self._incidence.firsts, self._incidence.arms
        n_rows = len(firsts) - 1
        feasible = FeasibleSet(
            np.arange(n_arms),
            np.zeros(n_arms),
            np.ones(n_arms),
            np.ones(n_arms, bool),
            firsts,
            members,
            np.ones(len(members)),
            np.ones(n_rows),
            np.full(n_rows, np.inf),
        )
        self._begin(feasible, "min", limits, largest=np.arange(n_arms))
        # Elements with few arms come first: their arms are the ones that a cover certainly needs.
        self._scarce = np.argsort(np.diff(firsts), kind="stable")
        if method == "greedy":
            self.alpha = ratio

    def __repr__(self) -> str:
        return described(self, elements=len(self._incidence.firsts) - 1)

    @property
    def least_mean(self) -> float:
        """0 for the greedy method (its ratio is proved for nonnegative costs); otherwise minus infinity."""
        return 0.0 if self.method == "greedy" else -np.inf

    @property
    def certifies_calls(self) -> bool:
        """Whether calls have their own approximation ratios: true if a limit may end a search."""
        return self.method == "program" and self._may_stop_early

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        starts, elements = self._incidence.starts, self._incidence.elements
        is_covered = np.zeros(len(self._incidence.firsts) - 1, bool)
        for arm in super_arm:
            is_covered[elements[starts[arm] : starts[arm + 1]]] = True
        return bool(is_covered.all())

    def _search(self, values: FloatArray) -> SolverCertificate:
        """Return the best cover found; the bound of the greedy answer is the value of a dual solution."""
        is_greedy = self.method == "greedy"
        clock, (costs, exponent) = Clock(self.time_limit), scaled(values)
        chosen, bound = self._greedily(costs)
        if not (is_greedy or self.time_limit == 0.0 or bound >= _least(costs, chosen)):
            with watched(type(self).__name__) as watch:
                chosen, bound = self._searched_cover(costs, chosen, bound, clock, watch)
        arms = np.flatnonzero(chosen)
        answer = self._certificate(arms, value_of(values[arms]), unscaled(bound, exponent))
        if bound >= _least(costs, chosen) or is_greedy:
            bound = answer.bound if is_greedy else answer.value
            return SolverCertificate(arms, answer.value, bound, True)
        return answer

    def _greedily(self, costs: FloatArray) -> tuple[BoolArray, float]:
        """Return the greedy cover and a lower bound on the cost of every cover."""
        from oracles.covers._kernels_covers import dual_bound, greedy_cover, prune

        chosen, other = self._quickly(costs), np.zeros(self.n_arms, bool)
        greedy_cover(self._incidence, costs, other)
        for cover in (chosen, other):
            prune(self._incidence, costs, cover)
        if costs[other].sum() < costs[chosen].sum():
            chosen = other
        return chosen, float(dual_bound(self._incidence, costs, self._scarce, np.empty(self.n_arms)))

    def _searched_cover(
        self, costs: FloatArray, greedy: BoolArray, bound: float, clock: Clock, watch: Watch
    ) -> tuple[BoolArray, float]:
        """Return the best cover found and a lower bound, by the relaxation, local search and the program."""
        from oracles.covers._search import improved

        best, known = greedy, bound
        is_unit = bool((costs[costs > 0.0] == costs.max()).all() and (costs >= 0.0).all())

        def rounded(value: float) -> float:
            # If all positive costs are equal, every cover costs a multiple.
            return float(np.ceil(value / costs.max() - 1e-6) * costs.max()) if is_unit else value

        def between(relaxed: Outcome) -> Outcome | FloatArray:
            """Return the optimum, or a cover with which branch and bound begins."""
            nonlocal best, known
            known = max(known, rounded(relaxed.bound))
            best = improved(self._incidence, costs, best, known, clock, watch)
            if len(self._incidence.firsts) > _LARGE and np.isfinite(clock.left):
                # Branch and bound would not come far: search for most of the time.
                best = improved(self._incidence, costs, best, known, Clock(0.7 * clock.left), watch, 2**60)
            if known < _least(costs, best):
                fractions = relaxed.values
                assert fractions is not None, "only a solved relaxation comes here"
                best, known = self._reduced(costs, fractions, best, known, clock, watch)
            if known >= _least(costs, best):
                return Outcome("optimal", best.astype(np.float64), float(costs[best].sum()))
            return best.astype(np.float64)

        with self._pool.lent() as program:
            outcome = program.solve(costs, "min", None, _SHARE * clock.left, watch, between)
        if outcome.values is not None:
            found = outcome.values > 0.5
            if outcome.state == "optimal" or costs[found].sum() < costs[best].sum():
                best = found
        elif not clock.is_over:
            best = improved(self._incidence, costs, best, known, clock, watch)
        if outcome.state == "optimal":
            return best, float(costs[best].sum())
        return best, max(known, rounded(outcome.bound) if np.isfinite(outcome.bound) else known)

    def _reduced(
        self,
        costs: FloatArray,  # noqa: ARG002
        fractions: FloatArray,  # noqa: ARG002
        best: BoolArray,
        bound: float,
        clock: Clock,  # noqa: ARG002
        watch: Watch,  # noqa: ARG002
    ) -> tuple[BoolArray, float]:
        """Return a better cover and bound by a method of the family; by default those that are known."""
        return best, bound

    @abstractmethod
    def _quickly(self, costs: FloatArray) -> BoolArray:
        """Return a cover that satisfies the approximation ratio, as a mask."""

    def labels(self, super_arm: IntArray) -> list[Any]:
        super_arm = self._check_entries(super_arm)
        return [self._arm_names[arm] for arm in super_arm]

    _arm_names: list[Any]


def _incidence_of(n_arms: int, arms: IntArray, elements: IntArray) -> Incidence:
    """Return the incidence by rows and columns, each in increasing order."""
    from oracles.covers._kernels_covers import Incidence

    n_elements = int(elements.max()) + 1
    by_arm, by_element = np.lexsort((elements, arms)), np.lexsort((arms, elements))
    starts = np.concatenate(([0], np.cumsum(np.bincount(arms, minlength=n_arms))))
    firsts = np.concatenate(([0], np.cumsum(np.bincount(elements, minlength=n_elements))))
    return Incidence(starts, elements[by_arm], firsts, arms[by_element])


def _least(costs: FloatArray, chosen: BoolArray) -> float:
    """Return the bound at which a cover counts as optimal: its cost, less the tolerance of the solver."""
    return float(costs[chosen].sum() - _PROVED * np.abs(costs[chosen]).sum())


def pairs_of(rows: Iterable[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the arms and elements of rows, one for each element."""
    listed = list(rows)
    sizes = np.array([len(row) for row in listed], np.int64)
    return np.concatenate(listed).astype(np.int64), np.repeat(np.arange(len(listed)), sizes)
