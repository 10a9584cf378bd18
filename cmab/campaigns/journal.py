"""Journals: the events of a campaign as lines of JSON in a file that only grows.

Each line ends with a checksum of this line and of all lines before it, so a reader detects lines that were
changed, removed or moved. An incomplete last line is not an event: its call has not returned.
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

from cmab._faults import in_words, noted, told
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
# The beginning of every journal. No other file is ever truncated or written to.
_BEGINNING = b'{"event":"campaign"'


def events(path: str | os.PathLike[str]) -> list[Event]:
    """Return the events of a journal, oldest first; the first event describes the campaign.

    Events identify the entries of super arms, and base arms, by their places in the lists of names in the
    first event. Events of kind ``"changed"`` extend these lists. The function neither locks nor writes the
    file.

    Parameters
    ----------
    path : str or path-like
        The journal file of a `cmab.Campaign`.

    Raises
    ------
    ValueError
        If a line is damaged or cannot follow the lines before it, or if the file is not a journal (for
        example, if it is empty).
    OSError
        If the file cannot be read.

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
        raise ValueError(f"{journal.path} must be the journal of a campaign, got no complete line")
    return found


class Journal:
    """A journal file, and the position up to which it has been read."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # An absolute path stays valid if the process changes its folder.
        self.path, self._file = Path(path).absolute(), -1
        self.rewind()

    def rewind(self) -> None:
        """Start the next read at the beginning of the file."""
        self._offset, self._lines, self._check = 0, 0, b""
        #: The events so far, which determine the valid next events.
        self._course = Course()

    @contextmanager
    def held(self, *, create: bool = False) -> Iterator[None]:
        """Open and lock the file for `read` and `append`; no other process can hold it at the same time.

        Raises
        ------
        OSError
            If the file cannot be opened, locked, read or written. The message contains the path and a remedy.
        """
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
        """Return the events since the last call, by any process, and repair an incomplete last line."""
        with open(self._file, "rb", closefd=False) as file:
            file.seek(max(0, self._offset - _END - 1))
            if self._check not in file.read(min(self._offset, _END + 1)):
                raise ValueError(
                    f"{self.path} must not be replaced or shortened while a campaign uses it, got a file"
                    " without the lines that were read before; construct the campaign again"
                )
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

    def parse(self, data: bytes) -> tuple[list[Event], bytes]:
        """Return the events in the bytes after those already read, and the rest of an incomplete line."""
        *lines, tail = data.split(b"\n")
        found = [self._checked(line, len(line) + 1) for line in lines]
        if tail and self._is_whole(tail):  # only the line feed is missing
            return [*found, self._checked(tail, len(tail))], b""
        if _CLOSED.search(tail):  # the line was written completely, so its call may have returned
            self._checked(tail, len(tail))
        if tail and self._lines == 0 and not (tail.startswith(_BEGINNING) or _BEGINNING.startswith(tail)):
            raise ValueError(f"{self.path} must be the journal of a campaign, got {tail[:40]!r}")
        return found, tail

    def append(self, event: Event) -> Event:
        """Write an event with its time to the disk; if this fails, the file stays unchanged.

        Returns
        -------
        dict
            The event as readers of the journal get it.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        # Clocks can be set back. The times of a ticket never decrease, so that a reader can check them.
        event = event | {"at": max(now, self._course.earliest(event))}
        text = json.dumps(event, allow_nan=False, separators=(",", ":"), default=np.ndarray.tolist)
        written: Event = json.loads(text)
        try:
            self._course.check(written)  # so that every written journal can be opened again
        except ValueError as error:
            raise ValueError(f"{self.path} cannot store the event {shown(event)}: {error}") from None
        body = text.encode()[:-1]
        check = self._check_of(body)
        line = body + _MARK + check + b'"}\n'
        try:
            _write(self._file, line)
            os.fsync(self._file)
            if self._lines == 0:
                sync_folder(self.path.parent)
            if os.fstat(self._file).st_nlink == 0:  # the file was deleted, so its contents would be lost
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
        """Append the line feed if it is missing, for example after an editor removed it."""
        os.lseek(self._file, self._offset - 1, os.SEEK_SET)
        if os.read(self._file, 1) != b"\n":
            _write(self._file, b"\n")
            self._offset += 1

    def _checked(self, line: bytes, size: int) -> Event:
        """Validate the next line and return its event."""
        if self._lines == 0 and not line.startswith(_BEGINNING):
            raise ValueError(f"{self.path} must be the journal of a campaign, got {line[:40]!r}")
        if not self._is_whole(line):
            raise self._wrong(
                f"must end with the checksum of its text, got {line[-_END:]!r}: it is damaged, or a line"
                " before it is missing"
            )
        try:
            text = (line[:-_END] + b"}").decode()
            event: Event
            event, end = _DECODER.raw_decode(text)
            if end < len(text):
                raise ValueError(f"text after the event, {shown(text[end:])}")
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
        """Return an error with the number of the next line, the fault and a remedy."""
        return ValueError(
            f"{self.path}, line {self._lines + 1}, {why}. The {self._lines} lines before it are valid: to"
            f" continue from them, use a copy of the file that is cut after byte {self._offset}"
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
