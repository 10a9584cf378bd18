"""The check that reservations of tickets do not change the rounds of a policy."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from cmab.feedback import Feedback, Ticket
from cmab.policy import Policy
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require
from cmab.testing._policy_parts import numbers_of
from cmab.testing._policy_subject import Subject

_RESERVED = 1000
#: Rounds of the run whose pairs of reports are late.
_PAIRS = 40
Report = tuple[Ticket, Feedback]


def check_reservations(subject: Subject) -> Finding:
    """Check that reservations change no prompt round, and that two of them may be made in any order.

    A round is the same whether its ticket was reserved before the feedback or not. Two late reports have the
    same effect whichever of their tickets was reserved first, because a ticket belongs to its own report.
    """
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
    pairs_tried = sum(_check_pair(subject, *each) for each in _pairs(subject))
    return Finding(f"{number} rounds, and {pairs_tried} pairs of late reports")


def _pairs(subject: Subject) -> Iterator[tuple[Any, list[Report]]]:
    """Yield states of a run, and two tickets of the next rounds with their feedback."""
    policy, coins = subject.copy, np.random.default_rng((subject.rng, 2))
    rng, drawn = np.random.default_rng(subject.rng), np.random.default_rng((subject.rng, 3))
    state = policy.initial_state(rng)
    for number in subject.timed(range(0, _PAIRS, 2)):
        reports: list[Report] = []
        for later in range(2):
            if policy.is_done(state):
                return
            world = subject.environment.in_round(number + later + 1, drawn)
            super_arm = entries(policy.select(state, rng, world.context))
            ticket = Ticket(number + later, super_arm.copy(), context=world.context)
            reports.append((ticket, world.play(super_arm.copy(), coins)))
        yield state, reports
        for ticket, told in reports:
            policy.update(state, told, ticket, rng)


def _check_pair(subject: Subject, state: Any, reports: list[Report]) -> bool:
    """Compare the two orders of reservation. The numbers of the tickets rise in both."""
    policy, ends = subject.copy, []
    first_number = reports[0][0].number
    for order in ((0, 1), (1, 0)):
        end, rng = copy.deepcopy(state), np.random.default_rng(0)
        tickets: dict[int, Ticket] = {}
        for number, place in enumerate(order, first_number):
            given = reports[place][0]
            tickets[place] = Ticket(number, given.super_arm.copy(), context=given.context)
            policy.reserve(end, tickets[place])
        for place in (1, 0):
            policy.update(end, reports[place][1], tickets[place], rng)
        ends.append(dict(numbers_of(end)))
    first, second = ends
    for name in first.keys() & second.keys():
        one, other = first[name], second[name]
        same = one.shape == other.shape and np.allclose(one, other, rtol=1e-6, atol=1e-9, equal_nan=True)
        text = (
            "after late reports of super arms {} and {}, `{}` of the state depends on which of the tickets"
            " was reserved first: {} and {}; find the ticket by its number, or use the ticket of the report"
        )
        arms = [ticket.super_arm for ticket, _ in reports]
        require(same, "reservations", text, *arms, name, one, other)
    return bool(first)


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
