"""Explorers that sample arms one or two at a time: what they share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import IntArray
from cmab.exploration.parameters import DELTA, N_ARMS, K
from cmab.explorer import Explorer
from cmab.feedback import Feedback
from cmab.goals import ExploreM, Goal, best_k
from cmab.statistics import ArmStatistics


class SamplingExplorer(Explorer[ArmStatistics]):
    """Base of explorers whose state is `ArmStatistics`: every arm first, then what `critical` says."""

    epsilon: float = 0.0
    initial_pulls = 1
    in_kernel = (*Explorer.in_kernel, "critical", "can_stop")

    def initial_state(self) -> ArmStatistics:
        return ArmStatistics.empty(self.n_arms)

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        state.update(feedback)

    def select(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the arms without an outcome, or the critical ones when there are none."""
        unseen = self.unseen(state)
        return unseen if len(unseen) else self.critical(state, rng)

    def unseen(self, state: ArmStatistics) -> IntArray:
        """Return the arms that have fewer than `initial_pulls` outcomes."""
        return np.flatnonzero(state.counts < self.initial_pulls)

    def is_done(self, state: ArmStatistics) -> bool:
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

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    delta: float = field(metadata=DELTA)

    @property
    def goal(self) -> Goal:
        """Every arm within `epsilon` of the k-th best; without a tolerance the best `k`."""
        return ExploreM(self.k, self.epsilon)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the k best means."""
        return best_k(state.means, self.k)
