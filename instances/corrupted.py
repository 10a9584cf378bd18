"""Environments with corrupted outcomes in the first rounds, limited by a budget."""

from __future__ import annotations

import math

import numpy as np

from cmab import Environment, Feedback
from cmab.arrays import FloatArray, IntArray
from cmab.validation import real, shown
from instances.changing import StandsBefore


class Corrupted(StandsBefore):
    """Another environment with false outcomes in its first rounds: each outcome is mirrored in the support.

    In the model of Lykouris et al., the corruption of a round is the largest change of an outcome. Mirrored
    outcomes change by at most the length of the support. As many rounds as fit into the budget by this bound
    are corrupted, from the first round on, because early corruption costs a learner most. Rewards and regret
    are those of the true outcomes and means.

    Parameters
    ----------
    environment : Environment
        The environment without corruption, with a bounded support.
    budget : float
        The total corruption, at least 0.

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
    def behind(self) -> Environment:
        return self.environment

    @property
    def corrupted_rounds(self) -> int:
        """The number of corrupted rounds, each of which counts with the length of the support."""
        low, high = self.support
        return int(self.budget / (high - low)) if high > low else 0

    def in_round(self, t: int, rng: np.random.Generator) -> Environment:
        world = self.environment.in_round(t, rng)
        return _Mirrored(world) if t <= self.corrupted_rounds else world


class _Mirrored(StandsBefore):
    """A corrupted round with the means of the mirrored outcomes, the true rewards and the true optimum."""

    def __init__(self, truth: Environment) -> None:
        self.truth = truth
        self.n_arms, self.n_choices, self.support = truth.n_arms, truth.n_choices, truth.support
        self.means = sum(truth.support) - truth.means
        self.optimum, self.context = truth.optimum, truth.context

    @property
    def behind(self) -> Environment:
        return self.truth

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        told = self.truth.play(super_arm, rng)
        return Feedback(told.arms, sum(self.support) - told.outcomes, reward=told.reward)

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        return sum(self.support) - self.truth.pull(arms, rng)
