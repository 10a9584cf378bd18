"""Calls whose results are stored as each one ends, so that a run that was stopped or killed continues."""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

Pieces = Callable[..., Iterator[tuple[str, Callable[[], Any]]]]


def stored_results(
    pieces: Pieces, tasks: Iterable[Sequence[Any]], *, folder: Path | None = None, n_jobs: int = 1
) -> dict[str, Any]:
    """Return the results of all pieces by key; call only those that the store does not have.

    Parameters
    ----------
    pieces : callable
        ``pieces(*task)`` yields the key of each piece of a task, and a function without arguments. It returns
        the result, which consists of values of JSON.
    tasks : iterable of sequences
        The tasks. A worker calls the pieces of a task one after the other.
    folder : Path, optional
        The folder of the store. If omitted, the results are not kept.
    n_jobs : int
        Number of workers, or -1 for all cores, as in joblib.

    Raises
    ------
    RuntimeError
        If pieces raised an exception, after all others are stored.
    """
    from joblib import Parallel, delayed
    from tqdm import tqdm

    listed = list(tasks)
    with tempfile.TemporaryDirectory() as own:
        file = Path(own if folder is None else folder) / "results.sqlite"
        file.parent.mkdir(parents=True, exist_ok=True)
        played = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
            delayed(_work)(file, pieces, task) for task in listed
        )
        watched = tqdm(played, total=len(listed), disable=None, file=sys.stderr)
        faults = [fault for found in watched for fault in found]
        if faults:
            raise RuntimeError(f"{len(faults):,} pieces failed; the first is {faults[0]}")
        with _opened(file) as store:
            return {key: json.loads(text) for key, text in store.execute("SELECT key, result FROM results")}


def _opened(file: Path) -> closing[sqlite3.Connection]:
    """Open the store, to which several processes may write at the same time."""
    store = sqlite3.connect(file, timeout=600.0, isolation_level=None)
    store.execute("CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, result TEXT)")
    return closing(store)


def _work(file: Path, pieces: Pieces, task: Sequence[Any]) -> list[str]:
    """Call and store the missing pieces of a task, and return the texts of their exceptions."""
    faults = []
    with _opened(file) as store:
        known = {key for (key,) in store.execute("SELECT key FROM results")}
        for key, call in pieces(*task):
            if key not in known:
                try:
                    result = json.dumps(call())
                except Exception as error:  # code of a user may raise anything
                    faults.append(f"{key}: {type(error).__name__}: {error}")
                else:
                    store.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (key, result))
    return faults
