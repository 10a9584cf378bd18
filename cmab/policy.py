"""Policies: frozen parameters and an oracle; the state is a value of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.doors import Kernel
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.statistics import ArmStatistics

State = TypeVar("State")


class Policy(ABC, Generic[State]):
    """A rule that chooses a super arm from what was observed so far.

    It holds parameters only. What it learns is in the state, a plain dataclass of arrays and numbers,
    which `update` alone may change.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from cmab import Feedback, Policy, Session
    >>> from oracles import TopK
    >>> @dataclass
    ... class Clock:
    ...     rounds: int = 0
    >>> @dataclass(frozen=True, eq=False)
    ... class RoundRobin(Policy):
    ...     oracle: TopK
    ...     def initial_state(self):
    ...         return Clock()
    ...     def select(self, state, rng):
    ...         return (state.rounds + np.arange(self.oracle.k)) % self.oracle.n_arms
    ...     def update(self, state, feedback):
    ...         state.rounds += 1
    >>> session = Session(RoundRobin(TopK(5, k=2)), rng=0)
    >>> session.tell(Feedback(session.ask(), [0.0, 1.0]))
    >>> session.ask().super_arm
    array([1, 2])
    """

    oracle: Oracle

    @abstractmethod
    def initial_state(self) -> State:
        """Return the state before the first round."""

    @abstractmethod
    def select(self, state: State, rng: np.random.Generator) -> IntArray:
        """Return the super arm to play; `state` is left unchanged."""

    @abstractmethod
    def update(self, state: State, feedback: Feedback) -> None:
        """Take in one round of feedback, changing `state`."""


AnyPolicy = Policy[Any]


@dataclass(frozen=True, eq=False)
class IndexPolicy(Policy[ArmStatistics]):
    """A policy that hands one index a base arm to its oracle.

    Most policies are a subclass that defines `indices` and nothing else.

    Parameters
    ----------
    oracle : Oracle
        The family of super arms.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import IndexPolicy
    >>> class Greedy(IndexPolicy):
    ...     def indices(self, stats, rng):
    ...         return np.where(stats.counts == 0, 1.0, stats.means)
    """

    oracle: Oracle

    @abstractmethod
    def indices(self, stats: ArmStatistics, rng: np.random.Generator) -> FloatArray:
        """Return one index for each base arm, shape (n_arms,); `stats` is left unchanged."""

    def kernel(self) -> Kernel | None:
        """Return a compiled form of `indices` for the fused loop; none unless overridden."""
        return None

    def initial_state(self) -> ArmStatistics:
        """Return empty arm statistics."""
        return ArmStatistics.empty(self.oracle.n_arms, self.oracle.clusters)

    def select(self, state: ArmStatistics, rng: np.random.Generator) -> IntArray:
        """Return the oracle's answer to the indices."""
        return self.oracle.solve(self.indices(state, rng), rng)

    def update(self, state: ArmStatistics, feedback: Feedback) -> None:
        """Take in one round of feedback, changing `state`."""
        state.update(feedback)
