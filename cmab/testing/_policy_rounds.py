"""Checks of policies in rounds that differ: unavailable entries, other parts of a context, and tickets."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from cmab._watched import watched
from cmab.arrays import BoolArray, IntArray
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle
from cmab.saving._digest import content
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require
from cmab.testing._policy_subject import Subject

_TRIED = 40
_ROUNDS, _LONG = 30, 200
_PARTS = ("values", "costs", "features")


def check_availability(subject: Subject) -> Finding:
    """Check that the policy selects available entries only, or raises an exception."""
    places: list[Any] = [subject.place]
    if not subject.needs_context:
        # All outcomes the worst or the best, where available entries look no better than others.
        n = subject.policy.oracle.n_arms
        places += [subject.world(np.full(n, fraction)) for fraction in (0.0, 1.0)]
    found = [_with_some(subject, place, number) for number, place in enumerate(places)]
    chosen, refused = (sum(each) for each in zip(*found, strict=True))
    return Finding(f"{chosen} rounds with some entries not available, and {refused} rejections")


def _with_some(subject: Subject, place: Any, run: int) -> tuple[int, int]:
    """Play rounds in a place, select with some entries only, and count answers and rejections."""
    policy, rng = subject.policy, np.random.default_rng((21, subject.rng, run) if run else (21, subject.rng))
    known = subject.place.context or Context()
    state, refused, chosen = policy.initial_state(rng), 0, 0
    for number in range(_TRIED):
        usual = subject.select(policy, copy.deepcopy(state), np.random.default_rng(number))
        available = _without_some(usual, policy.oracle.n_choices, rng)
        context = replace(known, available=available)
        before = content(state)
        try:
            super_arm = entries(policy.select(state, np.random.default_rng(number), context))
        except (ValueError, TypeError):  # from the policy, or from an oracle that cannot solve it
            refused += 1
        else:
            _require_available(subject, super_arm, available, number)
            chosen += 1
        require(content(state) == before, "availability", "select must not change the state")
        subject.learn(state, usual, place.play(usual, rng), rng)
    return chosen, refused


def _require_available(subject: Subject, super_arm: IntArray, available: BoolArray, number: int) -> None:
    gone = np.flatnonzero(~available)
    text = "super arm {} in round {} has entries that are not available ({})"
    require(not np.isin(super_arm, gone).any(), "availability", text, super_arm, number, gone)
    text = "selection {} of {} in round {} is not a super arm"
    rests = subject.policy.may_rest and not len(super_arm)
    is_one = rests or _is_super_arm(subject.policy.oracle, super_arm)
    require(is_one, "availability", text, super_arm, np.flatnonzero(available), number)


def _without_some(usual: np.ndarray, n_choices: int, rng: np.random.Generator) -> BoolArray:
    """Return a random availability without at least one entry of `usual`."""
    available: BoolArray = rng.random(n_choices) < 0.8
    if len(usual):
        available[rng.choice(usual)] = False
    return available


def _is_super_arm(oracle: Oracle, super_arm: np.ndarray) -> bool:
    try:
        oracle.check_super_arm(super_arm)
    except ValueError:
        return False
    return True


def check_context(subject: Subject) -> Finding:
    """Check that `select` or `update` reads each part of a context, or raises an exception."""
    policy, rng = subject.policy, np.random.default_rng((23, subject.rng))
    state, ignored, number = policy.initial_state(rng), set(_PARTS), 0
    # A policy may play its first rounds, or some rounds, in a fixed order.
    for number in range(_LONG):
        super_arm = subject.select(policy, state, rng)
        feedback = subject.place.play(super_arm.copy(), rng)
        for part in sorted(ignored) if number % 5 == 0 else ():
            if _reads(subject, copy.deepcopy(state), super_arm, feedback, part):
                ignored.remove(part)
        if not ignored:
            break
        subject.learn(state, super_arm, feedback, rng)
    text = (
        "select and update never read context.{} in {} rounds; raise ValueError for parts that the policy"
        " cannot use, for example with `refuse_parts`"
    )
    require(not ignored, "context", text, " and context.".join(sorted(ignored)), _LONG)
    return Finding(f"{len(_PARTS)} parts of a context, in {number + 1} rounds")


def _reads(subject: Subject, state: Any, super_arm: IntArray, feedback: Feedback, part: str) -> bool:
    """Return whether the policy reads a part of a context in a round, or rejects the part."""
    policy, n = subject.policy, subject.policy.oracle.n_arms
    given = subject.place.context or Context()
    if part not in given.parts:
        d = getattr(policy, "dimension", None) or 2
        numbers = np.full((n, d), 1.0 / d) if part == "features" else np.linspace(0.2, 0.8, n)
        changes: dict[str, Any] = {part: numbers}
        given = replace(given, **changes)
    context, read = watched(given, (part,))
    try:
        policy.select(state, np.random.default_rng(0), context)
        ticket = Ticket(0, super_arm.copy(), context=given)
        object.__setattr__(ticket, "context", context)
        policy.update(state, feedback, ticket, np.random.default_rng(0))
    except (ValueError, TypeError):  # from the policy, or from an oracle that cannot solve it
        return True
    return part in read


def check_tickets(subject: Subject) -> Finding:
    """Check that `update` does not modify the ticket, and that the state does not refer to its arrays."""
    policy, oracle = subject.policy, subject.policy.oracle
    rng = np.random.default_rng((22, subject.rng))
    state = policy.initial_state(rng)
    for number in range(_ROUNDS):
        super_arm = subject.select(policy, state, rng)
        known = subject.place.context
        available = rng.random(oracle.n_choices) < 0.5
        available[super_arm] = True
        # Features with small norms, which every learner accepts, and as many columns as the policy declares.
        d = getattr(policy, "dimension", None) or 2
        features, values = rng.random((oracle.n_arms, d)) / d, rng.random(oracle.n_arms)
        context = Context(available, features, values=values, costs=values / 2)
        if known is not None:
            context = replace(context, **{part: getattr(known, part) for part in known.parts})
        for part in context.parts:  # writeable, so that this check and not numpy reports a fault
            array = np.array(getattr(context, part))
            object.__setattr__(context, part, array)
        ticket = Ticket(number, super_arm.copy(), context=context)
        feedback = subject.place.play(super_arm.copy(), rng)
        before = content(ticket)
        policy.update(state, feedback, ticket, rng)
        what = "update must not modify the super arm and context of the ticket, but did in round {}"
        require(content(ticket) == before, "tickets", what, number)
        told = content(state)
        _write_over(ticket)
        what = "the state refers to the arrays of the ticket; update must copy them"
        require(content(state) == told, "tickets", what)
    return Finding(f"{_ROUNDS} rounds")


def _write_over(ticket: Ticket) -> None:
    """Overwrite the arrays of a ticket, as the caller may."""
    context = ticket.context
    assert context is not None
    ticket.super_arm[...] += 1
    for part in context.parts:
        array = getattr(context, part)
        array[...] = ~array if array.dtype == np.bool_ else array + 1.0
