"""The functions that run the arena."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from cmab.arena.arena import Arena, Level
from cmab.arena.entry import Entry
from cmab.arena.problem import Problem
from cmab.arena.standings import Standings
from cmab.studies.store import Store


def run(
    problems: Iterable[Problem] | None = None,
    entries: Iterable[Entry] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    level: Level = "quick",
    rng: int = 0,
    replications: int | None = None,
    horizon: int | None = None,
    n_jobs: int = 1,
    progress: bool | None = None,
    accept_versions: bool = False,
) -> Standings:
    """Play all entries on all problems and return the standings.

    Parameters
    ----------
    problems : iterable of Problem, optional
        The problems. The default are those of the installed packages.
    entries : iterable of Entry, optional
        The entries. The default are those of the installed packages.
    folder : path-like, optional
        The folder of the store. A run with the same folder plays only the missing pieces. If omitted, nothing
        is kept.
    level : {"quick", "full"}
        The level. The full level has five times as many replications and rounds.
    rng : int
        The seed. The instances of a replication depend on the seed and on the name of the problem only.
    replications, horizon : int, optional
        Numbers that replace those of all problems.
    n_jobs : int
        Number of workers, or -1 for all cores. The numbers do not depend on it.
    progress : bool, optional
        Whether to show a progress bar, as in `simulate`.
    accept_versions : bool
        If True, also use stored pieces that other versions of cmab or its dependencies played.

    Returns
    -------
    Standings
        The scores, tables and pages.

    Raises
    ------
    ValueError
        If a number is out of range, or if two problems or entries have the same name.
    StudyFailed
        If pieces raised an exception, after all others are stored.

    Examples
    --------
    >>> from cmab import CTS, CUCB
    >>> from cmab.arena import Entry, Problem, run
    >>> from instances import BernoulliArms, SemiBandit
    >>> from oracles import TopK
    >>> def ten_arms(rng):
    ...     oracle = TopK(10, k=2)
    ...     return oracle, SemiBandit(BernoulliArms(rng.random(10)), oracle)
    >>> problem = Problem("ten arms", "top-k", ten_arms, horizon=1000, source="an example")
    >>> run([problem], [Entry.of(CTS), Entry.of(CUCB)]).best("ten arms")
    'CTS'
    """
    from cmab.arena.registered import entries_of_plugins, problems_of_plugins

    arena = Arena(
        problems_of_plugins() if problems is None else problems,
        entries_of_plugins() if entries is None else entries,
        level=level,
        rng=rng,
        replications=replications,
        horizon=horizon,
        accept_versions=accept_versions,
    )
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if folder is None else Path(folder)
        store = stack.enter_context(Store(place))
        arena.play(store, n_jobs=n_jobs, progress=progress)
        return arena.standings(store)


def challenge(
    entries: Iterable[Entry] = (),
    problems: Iterable[Problem] = (),
    *,
    folder: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Standings:
    """Play new entries on all problems and all entries on new problems, and return the standings of all.

    The results of the other matches are those that the installed packages recorded at the quick level.
    Instances have the same seeds, so comparisons are paired. An entry or problem with the name of a recorded
    one replaces it.

    Parameters
    ----------
    entries : iterable of Entry
        The new entries.
    problems : iterable of Problem
        The new problems.
    folder : path-like, optional
        The folder of the store, as in `run`.
    n_jobs : int
        Number of workers, or -1 for all cores.
    progress : bool, optional
        Whether to show a progress bar, as in `simulate`.

    Returns
    -------
    Standings
        The scores, tables and pages.

    Raises
    ------
    ValueError
        If there is nothing to play, or if two problems or entries have the same name.
    FileNotFoundError
        If no installed package has recorded results.
    StudyFailed
        If pieces raised an exception, after all others are stored.

    Examples
    --------
    >>> from cmab import CTS
    >>> from cmab.arena import Entry
    >>> mine = Entry.of(CTS, "CTS, strong prior", prior_weight=20.0)
    >>> def place():
    ...     from cmab.arena import challenge
    ...     print(challenge([mine], n_jobs=-1).table())
    """
    from cmab.arena.recorded import joined
    from cmab.arena.registered import entries_of_plugins, problems_of_plugins, recorded_of_plugins

    mine, own = [*entries], [*problems]
    known = recorded_of_plugins()
    names = {problem.name for problem in own}
    others = [p for p in problems_of_plugins() if p.name not in names]
    theirs = [e for e in entries_of_plugins() if e.name not in {each.name for each in mine}]
    if not mine and not own:
        raise ValueError("entries or problems must not be empty, got neither; use run for all matches")
    arenas = [Arena([*others, *own], mine)] if mine else []
    arenas += [Arena(own, theirs)] if own else []
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory())) if folder is None else Path(folder)
        store = stack.enter_context(Store(place))
        for arena in arenas:
            arena.play(store, n_jobs=n_jobs, progress=progress)
        return joined(known, *(arena.standings(store) for arena in arenas))
