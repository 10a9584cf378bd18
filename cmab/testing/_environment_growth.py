"""The check that rounds and pulls leave no memory behind."""

from __future__ import annotations

import numpy as np

from cmab.environment import changes
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import Subject
from cmab.testing._memory import creeps, growth

_CYCLE, _ARMS = 20, 10
#: A call that leaves more than 8 bytes for each of so many numbers leaks.
_NUMBERS = 4


def check_growth(subject: Subject) -> Finding:
    """Check that rounds and pulls do not leave memory behind."""
    environment, rng = subject.environment, np.random.default_rng((25, subject.rng))
    differ, arms = changes(environment), subject.arms[:_ARMS] if subject.first_pulls else subject.arms[:0]

    def play_round(number: int) -> None:
        environment.play(subject.super_arms[number % len(subject.super_arms)].copy(), rng)
        if len(arms):
            environment.pull(arms.copy(), rng)
        if differ:
            # A cache of rounds is allowed. It stops growing, because the rounds repeat.
            t = 1 + number % _CYCLE
            environment.in_round(t, np.random.default_rng((t, subject.rng)))

    left, leak = growth(play_round, environment.n_arms)
    require(not leak, "growth", "each round leaves {:.0f} bytes in memory", left)
    creeping = creeps(play_round, _NUMBERS, 2.0 * subject.seconds)
    text = "each of 20,000 rounds leaves {:.0f} bytes in memory; limit caches of rounds to the recent ones"
    require(creeping is None, "growth", text, creeping or 0.0)
    return Finding(f"{left:.0f} bytes per round")
