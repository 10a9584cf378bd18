"""Results on disk: one SQLite file, one transaction a finished piece, keyed by content."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

_FORMAT = 1
_BUSY_SECONDS = 60.0
_ARRAYS = ("rounds", "expected_rewards", "rewards")
_COLUMNS = (
    "key TEXT PRIMARY KEY",
    "instance TEXT NOT NULL",
    "learner TEXT NOT NULL",
    "replication INTEGER NOT NULL",
    "specification TEXT NOT NULL",
    "versions TEXT NOT NULL",
    "machine TEXT NOT NULL",
    "finished TEXT NOT NULL",
    "path TEXT NOT NULL",
    "seconds REAL",
    "oracle_calls INTEGER",
    "oracle_seconds REAL",
    "final_expected_reward REAL",
    "final_regret REAL",
    "final_exact_regret REAL",
    *(f"{name} BLOB NOT NULL" for name in _ARRAYS),
)


class Store:
    """The finished pieces of studies, in ``results.sqlite`` of a folder.

    A piece is there entirely or not at all, whatever kills the process, and several processes may use a
    folder at once. Not for network drives: SQLite's write-ahead log needs memory shared by its users.

    Table ``pieces`` has a row a piece: ``pandas.read_sql("select * from pieces", "sqlite:///...")``.
    Curves are binary columns of 8-byte numbers.

    Parameters
    ----------
    folder : path-like
        Made if it is missing.

    Raises
    ------
    ValueError
        If the file there was written by another format.

    Examples
    --------
    >>> import tempfile
    >>> from cmab.store import Store
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
    ...     store.missing(["a-key"])
    ['a-key']
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        directory = Path(folder)
        directory.mkdir(parents=True, exist_ok=True)
        self.file = directory / "results.sqlite"
        self._connection = sqlite3.connect(self.file, timeout=_BUSY_SECONDS, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS pieces ({', '.join(_COLUMNS)})")
        (found,) = self._connection.execute("PRAGMA user_version").fetchone()
        if found not in (0, _FORMAT):
            self.close()
            raise ValueError(f"{self.file} must have format {_FORMAT}, got {found}")
        self._connection.execute(f"PRAGMA user_version={_FORMAT}")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def put(self, piece: Mapping[str, Any]) -> None:
        """Write a finished piece; one that is there already stays as it is."""
        values = {name: _bytes(value) if name in _ARRAYS else value for name, value in piece.items()}
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self._connection.execute(
            f"INSERT OR IGNORE INTO pieces ({names}) VALUES ({marks})", list(values.values())
        )

    def missing(self, keys: Iterable[str]) -> list[str]:
        """Return the keys that have no piece yet, in their order."""
        stored = {key for (key,) in self._connection.execute("SELECT key FROM pieces")}
        return [key for key in keys if key not in stored]

    def get(self, key: str) -> dict[str, Any] | None:
        """Return a piece with its curves as arrays, or None."""
        with closing(self._connection.cursor()) as cursor:
            row = cursor.execute("SELECT * FROM pieces WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            names = [description[0] for description in cursor.description]
        piece = dict(zip(names, row, strict=True))
        for name in _ARRAYS:
            piece[name] = np.frombuffer(piece[name], np.int64 if name == "rounds" else np.float64)
        return piece


def _bytes(array: Any) -> bytes:
    data: bytes = np.ascontiguousarray(array).tobytes()
    return data
