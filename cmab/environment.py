"""Environments: what a policy plays against. Only the runner reads their truth."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.doors import Kernel
from cmab.feedback import Feedback


class Environment(ABC):
    """A combinatorial bandit instance: outcomes to observe, and a truth that learners do not see.

    A subclass sets `n_arms` and `means` and defines `play`, `pull` and `expected_reward`.

    Attributes
    ----------
    n_arms : int
        Number of base arms.
    means : FloatArray, shape (n_arms,)
        True means of the base arms.
    support : tuple of float
        Interval that holds every outcome; infinite where outcomes are unbounded.
    sigma : float
        Sub-Gaussian scale of the outcomes; half the length of `support` unless a subclass knows better.
    optimum : float
        Expected reward of the best super arm, ``nan`` where it is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import Environment, Feedback
    >>> class FullBandit(Environment):
    ...     '''Only the first arm of the super arm shows its (certain) outcome.'''
    ...     n_arms, means = 3, np.array([0.0, 1.0, 1.0])
    ...     def play(self, super_arm, rng):
    ...         return Feedback(super_arm[:1], self.means[super_arm[:1]], self.expected_reward(super_arm))
    ...     def pull(self, arms, rng):
    ...         return self.means[arms]
    ...     def expected_reward(self, super_arm):
    ...         return float(self.means[super_arm].sum())
    >>> FullBandit().play(np.array([1, 2]), np.random.default_rng(0)).reward
    2.0
    """

    n_arms: int
    means: FloatArray
    support: tuple[float, float] = (0.0, 1.0)
    optimum: float = float("nan")

    @property
    def sigma(self) -> float:
        """Sub-Gaussian scale of the outcomes."""
        return (self.support[1] - self.support[0]) / 2

    @abstractmethod
    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Play `super_arm` for one round.

        It takes exactly one ``rng.random()`` where it can, and derives the coin of each base arm from
        that key, so that different policies meet the same coins.
        """

    @abstractmethod
    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return one fresh, independent outcome of every entry of `arms` (entries may repeat)."""

    @abstractmethod
    def expected_reward(self, super_arm: IntArray) -> float:
        """Return the true expected reward of `super_arm`."""

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:  # noqa: ARG002
        """Return the probability with which `super_arm` shows each base arm; None, the default, says nothing.

        `check_environment` compares it with what is observed.
        """
        return None

    def sample(self, arms: IntArray, pulls: int, rng: np.random.Generator) -> Feedback:
        """Return the feedback of `pulls` fresh outcomes of each of `arms`, as explorers ask for them."""
        if pulls == 1:
            return Feedback(arms, self.pull(arms, rng))
        times = np.full(len(arms), pulls)
        sums, squares = self.pull_many(arms, times, rng)
        return Feedback(arms, sums, pulls=times, squares=squares)

    def kernel(self) -> Kernel | None:
        """Return a compiled form of `play` and `expected_reward`; none unless overridden."""
        return None

    def pull_kernel(self) -> Kernel | None:
        """Return a compiled form of `pull` for one arm, with the same draws; none unless overridden."""
        return None

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return the sums, and the sums of squares, of ``pulls[i]`` fresh outcomes of each ``arms[i]``.

        The default draws them one by one; distributions that can draw the sums exactly override it.
        """
        owner = np.repeat(np.arange(len(arms)), pulls)
        outcomes = self.pull(np.repeat(arms, pulls), rng)
        sums: FloatArray = np.bincount(owner, outcomes, minlength=len(arms)).astype(np.float64, copy=False)
        squares = np.bincount(owner, outcomes**2, minlength=len(arms)).astype(np.float64, copy=False)
        return sums, squares


def round_key(rng: np.random.Generator) -> int:
    """Return the 53-bit key of a round, drawn so that compiled and Python loops get the same one."""
    return int(rng.random() * 2.0**53)
