"""Worlds in which somebody lies, as often as a budget lets him."""

from __future__ import annotations

import math

import numpy as np

from cmab import Environment, Feedback
from cmab.arrays import FloatArray, IntArray
from cmab.validation import real, shown


class Corrupted(Environment):
    """Another environment, whose first rounds show each outcome mirrored in the support.

    The adversary of Lykouris et al. spends, in each round, the largest change of an outcome. Mirrored
    outcomes change by the length of the support at most, so that as many rounds from the first on are
    corrupted as that fits into the budget: early lies cost a learner most. What the rounds are worth stays:
    regret is against the true means, and rewards are what was truly earned.

    Parameters
    ----------
    environment : Environment
        The world without lies, with outcomes in a bounded support.
    budget : float
        What may be changed in all, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import BernoulliArms, Corrupted, SemiBandit
    >>> from oracles import TopK
    >>> environment = Corrupted(SemiBandit(BernoulliArms([0.0, 1.0]), TopK(2, k=2)), budget=3.5)
    >>> rng = np.random.default_rng(0)
    >>> [environment.in_round(t, rng).play([0, 1], rng).outcomes.tolist() for t in (3, 4)]
    [[1.0, 0.0], [0.0, 1.0]]

    References
    ----------
    T. Lykouris, V. Mirrokni, R. Paes Leme: Stochastic Bandits Robust to Adversarial Corruptions, STOC 2018,
    section 2 (from memory).
    """

    def __init__(self, environment: Environment, budget: float) -> None:
        if not isinstance(environment, Environment):
            raise ValueError(f"environment must be an Environment, got {shown(environment)}")
        low, high = environment.support
        if not math.isfinite(high - low):
            raise ValueError(f"environment must have a bounded support, got {environment.support}")
        self.environment = environment
        self.budget = real("budget", budget, 0.0)
        self.n_arms, self.n_choices = environment.n_arms, environment.n_choices
        self.means, self.support = environment.means, environment.support
        self.optimum = environment.optimum

    @property
    def sigma(self) -> float:
        return self.environment.sigma

    @property
    def corrupted_rounds(self) -> int:
        """How many rounds lie: those of which the largest changes fit into the budget."""
        low, high = self.support
        return int(self.budget / (high - low)) if high > low else 0

    def in_round(self, t: int, rng: np.random.Generator) -> Environment:
        world = self.environment.in_round(t, rng)
        return _Mirrored(world) if t <= self.corrupted_rounds else world

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        return self.environment.play(super_arm, rng)

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return self.environment.pull(arms, rng)

    def expected_reward(self, super_arm: IntArray) -> float:
        return self.environment.expected_reward(super_arm)

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        return self.environment.triggering_probabilities(super_arm)


class _Mirrored(Environment):
    """A round that lies: its means are those of what is shown, its rewards and optimum the true ones."""

    def __init__(self, truth: Environment) -> None:
        self.truth = truth
        self.n_arms, self.n_choices, self.support = truth.n_arms, truth.n_choices, truth.support
        self.means = sum(truth.support) - truth.means
        self.optimum, self.context = truth.optimum, truth.context

    @property
    def sigma(self) -> float:
        return self.truth.sigma

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        told = self.truth.play(super_arm, rng)
        return Feedback(told.arms, sum(self.support) - told.outcomes, reward=told.reward)

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return sum(self.support) - self.truth.pull(arms, rng)

    def expected_reward(self, super_arm: IntArray) -> float:
        return self.truth.expected_reward(super_arm)

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        return self.truth.triggering_probabilities(super_arm)
