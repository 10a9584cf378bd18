"""The check that a report of several outcomes of each arm counts each of these outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cmab._watched import watched
from cmab.arrays import IntArray
from cmab.feedback import Feedback, Ticket
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._policy_choices import clear_world, leads, share_of
from cmab.testing._policy_subject import Subject, World

#: Reports of each super arm, outcomes in a sum, and the successes among 5 outcomes of good and other arms.
_EACH, _SUM = 60, 10
_GOOD, _FAIR = 3, 1
_SHARE = 0.1


def check_sums(subject: Subject) -> str:
    """Check that a policy which accepts sums of outcomes still prefers the arms with the best averages.

    Two states learn the same averages in the same number of rounds. The first state receives single outcomes.
    The second state receives sums of 10 outcomes of the worse arms, which look better if a sum counts as one
    outcome. This does not show for costs. A policy that never reads the number of outcomes passes, because
    many policies are only used where each outcome is reported alone. Return how much was tried.
    """
    if not subject.policy.learns or subject.needs_context or subject.worlds is None:
        return "no sums of outcomes, because the policy needs a context or cannot learn"
    if subject.policy.oracle.sense == "min":
        return "no sums of outcomes, because the policy minimises costs"
    if reason := _without_sums(subject):
        return f"no sums of outcomes, because the policy {reason}"
    watch, tried = Stopwatch(), 0
    for best in (world.best() for world in subject.worlds):
        world = clear_world(subject, best, _GOOD / 5, _FAIR / 5)
        others = [arm for arm in leads(subject) if world.value(arm) < world.value(best)]
        if not others or watch.seconds() > _SHARE * subject.seconds:
            continue
        try:
            alone, summed = (_share(subject, world, [best, *others], size, watch) for size in (1, _SUM))
        except (ValueError, TypeError, IndexError, KeyError, NotImplementedError):
            return "no sums of outcomes, because the policy rejects super arms that it has not selected"
        # None if the reports took too long; a policy may not prefer clearly better arms.
        if alone is not None and summed is not None and alone >= 0.9:
            text = (
                "after single outcomes, the policy selects the best super arm in {:.0%} of the draws, but in"
                " {:.0%} after as many reports with the same averages, of {} outcomes of some arms each; use"
                " feedback.pulls, or raise ValueError if it is not None"
            )
            require(summed >= 0.5, "splitting", text, alone, summed, _SUM)
            tried += 1
    return f"sums of outcomes in {tried} worlds"


def _without_sums(subject: Subject) -> str:
    """Return why a policy cannot learn from sums of outcomes, or ''."""
    policy, rng = subject.policy, np.random.default_rng(28)
    state: Any = policy.initial_state(rng)
    super_arm = subject.select(policy, state, rng)
    arms, high = np.sort(policy.oracle.triggered_arms(super_arm)), subject.support[1]
    outcomes, pulls = np.full(len(arms), 2 * high), np.full(len(arms), 2)
    told = Feedback(arms, outcomes, pulls=pulls, squares=pulls * high**2, reward=high * len(arms))
    told, read = watched(told, ("pulls",))
    try:
        policy.update(state, told, Ticket(0, super_arm.copy()), rng)
    except (ValueError, TypeError, NotImplementedError):
        return "rejects them"
    return "" if read else "does not read feedback.pulls; a sum would count as one outcome"


def _share(
    subject: Subject, world: World, super_arms: list[IntArray], size: int, watch: Stopwatch
) -> float | None:
    """Return the share of the first super arm after reports of all of them, or None if they take too long."""
    policy, rng = subject.policy, np.random.default_rng(28)
    state: Any = policy.initial_state(rng)
    reports = [[_report(world, super_arms[0], arm, size, turn) for arm in super_arms] for turn in range(5)]
    for number in range(_EACH * len(super_arms)):
        if number % 50 == 0 and watch.seconds() > 2 * _SHARE * subject.seconds:
            return None
        turn, place = divmod(number, len(super_arms))
        ticket = Ticket(number, super_arms[place].copy())
        policy.update(state, reports[turn % 5][place], ticket, rng)
        if policy.is_done(state):
            return None
    return share_of(subject, world, state, super_arms[0])


def _report(world: World, best: IntArray, super_arm: IntArray, size: int, turn: int) -> Feedback:
    """Return outcomes of a super arm, or sums of `size` outcomes for the arms that are not the best."""
    low, high = world.support
    arms = np.sort(world.oracle.triggered_arms(super_arm))
    is_good = np.isin(arms, world.oracle.triggered_arms(best))
    pulls = np.where(is_good, 1, size)
    # Of the outcomes of an arm, this many fifths are successes, in every 5 reports or within a sum.
    fifths = np.where(is_good, _GOOD, _FAIR)
    highs = np.where(pulls > 1, pulls * fifths // 5, turn * fifths % 5 < fifths)
    sums = low * (pulls - highs) + high * highs
    squares = low**2 * (pulls - highs) + high**2 * highs
    reward = float((sums / pulls).sum())
    if size == 1:
        return Feedback(arms, sums, reward=reward)
    return Feedback(arms, sums, pulls=pulls, squares=squares, reward=reward)
