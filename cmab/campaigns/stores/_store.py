"""The interface of stores, which keep the events of one campaign as lines that are only appended.

Each line is an event in JSON. It ends with a checksum of this line and of all lines before it, so a reader
detects lines that were changed, removed or moved. All stores keep the same lines.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import numpy as np

from cmab.campaigns._course import Course
from cmab.campaigns._events import Events
from cmab.campaigns._schema import Event
from cmab.validation import shown

_DECODER = json.JSONDecoder()
_DIGITS = 16
_MARK = b',"check":"'
#: The length of the end of a line: its checksum and the closing brace.
END = len(_MARK) + _DIGITS + len(b'"}')
#: The end of any complete line.
CLOSED = re.compile(re.escape(_MARK) + b'[0-9a-f]{16}"}')
#: The beginning of the first line of every campaign. No other file is ever truncated or written to.
BEGINNING = b'{"event":"campaign"'


class Overtaken(OSError):
    """Another process has added events, so that an event can no longer be added; the call can be repeated."""


class Store(ABC):
    """The lines of one campaign, and the number of lines that have been read.

    The methods `read` and `append` are called within `held`. After a call that raises an error, the owner
    calls `rewind` and reads all lines again.

    Attributes
    ----------
    where : str
        The path or the URL for messages, without a password.
    address : str
        The path or the URL with which another process opens the same campaign.
    n_read : int
        The number of lines that were read or appended.
    """

    #: The words for a line and for the store in messages.
    unit, kind = "line", "a file"

    def __init__(self, where: str, address: str) -> None:
        self.where, self.address = where, address
        #: The line that `first_event` has validated, and its event, until the next validation.
        self._first: tuple[bytes, Event] | None = None
        self.rewind()

    def rewind(self) -> None:
        """Start the next read at the first line."""
        self.n_read, self._check = 0, b""
        self._hash = hashlib.sha256()
        #: The events so far, which determine the valid next events.
        self._course = Course()

    @abstractmethod
    def exists(self) -> bool:
        """Return whether the store may already contain events of the campaign."""

    @abstractmethod
    @contextmanager
    def held(self, *, create: bool = False, waiting: Callable[[], object] | None = None) -> Iterator[None]:
        """Lock the campaign for `read` and one `append`; no other process can hold it at the same time.

        Parameters
        ----------
        create : bool
            Whether to create the store if it does not exist.
        waiting : callable, optional
            A function to call now and then while another process holds the campaign. It can call `read`.

        Raises
        ------
        OSError
            If the store cannot be opened, locked, read or written. The message contains a remedy.
        """
        yield

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Prepare the store for `read`, without a lock if the store can read while others write."""
        with self.held():
            yield

    @abstractmethod
    def read(self) -> list[Event]:
        """Return the events since the last call, by any process."""

    @abstractmethod
    def first_event(self) -> Event | None:
        """Return the first event without a lock, or None if there is none."""

    def is_begun(self) -> bool:
        """Return whether the store has a complete first line, without its validation."""
        with self.readable():
            lines = self.first_lines(1)
        return bool(lines) and CLOSED.search(lines[0], max(0, len(lines[0]) - END)) is not None

    @abstractmethod
    def all_lines(self) -> list[bytes]:
        """Return all lines, after their validation, without a lock, and write nothing."""

    def all_events(self) -> list[Event]:
        """Return all events without a lock, and write nothing."""
        return list(Events(self.all_lines()))

    @abstractmethod
    def first_lines(self, n: int) -> list[bytes]:
        """Return the first `n` lines without a validation, or fewer if there are fewer."""

    def resume(self, lines: list[bytes], course: Course) -> None:
        """Continue to read after lines that a checkpoint contains."""
        self._course = course
        self.n_read, self._check = len(lines), lines[-1][-_DIGITS - 2 : -2]
        self._hash = hash_of(lines)

    @property
    def digest(self) -> str:
        """The hash of all lines so far."""
        return self._hash.hexdigest()

    @property
    def course(self) -> Course:
        """The events so far, which determine the valid next events."""
        return self._course

    @abstractmethod
    def checkpoint(self) -> bytes | None:
        """Return the last checkpoint, or None if there is none."""

    @abstractmethod
    def keep_checkpoint(self, data: bytes) -> None:
        """Replace the checkpoint. It is not an event, so it need not be durable."""

    def adopt(self, lines: list[bytes]) -> None:
        """Write the lines of another store to this store, which must be empty."""
        for line in lines:
            self._checked(line)
        self._write(lines, 1)

    def append(self, events: Sequence[Event]) -> list[Event]:
        """Write events with their time; all of them are durable when the call returns, or none is stored.

        Returns
        -------
        list of dict
            The events as readers get them.
        """
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines, written = [], []
        before = self.n_read
        for event in events:
            # Clocks can be set back. The times of a ticket never decrease, so that a reader can check them.
            event = event | {"at": max(now, self._course.earliest(event))}
            text = json.dumps(event, allow_nan=False, separators=(",", ":"), default=np.ndarray.tolist)
            kept: Event = json.loads(text)
            try:
                self._course.check(kept)  # so that every written line can be read again
            except ValueError as error:
                raise ValueError(f"{self.where} cannot store the event {shown(event)}: {error}") from None
            body = text.encode()[:-1]
            check = self._check_of(body)
            lines.append(body + _MARK + check + b'"}')
            written.append(kept)
            self._course.note(kept)
            self._advance(lines[-1])
        self._write(lines, before + 1)
        return written

    @abstractmethod
    def close(self) -> None:
        """Release the connection, if there is one; the next call opens it again."""

    @abstractmethod
    def _write(self, lines: list[bytes], first: int) -> None:
        """Write lines, of which the first has the number `first`, to the disk: all or none."""

    @abstractmethod
    def _remedy(self) -> str:
        """Return the remedy for an invalid line: how to continue from the lines before it."""

    def _checked(self, line: bytes, size: int = 0) -> Event:
        """Validate the next line and return its event."""
        first, self._first = self._first, None
        if self.n_read == 0 and first is not None and first[0] == line:
            self._course.note(first[1])
            self._advance(line, size)
            return first[1]
        if self.n_read == 0 and not line.startswith(BEGINNING):
            raise ValueError(f"{self.where} must be the journal of a campaign, got {line[:40]!r}")
        if not self._is_whole(line):
            raise self._wrong(
                f"must end with the checksum of its text, got {line[-END:]!r}: it is damaged, or a"
                f" {self.unit} before it is missing"
            )
        try:
            text = (line[:-END] + b"}").decode()
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
                f"must be an event that can follow the {self.unit}s before it, got {shown(event)}: {error}"
            ) from None
        self._course.note(event)
        self._advance(line, size)
        return event

    def _wrong(self, why: str) -> ValueError:
        """Return an error with the number of the next line, the fault and a remedy."""
        return ValueError(
            f"{self.where}, {self.unit} {self.n_read + 1}, {why}. The {self.n_read} {self.unit}s before it"
            f" are valid: to continue from them, {self._remedy()}"
        )

    def _replaced(self) -> ValueError:
        """Return an error for a store without the lines that were read before."""
        return ValueError(
            f"{self.where} must not be replaced or shortened while a campaign uses it, got {self.kind}"
            f" without the {self.unit}s that were read before; construct the campaign again"
        )

    def _is_whole(self, line: bytes) -> bool:
        return line[-END:] == _MARK + self._check_of(line[:-END]) + b'"}'

    def _check_of(self, body: bytes) -> bytes:
        """Return the checksum of the next line, which depends on all lines before it."""
        return hashlib.sha256(self._check + body).hexdigest()[:_DIGITS].encode()

    def _advance(self, line: bytes, size: int = 0) -> None:  # noqa: ARG002
        self.n_read, self._check = self.n_read + 1, line[-_DIGITS - 2 : -2]
        self._hash.update(line + b"\n")


def hash_of(lines: list[bytes]) -> Any:
    """Return the SHA-256 object of lines."""
    return hashlib.sha256(b"\n".join([*lines, b""]))


Waiting = Callable[[], Any] | None
