"""The check that counts, sums and means in the state of a policy contain each outcome once, also in sums."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from cmab._watched import watched
from cmab.arrays import FloatArray
from cmab.feedback import Feedback
from cmab.testing._comparisons import require
from cmab.testing._own_credit import require_own_credit, require_pulls, sums_of
from cmab.testing._policy_subject import Subject
from cmab.testing._roles import COUNT, Change, Entries, Parts, parts_of, roles_of

Roles = dict[str, tuple[str, Entries]]
Round = Any  # a `Reported` of `_policy_reports`, which imports this module


def check_parts(subject: Subject, rounds: Sequence[Round]) -> str:
    """Check the counts, sums and means of each arm in a state of any class. Return which parts these are."""
    if not _reads_outcomes(subject, rounds):
        return ""  # the policy learns from the reward
    changes = changes_of(subject, rounds)
    known = require_own_credit(changes, subject.support)
    changes = [change for change in changes if change.is_change and len(change.feedback.arms)]
    roles = roles_of(changes, subject.support)
    if not roles:
        return known
    _require_no_choice(subject, rounds, roles)
    summed, read = _summed(subject, rounds[-1], changes[-1])
    if summed is not None and "pulls" in read:
        require_pulls(roles, summed, read, subject.support, "conservation")
        known += ", also after sums of outcomes"
    return known


def _reads_outcomes(subject: Subject, rounds: Sequence[Round]) -> bool:
    """Return whether the policy reads the outcomes of some of the first reports."""
    for one in rounds[:5]:
        told, read = watched(one.feedback, ("outcomes",))
        _learned(subject, one, told)
        if read:
            return True
    return False


def _require_no_choice(subject: Subject, rounds: Sequence[Round], roles: Roles) -> None:
    """Raise ``AssertionError`` if a count ignores a report because of its outcomes.

    A policy may ignore reports, for example those of rounds in which it did not explore, but whatever their
    outcomes are.
    """
    counts = [name for name, (role, known) in roles.items() if role == COUNT and known.is_steady]
    n_arms = subject.policy.oracle.n_arms
    for one in rounds if counts else ():
        arms, outcomes = one.feedback.arms, one.feedback.outcomes
        before = parts_of(one.state, n_arms)
        after = _parts_after(subject, one, outcomes)
        for name in counts:
            if not len(arms) or (after[name] != before[name]).any():
                continue
            for level in subject.levels[1:3]:
                other = _parts_after(subject, one, np.full(len(arms), level))
                text = (
                    "a report of arms {} with outcomes {} did not change `{}` of the state, but with"
                    " outcomes {:g} it did; a report that is ignored because of its outcomes biases the means"
                )
                same = bool((other[name] == before[name]).all())
                require(same, "conservation", text, arms, outcomes, name, level)


def _parts_after(subject: Subject, one: Round, outcomes: FloatArray) -> Parts:
    told = Feedback(one.feedback.arms, outcomes, reward=float(outcomes.sum()))
    state = copy.deepcopy(one.state)
    subject.learn(state, one.super_arm.copy(), told, np.random.default_rng(subject.rng))
    return parts_of(state, subject.policy.oracle.n_arms)


def changes_of(subject: Subject, rounds: Sequence[Round]) -> list[Change]:
    """Return the changes of the parts of the state by reports, or none if learning draws random numbers."""
    n_arms, changes = subject.policy.oracle.n_arms, list[Change]()
    seen = np.zeros(n_arms)
    for one in rounds:
        after = _learned(subject, one, one.feedback)
        if after is None:
            return []
        changes.append(
            Change(parts_of(one.state, n_arms), parts_of(after, n_arms), one.feedback, seen.copy())
        )
        seen[one.feedback.arms] += 1
    return changes


def _summed(subject: Subject, one: Round, last: Change) -> tuple[Change | None, set[str]]:
    """Return the change of the parts by sums of 2 and 3 outcomes, and which of the sums the policy read.

    The change is None if the policy rejects sums.
    """
    arms = np.array(one.super_arm)
    if subject.policy.oracle.n_choices != subject.policy.oracle.n_arms or not len(arms):
        return None, set()
    told = sums_of(arms, 2 + np.arange(len(arms)) % 2, subject.support)
    seen_by, read = watched(told, ("pulls", "squares"))
    try:
        after = _learned(subject, one, seen_by)
    except (ValueError, TypeError, NotImplementedError):
        return None, set()
    if after is None:
        return None, set()
    n_arms = subject.policy.oracle.n_arms
    return Change(parts_of(one.state, n_arms), parts_of(after, n_arms), told, last.seen), read


def _learned(subject: Subject, one: Round, feedback: Feedback) -> Any:
    """Return a copy of the state that learned the feedback, or None if learning drew random numbers."""
    state, rng = copy.deepcopy(one.state), np.random.default_rng(subject.rng)
    before = rng.bit_generator.state
    subject.learn(state, one.super_arm.copy(), feedback, rng)
    return None if rng.bit_generator.state != before else state
