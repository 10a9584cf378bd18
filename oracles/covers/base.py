"""The base class of cover oracles: sets of arms that together cover every element."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.description import described
from cmab.validation import one_of
from oracles.programs._pulp_models import row_model
from oracles.programs.linear_program import PuLPOracle


class Cover(PuLPOracle):
    """Sets of arms that cover every element, with a cost for each arm.

    A subclass calls `_complete` with the arms that cover each element, and defines `_quickly`.
    """

    method: str

    def _complete(
        self, n_arms: int, meeting: Sequence[IntArray], method: Literal["program", "greedy"], ratio: float
    ) -> None:
        """Set the attributes that all covers share; `ratio` is the approximation ratio of `_quickly`."""
        self.method = one_of("method", method, ("program", "greedy"))
        self._meets = np.zeros((n_arms, len(meeting)), bool)
        for element, arms in enumerate(meeting):
            self._meets[arms, element] = True
        rows = [(arms, np.ones(len(arms)), 1.0, np.inf) for arms in meeting]
        super().__init__(*row_model(n_arms, rows), sense="min")
        if method == "greedy":
            self.alpha = ratio

    def __repr__(self) -> str:
        return described(self, elements=self._meets.shape[1])

    @property
    def least_mean(self) -> float:
        """0 for the greedy method (its ratio is proved for nonnegative costs); otherwise minus infinity."""
        return 0.0 if self.method == "greedy" else -np.inf

    def is_feasible(self, super_arm: IntArray) -> bool:
        return bool(self._meets[super_arm].any(axis=0).all())

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the cover of least cost, or of at most `alpha` times the least cost, in increasing order."""
        if self.method == "program":
            return super().solve(means, rng)
        costs = self._check_means(means, 0.0)
        return np.flatnonzero(self._pruned(self._quickly(costs), costs))

    @abstractmethod
    def _quickly(self, costs: FloatArray) -> BoolArray:
        """Return a cover that satisfies the approximation ratio, as a mask."""

    def _pruned(self, chosen: BoolArray, costs: FloatArray) -> BoolArray:
        """Remove arms that are not needed to cover every element, in decreasing order of cost."""
        times = self._meets[chosen].sum(axis=0)
        for arm in np.flatnonzero(chosen)[np.argsort(-costs[chosen], kind="stable")]:
            if (times[self._meets[arm]] > 1).all():
                chosen[arm] = False
                times = times - self._meets[arm]
        return chosen

    def labels(self, super_arm: IntArray) -> list[Any]:
        return [self._arm_names[arm] for arm in super_arm]

    _arm_names: list[Any]
