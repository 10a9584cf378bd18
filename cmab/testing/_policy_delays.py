"""The check that a late report changes the numbers of its own super arm, as a prompt report does.

Outcomes may be credited to base arms, to super arms, or to any other entries of a state. Therefore the check
does not use the meaning of an entry. It compares the entries that depend on a late report with those that
depend on prompt reports of the same super arm.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.feedback import Feedback, Ticket
from cmab.policy import AnyPolicy
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._policy_parts import within
from cmab.testing._policy_subject import Subject

_ROUNDS, _AT_LEAST, _DEPTH, _SHARE = 36, 16, 5, 0.05
#: Rounds that are reported before a late report, in turn, and the least number of compared late reports.
_DELAYS, _LEAST = (1, 2, 3), 6
_LARGEST, _TWICE = 4096, 2
Name = tuple[str, ...]
#: The entries of each part of a state.
Entries = dict[Name, frozenset[int]]
Report = tuple[Ticket, Feedback]


@dataclass
class Seen:
    """The entries that depended on prompt reports, and on late ones, of each super arm."""

    prompt: dict[bytes, list[Entries]] = field(default_factory=dict)
    late: list[tuple[Ticket, int, Entries]] = field(default_factory=list)


def check_delays(subject: Subject) -> Finding:
    """Check that a late report changes the same entries of the state as prompt reports of its super arm.

    Only those parts of the state are compared in which all prompt reports of a super arm changed the same
    entries, and those of other super arms changed others. A record of the latest rounds is no such part. The
    check fails if half of the late reports changed other entries.
    """
    seen = _reports(subject)
    own = _own_entries(seen)
    tried, strange = 0, list[tuple[Any, ...]]()
    for ticket, delay, entries in seen.late:
        known = own.get(_key(ticket), {})
        compared = {name: found for name, found in entries.items() if name in known}
        tried += bool(compared)
        wrong = {name: found for name, found in compared.items() if found - known[name]}
        if wrong:
            name = min(wrong)
            strange.append(
                (ticket.super_arm, delay, ".".join(name), sorted(wrong[name]), sorted(known[name]))
            )
    text = (
        "a report of super arm {}, {} rounds late, changed the entries `{}`[{}] of the state, but prompt"
        " reports of this super arm change the entries {}; use ticket.super_arm or feedback.arms in update"
    )
    if strange and tried >= _LEAST:
        require(2 * len(strange) < tried, "delays", text, *strange[0])
    return Finding(f"{tried} late reports compared")


def _key(ticket: Ticket) -> bytes:
    return np.sort(np.asarray(ticket.super_arm, np.int64)).tobytes()


def _own_entries(seen: Seen) -> dict[bytes, Entries]:
    """Return the entries that belong to each super arm, in those parts in which all super arms have some."""
    told = [entries for each in seen.prompt.values() for entries in each]
    own: dict[bytes, Entries] = {key: {} for key in seen.prompt}
    for name in {name for entries in told for name in entries}:
        found = {
            key: {entries[name] for entries in each if name in entries} for key, each in seen.prompt.items()
        }
        sets = [entries for each in found.values() for entries in each]
        # One set for each super arm, and no set twice. A super arm that was reported once proves nothing.
        is_steady = all(len(each) <= 1 for each in found.values()) and len(set(sets)) == len(sets) > 1
        if is_steady and 2 * sum(name in entries for entries in told) >= len(told):
            for key, each in found.items():
                if sum(name in entries for entries in seen.prompt[key]) >= _TWICE and each:
                    own[key][name] = each.pop()
    return own


def _reports(subject: Subject) -> Seen:
    """Return the entries that depend on prompt and on late reports in a run."""
    seen, watch, policy = Seen(), Stopwatch(), subject.copy
    rng, coins = np.random.default_rng((28, subject.rng)), np.random.default_rng((29, subject.rng))
    state = policy.initial_state(rng)
    for number in range(_ROUNDS):
        if policy.is_done(state) or (
            number >= _AT_LEAST and number % 4 == 0 and watch.seconds() > _SHARE * subject.seconds
        ):
            break
        later, drawn = copy.deepcopy((state, rng))
        report = _asked(subject, policy, state, number, (rng, coins))
        # A policy may keep parts of a reserved ticket, so that the ticket of a late report is reserved first.
        policy.reserve(later, copy.copy(report[0]))
        entries = _dependent(subject, policy, state, report)
        if entries:
            seen.prompt.setdefault(_key(report[0]), []).append(entries)
        delay, others = _DELAYS[number % len(_DELAYS)], set[bytes]()
        for turn in range(1, delay + 1):
            if not policy.is_done(later):
                other = _asked(subject, policy, later, number + turn, (drawn, coins))
                policy.update(later, other[1], other[0], drawn)
                others.add(_key(other[0]))
        # Only another super arm can be confused with that of the report.
        if others - {_key(report[0])} and (entries := _dependent(subject, policy, later, report)):
            seen.late.append((report[0], delay, entries))
        policy.update(state, report[1], report[0], rng)
    return seen


def _asked(
    subject: Subject,
    policy: AnyPolicy,
    state: Any,
    number: int,
    sources: tuple[np.random.Generator, np.random.Generator],
) -> Report:
    """Return a ticket of the super arm that the policy selects, which is reserved, and its feedback.

    The outcomes are the worst ones where they can be changed. A policy then selects many super arms.
    """
    super_arm = subject.select(policy, state, sources[0])
    ticket = Ticket(number, super_arm.copy(), context=subject.place.context)
    policy.reserve(state, ticket)
    told = subject.place.play(super_arm.copy(), sources[1])
    if _is_free(subject, ticket, told):
        worst = subject.support[0 if subject.policy.oracle.sense == "max" else 1]
        told = Feedback(told.arms, np.full(len(told.arms), worst), reward=worst * len(told.arms))
    return ticket, told


def _is_free(subject: Subject, ticket: Ticket, told: Feedback) -> bool:
    """Return whether outcomes can be changed alone. Those of other rounds have a meaning together."""
    return subject.policy.oracle.is_linear and bool(np.isin(told.arms, ticket.super_arm).all())


def _dependent(subject: Subject, policy: AnyPolicy, state: Any, report: Report) -> Entries:
    """Return the entries of a state that depend on the reward of a report, or on its outcomes."""
    (ticket, told), parts = report, []
    is_free = _is_free(subject, ticket, told)
    for end in subject.support:
        after, reward = copy.deepcopy(state), end * (len(told.arms) if is_free else 1)
        outcomes = np.full(len(told.arms), end) if is_free else told.outcomes.copy()
        changed = Feedback(told.arms.copy(), outcomes, reward=reward)
        policy.update(after, changed, ticket, np.random.default_rng(ticket.number))
        parts.append(dict(_numbers(after)))
    low, high = parts
    found = {}
    for name in low.keys() & high.keys():
        if low[name].shape == high[name].shape:
            near = np.isclose(low[name], high[name], rtol=1e-9, atol=1e-12, equal_nan=True)
            if not near.all():
                found[name] = frozenset(np.flatnonzero(~near).tolist())
    return found


def _numbers(part: Any, name: Name = ()) -> Iterator[tuple[Name, FloatArray]]:
    """Yield the names and the numbers of all arrays, lists and numbers in a part of a state."""
    numbers = np.empty(0)
    if isinstance(part, np.ndarray | list | tuple | float | int | np.number):
        with suppress(TypeError, ValueError):
            numbers = np.asarray(part, np.float64).ravel()
    if 0 < numbers.size <= _LARGEST:
        yield name, numbers
    elif len(name) < _DEPTH and not isinstance(part, np.ndarray):
        for key, value in within(part).items():
            yield from _numbers(value, (*name, str(key)))
