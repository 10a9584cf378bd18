"""Find out which parts of a state are counts, sums or means of the outcomes of each arm.

A state of the user's own class is only known by its changes. Each part with a number for each arm is compared
with the changes that a count, a sum, a sum of squares or a mean would have in a run of reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cmab.arrays import BoolArray, FloatArray
from cmab.feedback import Feedback
from cmab.testing._policy_parts import of_each_arm

#: The share of outcomes that must change a part as its role predicts, and the tolerance of a change.
_MAJORITY, _TOLERANCE = 0.6, 1e-4
COUNT, SUM, UNIT, LOST, SQUARE, MEAN = "count", "sum", "rescaled sum", "failures", "sum of squares", "mean"
_ROLES = (COUNT, SUM, MEAN, UNIT, LOST, SQUARE)
Parts = dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Change:
    """The parts of a state before and after a report, and the numbers of outcomes of each arm before it."""

    before: Parts
    after: Parts
    feedback: Feedback
    seen: FloatArray

    @property
    def is_change(self) -> bool:
        """Whether any part has changed."""
        return any(not np.array_equal(self.before[name], self.after[name]) for name in self.names)

    @property
    def names(self) -> list[str]:
        """The parts that exist before and after the report."""
        return [name for name in self.before if name in self.after]


@dataclass(frozen=True, eq=False)
class Entries:
    """For one part and role: whether the change of each observed arm is the predicted one, by report."""

    right: list[BoolArray] = field(default_factory=list)
    is_steady: bool = True

    @property
    def is_exact(self) -> bool:
        """Whether every change is the predicted one, and no other arm changed."""
        return self.is_steady and all(right.all() for right in self.right)

    @property
    def share(self) -> float:
        """The share of the observed outcomes that have the predicted change."""
        every = np.concatenate(self.right) if self.right else np.empty(0, bool)
        return float(every.mean()) if len(every) else 0.0


def parts_of(state: Any, n_arms: int) -> Parts:
    """Return copies of the one-dimensional parts of a state that have a number for each arm."""
    found = of_each_arm(state, n_arms)
    return {name: numbers.copy() for name, numbers in found if numbers.shape == (n_arms,)}


def expected(role: str, change: Change, name: str, support: tuple[float, float]) -> FloatArray:
    """Return the predicted numbers after a report of the observed arms, if a part has a role."""
    told, before = change.feedback, change.before[name][change.feedback.arms]
    pulls = np.ones(len(told.arms)) if told.pulls is None else told.pulls.astype(float)
    squares = told.outcomes**2 if told.squares is None else told.squares
    low, high = support
    if role == MEAN:
        seen = change.seen[told.arms]
        return np.asarray((np.where(seen > 0, before, 0.0) * seen + told.outcomes) / (seen + pulls))
    added = {
        COUNT: pulls,
        SUM: told.outcomes,
        UNIT: (told.outcomes - low * pulls) / (high - low),
        LOST: pulls - told.outcomes,
        SQUARE: squares,
    }
    return np.asarray(before + added[role])


def agree(role: str, change: Change, name: str, support: tuple[float, float]) -> BoolArray:
    """Return whether each observed arm has the predicted number after a report."""
    after, wanted = change.after[name][change.feedback.arms], expected(role, change, name, support)
    return np.asarray(np.abs(after - wanted) <= _TOLERANCE * (1 + np.abs(wanted)))


def entries(role: str, changes: Iterable[Change], name: str, support: tuple[float, float]) -> Entries:
    """Compare all reports that changed the state with the predictions of a role."""
    right, is_steady = [], True
    for change in changes:
        right.append(agree(role, change, name, support))
        others = np.ones(len(change.before[name]), bool)
        others[change.feedback.arms] = False
        is_steady &= np.array_equal(change.before[name][others], change.after[name][others])
    return Entries(right, is_steady)


def roles_of(changes: list[Change], support: tuple[float, float]) -> dict[str, tuple[str, Entries]]:
    """Return the role of each part for which most outcomes agree with a role, and how they agree."""
    found: dict[str, tuple[str, Entries]] = {}
    for name in changes[0].names if changes else ():
        if any(name not in change.names for change in changes):
            continue
        best = max(((role, entries(role, changes, name, support)) for role in _ROLES), key=_share)
        if best[1].share >= _MAJORITY:
            found[name] = best
    # If one part is an exact count, a part that is nearly one counts something else, such as successes.
    exact = {role for role, known in found.values() if known.is_exact}
    return {
        name: (role, known) for name, (role, known) in found.items() if known.is_exact or role not in exact
    }


def _share(pair: tuple[str, Entries]) -> float:
    return pair[1].share
