"""The pieces of a run of the arena: their keys, and their execution in a worker."""

from __future__ import annotations

import json
import pickle
import time
import types
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cmab.arena.entry import Entry
from cmab.arena.match import CannotPlay, play
from cmab.arena.problem import Problem
from cmab.results._columns import TRIED, stored
from cmab.saving._digest import content, pickled, short_hash
from cmab.studies._notes import Origin
from cmab.studies._pieces import Piece
from cmab.studies._provenance import code_of, refresh

# Significant digits of stored regrets. The noise of a replication is far larger.
_DIGITS = 10
_MOST_LOADED = 256


@dataclass(frozen=True, eq=False)
class Matching:
    """A match of a problem and an entry, as bytes that any process can play.

    Attributes
    ----------
    problem, entry : bytes
        The pickled problem and the pickled entry.
    horizon : int
        Number of rounds.
    """

    problem: bytes
    entry: bytes
    horizon: int

    def play(self, seed: int, replication: int) -> dict[str, Any]:
        """Return the columns to store: the curves of a match, or the reason why the entry cannot play."""
        started = time.perf_counter()
        told: dict[str, Any]
        try:
            match = play(
                _loaded(self.problem), _loaded(self.entry), replication, seed=seed, horizon=self.horizon
            )
        except CannotPlay as reason:
            told = {"refused": str(reason)}
        else:
            told = {"rounds": match.rounds.tolist(), "seconds": match.seconds, "path": match.path}
            told |= {"regret": _short(match.regret), "worth": _short(match.worth)}
        return stored(TRIED, {"seconds": time.perf_counter() - started, "told": json.dumps([told])})


def _short(values: Any) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in np.asarray(values)]


# The same bytes give the same object, so that the entries of a replication share its instance.
@lru_cache(maxsize=_MOST_LOADED)
def _loaded(data: bytes) -> Any:
    return pickle.loads(data)


@dataclass(frozen=True, eq=False)
class Pair:
    """A problem and an entry, with everything that determines the numbers of their pieces."""

    problem: Problem
    entry: Entry
    origin: Origin
    content: dict[str, Any]
    task: Matching

    def piece(self, replication: int) -> Piece:
        """Return the piece of a replication."""
        key, alike = self.origin.keys(self.content)
        names = (self.problem.name, self.entry.name)
        return Piece(f"{key}-{replication}", *names, replication, f"{alike}-{replication}")


def pairs_of(
    problems: Iterable[Problem], entries: Iterable[Entry], *, seed: int, horizons: dict[str, int]
) -> list[Pair]:
    """Return all pairs of a problem and an entry that plays problems of its kind.

    Raises
    ------
    ValueError
        If code was changed after its import.
    """
    refresh()
    listed = [(entry, *_origin_of(entry.make), pickled(entry)) for entry in entries]
    origins: dict[frozenset[str], Origin] = {}
    found = []
    for problem in problems:
        digest, packages = _origin_of((problem.make, problem.delay, dict(problem.facts)))
        data = pickled(problem)
        for entry, own, others, sent in listed:
            if not entry.plays(problem.kind):
                continue
            used = packages | others
            if used not in origins:
                origins[used] = Origin(dict(code_of((), used)), [])
            told = {"arena": problem.name, "problem": digest, "entry": own, "seed": seed}
            told |= {"horizon": horizons[problem.name], "batch": problem.batch, "kind": problem.kind}
            task = Matching(data, sent, horizons[problem.name])
            found.append(Pair(problem, entry, origins[used], told, task))
    return found


def _origin_of(value: Any) -> tuple[str, frozenset[str]]:
    """Return a hash of the content of an object, and the packages of its code."""
    packages: set[str] = set()

    def see(part: Any) -> None:
        home = part if isinstance(part, type | types.FunctionType) else type(part)
        packages.add(str(home.__module__).partition(".")[0])

    pickled(value, see)
    # The code of a notebook is pickled by value, so it is part of the content.
    own = b"" if "__main__" not in packages else pickled(value)
    return short_hash(content(value) + own), frozenset(packages - {"builtins", "numpy", "__main__"})
