"""The check that long runs of an environment fit into memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import Subject
from cmab.testing._memory import creeps, growth

# Numbers that a call may leave, arms in a request of pulls, and limit in seconds of the subject.
_NUMBERS, _ARMS, _SHARE = 2, 10, 2.0
# Rounds that last as long as the first two stages with tracing, and their largest share of the seconds.
_TRACED, _SLOW = 1800, 0.25


def check_growth(subject: Subject) -> Finding:
    """Check that new rounds and pulls do not leave memory behind."""
    place, rng = subject.environment, np.random.default_rng((27, subject.rng))
    arms = [arm.copy() for arm in subject.super_arms]
    few = subject.arms[:_ARMS].copy()

    def play(number: int) -> None:
        place.play(arms[number % len(arms)], rng)

    calls: list[tuple[str, Callable[[int], object], float]] = [("round", play, subject.cost_of_play)]
    if subject.first_pulls:
        calls.append(("call of pull", lambda _: place.pull(few, rng), len(few) * subject.cost_of_pull))
    for name, call, cost in calls:
        for number in range(2 * len(arms)):  # fills caches that have an entry for each super arm
            call(number)
        if _TRACED * cost > _SLOW * subject.seconds:
            many, leaks = growth(call, subject.environment.n_arms)
            require(not leaks, "growth", "each {} leaves {:.0f} bytes in memory", name, many)
            continue
        left = creeps(call, _NUMBERS, _SHARE * subject.seconds)
        text = "each of 20,000 {}s leaves {:.0f} bytes in memory"
        require(left is None, "growth", text, name, left or 0.0)
    return Finding(" and ".join(name for name, *_ in calls))
