"""A run of the arena: its pieces, which are stored as they finish, and its standings."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from typing import Any, Literal

import numpy as np

from cmab.arena._pieces import Pair, pairs_of
from cmab.arena.curves import Curves, Played
from cmab.arena.entry import Entry
from cmab.arena.problem import Problem
from cmab.arena.standings import Standings
from cmab.running._bars import is_shown
from cmab.studies._pieces import Outcome, Piece, StudyFailed, play, row
from cmab.studies._progress import Progress
from cmab.studies._registered import told_by
from cmab.studies._results import Score
from cmab.studies._workers import limited_threads, spread
from cmab.studies.store import By, Store
from cmab.validation import check_flag, check_jobs, integer, one_of

Level = Literal["quick", "full"]
#: The factors of the replications and of the rounds of each level.
LEVELS: dict[str, tuple[int, int]] = {"quick": (1, 1), "full": (5, 5)}


class Arena:
    """Problems, entries and the numbers that determine a run of the arena.

    Parameters
    ----------
    problems : iterable of Problem
        The problems. Their names must differ.
    entries : iterable of Entry
        The entries. Their names must differ.
    level : {"quick", "full"}
        The level. The full level has five times as many replications and rounds.
    rng : int
        The seed.
    replications, horizon : int, optional
        Numbers that replace those of all problems.
    accept_versions : bool
        If True, also use stored pieces that other versions of cmab or its dependencies played.

    Raises
    ------
    ValueError
        If two problems or two entries have the same name, or if there is none.

    Examples
    --------
    >>> from cmab import CTS, CUCB
    >>> from cmab.arena import Arena, Entry, Problem
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> def ten_arms(rng):
    ...     oracle = TopK(10, k=2)
    ...     return oracle, SemiBandit(BernoulliArms(rng.random(10)), oracle)
    >>> problem = Problem("ten arms", "top-k", ten_arms, horizon=1000, source="an example")
    >>> Arena([problem], [Entry.of(CTS), Entry.of(CUCB)])
    Arena(1 problem, 2 entries, 12 pieces)
    """

    def __init__(
        self,
        problems: Iterable[Problem],
        entries: Iterable[Entry],
        *,
        level: Level = "quick",
        rng: int = 0,
        replications: int | None = None,
        horizon: int | None = None,
        accept_versions: bool = False,
    ) -> None:
        more, longer = LEVELS[one_of("level", level, tuple(LEVELS))]
        check_flag("accept_versions", accept_versions)
        self.problems = _named("problems", problems, Problem)
        self.entries = _named("entries", entries, Entry)
        self.level, self.seed = level, integer("rng", rng, 0, any_size=True)
        self.by: By = "alike" if accept_versions else "key"
        if replications is not None:
            integer("replications", replications, 1)
        if horizon is not None:
            integer("horizon", horizon, 10)
        self.replications = {p.name: replications or more * p.replications for p in self.problems}
        self.horizons = {p.name: horizon or longer * p.horizon for p in self.problems}
        pairs = pairs_of(self.problems, self.entries, seed=self.seed, horizons=self.horizons)
        self._pairs = {(pair.problem.name, pair.entry.name): pair for pair in pairs}
        # Replications are the outer loop, so early results include all problems. The entries of a replication
        # follow each other, because they share an instance.
        self.pieces = [
            pair.piece(replication)
            for replication in range(max(self.replications.values()))
            for pair in pairs
            if replication < self.replications[pair.problem.name]
        ]

    def __repr__(self) -> str:
        counts = {"problem": self.problems, "entry": self.entries, "piece": self.pieces}
        plural = {"entry": "entries"}
        told = [f"{len(n):,} {w if len(n) == 1 else plural.get(w, w + 's')}" for w, n in counts.items()]
        return f"Arena({', '.join(told)})"

    def missing(self, store: Store) -> list[Piece]:
        """Return the pieces that are not in a store."""
        keys = {*store.missing("trials", (getattr(piece, self.by) for piece in self.pieces), self.by)}
        return [piece for piece in self.pieces if getattr(piece, self.by) in keys]

    def play(self, store: Store, *, n_jobs: int = 1, progress: bool | None = None) -> None:
        """Play the missing pieces and store each piece as it finishes.

        Raises
        ------
        StudyFailed
            If pieces raised an exception, after all others are stored.
        """
        check_jobs(n_jobs)
        store.remove_damaged("trials")
        missing = self.missing(store)
        calls = [
            (piece, pair.task, self.seed, pair.origin.code) for piece in missing for pair in [self._of(piece)]
        ]
        failures: list[tuple[Piece, str]] = []
        with ExitStack() as stack:
            stack.enter_context(limited_threads())
            line = None
            if is_shown(progress):
                done = len(self.pieces) - len(missing)
                line = stack.enter_context(closing(Progress(len(self.pieces), done, sys.stderr)))
                line.wait()
            outcomes = stack.enter_context(closing(spread(play, calls, n_jobs)))
            for outcome in outcomes:
                if outcome.interrupted:
                    raise KeyboardInterrupt
                if outcome.failure is not None:
                    failures.append((outcome.piece, outcome.failure))
                    continue
                self._keep(store, outcome)
                if line is not None:
                    line(outcome.piece, Score("regret", float("nan")))
        if failures:
            raise StudyFailed(failures)

    def _of(self, piece: Piece) -> Pair:
        return self._pairs[piece.instance, piece.learner]

    def _keep(self, store: Store, outcome: Outcome) -> None:
        pair = self._of(outcome.piece)
        store.put("trials", row(outcome, pair.content, self.seed, pair.origin.code))

    def standings(self, store: Store) -> Standings:
        """Return the standings of the stored pieces.

        A problem counts the replications that all its entries finished, so that all comparisons are paired.
        """
        told: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
        refused: dict[tuple[str, str], str] = {}
        for piece in self.pieces:
            found = store.get("trials", getattr(piece, self.by), self.by)
            match = None if found is None else told_by([found])[0][0]
            if match is not None and "refused" in match:
                refused[piece.pair] = match["refused"]
            else:
                finished = told.setdefault(piece.instance, {}).setdefault(piece.learner, {})
                finished |= {} if match is None else {piece.replication: match}
        curves: dict[tuple[str, str], Curves] = {}
        for name, entries in told.items():
            playing = {e: runs for e, runs in entries.items() if (name, e) not in refused and runs}
            common = sorted(set.intersection(*(set(runs) for runs in playing.values()))) if playing else []
            for entry, runs in playing.items() if common else ():
                curves[name, entry] = curves_of([runs[replication] for replication in common])
        return Standings(
            tuple(_played(p, self.horizons[p.name]) for p in self.problems),
            tuple(entry.name for entry in self.entries),
            curves,
            refused,
            frozenset(entry.name for entry in self.entries if entry.tuned),
            self.seed,
            self.level,
        )


def curves_of(matches: Sequence[dict[str, Any]]) -> Curves:
    """Return the curves of replications from their stored values."""
    arrays = {name: np.array([match[name] for match in matches]) for name in ("regret", "worth", "seconds")}
    return Curves(np.array(matches[0]["rounds"]), **arrays)


def _played(problem: Problem, horizon: int) -> Played:
    facts = (problem.name, problem.kind, problem.source, problem.held_out)
    return Played(*facts, horizon, problem.batch, problem.delay is not None)


def _named(what: str, things: Iterable[Any], kind: type) -> list[Any]:
    """Return a list of problems or entries with different names."""
    listed = [*things]
    if not listed:
        raise ValueError(f"{what} must not be empty, got none")
    for thing in listed:
        if not isinstance(thing, kind):
            raise TypeError(f"{what} must contain objects of the class {kind.__name__}, got {thing!r}")
    names = [thing.name for thing in listed]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{what} must have different names, got {', '.join(twice)} more than once")
    return listed
