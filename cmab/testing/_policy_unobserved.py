"""The check that an arm that was played but not observed teaches a policy nothing about its outcomes."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.feedback import Feedback
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_parts import of_each_arm
from cmab.testing._policy_reports import reports
from cmab.testing._policy_subject import Subject


def check_unobserved(subject: Subject) -> Finding:
    """Check that a report without a played arm leaves the statistics of its outcomes as they were."""
    n_arms, tried = subject.policy.oracle.n_arms, 0
    if subject.policy.oracle.n_choices != n_arms:
        return Finding("not tried: the entries of super arms are not base arms")
    low, high = subject.support
    levels = (low, (low + high) / 2, high)
    for one in reports(subject):
        arms, rest = one.feedback.arms, one.super_arm
        if len(rest) < 2 or not len(arms) or not np.isin(arms, rest).all():
            continue
        hidden = int(rest[tried % len(rest)])
        shown = arms != hidden
        seen = Feedback(arms[shown], one.feedback.outcomes[shown], reward=0.5)
        try:
            states = [
                _parts(subject, one.state, one.super_arm, seen),
                # The same report of a super arm without the hidden arm.
                _parts(subject, one.state, rest[rest != hidden], seen),
                *(_parts(subject, one.state, one.super_arm, _with(seen, hidden, x)) for x in levels),
            ]
        except Exception:  # the policy rejects partial reports, or a super arm that is not in the family
            continue
        if any(state is None for state in states):
            return Finding("not tried: the policy draws random numbers to learn")
        played, idle, *told = (state or {} for state in states)
        name = _learned_from_nothing(played, idle, told, hidden)
        text = (
            "super arm {} was played and arms {} were observed; `{}` of the state changed for arm {}, which"
            " was not observed, to {} instead of {}{}"
        )
        outcome = next((x for x, state in zip(levels, told, strict=True) if _alike(played, state)), None)
        like = "" if outcome is None else f", as if its outcome had been {outcome:g}"
        values = (played.get(name), idle.get(name)) if name else ("", "")
        require(not name, "unobserved", text, one.super_arm, seen.arms, name, hidden, *values, like)
        tried += 1
    return Finding(f"{tried} reports without one of the played arms")


def _with(seen: Feedback, arm: int, outcome: float) -> Feedback:
    arms, outcomes = np.append(seen.arms, arm), np.append(seen.outcomes, outcome)
    return Feedback(arms, outcomes, reward=0.5)


def _parts(subject: Subject, state: Any, super_arm: IntArray, told: Feedback) -> dict[str, FloatArray] | None:
    """Return the numbers of each arm after a report, or None if learning drew random numbers."""
    state, rng = copy.deepcopy(state), np.random.default_rng(subject.rng)
    before = rng.bit_generator.state
    subject.learn(state, super_arm.copy(), told, rng)
    if rng.bit_generator.state != before and not isinstance(state, ArmStatistics):
        return None
    return {name: part.copy() for name, part in of_each_arm(state, subject.policy.oracle.n_arms)}


def _learned_from_nothing(played: Any, idle: Any, told: list[Any], arm: int) -> str:
    """Return the name of a part that depends on outcomes of the arm and changed without one, or ''."""
    for name, numbers in played.items():
        known = [state.get(name) for state in (idle, *told)]
        if any(part is None or part.shape != numbers.shape for part in known):
            continue
        other, low, _, high = known
        if _near(numbers[arm], other[arm]):
            continue
        # Counts of plays may change. They do not depend on outcomes, and the state is not that after one.
        if not _near(low[arm], high[arm]):
            return str(name)
        if not _alike(told[0], told[-1]) and any(_alike(played, state) for state in told):
            return str(name)
    return ""


def _near(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True))


def _alike(one: Any, other: Any) -> bool:
    same = one.keys() == other.keys() and all(one[name].shape == other[name].shape for name in one)
    return same and all(_near(part, other[name]) for name, part in one.items())
