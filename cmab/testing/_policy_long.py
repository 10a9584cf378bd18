"""The check that a state of any class still tells good arms from others after many reports."""

from __future__ import annotations

import numpy as np

from cmab.arrays import IntArray
from cmab.feedback import Ticket
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._policy_choices import clear_world, leads, share_of
from cmab.testing._policy_subject import Subject, World
from cmab.testing._policy_wraps import check_wraps
from cmab.testing._policy_written import is_plain
from cmab.testing._process_copies import THOROUGH

#: Numbers of reports after which the selection is compared, and the one that all policies get.
_EARLY, _LATER, _MOST = (1000, 2500), 6500, 150_000
_SHARE = 0.15
#: Reports between two selections after a bad one, and the number of bad ones in a row that is a fault.
_PAUSE, _TIMES = 100, 12
#: Means of the arms of the best super arm and of all others, as fractions of the support.
_GOOD, _FAIR = 0.95, 0.5


def check_long_reports(subject: Subject) -> Finding:
    """Check that a policy that prefers good arms after some reports also does after many thousands."""
    policy, reports = subject.policy, check_wraps(subject)
    small = f"{reports} reports to a state with small integers; " if reports else ""
    if is_plain(subject) and subject.seconds < THOROUGH:
        return Finding("not tried: written statistics of late rounds were tried instead")
    if not policy.learns or subject.needs_context or subject.worlds is None:
        text = "not tried: the policy does not learn, needs a context, or has one best super arm"
        return Finding(small + text)
    first = subject.worlds[0].best()
    world = clear_world(subject, first, _GOOD, _FAIR)
    others = [arm for arm in leads(subject) if world.value(arm) < world.value(first)]
    if not others:
        return Finding(f"{small}not tried: one super arm is best in all worlds")
    return _fed(subject, world, first, others)


def _fed(subject: Subject, world: World, first: IntArray, others: list[IntArray]) -> Finding:
    policy, coins, rng = subject.policy, np.random.default_rng((24, subject.rng)), np.random.default_rng(25)
    state, watch = policy.initial_state(rng), Stopwatch()
    early, since, again = 0.0, 0, 0
    for number in range(1, _MOST + 1):
        super_arm = first if number % 4 else others[number // 4 % len(others)]
        try:
            feedback = world.play(super_arm.copy(), coins)
            policy.update(state, feedback, Ticket(number - 1, super_arm.copy()), rng)
            ends = policy.is_done(state)
        except (ValueError, TypeError, IndexError, KeyError):
            return Finding("not tried: the policy rejects reports of super arms that it has not selected")
        if ends:
            return Finding(f"not tried: the policy ends within {number} reports")
        if number in _EARLY and early < 0.9:
            early, since = share_of(subject, world, state, first), number
            if early < 0.9 and number == _EARLY[-1]:
                return Finding("not tried: the policy does not prefer clearly better arms")
        if number < _LATER and number % 50 == 0 and watch.seconds() > 2 * _SHARE * subject.seconds:
            return Finding(f"not tried: {number} reports took too long")
        if number < _LATER or number % _PAUSE or (watch.seconds() < _SHARE * subject.seconds and not again):
            continue
        late = share_of(subject, world, state, first)
        # A policy may begin anew after many rounds, so that it must fail for some time.
        if late >= 0.5:
            break
        again += 1
        text = (
            "after {} reports, the policy selects the best of some super arms in {:.0%} of the draws, but"
            " after {} reports of the same arms in {:.0%}, and after {} reports before; sums or counts may"
            " have too few digits"
        )
        told = (since, early, number, late, (again - 1) * _PAUSE)
        require(again < _TIMES, "long reports", text, *told)
    return Finding(f"{number} reports")
