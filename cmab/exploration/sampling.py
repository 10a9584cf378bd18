"""Explorers that sample arms one or two at a time: what they share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass

import numpy as np

from cmab.arrays import IntArray
from cmab.exploration.parameters import check_noise
from cmab.explorer import Explorer
from cmab.feedback import Feedback
from cmab.goals import ExploreM, Goal, best_k
from cmab.statistics import ArmStatistics
from cmab.validation import integer


class SamplingExplorer(Explorer[ArmStatistics]):
    """Base of explorers whose state is `ArmStatistics`: every arm first, then what `critical` says."""

    initial_pulls = 1
    in_kernel = (*Explorer.in_kernel, "critical", "can_stop")

    def initial_state(self) -> ArmStatistics:
        """Return the statistics before the first outcome."""
        return ArmStatistics.empty(self.n_arms)

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Take in outcomes."""
        state.update(feedback)

    def select(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the arms without an outcome, or the critical ones when there are none."""
        unseen = self.unseen(state)
        return unseen if len(unseen) else self.critical(state, rng)

    def unseen(self, state: ArmStatistics) -> IntArray:
        """Return the arms that have fewer than `initial_pulls` outcomes."""
        return np.flatnonzero(state.counts < self.initial_pulls)

    def is_done(self, state: ArmStatistics) -> bool:
        """Return whether the stopping rule holds."""
        # The mean of an arm without outcomes is 0, which no stopping rule may take for evidence.
        return bool(state.counts.min() >= self.initial_pulls) and self.can_stop(state)

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
    _: KW_ONLY
    delta: float

    def __post_init__(self) -> None:
        integer("k", self.k, 1, integer("n_arms", self.n_arms, 2) - 1)
        # A rule for a support has no field of this name.
        check_noise(self.delta, vars(self).get("sigma", 1.0))

    @property
    def goal(self) -> Goal:
        """The best `k` arms."""
        return ExploreM(self.k)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the k best means."""
        return best_k(state.means, self.k)
