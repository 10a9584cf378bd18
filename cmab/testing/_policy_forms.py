"""Checks that the methods of a policy agree with each other: compiled rules, and reservations of tickets."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from cmab.compiled.forms import compiled_form
from cmab.policy import IndexPolicy, Policy
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_subject import Subject
from cmab.testing._policy_written import indices_of, is_plain, rare
from cmab.ticket import Ticket

_ROUNDS, _RESERVED = 60, 1000
_TOLERANCE = 1e-9


def check_compiled(subject: Subject) -> Finding:
    """Check that the compiled rule writes the same indices as `indices`, in common and in rare states."""
    policy: Any = subject.policy
    form = compiled_form(policy) if isinstance(policy, IndexPolicy) else None
    if form is None or not hasattr(form, "is_random"):
        return Finding("not tried: the policy has no compiled rule of indices")
    if form.is_random:
        return Finding("not tried: the rule draws random numbers, in an order that may differ")
    tried = 0
    for state in _states(subject):
        if type(state) is not ArmStatistics:
            return Finding("not tried: the state is not an ArmStatistics")
        expected, found = indices_of(policy, state, 0), np.empty(len(state.means))
        told = (state.counters.copy(), state.means.copy(), state.deviations.copy(), state.memory.copy())
        # Rounds are numbered from 1.
        form.function(*told, state.rounds + 1, form.reals, np.random.default_rng(0), found)
        text = "for counts {}, means {} and round {}, `indices` returned {}, but the compiled rule wrote {}"
        slack = _TOLERANCE * (1 + np.abs(np.where(np.isfinite(expected), expected, 0.0)))
        with np.errstate(invalid="ignore"):
            same = (expected == found) | (np.abs(expected - found) <= slack)
        require(same.all(), "compiled", text, told[0], told[1], state.rounds + 1, expected, found)
        tried += 1
    return Finding(f"{tried} states")


def _states(subject: Subject) -> Iterator[Any]:
    """Yield the states of a run and, if the state is plain, rare ones."""
    for _, _, state in subject.game(subject.policy, subject.place, subject.rng, rounds=_ROUNDS):
        yield copy.deepcopy(state)
    if is_plain(subject):
        for state in rare(subject):
            if state.counters.max() < 10**9:
                yield state


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
