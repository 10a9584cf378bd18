"""The problems and entries of the installed packages, and those that a user names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Mapping
from importlib import util
from pathlib import Path
from typing import Any

from cmab.arena.entry import Entry
from cmab.arena.problem import Problem
from cmab.arena.recorded import joined, read_recorded
from cmab.arena.standings import Standings
from cmab.studies import _registry
from cmab.validation import shown


def problems_of_plugins() -> list[Problem]:
    """Return the problems of the installed packages.

    A package takes part if it has an entry point in the group ``cmab.plugins`` and a module or subpackage
    ``arena`` with ``PROBLEMS``, a list of problems or a mapping of names to problems.
    """
    return [problem for home in _homes() for problem in _listed(getattr(home, "PROBLEMS", ()))]


def entries_of_plugins() -> list[Entry]:
    """Return the entries of the installed packages: ``ENTRIES`` of the modules of `problems_of_plugins`."""
    return [entry for home in _homes() for entry in _listed(getattr(home, "ENTRIES", ()))]


def recorded_of_plugins() -> Standings:
    """Return the recorded standings of the installed packages: ``RECORDED`` of the same modules, a path.

    Raises
    ------
    FileNotFoundError
        If no package has a file.
    """
    files = [Path(home.RECORDED) for home in _homes() if hasattr(home, "RECORDED")]
    if not any(file.is_file() for file in files):
        raise FileNotFoundError(
            "no installed package has recorded results of the arena; play all entries again"
        )
    return joined(*(read_recorded(file) for file in files if file.is_file()))


def entry_named(text: str) -> Entry:
    """Return the entry of a policy that a user names as ``"module:name"``.

    The object is an `Entry`, a class of policies, or a function of an oracle.

    Raises
    ------
    ValueError
        If the text or the object is of another kind.
    ImportError
        If the module cannot be imported.
    """
    found = _object(text, "--policy", "a class of policies, a function of an oracle, or an Entry")
    if isinstance(found, Entry):
        return found
    try:
        return Entry.of(found)
    except TypeError as error:
        raise ValueError(f"--policy {text}: {error}") from None


def problem_named(text: str) -> Problem:
    """Return the problem that a user names as ``"module:name"``: a `Problem`, or a function that returns one.

    Raises
    ------
    ValueError
        If the text or the object is of another kind.
    ImportError
        If the module cannot be imported.
    """
    found = _object(text, "--problem", "a Problem, or a function that returns one")
    made: Any = found() if callable(found) else found
    if not isinstance(made, Problem):
        raise ValueError(
            f"--problem {text} must name a Problem, or a function that returns one, got {shown(made)}"
        )
    return made


def chosen(
    names: Iterable[str], problems: list[Problem], entries: list[Entry], *, kept: Iterable[Entry] = ()
) -> tuple[list[Problem], list[Entry]]:
    """Return the problems and entries that a user names; `kept` are entries that stay in any case.

    A name is that of a problem, of a kind of problems, or of an entry. Without the name of a problem or kind,
    all problems stay. Without the name of an entry, all entries stay.

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    from cmab.spelling import nearest

    wanted = [*names]
    known = [*(p.name for p in problems), *(p.kind for p in problems), *(e.name for e in entries)]
    if unknown := [name for name in wanted if name not in known]:
        raise ValueError(
            "--only must name a problem, a kind of problems or an entry of the arena, got"
            f" {unknown[0]!r}{nearest(unknown[0], known)}; `cmab arena --list` shows all names"
        )
    mine = [p for p in problems if p.name in wanted or p.kind in wanted]
    own = [e for e in entries if e.name in wanted or e in [*kept]]
    is_named = any(e.name in wanted for e in entries)
    return mine or problems, own if is_named else entries


def _homes() -> list[Any]:
    """Return the modules ``arena`` of the plug-ins."""
    found = []
    for plugin in _registry.plugins():
        package = plugin.load()
        name = f"{plugin.module}.arena"
        # The arena of the core is the machinery, not a table of problems.
        if plugin.module != "cmab" and hasattr(package, "__path__") and util.find_spec(name):
            found.append(importlib.import_module(name))
    return found


def _listed(things: Any) -> Iterable[Any]:
    return [*things.values()] if isinstance(things, Mapping) else [*things]


def _object(text: str, option: str, what: str) -> Any:
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"{option} must be MODULE:NAME, such as mypackage:MyPolicy, got {text!r}")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # a module of the user may raise anything
        raise ImportError(f"{option} {text}: {type(error).__name__}: {error}") from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{option} {text} must name {what}, but {module} has no {name}")
        found = getattr(found, part)
    return found
