"""Policies that play the same super arm for several rounds."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Self, TypeVar

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.context import Context
from cmab.feedback import MOST_ARMS
from cmab.guards import verb
from cmab.oracle import Oracle
from cmab.policy import Policy, refuse_parts
from cmab.statistics import ArmStatistics
from cmab.validation import arm_indices


@dataclass(eq=False, repr=False)
class InPlayStatistics(ArmStatistics):
    """Arm statistics and the current super arm.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        The current super arm; empty before the first round.
    """

    super_arm: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def check(self, fresh: Self) -> None:
        super().check(fresh)
        arm_indices("super_arm", self.super_arm, MOST_ARMS)


State = TypeVar("State", bound=InPlayStatistics)


class InPlay(Policy[State]):
    """A policy that calls the oracle in some rounds only, and plays its last answer in the others.

    Subclasses define the means for the oracle (`_means`). Their `update` sets ``state.super_arm`` to the
    result of `_solve` when a new super arm is due.
    """

    oracle: Oracle

    @abstractmethod
    def _means(self, state: State, rng: np.random.Generator) -> FloatArray:
        """Return the means that are passed to the oracle, shape (n_arms,)."""

    @abstractmethod
    def _generator(self, state: State) -> np.random.Generator:
        """Return a generator that depends only on `state`, so that saving and loading do not affect it."""

    @verb
    def select(
        self,
        state: State,
        rng: np.random.Generator,  # noqa: ARG002
        context: Context | None = None,
    ) -> IntArray:
        """Return the current super arm or, if part of it is unavailable, the best available super arm.

        Before the first feedback, this is the oracle's answer for the initial state.

        Raises
        ------
        ValueError
            If a context has parts other than `available`, or if no super arm is available.
        TypeError
            If the oracle cannot exclude unavailable entries.
        """
        refuse_parts(self, context, ("available",))
        chosen = self._solve(state) if state.rounds == 0 else state.super_arm.copy()
        if context is None or context.available is None or context.available[chosen].all():
            return chosen
        return self._solve(state, context.available)

    def _solve(self, state: State, available: BoolArray | None = None) -> IntArray:
        rng, oracle = self._generator(state), self.oracle
        means = self._means(state, rng)
        chosen = oracle.solve(means, rng) if available is None else oracle.solve_within(means, available, rng)
        return oracle.check_super_arm(chosen, f"the super arm of {type(oracle).__name__}.solve")
