"""A journal: events of a campaign as lines of JSON that are only ever appended.

Each line ends with a checksum of itself and of the one before, so that a line that was changed, lost or put
elsewhere is noticed. A last line that was not written to its end is none: nobody has acted on it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from cmab._faults import in_words, told
from cmab.campaigns._course import Course
from cmab.campaigns._schema import Event
from cmab.renamed import up_to_date
from cmab.saving._atomic import sync_folder
from cmab.validation import shown

_DECODER = json.JSONDecoder()
_OPEN = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_DIGITS = 16
_MARK = b',"check":"'
_END = len(_MARK) + _DIGITS + len(b'"}')
_CLOSED = re.compile(re.escape(_MARK) + b'[0-9a-f]{16}"}')
# How every journal begins: no other file is ever cut or written to.
_BEGINNING = b'{"event":"campaign"'


def events(path: str | os.PathLike[str]) -> list[Event]:
    """Return the events of a journal, oldest first; the first describes the campaign.

    Super arms, arms and outcomes are numbered by the lists of names in the first event, continued by those of
    events ``"changed"``. Nothing is locked or written.

    Parameters
    ----------
    path : str or path-like
        The file of a `cmab.Campaign`.

    Raises
    ------
    ValueError
        If a line is damaged or cannot follow the lines before it, or the file is none of a campaign, such as
        an empty one.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign
    >>> from cmab.campaigns.journal import events
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.jsonl")
    ...     request = Campaign(CUCB(TopK(5, k=2)), path, rng=0).ask()
    ...     [event["event"] for event in events(path)]
    ['campaign', 'ask']
    """
    journal = Journal(path)
    with told(journal.path):
        data = journal.path.read_bytes()
    found, _ = journal.parse(data)
    if not found:
        raise ValueError(f"{journal.path} must be the journal of a campaign, got no whole line")
    return found


class Journal:
    """A file of events, and how far it was read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Whatever folder the process goes to later.
        self.path, self._file = Path(path).absolute(), -1
        self.rewind()

    def rewind(self) -> None:
        """Read from the beginning next time."""
        self._offset, self._lines, self._check = 0, 0, b""
        #: What the lines so far say, by which the next one is checked.
        self._course = Course()

    @contextmanager
    def held(self, *, create: bool = False) -> Iterator[None]:
        """Open the file, alone of all processes, for `read` and `append`.

        Raises
        ------
        OSError
            If the file cannot be opened, locked, read or written, with its path and what to do.
        """
        # Opened anew each time: a process that forks in between shares no lock with its child.
        try:
            descriptor = os.open(self.path, _OPEN | (os.O_CREAT if create else 0), 0o666)
        except OSError as error:
            raise in_words(error, self.path) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ValueError(f"{self.path} must be a file, got a pipe or device")
            try:
                _lock(descriptor)
            except OSError as error:
                why = f"{error.strerror}: a journal must lie on a drive that can lock files"
                raise OSError(error.errno, why, str(self.path)) from error
            self._file = descriptor
            yield
        finally:
            os.close(descriptor)

    def read(self) -> list[Event]:
        """Return the events written since the last call, by whomever; end a line that was torn."""
        with open(self._file, "rb", closefd=False) as file:
            file.seek(max(0, self._offset - _END - 1))
            if self._check not in file.read(min(self._offset, _END + 1)):
                raise ValueError(
                    f"{self.path} must not be replaced or shortened while a campaign is open on it, got"
                    " another or a shorter file than was read before: make the campaign anew"
                )
            file.seek(self._offset)
            data = file.read()
        if not data:
            return []
        found, tail = self.parse(data)
        if tail:
            # The process that wrote it was killed on the way, so it has not acted on it.
            os.ftruncate(self._file, self._offset)
        elif found:
            self._end_line()
        return found

    def parse(self, data: bytes) -> tuple[list[Event], bytes]:
        """Return the events in the bytes that follow what was read, and what a torn line has left."""
        *lines, tail = data.split(b"\n")
        found = [self._checked(line, len(line) + 1) for line in lines]
        if tail and self._is_whole(tail):  # all but the end of the line
            return [*found, self._checked(tail, len(tail))], b""
        if _CLOSED.search(tail):  # not torn: it was written to its end, and acted on
            self._checked(tail, len(tail))
        if tail and self._lines == 0 and not (tail.startswith(_BEGINNING) or _BEGINNING.startswith(tail)):
            raise ValueError(f"{self.path} must be the journal of a campaign, got {tail[:40]!r}")
        return found, tail

    def append(self, event: Event) -> Event:
        """Write an event with its time, on the disk when this returns; what fails leaves the file as it was.

        Returns
        -------
        dict
            The event as others will read it.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        # Clocks are set back; times of a ticket never decrease, so that a reader can check them.
        event = event | {"at": max(now, self._course.earliest(event))}
        text = json.dumps(event, allow_nan=False, separators=(",", ":"), default=np.ndarray.tolist)
        written: Event = json.loads(text)
        try:
            self._course.check(written)  # what is written can be opened again
        except ValueError as error:
            raise ValueError(f"{self.path} cannot keep the event {shown(event)}: {error}") from None
        body = text.encode()[:-1]
        check = self._check_of(body)
        line = body + _MARK + check + b'"}\n'
        try:
            _write(self._file, line)
            os.fsync(self._file)
            if self._lines == 0:
                sync_folder(self.path.parent)
            if os.fstat(self._file).st_nlink == 0:  # what is written to a file without a name would be lost
                raise FileNotFoundError(errno.ENOENT, "")
        except BaseException as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._offset)
            if isinstance(error, OSError):
                raise in_words(error, self.path) from error
            raise
        self._course.note(written)
        self._advance(len(line), check)
        return written

    def _end_line(self) -> None:
        """Put the end to a line that lacks nothing else, or was saved without by an editor."""
        os.lseek(self._file, self._offset - 1, os.SEEK_SET)
        if os.read(self._file, 1) != b"\n":
            _write(self._file, b"\n")
            self._offset += 1

    def _checked(self, line: bytes, size: int) -> Event:
        """Return the event of the next line."""
        if self._lines == 0 and not line.startswith(_BEGINNING):
            raise ValueError(f"{self.path} must be the journal of a campaign, got {line[:40]!r}")
        if not self._is_whole(line):
            raise self._wrong(
                f"must have the checksum that it was written with, got {line[-_END:]!r} at its end: it is"
                " damaged, or a line before it is missing"
            )
        try:
            text = (line[:-_END] + b"}").decode()
            event: Event
            event, end = _DECODER.raw_decode(text)
            if end < len(text):
                raise ValueError(f"something behind the event, {shown(text[end:])}")
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"must be an event in JSON, got {type(error).__name__} {error}") from None
        try:
            self._course.check(event)
        except ValueError as error:
            raise self._wrong(
                f"must be an event that can follow the lines before it, got {shown(event)}: {error}"
            ) from None
        if "policy" in event:
            event["policy"] = up_to_date(event["policy"])
        self._course.note(event)
        self._advance(size, line[-_DIGITS - 2 : -2])
        return event

    def _wrong(self, why: str) -> ValueError:
        """Return the error that names the next line, what is wrong with it, and how to go on."""
        return ValueError(
            f"{self.path}, line {self._lines + 1}, {why}. The {self._lines} lines before it are whole: with a"
            f" copy of the file cut there, after byte {self._offset}, the campaign goes on from them"
        )

    def _is_whole(self, line: bytes) -> bool:
        return line[-_END:] == _MARK + self._check_of(line[:-_END]) + b'"}'

    def _check_of(self, body: bytes) -> bytes:
        """Return the checksum of the next line, which depends on all lines before it."""
        return hashlib.sha256(self._check + body).hexdigest()[:_DIGITS].encode()

    def _advance(self, size: int, check: bytes) -> None:
        self._offset, self._lines, self._check = self._offset + size, self._lines + 1, check


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


# One process at a time on one file, on each system by its own means.
if sys.platform == "win32":
    import msvcrt

    # Far behind the end: on Windows a locked part of a file cannot be read by others.
    _BEYOND = 2**40

    def _lock(descriptor: int) -> None:
        """Wait until the open file is ours; closing it, or the end of the process, gives it back."""
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
        """Wait until the open file is ours; closing it, or the end of the process, gives it back."""
        # Of the opened file, not of the process: two campaigns of one process exclude each other, too.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
