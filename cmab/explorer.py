"""Explorers: policies for identification."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.policy import Policy, State


class Explorer(Policy[State]):
    """A policy that samples base arms until it can name the best ones.

    `select` returns the base arms to sample next rather than a super arm to play; `pulls` says how often
    each. An explorer that needs no oracle sets `n_arms` itself.

    Attributes
    ----------
    n_arms : int
        Number of base arms.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab import ArmStatistics, Explorer, Feedback, Session
    >>> class Uniform(Explorer):
    ...     '''Ten outcomes of every arm, then the arm with the best mean.'''
    ...     n_arms = 3
    ...     def initial_state(self):
    ...         return ArmStatistics.empty(self.n_arms)
    ...     def select(self, state, rng):
    ...         return np.arange(self.n_arms)
    ...     def update(self, state, feedback):
    ...         state.update(feedback)
    ...     def is_done(self, state):
    ...         return state.counts.min() >= 10
    ...     def recommend(self, state):
    ...         return np.array([np.argmax(state.means)])
    >>> session = Session(Uniform(), rng=0)
    >>> while not session.is_done:
    ...     session.tell(Feedback(session.ask(), [0.1, 0.5, 0.2]))
    >>> session.recommend()
    array([1])
    """

    n_arms: int

    def pulls(self, state: State) -> int:  # noqa: ARG002
        """Return how many outcomes of each selected arm are wanted at once."""
        return 1

    @abstractmethod
    def is_done(self, state: State) -> bool:
        """Return whether the stopping rule holds; then `recommend` is the certified answer."""

    @abstractmethod
    def recommend(self, state: State) -> IntArray:
        """Return the arms that the explorer would name now, in increasing order."""

    @abstractmethod
    def select(self, state: State, rng: np.random.Generator) -> IntArray:
        """Return the distinct base arms to sample next; `state` is left unchanged."""


AnyExplorer = Explorer[Any]
