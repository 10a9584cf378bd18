"""The file of a store: what makes it ours, how it is read on a read-only disk, what to do about errors."""

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

# What SQLite's header says of the program that the file belongs to.
_APPLICATION = int.from_bytes(b"cmab", "big")
_BUSY_SECONDS = 60.0
_RETRY_SECONDS = 0.01
_MOVE = "move it away and run again"
# By words of SQLite's messages, the first that fits: its codes tell fewer cases apart.
_HINTS = {
    "full": "free some space and run again: what was finished is kept",
    "disk I/O": "see that the disk works, has space and is there, and run again: what was finished is kept",
    "readonly": "it needs permission to write",
    "unable to open": "it needs permission to write, and a path of at most 512 characters",
    "locked": "another process holds it; run again when that one has ended",
    "malformed": f"it is damaged; {_MOVE}",
    "not a database": f"it is damaged or no store; {_MOVE}",
}
# Files that were found whole, by their state then: the check reads all of a file, and studies open it often.
_whole: dict[Path, tuple[object, ...]] = {}


class StoreFile:
    """A connection to the SQLite file of a store.

    Parameters
    ----------
    file : Path
        The file. Its folder must exist if it is written.
    columns : mapping of str to sequence of str
        The columns of each table, as in ``CREATE TABLE``.
    indexes : mapping of str to str
        What each index is on.
    number : int
        The format, kept as ``user_version``.
    reading : bool
        Whether nothing is written: a file that is missing stays so, and is read as if it were empty.

    Raises
    ------
    ValueError
        If the file is another program's or another version's.
    OSError
        If it cannot be read or written, or is damaged.
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
        # A connection that can be closed, whatever fails from here on.
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
        """Run a statement, again while another process opens, closes or repairs the file.

        SQLite waits for a lock by itself, except for those: there it says "locked" at once.
        """
        deadline = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return self.connection.execute(statement, values)
            except sqlite3.OperationalError as error:
                # An extended code has the primary one in its low byte.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_RETRY_SECONDS)

    def rows(self, statement: str, *values: str) -> Iterator[dict[str, Any]]:
        """Yield what a statement selects, by the names of the columns."""
        with self.faults():
            cursor = self.execute(statement, values)
            names = [description[0] for description in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))

    def check_there(self) -> None:
        """Raise ``OSError`` if the file that is open is not at its path any more.

        SQLite goes on writing into a file that was removed, and all of that is lost with it.
        """
        try:
            status = self.file.stat()
        except OSError:
            status = None
        if status is None or (status.st_dev, status.st_ino) != self._place:
            raise OSError(
                f"{self.file} was moved, replaced or removed while it was in use; put it back and run again:"
                " what was finished before is kept in it"
            )

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Say what to do about an error of SQLite."""
        try:
            yield
        except (sqlite3.Error, UnicodeError, MemoryError) as error:  # the last two: names and lengths damaged
            advice = next((hint for word, hint in _HINTS.items() if word in str(error)), None)
            if advice is None:
                is_known = isinstance(error, sqlite3.OperationalError)
                advice = "run again" if is_known else f"it seems to be damaged; {_MOVE}"
            raise OSError(f"{self.file}: {error}; {advice}") from error

    def _check_places(self) -> None:
        """Refuse links, which lead elsewhere in a folder that came by mail, and whatever is no file."""
        for end in ("", "-wal", "-shm", "-journal"):
            place = self.file.with_name(f"{self.file.name}{end}")
            try:
                mode = place.lstat().st_mode  # asked once: SQLite removes its journals at any time
            except OSError:  # not there, or not to be seen: opening it will tell
                continue
            if not stat.S_ISREG(mode):
                what = "a link" if stat.S_ISLNK(mode) else "something else"
                raise OSError(f"{place} must be a file of its own, got {what}; {_MOVE}")

    def _connect(self, file: Path, mode: str = "rw") -> None:
        """Open a file that is there; damaged text stays text that differs from what was written."""
        self.connection.close()
        self.connection = sqlite3.connect(
            f"{file.absolute().as_uri()}?mode={mode}", timeout=_BUSY_SECONDS, isolation_level=None, uri=True
        )
        self.connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        # What the file itself defines must run nothing.
        self.execute("PRAGMA trusted_schema=OFF")

    def _open_to_write(self) -> None:
        self._connect(self.file, "rwc")
        if not self._is_ours():
            # Two studies may begin in one folder: the one that gets the lock makes the tables.
            self.execute("BEGIN IMMEDIATE")
            if not self._is_ours_now():  # nobody was faster
                self._create()
            self.execute("COMMIT")
        # With a log, others read while one writes, and a crash costs the last piece at most.
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
                # The file had to be opened for writing, for its log; from here on nothing is written.
                self.execute("PRAGMA query_only=ON")
                return
        self.connection.close()
        self.connection = _nothing()
        self._create()

    def _copied(self) -> Path:
        """Return a copy: SQLite reads a file with a log only where it may write beside it."""
        self._copy = tempfile.TemporaryDirectory()
        copy = Path(self._copy.name) / self.file.name
        # What the log holds belongs to the file; SQLite makes the rest anew.
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
        """Return what `_is_ours_now` does, of one state of a file that others may just be setting up."""
        self.execute("BEGIN")
        ours = self._is_ours_now()
        self.execute("COMMIT")
        return ours

    def _is_ours_now(self) -> bool:
        """Return whether it is a store, or empty; refuse what another program or version wrote."""
        (application,) = self.execute("PRAGMA application_id").fetchone()
        (number,) = self.execute("PRAGMA user_version").fetchone()
        objects = self.execute("SELECT type, name FROM sqlite_master").fetchall()
        # An empty file, as SQLite makes it when it is opened.
        if (application, number, objects) == (0, 0, []):
            return False
        known = {("table", name) for name in self._columns} | {("index", name) for name in self._indexes}
        # Triggers and views too: in a file that came by mail, they would run with the next insertion.
        others = {thing for thing in objects if not str(thing[1]).startswith("sqlite_autoindex_")} - known
        if others or application not in (0, _APPLICATION):
            raise ValueError(
                f"{self.file} must be a store of cmab, got a database of another program (or a damaged one);"
                " choose another folder, or move it away"
            )
        self._check_format(number)
        return True

    def _check_format(self, number: int) -> None:
        """Refuse what another version wrote: its pieces would look damaged, and be removed."""
        differing = [
            name
            for name, columns in self._columns.items()
            if [row[1] for row in self.execute(f"PRAGMA table_info({name})")]
            != [column.split()[0] for column in columns]
        ]
        if number != self._format or differing:
            what = f"columns of {', '.join(differing)}" if number == self._format else f"format {number}"
            raise ValueError(
                f"{self.file} must be written by this version of cmab (format {self._format}), got {what} of"
                " another version; choose another folder, or read this one with that version"
            )

    def _check_whole(self, *, mend: bool) -> None:
        """Refuse a file whose tables and indexes disagree: pieces would be missing, or never be mended."""
        state = _state(self.file)
        if _whole.get(self.file) == state:
            return
        fault = self._fault()
        if fault is not None and mend:
            # Indexes can be made again from the tables; a table that is damaged cannot.
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
            # Busy, or no memory: says nothing of the file.
            if isinstance(error, sqlite3.OperationalError):
                raise
            return str(error)
        return None if found == "ok" else " ".join(str(found).split())


def _nothing() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def _state(file: Path) -> tuple[object, ...]:
    """Return what changes with the file and its log."""
    found: list[object] = []
    for path in (file, file.with_name(f"{file.name}-wal")):
        try:
            status = path.stat()
        except OSError:
            continue
        # Another file in its place has another number, even of the same size and time.
        found += [status.st_ino, status.st_size, status.st_mtime_ns]
    return tuple(found)
