"""Policies that keep a super arm in play for several rounds."""

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
    """Arm statistics and the super arm in play.

    Attributes
    ----------
    super_arm : IntArray, shape (size,)
        The super arm in play; empty before the first round.
    """

    super_arm: IntArray = field(default_factory=lambda: np.empty(0, np.int64))

    def check(self, fresh: Self) -> None:
        """Refuse what no feedback could have led to."""
        super().check(fresh)
        arm_indices("super_arm", self.super_arm, MOST_ARMS)


State = TypeVar("State", bound=InPlayStatistics)


class InPlay(Policy[State]):
    """A policy whose `update` calls the oracle, when it is time, and whose rounds play the last answer.

    Subclasses say what the oracle is given (`_means`), and when: their `update` sets ``state.super_arm`` to
    `_solve`.
    """

    oracle: Oracle

    @abstractmethod
    def _means(self, state: State, rng: np.random.Generator) -> FloatArray:
        """Return the means that the oracle is called with, shape (n_arms,)."""

    @abstractmethod
    def _generator(self, state: State) -> np.random.Generator:
        """Return a generator that `state` alone determines: saving and loading in between change nothing."""

    @verb
    def select(
        self,
        state: State,
        rng: np.random.Generator,  # noqa: ARG002
        context: Context | None = None,
    ) -> IntArray:
        """Return the super arm in play; where some of it is not available, the best of what is.

        Before the first feedback, that is the oracle's answer to that state.

        Raises
        ------
        ValueError
            If a context has another part than `available`, or leaves no super arm.
        TypeError
            If the oracle cannot do without what is not available.
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
