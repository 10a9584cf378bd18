"""Sets of edges that suffice for a job, and all larger ones, at least cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.oracle import LinearOracle, Sense


class Sufficing(LinearOracle):
    """A family with each set that holds one of the family, so that cost alone keeps super arms small.

    A subclass defines `_cheapest` and `is_feasible`. All else is exact for costs of any sign: what must be
    had, and what costs less than nothing, is free for the rest of the choice.
    """

    sense: Sense = "min"
    edges: list[tuple[Hashable, ...]]

    @property
    def least_mean(self) -> float:
        """0 where `alpha` is above 1: ratios are proved for costs that are not negative."""
        return -np.inf if self.is_exact else 0.0

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        return [self.edges[arm] for arm in super_arm]

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002
        """Return the cheapest edges that suffice, or some within `alpha` of them, in increasing order."""
        none = np.empty(0, np.int64)
        best = self._best(self._check_means(means, self.least_mean), none, none)
        assert best is not None, "the constructor made sure of one"
        return best

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> IntArray | None:
        costs = self._check_means(means, self.least_mean)
        return self._best(costs, *self._check_constraints(include, exclude))

    def _best(self, costs: FloatArray, required: IntArray, banned: IntArray) -> IntArray | None:
        is_had = costs < 0.0
        is_had[required], is_had[banned] = True, False
        rest = np.where(is_had, 0.0, costs)
        rest[banned] = np.inf
        needed = self._cheapest(rest)
        return None if needed is None else np.flatnonzero(needed | is_had)

    @abstractmethod
    def _cheapest(self, costs: FloatArray) -> BoolArray | None:
        """Return which edges suffice at least cost, none negative; infinite ones cannot be had."""
