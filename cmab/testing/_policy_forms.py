"""The check that reservations of tickets do not change the rounds of a policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cmab.policy import Policy
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_subject import Subject
from cmab.ticket import Ticket

_RESERVED = 1000


def check_reservations(subject: Subject) -> Finding:
    """Check that a round is the same whether its ticket was reserved before the feedback or not."""
    policy = subject.policy
    owner = next(cls for cls in type(policy).__mro__ if "reserve" in vars(cls))
    if owner is Policy:
        return Finding("not tried: the class does not override `reserve`")
    plain, reserved = (_game(subject, is_reserved) for is_reserved in (False, True))
    number, pairs = 0, zip(plain, reserved, strict=False)
    for number, (one, other) in enumerate(subject.timed(pairs, 0.2), 1):
        text = (
            "in round {}, the policy selected {} in a run without `reserve`, but {} in a run that reserves"
            " each ticket and reports it at once; update must release the reservation of its ticket (None:"
            " the run has ended)"
        )
        require(np.array_equal(one, other), "reservations", text, number, _shown(one), _shown(other))
    return Finding(f"{number} rounds")


def _shown(super_arm: Any) -> Any:
    return None if not len(super_arm) else super_arm


def _game(subject: Subject, is_reserved: bool) -> Iterator[Any]:
    """Yield the super arm of each round, and an empty one for each round after the end."""
    policy, rng = subject.copy, np.random.default_rng(subject.rng)
    coins, state = np.random.default_rng((subject.rng, 1)), policy.initial_state(rng)
    for number in range(_RESERVED):
        if policy.is_done(state):
            yield np.empty(0, np.int64)
            continue
        super_arm = subject.select(policy, state, rng)
        yield super_arm.copy()
        ticket = Ticket(number, super_arm.copy(), context=subject.place.context)
        if is_reserved:
            policy.reserve(state, ticket)
        policy.update(state, subject.place.play(super_arm.copy(), coins), ticket, rng)
