"""The command ``cmab arena``."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cmab.validation import meant

_ABOUT = """With --policy or --problem, only matches of your policies and problems are played; the results of
the others were recorded. With neither, all matches are played."""


def arena(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """Compare all policies, and yours, on many problems."""
    parser.epilog = _ABOUT
    named: dict[str, Any] = {"action": "append", "default": [], "metavar": "MODULE:NAME"}
    parser.add_argument("--policy", help="a class of policies or an Entry", **named)
    parser.add_argument("--problem", help="a Problem", **named)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help="play this problem, this kind of problems or this entry only; may be repeated",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for the matches and the tables")
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="workers, -1 for all cores (-1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all instances (0)")
    parser.add_argument("--replications", type=int, metavar="N", help="replications of each match (6)")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the matches to this file")
    parser.add_argument("--list", action="store_true", dest="lists", help="list problems and entries only")
    return _run


def _run(options: argparse.Namespace) -> Iterator[str]:
    from cmab.run.arena import Entry, Problem, read_matches, run, write_matches
    from cmab.run.tables import write_csv
    from instances.arena import ENTRIES, PROBLEMS, RECORDED

    mine = [_named(text, "--policy") for text in options.policy]
    mine = [found if isinstance(found, Entry) else Entry.of(found) for found in mine]
    own = [_named(text, "--problem") for text in options.problem]
    if wrong := [problem for problem in own if not isinstance(problem, Problem)]:
        raise ValueError(f"--problem must name a cmab.run.arena.Problem, got {wrong[0]!r}")
    taken = {thing.name for thing in (*mine, *own)}
    entries = [*mine, *(entry for entry in ENTRIES if entry.name not in taken)]
    problems = [*(problem for problem in PROBLEMS.values() if problem.name not in taken), *own]
    if options.only:
        names = {*(p.name for p in problems), *(p.kind for p in problems), *(e.name for e in entries)}
        if unknown := [name for name in options.only if name not in names]:
            raise ValueError(
                "--only must name a problem, a kind of problems or an entry, got"
                f" {unknown[0]!r}{meant(unknown[0], names)}; `cmab arena --list` shows all names"
            )
        problems = [p for p in problems if {p.name, p.kind} & {*options.only}] or problems
        if any(entry.name in options.only for entry in entries):
            entries = [entry for entry in entries if entry in mine or entry.name in options.only]
    if options.lists:
        yield "problems:"
        for p in problems:
            yield f"  {p.name} ({p.kind}, {p.horizon:,} rounds{', held out' if p.held_out else ''})"
            yield f"      {p.source}"
        yield "entries:"
        for entry in entries:
            kinds = "" if entry.kinds is None else f" ({', '.join(sorted(entry.kinds))})"
            yield f"  {entry.name}{kinds}"
        return
    is_recorded = (mine or own) and not options.seed and not options.replications
    recorded = read_matches(RECORDED) if is_recorded else {}
    standings = run(
        problems,
        entries,
        folder=options.out,
        rng=options.seed,
        replications=options.replications,
        n_jobs=options.jobs,
        recorded={pair: rows for pair, rows in recorded.items() if not taken & {*pair}},
    )
    yield standings.table()
    for entry in mine:
        yield standings.place(entry.name)
        # The reasons are printed, because an error of a user's policy also looks like this.
        reasons = {
            problem: reason for (problem, name), reason in standings.refused.items() if name == entry.name
        }
        if reasons:
            problem, reason = next(iter(reasons.items()))
            count = f"{len(reasons):,} problem{'s' if len(reasons) > 1 else ''}"
            yield f"{entry.name} does not play {count}; the first is {problem}: {reason}"
    if options.out is not None:
        write_csv(options.out / "scores.csv", standings.scores())
        yield f"written: {options.out / 'scores.csv'}"
    if options.record is not None:
        write_matches(options.record, standings.matches)
        yield f"written: {options.record}"


def _named(text: str, option: str) -> Any:
    """Return the object that a user names as ``"module:name"``; the current folder is searched first."""
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"{option} must be MODULE:NAME, such as mypackage:MyPolicy, got {text!r}")
    sys.path.insert(0, str(Path.cwd()))
    found = importlib.import_module(module)
    if not hasattr(found, name):
        raise ValueError(f"{option} {text} must name an object of {module}, but it has no {name}")
    return getattr(found, name)
