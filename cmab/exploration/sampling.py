"""Base classes of explorers that sample one or two arms at a time."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field

import numpy as np

from cmab.arrays import IntArray
from cmab.exploration.parameters import DELTA, N_ARMS, K
from cmab.explorer import Explorer
from cmab.feedback import Context, Feedback, Ticket
from cmab.goals import ExploreM, Goal, best_k
from cmab.statistics import ArmStatistics


class SamplingExplorer(Explorer[ArmStatistics]):
    """Base class of explorers with `ArmStatistics` as state.

    The explorer samples every arm `initial_pulls` times, and then the arms that `critical` returns.
    """

    epsilon: float = 0.0
    initial_pulls = 1
    _in_kernel = (*Explorer._in_kernel, "critical", "can_stop")

    def initial_state(self, rng: np.random.Generator | None = None) -> ArmStatistics:
        return ArmStatistics.empty(self.n_arms)

    def update(
        self,
        state: ArmStatistics,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        state.update(feedback)

    def select(
        self, state: ArmStatistics, rng: np.random.Generator, context: Context | None = None
    ) -> IntArray:
        """Return the arms with fewer than `initial_pulls` outcomes; otherwise the critical arms."""
        unseen = self.unseen(state)
        return unseen if len(unseen) else self.critical(state, rng)

    def unseen(self, state: ArmStatistics) -> IntArray:
        """Return the arms that have fewer than `initial_pulls` outcomes."""
        return np.flatnonzero(state.counts < self.initial_pulls)

    def is_done(self, state: ArmStatistics) -> bool:
        # The mean of an arm without outcomes is 0. A stopping rule must not use it as evidence.
        return bool(state.counts.min() >= self.initial_pulls) and self.can_stop(state)

    @abstractmethod
    def critical(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the arms to sample next, once every arm has its first outcomes."""

    @abstractmethod
    def can_stop(self, state: ArmStatistics) -> bool:
        """Return whether the recommended arms are certain enough."""


@dataclass(frozen=True, eq=False)
class BestK(SamplingExplorer):
    """Base class of explorers that return the `k` best arms."""

    n_arms: int = field(metadata=N_ARMS)
    k: int = field(metadata=K)
    _: KW_ONLY
    delta: float = field(metadata=DELTA)

    @property
    def goal(self) -> Goal:
        """The goal that every returned arm is within `epsilon` of the k-th best."""
        return ExploreM(self.k, self.epsilon)

    def recommend(self, state: ArmStatistics) -> IntArray:
        """Return the arms with the k largest means."""
        return best_k(state.means, self.k)
