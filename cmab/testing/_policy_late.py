"""The check that late feedback is credited to its own ticket, whichever tickets are pending."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cmab.feedback import Feedback, Ticket
from cmab.testing._comparisons import require
from cmab.testing._policy_parts import of_each_arm
from cmab.testing._policy_subject import Subject

_TICKETS, _LEAST = 40, 4
Report = tuple[Ticket, Feedback]


def check_own_credit(subject: Subject) -> int:
    """Check that outcomes change the same numbers of arms before and after the feedback of an older ticket.

    Some policies end an epoch between the two reports. The check therefore fails only if the numbers differ
    for at least half of the pairs of tickets.
    """
    tried, strange = 0, list[tuple[Any, ...]]()
    for state, older, newer in _pending(subject):
        if set(older[1].arms.tolist()) == set(newer[1].arms.tolist()):
            continue
        in_order = _changed(subject, state, (older, newer), newer[0])
        late = _changed(subject, state, (newer, older), newer[0])
        tried += bool(in_order or late)
        # A policy may keep reports in other parts of the state by their order, but for the same arms.
        if {row for _, row in late} - {row for _, row in in_order}:
            strange.append((older[0].super_arm, newer[0].super_arm, _shown(late), _shown(in_order)))
    text = (
        "super arms {} and {} were pending, and the outcomes of the second were reported first; they changed"
        " {} of the state, but in order {}; find the ticket by its number, or use its super arm"
    )
    if strange and tried >= _LEAST:
        require(2 * len(strange) < tried, "late feedback", text, *strange[0])
    return tried


def _pending(subject: Subject) -> Iterator[tuple[Any, Report, Report]]:
    """Yield the states of a run in which two reserved tickets are pending, and the reports of both."""
    policy, oracle = subject.copy, subject.policy.oracle
    rng, coins = np.random.default_rng((26, subject.rng)), np.random.default_rng((27, subject.rng))
    state, waiting = policy.initial_state(rng), []
    for number in range(_TICKETS):
        if policy.is_done(state):
            return
        super_arm = subject.select(policy, state, rng)
        shown = subject.place.play(super_arm.copy(), coins)
        if not oracle.is_linear or not np.isin(shown.arms, super_arm).all():
            return  # the outcomes of such a round have a meaning together, and cannot be changed alone
        ticket = Ticket(number, super_arm.copy(), context=subject.place.context)
        policy.reserve(state, ticket)
        waiting.append((ticket, shown))
        if len(waiting) == 2:
            yield copy.deepcopy(state), waiting[0], waiting[1]
            ticket, feedback = waiting.pop(number % 2)
            policy.update(state, feedback, ticket, rng)


def _changed(
    subject: Subject, state: Any, reports: Sequence[Report], changed: Ticket
) -> set[tuple[str, int]]:
    """Return the name and row of each number of an arm that depends on the outcomes of a ticket."""
    found = []
    for end in subject.support:
        after = copy.deepcopy(state)
        for ticket, told in reports:
            if ticket is changed:
                told = Feedback(told.arms, np.full(len(told.arms), end), reward=end * len(told.arms))
            # A generator for each ticket, because the number of draws may depend on the outcomes.
            subject.copy.update(after, told, ticket, np.random.default_rng(ticket.number))
        found.append(dict(of_each_arm(after, subject.policy.oracle.n_arms)))
    low, high = found
    rows = set()
    for name in low.keys() | high.keys():
        one, other = low.get(name), high.get(name)
        if one is None or other is None or one.shape != other.shape:
            rows.add((name, 0))
            continue
        near = np.isclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True).reshape(len(one), -1)
        rows |= {(name, int(row)) for row in np.flatnonzero(~near.all(axis=1))}
    return rows


def _shown(rows: set[tuple[str, int]]) -> str:
    return ", ".join(f"{name}[{row}]" for name, row in sorted(rows)) or "nothing"
