"""Families of edge sets that contain each superset of their members, at minimum cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.oracle import LinearOracle, Sense


class Sufficing(LinearOracle):
    """A family of edge sets in which every superset of a member is also a member.

    Only the costs keep a super arm small. A subclass defines `_cheapest` and `is_feasible`. The other methods
    accept costs of any sign: they include all required arms and all arms of negative cost, and pass these
    arms to `_cheapest` at cost 0.
    """

    can_constrain = True
    sense: Sense = "min"
    edges: list[tuple[Hashable, ...]]

    @property
    def least_mean(self) -> float:
        """0 if `alpha` is above 1 (the ratio is proved for nonnegative costs), else minus infinity."""
        return -np.inf if self.is_exact else 0.0

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return a super arm of at most `alpha` times the least cost, in increasing order."""
        none = np.empty(0, np.int64)
        best = self._best(self._check_means(means, self.least_mean), none, none)
        assert best is not None, "the constructor checked that one exists"
        return best

    def solve_constrained(
        self,
        means: FloatArray,
        include: ArrayLike,
        exclude: ArrayLike,
        rng: np.random.Generator,
    ) -> IntArray | None:
        costs = self._check_means(means, self.least_mean)
        return self._best(costs, *self._check_constraints(include, exclude))

    def _best(self, costs: FloatArray, required: IntArray, banned: IntArray) -> IntArray | None:
        is_had, rest = self._split(costs, required, banned)
        needed = self._cheapest(rest)
        return None if needed is None else np.flatnonzero(needed | is_had)

    def _split(self, costs: FloatArray, required: IntArray, banned: IntArray) -> tuple[BoolArray, FloatArray]:
        """Return the arms that every answer contains as a mask, and the costs that remain."""
        is_had = costs < 0.0
        is_had[required], is_had[banned] = True, False
        rest = np.where(is_had, 0.0, costs)
        rest[banned] = np.inf
        return is_had, rest

    @abstractmethod
    def _cheapest(self, costs: FloatArray) -> BoolArray | None:
        """Return a cheapest set as a mask. Costs are nonnegative; infinite costs exclude an arm."""
