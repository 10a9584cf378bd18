"""The check that a session continues in the same way after it was saved and loaded."""

from __future__ import annotations

import tempfile
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cmab.session import Session
from cmab.statistics import ArmStatistics
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require, require_same
from cmab.testing._policy_runs import play
from cmab.testing._policy_subject import Subject, World

#: Rounds of a run, and rounds between two of them in which the session is saved and loaded.
_LATE, _EACH = 400, 9


def check_resuming(subject: Subject) -> Finding:
    """Check that a session that is saved and loaded in the middle selects the same super arms.

    A saved state has no caches, whose names begin with an underscore. A state that has some is also saved in
    longer runs, with good and bad arms and with bad arms only, and must give the same super arms.
    """
    session, coins = Session(subject.policy, rng=subject.rng), np.random.default_rng(subject.rng)
    for step, expected in enumerate(play(subject)):
        if step == subject.rounds // 2:
            session = resumed(session)
        ticket = session.ask(subject.place.context)
        require_same(expected, ticket.super_arm, "resuming", "a saved and loaded session")
        session.tell(subject.place.play(ticket.super_arm, coins))
    caches = _caches(session.state)
    if not caches or subject.needs_context or subject.worlds is None:
        return Finding(f"{subject.rounds} rounds")
    n = subject.policy.oracle.n_arms
    poor = subject.world(np.full(n, 0.1 if subject.policy.oracle.sense == "max" else 0.9))
    rounds = sum(_late(subject, world) for world in (*subject.worlds, poor))
    return Finding(f"{subject.rounds} rounds, and {rounds} rounds with sessions without {', '.join(caches)}")


def _caches(state: Any) -> list[str]:
    """Return the names of the parts of a state that are not saved."""
    if isinstance(state, ArmStatistics):
        return []
    known = {one.name for one in fields(state)} if is_dataclass(state) else set()
    return sorted(name for name in getattr(state, "__dict__", {}) if name[:1] == "_" and name not in known)


def _late(subject: Subject, world: World) -> int:
    """Select with a loaded state in many rounds of a run, and return the number of rounds."""
    session, coins = Session(subject.policy, rng=subject.rng), np.random.default_rng(subject.rng)
    number = 0
    for number in subject.timed(range(_LATE), 0.2):
        if session.is_done:
            break
        if number % _EACH == 0:
            loaded = resumed(session)
            here, there = session.ask(), loaded.ask()
            text = (
                "a session that was saved and loaded after {} rounds gave {} instead of {}; the state was"
                " saved without {}, which must be fields unless they are caches that a loaded state computes"
                " again"
            )
            told = (number, there.super_arm, here.super_arm, _caches(session.state))
            same = np.array_equal(np.sort(here.super_arm), np.sort(there.super_arm))
            require(same, "resuming", text, *told)
        else:
            here = session.ask()
        session.tell(world.play(here.super_arm, coins))
    return number


def resumed(session: Session[Any]) -> Session[Any]:
    """Save the session to a file, load it, and return it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.npz"
        session.save(file)
        return Session.load(file, session.policy)
