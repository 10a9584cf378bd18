"""Journal files: one line for each event, in a file that only grows.

An incomplete last line is not an event: its call has not returned. Several lines of one call are written
with another first byte than that of a line. It is replaced after all of them are on the disk, so the call has
stored all of them or none.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cmab._faults import in_words, noted, told
from cmab.campaigns._course import Course
from cmab.campaigns._schema import Event
from cmab.campaigns.stores._store import BEGINNING, CLOSED, END, Store, Waiting
from cmab.saving._atomic import sync_folder, write_bytes

_PLAIN = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN = _PLAIN | os.O_APPEND
#: The first byte of several lines of one call, until all of them are on the disk.
_UNFINISHED = b"~"


class JournalFile(Store):
    """A journal file, and the position up to which it has been read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # An absolute path stays valid if the process changes its folder.
        self.path, self._file = Path(path).absolute(), -1
        super().__init__(str(self.path), str(self.path))

    def rewind(self) -> None:
        """Start the next read at the beginning of the file."""
        super().rewind()
        self._offset = 0

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self.path.exists()

    @contextmanager
    def held(self, *, create: bool = False, waiting: Waiting = None) -> Iterator[None]:  # noqa: ARG002
        """Open and lock the file for `read` and `append`."""
        # The file is opened anew each time, so a forked process shares no lock with its parent.
        try:
            descriptor = os.open(self.path, _OPEN | (os.O_CREAT if create else 0), 0o666)
        except OSError as error:
            raise in_words(error, self.path) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ValueError(f"{self.path} must be a regular file, got a pipe or device")
            try:
                _lock(descriptor)
            except OSError as error:
                why = "a journal must be on a drive that can lock files"
                raise noted(error.errno, self.path, why) from error
            self._file = descriptor
            yield
        finally:
            os.close(descriptor)

    def read(self) -> list[Event]:
        """Return the events since the last call, and repair an incomplete last line."""
        with open(self._file, "rb", closefd=False) as file:
            file.seek(max(0, self._offset - END - 1))
            if self._check not in file.read(min(self._offset, END + 1)):
                raise self._replaced()
            file.seek(self._offset)
            data = file.read()
        if not data:
            return []
        found, tail = self.parse(data)
        if tail:
            # The process that wrote it was killed before its call returned.
            os.ftruncate(self._file, self._offset)
        elif found:
            self._end_line()
        return found

    def first_event(self) -> Event | None:
        """Return the event in the first line, or None if there is no whole line."""
        with told(self.path), self.path.open("rb") as file:
            line = file.readline()
        found, _ = JournalFile(self.path).parse(line)
        if not found:
            return None
        self._first = line.removesuffix(b"\n"), found[0]
        return found[0]

    def all_lines(self) -> list[bytes]:
        """Return the lines of the whole file without a lock."""
        with told(self.path):
            data = self.path.read_bytes()
        found, _ = JournalFile(self.path).parse(data)
        return data.split(b"\n")[: len(found)]

    def first_lines(self, n: int) -> list[bytes]:
        """Return the first `n` lines of the open file."""
        with open(self._file, "rb", closefd=False) as file:
            file.seek(0)
            data = file.read()
        return data.split(b"\n", n)[:n]

    def resume(self, lines: list[bytes], course: Course) -> None:
        """Continue to read after lines that a checkpoint contains."""
        super().resume(lines, course)
        self._offset = sum(map(len, lines)) + len(lines)

    def checkpoint(self) -> bytes | None:
        """Return the contents of the file of the checkpoint beside the journal."""
        try:
            return self._beside.read_bytes()
        except OSError:
            return None

    def keep_checkpoint(self, data: bytes) -> None:
        """Replace the file of the checkpoint."""
        write_bytes(self._beside, data)

    @property
    def _beside(self) -> Path:
        return self.path.with_name(f"{self.path.name}.checkpoint")

    def close(self) -> None:
        """Do nothing, because the file is closed after each call."""

    def parse(self, data: bytes) -> tuple[list[Event], bytes]:
        """Return the events in the bytes after those already read, and the rest of an incomplete line."""
        data, unfinished = self._without_unfinished(data)
        *lines, tail = data.split(b"\n")
        found = [self._checked(line, len(line) + 1) for line in lines]
        if unfinished:
            return found, unfinished
        if tail and self._is_whole(tail):  # only the line feed is missing
            return [*found, self._checked(tail, len(tail))], b""
        if CLOSED.search(tail):  # the line was written completely, so its call may have returned
            self._checked(tail, len(tail))
        if tail and self.n_read == 0:
            is_cut = tail.startswith(BEGINNING) or BEGINNING.startswith(tail)
            why = (
                "; the first line is not whole: restore a backup, or delete the file if the campaign is new"
                if is_cut
                else ""
            )
            raise ValueError(f"{self.path} must be the journal of a campaign, got {tail[:40]!r}{why}")
        return found, tail

    def _without_unfinished(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the bytes before and after the beginning of lines whose call was interrupted."""
        if self._offset and data.startswith(_UNFINISHED):
            return b"", data
        place = data.find(b"\n" + _UNFINISHED) + 1
        return (data[:place], data[place:]) if place else (data, b"")

    def adopt(self, lines: list[bytes]) -> None:
        """Write the lines of another store in one step: the file has all of them or remains empty."""
        if sys.platform == "win32":  # an open file cannot be replaced; `_write` marks unfinished lines
            super().adopt(lines)
            return
        for line in lines:
            self._checked(line, len(line) + 1)
        write_bytes(self.path, b"".join(line + b"\n" for line in lines))

    def _write(self, lines: list[bytes], first: int) -> None:
        data = b"".join(line + b"\n" for line in lines)
        is_batch = len(lines) > 1
        try:
            _write(self._file, _UNFINISHED + data[1:] if is_batch else data)
            os.fsync(self._file)
            if is_batch:
                self._finish(data[:1])
            if first == 1:
                sync_folder(self.path.parent)
            if os.fstat(self._file).st_nlink == 0:  # the file was deleted, so its contents would be lost
                raise FileNotFoundError(errno.ENOENT, "")
        except BaseException as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._offset)
            if isinstance(error, OSError):
                raise in_words(error, self.path) from error
            raise
        self._offset += len(data)

    def _finish(self, byte: bytes) -> None:
        """Replace the first byte of new lines, which makes all of them events."""
        # A file that is opened for appending cannot be written at another position.
        descriptor = os.open(self.path, _PLAIN)
        try:
            if not os.path.samestat(os.fstat(descriptor), os.fstat(self._file)):
                raise FileNotFoundError(errno.ENOENT, "")
            os.lseek(descriptor, self._offset, os.SEEK_SET)
            _write(descriptor, byte)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _end_line(self) -> None:
        """Append the line feed if it is missing, for example after an editor removed it."""
        os.lseek(self._file, self._offset - 1, os.SEEK_SET)
        if os.read(self._file, 1) != b"\n":
            _write(self._file, b"\n")
            self._offset += 1

    def _remedy(self) -> str:
        return f"use a copy of the file that is cut after byte {self._offset}"

    def _advance(self, line: bytes, size: int = 0) -> None:
        super()._advance(line)
        self._offset += size


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


# Only one process at a time can hold a file. Each system has its own function for this.
if sys.platform == "win32":
    import msvcrt

    # Far beyond the end of the file: on Windows, other processes cannot read a locked part.
    _BEYOND = 2**40

    def _lock(descriptor: int) -> None:
        """Wait for the lock of the open file; closing the file or ending the process releases it."""
        os.lseek(descriptor, _BEYOND, os.SEEK_SET)
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return
            except OSError:
                time.sleep(0.01)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        """Wait for the lock of the open file; closing the file or ending the process releases it."""
        # The lock belongs to the open file, not to the process, so two campaigns of one process exclude each
        # other as well.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
