"""Environments with rewards and triggering probabilities from their oracle."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.oracle import Oracle


class ValuedByOracle(Environment):
    """Bernoulli base arms; the oracle computes rewards and triggering probabilities from the true means.

    Subclasses set `oracle`, `means`, `n_arms` and `n_choices`, and define `play`.
    """

    oracle: Oracle
    means: FloatArray
    distribution = "bernoulli"

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        return self.expected_reward(self.oracle.solve(self.means, np.random.default_rng(0)))

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return (rng.random(len(arms)) < self.means[arms]).astype(np.float64)

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        return self.oracle.triggering_probabilities(super_arm, self.means)

    def expected_reward(self, super_arm: IntArray) -> float:
        return self.oracle.expected_reward(super_arm, self.means)
