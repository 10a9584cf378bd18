"""Write counts and means of each arm into a state of the user's own class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, FloatArray
from cmab.testing._policy_credit import changes_of
from cmab.testing._policy_parts import within
from cmab.testing._policy_reports import reports
from cmab.testing._policy_subject import Subject
from cmab.testing._roles import COUNT, LOST, MEAN, SQUARE, SUM, UNIT, roles_of

_ROUNDS, _OUTCOMES = "rounds", "outcomes"


@dataclass(frozen=True)
class OwnParts:
    """The role of each part of a state: arrays of numbers of each arm, and numbers of rounds or outcomes."""

    arrays: dict[str, str]
    numbers: dict[str, str]


def own_parts(subject: Subject) -> OwnParts | None:
    """Return the roles of all parts of the state, or None if some part has no role or may change later.

    The roles are exact in all reports of a run, so that other counts and means lead to the written states.
    """
    if "own parts" not in subject.kept:
        subject.kept["own parts"] = _found(subject)
    found: OwnParts | None = subject.kept["own parts"]
    return found


def _found(subject: Subject) -> OwnParts | None:
    if subject.place.context is not None or subject.policy.may_rest:
        return None
    try:
        rounds = list(reports(subject))
        changes = changes_of(subject, rounds)
    except (ValueError, TypeError, IndexError):
        return None
    named = within(subject.policy.initial_state(np.random.default_rng(0)))
    if not changes or not named or not all(change.is_change for change in changes):
        return None
    exact = {
        name: role for name, (role, known) in roles_of(changes, subject.support).items() if known.is_exact
    }
    numbers: dict[str, str] = {}
    for name, part in named.items():
        if isinstance(part, np.ndarray) and part.dtype.kind in "iuf" and name in exact:
            continue
        role = _of_number(rounds, name) if type(part) in (int, float) else ""
        if not role:
            return None
        numbers[name] = role
    arrays = {name: exact[name] for name in named if name not in numbers}
    return OwnParts(arrays, numbers) if {COUNT, LOST} & set(arrays.values()) else None


def _of_number(rounds: list[Any], name: str) -> str:
    """Return whether a number counts the rounds or the outcomes, or ''."""
    values = [within(one.state).get(name) for one in rounds]
    arms = [len(one.feedback.arms) for one in rounds][:-1]
    if any(value is None for value in values):
        return ""
    steps = np.diff(np.array(values, float))
    if (steps == 1).all():
        return _ROUNDS
    return _OUTCOMES if np.array_equal(steps, arms) else ""


def write(subject: Subject, counts: FloatArray, fractions: FloatArray) -> Any:
    """Return a new state with these counts and means, given as fractions of the support.

    Raises
    ------
    OverflowError
        If a part has too few digits for its number.
    """
    parts = own_parts(subject)
    assert parts is not None
    state: Any = subject.policy.initial_state(np.random.default_rng(0))
    low, high = subject.support
    means = low + (high - low) * fractions
    squares = counts * ((high - low) ** 2 * fractions * (1 - fractions) + means**2)
    added = {COUNT: counts, SUM: counts * means, UNIT: counts * fractions}
    added |= {LOST: counts - counts * means, SQUARE: squares}
    for name, role in parts.arrays.items():
        array: AnyArray = within(state)[name]
        numbers = np.where(counts > 0, means, array) if role == MEAN else array + added[role]
        if array.dtype.kind in "iu" and (numbers > np.iinfo(array.dtype).max).any():
            raise OverflowError(name)
        array[...] = numbers
        if not np.allclose(array, numbers, rtol=1e-6, atol=1e-6):
            raise OverflowError(name)
    for name in parts.numbers:  # as if every outcome had been reported alone
        first = getattr(state, name)
        setattr(state, name, type(first)(first + min(int(counts.sum()), 2**53)))
    return state
