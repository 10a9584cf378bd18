"""Base class of policies that wrap another policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.context import Context
from cmab.feedback import Feedback
from cmab.guards import verb
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, Policy, State, check_policy_instance, fits
from cmab.ticket import Ticket
from cmab.validation import shown


@dataclass(frozen=True, eq=False)
class WrappedPolicy(Policy[State]):
    """A policy that wraps another policy and delegates to it every method that a subclass does not define.

    Its oracle and support are those of the wrapped policy. If its state contains the state of the
    wrapped policy, a subclass defines `_learned`.
    """

    policy: AnyPolicy
    oracle: Oracle = field(init=False, repr=False)
    support: tuple[float, float] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_policy_instance(self.policy)
        if self.policy.may_rest:
            raise ValueError(
                f"policy must have no budgets, because a wrapper could exceed them, got {self.policy!r}"
            )
        if getattr(self.policy, "oracle", None) is None:
            raise TypeError(f"policy must have an oracle, got {shown(self.policy)}")
        object.__setattr__(self, "oracle", self.policy.oracle)
        object.__setattr__(self, "support", self.policy.support)
        object.__setattr__(self, "learns", self.policy.learns)
        super().__post_init__()

    def _learned(self, state: State) -> Any:
        """Return the state of the wrapped policy."""
        return state

    def _check_state(self, state: State) -> None:
        fits(self.policy, self._learned(state), ())

    @verb
    def initial_state(self, rng: np.random.Generator | None = None) -> State:
        state: State = self.policy.initial_state(rng)
        return state

    @verb
    def select(self, state: State, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the choice of the wrapped policy.

        Raises
        ------
        ValueError
            If the wrapped policy cannot use a part of the context.
        """
        chosen: IntArray = self.policy.select(self._learned(state), rng, context)
        return chosen

    @verb
    def update(
        self,
        state: State,
        feedback: Feedback,
        ticket: Ticket | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.policy.update(self._learned(state), feedback, ticket, rng)

    def is_done(self, state: State) -> bool:
        return self.policy.is_done(self._learned(state))

    def reserve(self, state: State, ticket: Ticket) -> None:
        self.policy.reserve(self._learned(state), ticket)
