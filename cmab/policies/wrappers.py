"""The base of policies that wrap another policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle
from cmab.policy import AnyPolicy, Policy, State, check_policy_instance
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
        check_wrapped(self.policy)
        for name in ("oracle", "support", "learns"):
            object.__setattr__(self, name, getattr(self.policy, name))
        super().__post_init__()

    def _learned(self, state: State) -> Any:
        """Return the state of the wrapped policy."""
        return state

    def initial_state(self, rng: np.random.Generator | None = None) -> State:
        state: State = self.policy.initial_state(rng)
        return state

    def select(self, state: State, rng: np.random.Generator, context: Context | None = None) -> IntArray:
        """Return the choice of the wrapped policy."""
        chosen: IntArray = self.policy.select(self._learned(state), rng, context)
        return chosen

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


def check_wrapped(policy: AnyPolicy) -> None:
    """Raise ``TypeError`` or ``ValueError`` unless a policy has an oracle and no budgets."""
    check_policy_instance(policy)
    if policy.may_rest:
        raise ValueError(f"policy must have no budgets, because a wrapper could exceed them, got {policy!r}")
    if getattr(policy, "oracle", None) is None:
        raise TypeError(f"policy must have an oracle, got {shown(policy)}")
