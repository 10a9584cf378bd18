"""Checkpoints: the state of a campaign after some of its events, so that these need no replay.

A checkpoint is a numpy archive with a checksum, like the file of a session. It contains the hash of the lines
before it. It is ignored if it is damaged, if a line before it has changed, or if another learner, another
version or other code wrote it: the campaign then replays all events.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from cmab._ask_tell import prior_of
from cmab.arrays import AnyArray, IntArray
from cmab.campaign.posterior import Cascades, KeptCascades, no_numbers
from cmab.campaign.posterior import kept as kept_cascades
from cmab.campaigns._course import Course
from cmab.campaigns._events import Events
from cmab.campaigns._fold import Fold
from cmab.campaigns.stores._store import Store, hash_of
from cmab.certificates.played import Played
from cmab.saving import _state
from cmab.saving._generators import generator_from, generator_state

#: The number of events between two checkpoints; and with hidden outcomes, whose replay takes longer.
EVERY, EVERY_HIDDEN = 5_000, 200
_FORMAT = 3
_TIME = "S29"


@dataclass
class Kept:
    """The arrays of a checkpoint: the state, and one entry for each ticket or for each line to undo."""

    state: Any
    asks: IntArray = field(default_factory=no_numbers)
    closed: IntArray = field(default_factory=no_numbers)
    told: IntArray = field(default_factory=no_numbers)
    latest: AnyArray = field(default_factory=lambda: np.empty(0, _TIME))
    standing: IntArray = field(default_factory=no_numbers)
    #: The reports with hidden outcomes and their chain; None without such reports.
    cascades: Any = None


def written(fold: Fold[Any], store: Store) -> bytes:
    """Return a checkpoint after all events of a fold and its store."""
    session, course = fold.current, store.course
    header = {
        "format": _FORMAT,
        "line": store.n_read,
        "digest": store.digest,
        "learner": _learner(fold),
        "described": fold.described,
        "is_own": fold._is_own,
        "rng": generator_state(session.rng),
        "asked": session._asked,
        "open": list(session._open),
        "played": session._played.listed(),
        "descriptions": fold.descriptions,
        "rewrites": fold.rewrites,
        "arrays": [[name, line] for name, line in fold.arrays.items()],
        "is_hidden": session._cascades is not None,
    }
    kept = Kept(
        session.state,
        np.array(fold.asks, np.int64),
        np.array(course._closed, np.int64),
        np.array(list(fold.told.items()), np.int64).reshape(-1),
        np.array(course._latest, _TIME),
        np.array(course._standing, np.int64),
        None if session._cascades is None else kept_cascades(session._cascades),
    )
    return _state.packed(header, kept, compressed=False)


def line_of(data: bytes) -> tuple[Any, int] | None:
    """Return the contents of a checkpoint and its number of lines; None if it is damaged."""
    try:
        file = _state.unpacked("the checkpoint", data)
        if file.header["format"] != _FORMAT:
            return None
        return file, int(file.header["line"])
    except (ValueError, TypeError, KeyError):
        return None


def resumed(fold: Fold[Any], file: Any, lines: list[bytes]) -> tuple[Fold[Any], Course] | None:
    """Return the state of a checkpoint after `lines`, in a new fold; None if it does not fit."""
    header, learner = file.header, _learner(fold)
    try:
        if learner is None or header["learner"] != learner or header["line"] != len(lines):
            return None
        if header["digest"] != hash_of(lines).hexdigest():
            return None
        new = Fold(fold.policy, fold.where, fold.present, is_same=fold.is_same)
        hidden = KeptCascades() if header["is_hidden"] else None
        kept = _state.fill(file, Kept(fold.policy.initial_state(), cascades=hidden))
        events = Events(lines)
        _restore(new, header, kept, events)
        return new, _course_of(header, kept, events.copy())
    except (ValueError, TypeError, KeyError, IndexError, OverflowError):
        return None


def _restore(fold: Fold[Any], header: dict[str, Any], kept: Kept, events: Events) -> None:
    fold.events = events
    fold._campaign(1, events[0])
    for line in header["descriptions"][1:]:
        fold._changed(line, events[line - 1])
    fold._is_own = bool(header["is_own"])
    fold.asks = kept.asks.tolist()
    fold.told = {number: line for number, line in kept.told.reshape(-1, 2).tolist()}  # noqa: C416
    fold.arrays = {name: int(line) for name, line in header["arrays"]}
    fold.set_rewrites(header["rewrites"])
    session = fold.current
    session.state, session.rng = kept.state, generator_from(header["rng"])
    session._asked = int(header["asked"])
    session._played = Played.of(header["played"])
    if header["is_hidden"]:
        prior, network = prior_of(fold.policy), getattr(fold.policy.oracle, "network", None)
        if prior is None or network is None:
            raise ValueError(f"learner must learn from hidden outcomes, got {fold.policy!r}")
        session._cascades = Cascades.of(kept.cascades, prior, network)
    for number in header["open"]:
        session._open[number] = fold.ticket(number)


def _course_of(header: dict[str, Any], kept: Kept, events: Events) -> Course:
    course = Course()
    course._events = events
    for line in header["descriptions"]:
        course.add_names(course._events[line - 1])
    course._rows = {name: course._events[line - 1]["shape"][0] for name, line in header["arrays"]}
    course._asked, course._closed = kept.asks.tolist(), kept.closed.tolist()
    course._latest = [time.decode() for time in kept.latest.tolist()]
    course._standing = kept.standing.tolist()
    return course


def _learner(fold: Fold[Any]) -> dict[str, Any] | None:
    """Return a description of the learner, its code and its libraries; None if its code is unknown."""
    code = _code(fold.policy)
    if code is None:
        return None
    versions = {"cmab": metadata.version("cmab"), "numpy": np.__version__}
    return {**fold.present, "code": code, "versions": versions, "is_same": fold.is_same}


def _code(policy: Any) -> str | None:
    """Return a hash of the files with the classes of a policy and of the objects in it."""
    classes: set[type] = set()
    waiting, seen = [policy], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        classes.update(type(one).__mro__)
        inner = getattr(one, "__dict__", {})
        waiting += [inner[name] for name in ("oracle", "policy", "_oracle", "_policy") if name in inner]
    found = hashlib.sha256()
    for name in sorted({one.__module__ for one in classes}):
        module = sys.modules.get(name)
        if name in sys.builtin_module_names or name in sys.stdlib_module_names:
            continue
        place = getattr(module, "__file__", None)
        if place is None:
            return None
        try:
            found.update(Path(place).read_bytes())
        except OSError:
            return None
    return found.hexdigest()
