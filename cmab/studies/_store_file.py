"""The SQLite file of a store: its identification, reading it from a read-only disk, and its errors."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# The application ID in the header of the SQLite file.
_APPLICATION = int.from_bytes(b"cmab", "big")
_BUSY_SECONDS = 60.0
_RETRY_SECONDS = 0.01
_MOVE = "move it away and run again"
# Remedies by words of the messages of SQLite; the first match counts. Error codes distinguish fewer cases.
_HINTS = {
    "full": "free some space and run again; finished pieces are kept",
    "disk I/O": "check the disk and its free space, and run again; finished pieces are kept",
    "readonly": "allow writing to the file and its folder",
    "unable to open": "allow writing to the file and its folder, and use a path of at most 512 characters",
    "locked": "another process is using it; run again after that process has ended",
    "malformed": f"it is damaged; {_MOVE}",
    "not a database": f"it is damaged or not a store; {_MOVE}",
}
# States of files that passed the integrity check. It reads the whole file, and studies open it often.
_whole: dict[Path, tuple[object, ...]] = {}


class StoreFile:
    """A connection to the SQLite file of a store.

    Parameters
    ----------
    file : Path
        The file. If it is written, its folder must exist.
    columns : mapping of str to sequence of str
        The columns of each table, as in ``CREATE TABLE``.
    indexes : mapping of str to str
        The table and column of each index.
    number : int
        The format number, stored as ``user_version``.
    reading : bool
        If True, write nothing. A missing file is not created and is treated as an empty store.

    Raises
    ------
    ValueError
        If another program or another version of cmab wrote the file.
    OSError
        If the file is damaged or cannot be read or written.
    """

    def __init__(
        self,
        file: Path,
        columns: Mapping[str, Sequence[str]],
        indexes: Mapping[str, str],
        number: int,
        *,
        reading: bool,
    ) -> None:
        self.file, self._columns, self._indexes, self._format = file, columns, indexes, number
        self._place: tuple[int, int] | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._check_places()
        # Start with a connection that can be closed if one of the next steps fails.
        self.connection = _nothing()
        try:
            with self.faults():
                if reading:
                    self._open_to_read()
                else:
                    self._open_to_write()
                    status = self.file.stat()
                    self._place = status.st_dev, status.st_ino
                self._check_whole(mend=not reading)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run a statement, and retry while another process opens, closes or repairs the file.

        SQLite itself waits for other locks, but raises "locked" immediately in these cases.
        """
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return self.connection.execute(statement, values)
            except sqlite3.OperationalError as error:
                # The low byte of an extended error code is the primary code.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)

    def rows(self, statement: str, *values: str) -> Iterator[dict[str, Any]]:
        """Yield the selected rows of a statement as dicts by the names of the columns."""
        with self.faults():
            cursor = self.execute(statement, values)
            names = [description[0] for description in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))

    def check_there(self) -> None:
        """Raise ``OSError`` if the open file is no longer at its path.

        SQLite continues to write to a removed file, and those pieces are lost.
        """
        try:
            status = self.file.stat()
        except OSError:
            status = None
        if status is None or (status.st_dev, status.st_ino) != self._place:
            raise OSError(
                f"{self.file} was moved, replaced or removed while it was in use; put it back and run again"
                " to keep the pieces that were finished before"
            )

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Raise errors of SQLite as ``OSError`` with a remedy."""
        try:
            yield
        except (sqlite3.Error, UnicodeError, MemoryError) as error:  # the last two: damaged names, lengths
            advice = next((hint for word, hint in _HINTS.items() if word in str(error)), None)
            if advice is None:
                is_known = isinstance(error, sqlite3.OperationalError)
                advice = "run again" if is_known else f"it seems to be damaged; {_MOVE}"
            raise OSError(f"{self.file}: {error}; {advice}") from error

    def _check_places(self) -> None:
        """Raise ``OSError`` for links, which untrusted folders may contain, and for other non-files."""
        for end in ("", "-wal", "-shm", "-journal"):
            place = self.file.with_name(f"{self.file.name}{end}")
            try:
                mode = place.lstat().st_mode  # once: SQLite may remove its journals at any time
            except OSError:  # missing or inaccessible: opening the file will raise
                continue
            if not stat.S_ISREG(mode):
                what = "a link" if stat.S_ISLNK(mode) else "a folder, pipe or device"
                raise OSError(f"{place} must be a regular file, got {what}; {_MOVE}")

    def _connect(self, file: Path, mode: str = "rw") -> None:
        """Open an existing file. Damaged text is decoded to different text instead of raising."""
        self.connection.close()
        self.connection = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode={mode}", timeout=_BUSY_SECONDS, isolation_level=None, uri=True
        )
        self.connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        # Functions in the schema of an untrusted file must not run.
        self.execute("PRAGMA trusted_schema=OFF")

    def _open_to_write(self) -> None:
        self._connect(self.file, "rwc")
        if not self._is_ours():
            # Two studies may start in one folder. The study that gets the lock creates the tables.
            self.execute("BEGIN IMMEDIATE")
            if not self._is_ours_now():  # no other process created them
                self._create()
            self.execute("COMMIT")
        # With a write-ahead log, others can read while one writes, and a crash loses at most the last piece.
        self.execute("PRAGMA journal_mode=WAL")
        self.execute("PRAGMA synchronous=NORMAL")

    def _open_to_read(self) -> None:
        if self.file.is_file():
            try:
                self._connect(self.file)
                ours = self._is_ours()
            except sqlite3.OperationalError:
                self._connect(self._copied())
                ours = self._is_ours()
            if ours:
                # SQLite must open a file with a log for writing. Forbid writing from here on.
                self.execute("PRAGMA query_only=ON")
                return
        self.connection.close()
        self.connection = _nothing()
        self._create()

    def _copied(self) -> Path:
        """Return a copy of the file, because SQLite must write to the folder of a file with a log."""
        self._copy = tempfile.TemporaryDirectory()
        copy = Path(self._copy.name) / self.file.name
        # The log is part of the content. SQLite creates the other files again.
        for end in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{self.file}{end}", f"{copy}{end}")
        return copy

    def _create(self) -> None:
        for name, columns in self._columns.items():
            self.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        for name, on in self._indexes.items():
            self.execute(f"CREATE INDEX {name} ON {on}")
        self.execute(f"PRAGMA application_id={_APPLICATION}")
        self.execute(f"PRAGMA user_version={self._format}")

    def _is_ours(self) -> bool:
        """Return `_is_ours_now` in one transaction, because another process may be creating the file."""
        self.execute("BEGIN")
        ours = self._is_ours_now()
        self.execute("COMMIT")
        return ours

    def _is_ours_now(self) -> bool:
        """Return whether the file is a store, False if it is empty; raise ``ValueError`` for other files."""
        (application,) = self.execute("PRAGMA application_id").fetchone()
        (number,) = self.execute("PRAGMA user_version").fetchone()
        objects = self.execute("SELECT type, name FROM sqlite_master").fetchall()
        # SQLite creates an empty file when it opens a missing one.
        if (application, number, objects) == (0, 0, []):
            return False
        known = {("table", name) for name in self._columns} | {("index", name) for name in self._indexes}
        # Also reject triggers and views, which would run with the next insertion into an untrusted file.
        others = {thing for thing in objects if not str(thing[1]).startswith("sqlite_autoindex_")} - known
        if others or application not in (0, _APPLICATION):
            raise ValueError(
                f"{self.file} must be a store of cmab, got a database of another program (or a damaged one);"
                " choose another folder, or move the file away"
            )
        self._check_format(number)
        return True

    def _check_format(self, number: int) -> None:
        """Raise ``ValueError`` for a file of another version, because its pieces would look damaged."""
        differing = [
            name
            for name, columns in self._columns.items()
            if [row[1] for row in self.execute(f"PRAGMA table_info({name})")]
            != [column.split()[0] for column in columns]
        ]
        if number != self._format or differing:
            what = (
                f"other columns in {', '.join(differing)}" if number == self._format else f"format {number}"
            )
            raise ValueError(
                f"{self.file} must have format {self._format} of this version of cmab, got {what};"
                " choose another folder, or use the version of cmab that wrote the file"
            )

    def _check_whole(self, *, mend: bool) -> None:
        """Raise ``OSError`` if tables and indexes disagree; otherwise pieces could appear to be missing."""
        state = _state(self.file)
        if _whole.get(self.file) == state:
            return
        fault = self._fault()
        if fault is not None and mend:
            # Indexes can be rebuilt from the tables, but damaged tables cannot.
            with suppress(sqlite3.Error):
                self.execute("REINDEX")
            fault = self._fault()
        if fault is not None:
            raise OSError(f"{self.file}: {fault}; it is damaged; {_MOVE}")
        _whole[self.file] = state

    def _fault(self) -> str | None:
        try:
            (found,) = self.execute("PRAGMA integrity_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            # Busy or out of memory: the file may be intact.
            if isinstance(error, sqlite3.OperationalError):
                raise
            return str(error)
        return None if found == "ok" else " ".join(str(found).split())


def _nothing() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def _state(file: Path) -> tuple[object, ...]:
    """Return inode, size and time of the file and its log, which change when they are written."""
    found: list[object] = []
    for path in (file, file.with_name(f"{file.name}-wal")):
        try:
            status = path.stat()
        except OSError:
            continue
        # A replaced file has another inode, even if size and time are the same.
        found += [status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(found)
