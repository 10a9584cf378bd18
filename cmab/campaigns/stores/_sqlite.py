"""Campaigns in SQLite files."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from cmab._faults import in_words
from cmab.campaigns.stores._database import FORMAT, Database
from cmab.campaigns.stores._store import Waiting
from cmab.validation import shown

Result = TypeVar("Result")
_TABLES = (
    "CREATE TABLE IF NOT EXISTS cmab_campaigns (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " format INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS cmab_events (campaign INTEGER NOT NULL, line INTEGER NOT NULL, text TEXT NOT"
    " NULL, token TEXT NOT NULL, PRIMARY KEY (campaign, line)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS cmab_checkpoints (campaign INTEGER PRIMARY KEY, data BLOB NOT NULL)",
)
#: Errors of SQLite as errors of files; `in_words` adds the remedies.
_ERRORS = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
}
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
#: Connections of the parent process. A forked process must neither use nor close them.
_INHERITED: list[sqlite3.Connection] = []
#: The longest time between two attempts to lock the database, in seconds.
_PAUSE = 0.003


class SQLiteFile(Database):
    """A campaign in a SQLite file with a write-ahead log."""

    def __init__(self, path: str | os.PathLike[str], name: str, address: str) -> None:
        self.path = Path(path).absolute()
        self._connection: sqlite3.Connection | None = None
        self._process, self._file = -1, (0, 0)
        super().__init__(str(self.path), address, name)

    def exists(self) -> bool:
        """Return whether the file exists and contains the campaign."""
        return self.path.exists() and bool(self.path.stat().st_size) and bool(self._look(self._find))

    @contextmanager
    def held(self, *, create: bool = False, waiting: Waiting = None) -> Iterator[None]:
        """Begin a transaction that excludes other writers."""
        self._connect(create=create)
        while not self._begin():
            # Other processes read ahead while they wait, so that they hold the lock for a shorter time.
            if waiting is not None:
                waiting()
            time.sleep(random.uniform(0.1, 1.0) * _PAUSE)
        try:
            if self._number is None:
                self._number = self._told(self._find)
            yield
        finally:
            self._end()

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Open the file; readers need no lock."""
        self._connect(create=False)
        if self._number is None:
            self._number = self._told(self._find)
        yield

    def checkpoint(self) -> bytes | None:
        """Return the last checkpoint of the campaign, or None."""
        if self._number is None:
            return None
        query = "SELECT data FROM cmab_checkpoints WHERE campaign = ?"
        row = self._told(lambda: self._run(query, (self._number,)).fetchone())
        return row[0] if row is not None and type(row[0]) is bytes else None

    def keep_checkpoint(self, data: bytes) -> None:
        """Replace the checkpoint of the campaign."""
        query = "INSERT OR REPLACE INTO cmab_checkpoints VALUES (?, ?)"
        with self.held():
            self._told(lambda: self._run(query, (self._number, data)))
            self._told(lambda: self._run("COMMIT"))

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._close()

    def _rows(self, first: int, most: int = -1) -> Sequence[tuple[int, str]]:
        if self._number is None:
            return []
        query = "SELECT line, text FROM cmab_events WHERE campaign = ? AND line >= ? ORDER BY line LIMIT ?"
        rows = self._told(lambda: self._run(query, (self._number, first, most)).fetchall())
        for line, text in rows:
            if not (type(line) is int and type(text) is str):
                raise ValueError(
                    f"{self.where} must have rows with a number and a text, got {shown(line)} and"
                    f" {shown(text)}; {self._remedy()}"
                )
        return rows

    def _insert(self, rows: list[tuple[int, str]], token: str) -> None:
        def insert() -> None:
            assert self._connection is not None
            if self._number is None:
                new = "INSERT INTO cmab_campaigns (name, format) VALUES (?, ?)"
                self._number = self._run(new, (self.name, FORMAT)).lastrowid
            values = [(self._number, line, text, token) for line, text in rows]
            self._connection.executemany("INSERT INTO cmab_events VALUES (?, ?, ?, ?)", values)
            self._run("COMMIT")
            self._check_place()  # what is written to a file without a name would be lost

        self._told(insert)

    def _find(self) -> int | None:
        """Return the number of the campaign, or None if the database does not contain it."""
        try:
            found = self._run("SELECT number, format FROM cmab_campaigns WHERE name = ?", (self.name,))
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return None
            raise
        row = found.fetchone()
        if row is None:
            return None
        self._check_format(row[1])
        return int(row[0])

    def _look(self, question: Callable[[], Result]) -> Result:
        self._connect(create=False)
        return self._told(question)

    def _run(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        assert self._connection is not None
        return self._connection.execute(query, values)

    def _begin(self) -> bool:
        """Return whether the lock was free; then a transaction has begun."""

        def begin() -> bool:
            try:
                self._run("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if _code(error) in _BUSY:
                    return False
                raise
            return True

        return self._told(begin)

    def _end(self) -> None:
        """Take back a transaction that was not committed."""
        connection = self._connection
        if connection is not None and connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.rollback()

    def _connect(self, *, create: bool) -> None:
        """Open the file, unless this process has opened it before."""
        if self._connection is not None and self._process != os.getpid():
            _INHERITED.append(self._connection)
            self._connection = None
        if self._connection is not None:
            self._told(self._check_place)
            return
        try:
            if create:
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666))
            with self.path.open("rb") as file:
                head = file.read(16)
        except OSError as error:
            raise in_words(error, self.path) from error
        if not self.path.is_file() or (head and head != b"SQLite format 3\0"):
            raise ValueError(f"{self.where} must be a SQLite file, got {head!r}")
        self._told(lambda: self._open(create))

    def _open(self, create: bool) -> None:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=60.0)
        self._connection, self._process = connection, os.getpid()
        self._close = weakref.finalize(self, _closed, connection, self._process)
        self._file = _identity(self.path)
        if create:
            while True:
                try:
                    # Each commit waits until its events are on the disk.
                    self._run("PRAGMA journal_mode = WAL")
                    for table in _TABLES:
                        self._run(table)
                    break
                except sqlite3.OperationalError as error:  # several processes create the file
                    if _code(error) not in _BUSY:
                        raise
                    time.sleep(_PAUSE)
        self._run("PRAGMA synchronous = FULL")
        self._run("PRAGMA busy_timeout = 0")

    def _check_place(self) -> None:
        """Raise an error if the file was moved, deleted or replaced."""
        if _identity(self.path) != self._file:
            self.close()
            raise self._replaced()

    def _told(self, act: Callable[[], Result]) -> Result:
        """Call a function, and raise errors of SQLite as errors of files, with a remedy."""
        while True:
            try:
                return act()
            except sqlite3.Error as error:
                if _code(error) in _BUSY and not self._is_writing():
                    time.sleep(_PAUSE)  # another process recovers the log after a crash
                    continue
                raise self._in_words(error) from error
            except OSError as error:
                self.close()
                raise in_words(error, self.path) from error

    def _is_writing(self) -> bool:
        return self._connection is not None and self._connection.in_transaction

    def _in_words(self, error: sqlite3.Error) -> Exception:
        number = _ERRORS.get(_code(error))
        if number is not None:
            if not self.path.exists():
                number = errno.ENOENT
            return in_words(OSError(number, os.strerror(number), self.where), self.path)
        return ValueError(
            f"{self.where} must be a valid SQLite file with a campaign, got the error {error}; restore a"
            " backup"
        )


def _code(error: sqlite3.Error) -> int:
    """Return the primary code of an error of SQLite; 0 if it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _closed(connection: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        connection.close()
    else:
        _INHERITED.append(connection)
