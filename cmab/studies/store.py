"""Results on disk: one SQLite file, one transaction a finished piece, keyed by content."""

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
    "alike TEXT",  # the key but for versions
    "instance TEXT",
    "learner TEXT",
    "replication INTEGER",
    "seed TEXT",  # SQLite's integers end at 2**63, numpy's own seeds at 2**128
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
        # Told once more, for those who read the table without cmab.
        *(f"{name} REAL" for name in ("outside_seconds", "observed", *FINALS)),
        "checksum TEXT",
    ),
    "identifications": (*_SHARED, *(f"{name} {sql}" for name, sql, _ in IDENTIFIED), "checksum TEXT"),
    "trials": (*_SHARED, *(f"{name} {sql}" for name, sql, _ in TRIED), "checksum TEXT"),
    "studies": ("key TEXT PRIMARY KEY", "specification TEXT", "pairs TEXT", "checksum TEXT"),
}
_INDEXES = {f"{kind}_alike": f"{kind} (alike)" for kind in get_args(Kind)}


class Store:
    """The finished pieces of studies, in ``results.sqlite`` of a folder.

    A piece is there entirely or not at all, whatever kills the process, and several processes may use a
    folder at once. Not for network drives: SQLite's write-ahead log needs memory shared by its users.

    Table ``simulations`` has a row for each replication of a policy, ``identifications`` one for each
    replication of an explorer, ``trials`` one for each replication of a cell of an experiment. Curves are
    binary columns of 8-byte numbers; arms, and what trials told, are JSON lists.

    Parameters
    ----------
    folder : path-like
        Made if it is missing.
    reading : bool
        Whether nothing is written: neither folder nor file is made, and they may be read-only. Where there
        is none it is read as if it were empty.

    Raises
    ------
    ValueError
        If another version, or another program, wrote the file there.
    OSError
        Here and later, if the file cannot be read or written or is damaged, with what to do about it.

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
        """Write a finished piece in place of one with the same key, whose numbers are the same."""
        stored = {name: _stored(value) for name, value in piece.items()}
        # One statement, hence one transaction: a piece is there whole or not at all.
        self._insert(kind, stored | {"checksum": _checksum(kind, stored)})

    def missing(self, kind: Kind, keys: Iterable[str], by: By = "key") -> list[str]:
        """Return the keys (or what is alike but for versions) that have no piece yet, in their order."""
        stored = {row[by] for row in self._file.rows(f"SELECT {by} FROM {kind}")}
        return [key for key in keys if key not in stored]

    def remove_damaged(self, kind: Kind) -> int:
        """Remove the pieces that are not what was written; return their number."""
        rows = self._file.rows(f"SELECT rowid AS place, * FROM {kind}")
        damaged = [row["place"] for row in rows if _is_damaged(kind, row)]
        with self._file.faults():
            for place in damaged:  # not by their keys, which may be what is damaged
                self._file.execute(f"DELETE FROM {kind} WHERE rowid = ?", (place,))
        return len(damaged)

    def check(self, kind: Kind) -> None:
        """Raise ``ValueError`` if a piece is not what was written, whatever its key says now."""
        for row in self._file.rows(f"SELECT * FROM {kind}"):
            if _is_damaged(kind, row):
                raise ValueError(f"{self.file}: {_damaged(row)}")

    def get(self, kind: Kind, key: str, by: By = "key") -> dict[str, Any] | None:
        """Return a piece with its curves as arrays, the last one of those that are alike, or None.

        Raises
        ------
        ValueError
            If it is not what was written.
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
        """Write all that another store holds, and note its last study; return the number of its pieces.

        Raises
        ------
        ValueError
            If a piece there is not what was written; nothing is taken then.
        """
        count = 0
        with self._file.faults():
            self._file.execute("BEGIN IMMEDIATE")
        try:
            for table in _COLUMNS:
                for row in other._file.rows(f"SELECT * FROM {table}"):
                    if _is_damaged(table, row):
                        raise ValueError(f"{other.file} is damaged: run its study again, which mends it")
                    self._insert(table, row)
                    count += table != "studies"
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        with self._file.faults():
            self._file.execute("COMMIT")
        return count

    def put_study(self, key: str, specification: str, pairs: str) -> None:
        """Note that a study runs here, as the last one."""
        noted = {"key": key, "specification": specification, "pairs": pairs}
        self._insert("studies", noted | {"checksum": _checksum("studies", noted)})

    def noted(self, key: str) -> str | None:
        """Return the pairs of a study that ran here, or None."""
        for row in self._file.rows("SELECT * FROM studies WHERE key = ?", key):
            return None if _is_damaged("studies", row) else str(row["pairs"])
        return None

    def last_study(self) -> tuple[str, str] | None:
        """Return specification and pairs of the study that ran last, or None.

        Raises
        ------
        ValueError
            If they are not what was written.
        """
        for row in self._file.rows("SELECT * FROM studies ORDER BY rowid DESC LIMIT 1"):
            if _is_damaged("studies", row):
                raise ValueError(f"{self.file}: the study noted there is damaged; run it again to mend that")
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
    """Make a folder.

    Raises
    ------
    OSError
        With the folder and what to do, in the subclass of the cause.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise type(error)(
            f"the folder {folder} cannot be made ({error.strerror}); choose another one, or allow writing"
        ) from error


def _stored(value: Any) -> Any:
    """Return what SQLite gives back for a value: bytes of an array, and None where it has no nan."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    # Checksums are taken of what comes back, so nan is None before they are.
    return None if isinstance(value, float) and math.isnan(value) else value


def _damaged(piece: Mapping[str, Any]) -> str:
    return (
        f"replication {piece['replication']} of {piece['learner']} on {piece['instance']} is damaged;"
        " run the study again, which plays it anew"
    )


def _is_damaged(kind: str, row: Mapping[str, Any]) -> bool:
    return bool(row["checksum"] != _checksum(kind, row))


def _checksum(kind: str, values: Mapping[str, Any]) -> str:
    """Return a hash of all columns; SQLite itself notices damage to its structure only."""
    names = [column.split()[0] for column in _COLUMNS[kind]]
    digest = hashlib.sha256()
    for name in names:
        if name != "checksum":
            value = values.get(name)
            # repr tells text from numbers, and gives a float's digits in full.
            digest.update((value if isinstance(value, bytes) else repr(value).encode()) + b"\0")
    return digest.hexdigest()[:16]
