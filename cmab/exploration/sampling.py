"""Explorers that sample arms one or two at a time: what they share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cmab._validation import integer, one_of, real
from cmab.arrays import IntArray
from cmab.confidence import c_epsilon, largest_level
from cmab.explorer import Explorer
from cmab.feedback import Feedback
from cmab.goals import ExploreM, Goal
from cmab.statistics import ArmStatistics

Mode = Literal["faithful", "paper", "heuristic"]
MODES: tuple[Mode, ...] = ("faithful", "paper", "heuristic")


class SamplingExplorer(Explorer[ArmStatistics]):
    """Base of explorers whose state is `ArmStatistics`: every arm once, then what `critical` says."""

    def initial_state(self) -> ArmStatistics:
        """Return the statistics before the first outcome."""
        return ArmStatistics.empty(self.n_arms)

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Take in outcomes."""
        state.update(feedback)

    def select(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the arms without an outcome, or the critical ones when there are none."""
        unseen = np.flatnonzero(state.counts == 0)
        return unseen if len(unseen) else self.critical(state, rng)

    def is_done(self, state: ArmStatistics) -> bool:
        """Return whether the stopping rule holds."""
        return bool(state.counts.min() > 0) and self.can_stop(state)

    @abstractmethod
    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the arms to sample next."""

    @abstractmethod
    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the recommended arms are certain enough."""


@dataclass(frozen=True, eq=False)
class BestK(SamplingExplorer):
    """Base of explorers for the `k` best arms."""

    n_arms: int
    k: int
    delta: float
    sigma: float = 0.5

    def __post_init__(self) -> None:
        integer("k", self.k, 1, integer("n_arms", self.n_arms, 2) - 1)
        check_noise(self.delta, self.sigma)

    @property
    def goal(self) -> Goal:
        """The best `k` arms."""
        return ExploreM(self.k)


def check_noise(delta: float, sigma: float) -> None:
    """Raise unless 0 < delta < 1 and sigma > 0."""
    real("delta", delta, 0.0, 1.0, inside=True)
    real("sigma", sigma, 0.0, inside=True)


def lil_parameters(mode: Mode, delta: float, sides: tuple[int, ...], n_sides: float) -> tuple[float, float]:
    """Return (e, w) of the lil radius ``U(T, w / (n_sides size))`` for an error of `delta`.

    Only one-sided deviations can do harm, of `size` arms on each of `sides`; their union meets `delta`
    exactly in mode "faithful". Mode "paper" takes the cruder ``c_e w = delta``, "heuristic" the unproven
    ``e = 0, w = delta``.
    """
    one_of("mode", mode, MODES)
    if mode == "heuristic":
        return 0.0, delta
    epsilon = 0.01  # the number of samples is flat around it, see the sample bounds of Theorem 3.1
    if mode == "paper":
        return epsilon, delta / c_epsilon(epsilon)

    def error(w: float) -> float:
        failing = sum(size * math.pow(w / (n_sides * size), 1.0 + epsilon) for size in sides)
        return c_epsilon(epsilon) * failing

    return epsilon, largest_level(error, delta)
