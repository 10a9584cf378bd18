"""The command ``cmab arena``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from cmab.arena.arena import Arena, Level
from cmab.arena.entry import Entry
from cmab.arena.problem import Problem
from cmab.arena.recorded import joined, write_recorded
from cmab.arena.registered import (
    chosen,
    entries_of_plugins,
    entry_named,
    problem_named,
    problems_of_plugins,
    recorded_of_plugins,
)
from cmab.arena.standings import Standings
from cmab.studies._pieces import StudyFailed
from cmab.studies.store import Store

_Named = TypeVar("_Named", Entry, Problem)


def listed() -> Iterator[str]:
    """Yield a line for each problem and each entry."""
    yield "problems:"
    for problem in problems_of_plugins():
        part = ", held out" if problem.held_out else ""
        yield f"  {problem.name} ({problem.kind}, {problem.horizon:,} rounds{part})\n      {problem.source}"
    yield "entries:"
    for entry in entries_of_plugins():
        kinds = f" ({', '.join(sorted(entry.kinds))})" if entry.kinds is not None else ""
        yield f"  {entry.name}{kinds}"


class Request:
    """The problems and entries that a command line selects.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed options of `cmab.arena.options.add_options`.

    Raises
    ------
    ValueError
        If a name is unknown or given twice.

    Examples
    --------
    >>> import argparse
    >>> from cmab.arena.command import Request
    >>> from cmab.arena.options import add_options
    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> len(Request(parser.parse_args(["--only", "matching", "--only", "CTS"])).problems)
    3
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.mine: list[Entry] = [entry_named(text) for text in options.policy]
        self.own: list[Problem] = [problem_named(text) for text in options.problem]
        entries = [*self.mine, *_without(entries_of_plugins(), self.mine)]
        problems = [*_without(problems_of_plugins(), self.own), *self.own]
        self.problems, self.entries = chosen(options.only, problems, entries, kept=self.mine)

    @property
    def is_recorded(self) -> bool:
        """Whether the results of other policies are the recorded ones."""
        options = self.options
        is_usual = not (options.full or options.fresh or options.seed)
        return is_usual and bool(self.mine or self.own)

    def arenas(self) -> list[Arena]:
        """Return the runs to play."""
        options = self.options
        settings: dict[str, Any] = {"rng": options.seed, "accept_versions": options.accept_versions}
        settings["replications"] = options.replications
        if not self.is_recorded:
            level: Level = "full" if options.full else "quick"
            return [Arena(self.problems, self.entries, level=level, **settings)]
        mine = [entry for entry in self.entries if entry in self.mine]
        own = [problem for problem in self.problems if problem in self.own]
        others = _without(self.entries, mine)
        pairs = ((self.problems, mine), (own, others))
        return [Arena(*pair, **settings) for pair in pairs if all(pair)]

    def standings(self, arenas: list[Arena], store: Store) -> Standings:
        """Return the standings of the stored pieces, with the recorded results if they are used."""
        played = [arena.standings(store) for arena in arenas]
        if not self.is_recorded:
            return played[0]
        known = recorded_of_plugins()
        problems = {problem.name for problem in self.problems}
        entries = {entry.name for entry in self.entries}
        return joined(known.restricted(problems, entries), *played)


def run_command(options: argparse.Namespace, place: Path) -> Iterator[str]:
    """Play what a command line selects, and yield the texts to print. Results are in the folder `place`.

    Raises
    ------
    StudyFailed
        If pieces raised an exception, after the texts of all others.
    KeyboardInterrupt
        After Ctrl-C, after the texts of the finished pieces.
    """
    request = Request(options)
    arenas = request.arenas()
    if request.is_recorded:
        recorded_of_plugins()  # raises before a long run
    stopped: BaseException | None = None
    with Store(place) as store:
        missing = sum(len(arena.missing(store)) for arena in arenas)
        total = sum(len(arena.pieces) for arena in arenas)
        yield f"{missing:,} of {total:,} pieces to do"
        for arena in arenas:
            try:
                arena.play(store, n_jobs=options.jobs, progress=True)
            except (StudyFailed, KeyboardInterrupt) as error:
                stopped = error
                break
        standings = request.standings(arenas, store)
        left = sum(len(arena.missing(store)) for arena in arenas)
    yield standings.table()
    yield from _absences(standings, request.mine)
    if left:
        yield f"{left:,} pieces are missing, so the scores are preliminary"
    if options.out is not None:
        yield from written(standings, options.out)
    if options.record is not None:
        write_recorded(standings, options.record)
        yield f"written: {options.record}"
    if stopped is not None:
        raise stopped


def _absences(standings: Standings, entries: list[Entry]) -> Iterator[str]:
    """Yield the problems that entries rejected, because an error of a user's policy also looks like this."""
    for entry in entries:
        reasons = {
            problem: reason for (problem, name), reason in standings.refused.items() if name == entry.name
        }
        if reasons:
            problem, reason = next(iter(reasons.items()))
            count = f"{len(reasons):,} problem{'s' if len(reasons) > 1 else ''}"
            yield f"{entry.name} does not play {count}; the first is {problem}: {reason}"


def written(standings: Standings, folder: Path) -> Iterator[str]:
    """Write the page and the tables into a folder, and yield the path of each file."""
    yield f"written: {standings.page(folder / 'arena.html')}"
    for of in ("scores", "matches"):
        path = folder / f"{of}.csv"
        standings.to_csv(path, of="scores" if of == "scores" else "matches")
        yield f"written: {path}"


def _without(things: list[_Named], others: list[_Named]) -> list[_Named]:
    """Return the problems or entries whose names are not those of others."""
    names = {other.name for other in others}
    return [thing for thing in things if thing.name not in names]
