"""The check that a state of the user's own class counts every outcome once, for its own arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.feedback import Feedback
from cmab.testing._comparisons import require
from cmab.testing._roles import SQUARE, Change, Entries, agree, expected, roles_of

Support = tuple[float, float]


def require_own_credit(changes: list[Change], support: Support, fault: str = "conservation") -> str:
    """Raise ``AssertionError`` if a count, sum or mean of outcomes loses or alters one of them.

    A part has a role if most outcomes change it as this role predicts. Windows, discounts and resets change
    parts of arms that are not observed, or let every later outcome of an arm disagree; they are no faults.
    Reports that a policy ignores as a whole are no faults either. Return the roles that were found.
    """
    changes = [change for change in changes if change.is_change and len(change.feedback.arms)]
    found = roles_of(changes, support)
    for name, (role, known) in found.items():
        if known.is_steady:
            _require_steady(name, role, known, changes, support, fault)
    return ", ".join(f"`{name}` is a {role}" for name, (role, _) in found.items())


def _require_steady(
    name: str, role: str, known: Entries, changes: list[Change], support: Support, fault: str
) -> None:
    if _is_window(known, changes):
        return
    for change, right in zip(changes, known.right, strict=True):
        told = change.feedback
        before, after = change.before[name][told.arms], change.after[name][told.arms]
        ignored = not right.any() and bool((before == after).all())
        text = (
            "`{}` of the state is the {} of the outcomes of each arm after most reports, but a report of"
            " arms {} with outcomes {} changed it from {} to {} instead of {}; count every outcome as it is"
        )
        wanted = expected(role, change, name, support)
        require(
            right.all() or ignored, fault, text, name, role, told.arms, told.outcomes, before, after, wanted
        )


def _is_window(known: Entries, changes: list[Change]) -> bool:
    """Return whether the outcomes of each arm agree up to some outcome, and never again."""
    by_arm: dict[int, list[bool]] = {}
    for change, right in zip(changes, known.right, strict=True):
        for arm, good in zip(change.feedback.arms.tolist(), right.tolist(), strict=True):
            by_arm.setdefault(arm, []).append(good)
    wrong = [told for told in by_arm.values() if not all(told)]
    return bool(wrong) and all(told[0] and not any(told[told.index(False) :]) for told in wrong)


def sums_of(arms: IntArray, pulls: IntArray, support: Support) -> Feedback:
    """Return a report of sums of 2 or 3 outcomes of each arm."""
    low, high = support
    each = low + (high - low) * np.array([0.37, 0.62, 1.0])
    sums, squares = np.cumsum(each)[pulls - 1], np.cumsum(each**2)[pulls - 1]
    return Feedback(arms, sums, pulls=pulls, squares=squares, reward=float((sums / pulls).sum()))


def require_pulls(
    roles: dict[str, tuple[str, Entries]], change: Change, read: set[str], support: Support, fault: str
) -> None:
    """Raise ``AssertionError`` unless a sum of several outcomes counts as so many outcomes.

    It may also count as one outcome, their average.
    """
    told = change.feedback
    assert told.pulls is not None
    alone = Feedback(told.arms, told.outcomes / told.pulls)
    average = Change(change.before, change.after, alone, change.seen)
    used = {
        name: role
        for name, (role, known) in roles.items()
        if known.is_exact
        if role != SQUARE or "squares" in read
    }
    if all(agree(role, average, name, support).all() for name, role in used.items()):
        return
    for name, role in used.items():
        text = (
            "`{}` of the state is the {} of the outcomes of each arm, but a report of arms {} with {}"
            " outcomes, whose sums are {} and sums of squares {}, changed it from {} to {} instead of {}"
        )
        values: tuple[Any, ...] = (name, role, told.arms, told.pulls, told.outcomes, told.squares)
        values += (change.before[name][told.arms], change.after[name][told.arms])
        good = agree(role, change, name, support).all()
        require(good, fault, text, *values, expected(role, change, name, support))
