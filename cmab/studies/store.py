"""Results on disk: one SQLite file, with one transaction per finished piece, keyed by content."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from cmab.results._columns import IDENTIFIED, SIMULATED, TRIED
from cmab.studies._provenance import DEPENDENCIES
from cmab.studies._results import FINALS
from cmab.studies._store_file import StoreFile

Kind = Literal["simulations", "identifications", "trials"]
By = Literal["key", "alike"]

_FORMAT = 7
#: The file in a folder of results.
STORE = "results.sqlite"
_ARRAYS = {name: np.int64 if dtype is None else np.float64 for name, sql, dtype in SIMULATED if sql == "BLOB"}
_SHARED = (
    "key TEXT PRIMARY KEY",
    "alike TEXT",  # the key without the versions
    "instance TEXT",
    "learner TEXT",
    "replication INTEGER",
    "seed TEXT",  # integers of SQLite are below 2**63, seeds of numpy below 2**128
    "specification TEXT",
    "sources TEXT",
    "finished TEXT",
    *(f"{name} TEXT" for name in ("python", "cmab", *DEPENDENCIES)),
    *(f"{name} TEXT" for name in ("host", "system", "processor")),
    "cores INTEGER",
)
_COLUMNS: dict[str, tuple[str, ...]] = {
    "simulations": (
        *_SHARED,
        *(f"{name} {sql}" for name, sql, _ in SIMULATED),
        # Redundant columns for readers of the table that do not use cmab.
        *(f"{name} REAL" for name in ("outside_seconds", "observed", *FINALS)),
        "checksum TEXT",
    ),
    "identifications": (*_SHARED, *(f"{name} {sql}" for name, sql, _ in IDENTIFIED), "checksum TEXT"),
    "trials": (*_SHARED, *(f"{name} {sql}" for name, sql, _ in TRIED), "checksum TEXT"),
    "studies": ("key TEXT PRIMARY KEY", "specification TEXT", "pairs TEXT", "checksum TEXT"),
}
_INDEXES = {f"{kind}_alike": f"{kind} (alike)" for kind in get_args(Kind)}


class Store:
    """The finished pieces of studies, in the file ``results.sqlite`` of a folder.

    Each piece is stored completely or not at all, even if the process is killed. Several processes may use a
    folder at the same time. Do not use a network drive, because the write-ahead log of SQLite requires shared
    memory.

    The table ``simulations`` has a row for each replication of a policy, ``identifications`` a row for each
    replication of an explorer, and ``trials`` a row for each replication of a cell of an experiment. Curves
    are binary columns of 8-byte numbers. Arms and the results of trials are JSON lists.

    Parameters
    ----------
    folder : path-like
        The folder of the file. It is created if it is missing.
    reading : bool
        If True, write nothing and create neither the folder nor the file. Both may be read-only. A missing
        file is treated as an empty store.

    Raises
    ------
    ValueError
        If another version of cmab or another program wrote the file.
    OSError
        Also from the methods: if the file is damaged or cannot be read or written. The message has a remedy.

    Examples
    --------
    >>> import tempfile
    >>> from cmab.studies.store import Store
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
    ...     store.missing("simulations", ["a-key"])
    ['a-key']
    """

    def __init__(self, folder: str | os.PathLike[str], *, reading: bool = False) -> None:
        directory = Path(folder)
        self.file = directory / STORE
        if not reading:
            _make(directory)
        self._file = StoreFile(self.file, _COLUMNS, _INDEXES, _FORMAT, reading=reading)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def put(self, kind: Kind, piece: Mapping[str, Any]) -> None:
        """Write a finished piece, and replace a piece with the same key, which has equal numbers."""
        stored = {name: _stored(value) for name, value in piece.items()}
        # One statement is one transaction, so a piece is stored completely or not at all.
        self._insert(kind, stored | {"checksum": _checksum(kind, stored)})

    def missing(self, kind: Kind, keys: Iterable[str], by: By = "key") -> list[str]:
        """Return the keys, or keys without versions, that have no stored piece, in the given order."""
        stored = {row[by] for row in self._file.rows(f"SELECT {by} FROM {kind}")}
        return [key for key in keys if key not in stored]

    def remove_damaged(self, kind: Kind) -> int:
        """Remove the pieces with a wrong checksum and return their number."""
        rows = self._file.rows(f"SELECT rowid AS place, * FROM {kind}")
        damaged = [row["place"] for row in rows if _is_damaged(kind, row)]
        with self._file.faults():
            for place in damaged:  # not by their keys, which may be damaged as well
                self._file.execute(f"DELETE FROM {kind} WHERE rowid = ?", (place,))
        return len(damaged)

    def check(self, kind: Kind) -> None:
        """Raise ``ValueError`` if the checksum of a piece is wrong, even if its key has changed."""
        for row in self._file.rows(f"SELECT * FROM {kind}"):
            if _is_damaged(kind, row):
                raise ValueError(f"{self.file}: {_damaged(row)}")

    def get(self, kind: Kind, key: str, by: By = "key") -> dict[str, Any] | None:
        """Return the piece that was stored last under a key, with its curves as arrays, or None.

        Raises
        ------
        ValueError
            If the checksum of the piece is wrong.
        """
        for piece in self._file.rows(f"SELECT * FROM {kind} WHERE {by} = ? ORDER BY rowid DESC LIMIT 1", key):
            if _is_damaged(kind, piece):
                raise ValueError(f"{self.file}: {_damaged(piece)}")
            for name in _ARRAYS.keys() & piece.keys():
                if piece[name] is not None:
                    piece[name] = np.frombuffer(piece[name], _ARRAYS[name])
            return piece
        return None

    def take(self, other: Store) -> int:
        """Copy all pieces and studies of another store into this one and return the number of its pieces.

        Raises
        ------
        ValueError
            If the checksum of a row in the other store is wrong. Nothing is copied then.
        """
        count = 0
        with self._file.faults():
            self._file.execute("BEGIN IMMEDIATE")
        try:
            for table in _COLUMNS:
                for row in other._file.rows(f"SELECT * FROM {table}"):
                    if _is_damaged(table, row):
                        raise ValueError(f"{other.file} is damaged; run its study again to repair it")
                    self._insert(table, row)
                    count += table != "studies"
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        with self._file.faults():
            self._file.execute("COMMIT")
        return count

    def put_study(self, key: str, specification: str, pairs: str) -> None:
        """Store the description of the study that runs in this folder as the last one."""
        noted = {"key": key, "specification": specification, "pairs": pairs}
        self._insert("studies", noted | {"checksum": _checksum("studies", noted)})

    def noted(self, key: str) -> str | None:
        """Return the stored pairs of a study that ran in this folder, or None."""
        for row in self._file.rows("SELECT * FROM studies WHERE key = ?", key):
            return None if _is_damaged("studies", row) else str(row["pairs"])
        return None

    def last_study(self) -> tuple[str, str] | None:
        """Return the specification and the pairs of the study that ran last, or None.

        Raises
        ------
        ValueError
            If their checksum is wrong.
        """
        for row in self._file.rows("SELECT * FROM studies ORDER BY rowid DESC LIMIT 1"):
            if _is_damaged("studies", row):
                raise ValueError(f"{self.file}: the description of its study is damaged; run it again")
            return row["specification"], row["pairs"]
        return None

    def _insert(self, table: str, values: Mapping[str, Any]) -> None:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        with self._file.faults():
            self._file.execute(
                f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", tuple(values.values())
            )
        self._file.check_there()


def _make(folder: Path) -> None:
    """Create a folder.

    Raises
    ------
    OSError
        If that fails, with the folder and a remedy. The subclass is that of the cause.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"the folder {folder} cannot be created ({error.strerror}); choose another one, or allow writing"
        ) from error


def _stored(value: Any) -> Any:
    """Return a value as SQLite returns it: an array as bytes, and ``nan`` as None."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    # The checksum is computed from the values that SQLite returns, so nan is replaced first.
    return None if isinstance(value, float) and math.isnan(value) else value


def _damaged(piece: Mapping[str, Any]) -> str:
    return (
        f"replication {piece['replication']} of {piece['learner']} on {piece['instance']} is damaged;"
        " run the study again to replace it"
    )


def _is_damaged(kind: str, row: Mapping[str, Any]) -> bool:
    return bool(row["checksum"] != _checksum(kind, row))


def _checksum(kind: str, values: Mapping[str, Any]) -> str:
    """Return a hash of all columns, because SQLite itself detects only damage to its structure."""
    names = [column.split()[0] for column in _COLUMNS[kind]]
    digest = hashlib.sha256()
    for name in names:
        if name != "checksum":
            value = values.get(name)
            # repr distinguishes text from numbers and has all digits of a float.
            digest.update((value if isinstance(value, bytes) else repr(value).encode()) + b"\0")
    return digest.hexdigest()[:16]
