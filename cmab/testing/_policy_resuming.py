"""The check that a session continues in the same way after it was saved and loaded."""

from __future__ import annotations

import copy
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

#: Rounds before a late session is saved, and rounds after it was loaded.
_LATE, _AFTER = 400, 40


def check_resuming(subject: Subject) -> Finding:
    """Check that a session that is saved and loaded in the middle selects the same super arms.

    A saved state has no caches, whose names begin with an underscore. A state that has some is also saved
    late in runs with good and bad arms, and must give the same super arms without them.
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
    late = [_late(subject, world) for world in subject.worlds]
    return Finding(f"{subject.rounds} rounds, and sessions without {', '.join(caches)} after {late} rounds")


def _caches(state: Any) -> list[str]:
    """Return the names of the parts of a state that are not saved."""
    if isinstance(state, ArmStatistics):
        return []
    known = {one.name for one in fields(state)} if is_dataclass(state) else set()
    return sorted(name for name in getattr(state, "__dict__", {}) if name[:1] == "_" and name not in known)


def _late(subject: Subject, world: World) -> int:
    """Save and load a session late in a run, and return the number of rounds before."""
    session, coins = Session(subject.policy, rng=subject.rng), np.random.default_rng(subject.rng)
    number = 0
    for number in subject.timed(range(1, _LATE + 1)):
        if session.is_done:
            return number
        session.tell(world.play(session.ask().super_arm, coins))
    loaded, others = resumed(session), copy.deepcopy(coins)
    for later in range(_AFTER):
        if session.is_done:
            break
        here, there = (each.ask().super_arm for each in (session, loaded))
        text = (
            "a session that was saved and loaded after {} rounds gave {} instead of {} in round {}; the state"
            " was saved without {}, which must be fields unless they are caches that a loaded state computes"
            " again"
        )
        told = (number, there, here, number + later + 1, _caches(session.state))
        require(np.array_equal(here, there), "resuming", text, *told)
        for each, source in ((session, coins), (loaded, others)):
            each.tell(world.play(here, source))
    return number


def resumed(session: Session[Any]) -> Session[Any]:
    """Save the session to a file, load it, and return it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.npz"
        session.save(file)
        return Session.load(file, session.policy)
