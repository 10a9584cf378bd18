"""Environments with outcomes 0 and 1."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.environment import Environment
from cmab.oracle import Oracle
from cmab.parameters import described
from cmab.validation import frozen, vector


class BernoulliOutcomes(Environment):
    """Base arms with outcomes 0 and 1; a subclass sets `means`."""

    means: FloatArray

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return (rng.random(len(arms)) < self.means[arms]).astype(np.float64)

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return binomial numbers of successes as sums and as sums of squares, which are equal."""
        # One draw has the exact distribution of the sum, for any number of pulls.
        arms, pulls = self._check_pulls(arms, pulls)
        successes = rng.binomial(pulls, self.means[arms]).astype(np.float64)
        return successes, successes


class ValuedByOracle(BernoulliOutcomes):
    """The oracle computes rewards and triggering probabilities from the means; a subclass defines `play`."""

    distribution = "bernoulli"

    def __init__(self, oracle: Oracle, name: str, means: ArrayLike) -> None:
        self.oracle, self.n_arms, self.n_choices = oracle, oracle.n_arms, oracle.n_choices
        self.means = frozen(vector(name, means, self.n_arms, 0.0, 1.0))

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, means=self.means)

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        return self.expected_reward(self.oracle.solve(self.means, np.random.default_rng(0)))

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        return self.oracle.triggering_probabilities(super_arm, self.means)

    def expected_reward(self, super_arm: IntArray) -> float:
        return self.oracle.expected_reward(super_arm, self.means)
