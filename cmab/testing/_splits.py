"""Checks that outcomes have the same effect on statistics in one report and in two partial reports."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from cmab.feedback import Feedback
from cmab.statistics import ArmStatistics
from cmab.testing import _explorer_reports, _policy_reports
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_sums import check_sums

_PARTS = ("means", "deviations")
_OWN = Finding(
    "not tried: the state is not an ArmStatistics, so that rounds and outcomes cannot be told apart"
)


def check_splitting(subject: Any) -> Finding:
    """Check that outcomes in one report, as sums or in two partial reports have the same effect."""
    return _of_explorer(subject) if hasattr(subject, "explorer") else _of_policy(subject)


def _of_policy(subject: Any) -> Finding:
    tried, nothing = 0, Feedback(np.empty(0, np.int64), np.empty(0), reward=0.0)
    for one in _policy_reports.reports(subject):
        if not isinstance(one.state, ArmStatistics):
            sums = check_sums(subject)
            return Finding(f"not tried: {sums}" if sums.startswith("no ") else sums)
        told = one.feedback
        middle = len(told.arms) // 2
        if not middle or not np.isin(told.arms, one.super_arm).all():
            continue
        parts = [_some_arms(told, slice(middle)), _some_arms(told, slice(middle, None))]
        try:
            # A second report without arms, because some policies forget with each report.
            whole, split = (_learned(subject, one, reports) for reports in ((told, nothing), parts))
            alone = _learned(subject, one, (told,))
        except (ValueError, TypeError):  # the policy rejects partial reports
            continue
        if _equal(alone, whole):
            tried += _require_equal(one.state, whole, split, parts)
    return Finding(f"{tried} reports, and {check_sums(subject)}")


def _of_explorer(subject: Any) -> Finding:
    tried = 0
    for one in _explorer_reports.reports(subject):
        if not isinstance(one.state, ArmStatistics):
            return _OWN
        arms, outcomes = one.feedback.arms, one.outcomes
        middle = outcomes.shape[1] // 2
        if outcomes.shape[1] != one.ticket.pulls or (not middle and len(arms) < 2):
            continue
        if middle:
            parts = [_batch(arms, part) for part in (outcomes[:, :middle], outcomes[:, middle:])]
        else:
            parts = [_some_arms(one.feedback, slice(1)), _some_arms(one.feedback, slice(1, None))]
        try:
            whole, split = one.learned(subject, one.feedback), one.learned(subject, parts[0])
            subject.explorer.update(split, parts[1], one.ticket, np.random.default_rng(0))
        except (ValueError, TypeError):  # the explorer rejects partial reports
            continue
        tried += _require_equal(one.state, whole, split, parts)
    return Finding(f"{tried} reports")


def _some_arms(told: Feedback, part: slice) -> Feedback:
    outcomes = told.outcomes[part]
    return Feedback(told.arms[part], outcomes, reward=float(outcomes.sum()))


def _batch(arms: Any, outcomes: Any) -> Feedback:
    sums, squares = outcomes.sum(axis=1), (outcomes**2).sum(axis=1)
    return Feedback(arms, sums, pulls=np.full(len(arms), outcomes.shape[1]), squares=squares)


def _learned(subject: Any, one: Any, reports: Any) -> ArmStatistics:
    """Return a copy of the state after the reports."""
    state, rng = copy.deepcopy(one.state), np.random.default_rng(subject.rng)
    for told in reports:
        subject.learn(state, one.super_arm.copy(), told, rng)
    return state  # type: ignore[no-any-return]


def _equal(one: ArmStatistics, other: ArmStatistics) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("counters", *_PARTS))


def _require_equal(
    before: ArmStatistics, whole: ArmStatistics, split: ArmStatistics, parts: list[Feedback]
) -> bool:
    """Compare the statistics if both contain all outcomes; the check of conservation reports lost ones."""
    grew = whole.counters.sum() > before.counters.sum()
    if not grew or not np.array_equal(whole.counters, split.counters):
        return False
    for name in _PARTS:
        first, second = getattr(whole, name), getattr(split, name)
        # Sums of squared deviations lose digits relative to the squares.
        slack = 1e-7 * (1 + np.abs(whole.means) + whole.counts * whole.means**2)
        text = "{} are {} after one report, but {} after reports of arms {} and {} with outcomes {} and {}"
        good = bool((np.abs(first - second) <= slack).all())
        told = (*(part.arms for part in parts), *(part.outcomes for part in parts))
        require(good, "splitting", text, name, first, second, *told)
    return True
