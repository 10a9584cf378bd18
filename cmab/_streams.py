"""Standard streams that do not stop a run if they are closed or cannot encode a character."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


class Lossy:
    """A text stream that discards text which cannot be written.

    Parameters
    ----------
    stream : TextIO or None
        The stream. Python sets a standard stream to None if it was closed before the start. Then all text is
        discarded.
    ignored : tuple of type of Exception
        Exceptions that are ignored. Other exceptions are raised.
    """

    def __init__(self, stream: TextIO | None, ignored: tuple[type[Exception], ...]) -> None:
        self._stream, self._ignored = stream, ignored

    def write(self, text: str) -> int:
        """Write a text, with escapes for characters that the encoding lacks."""
        if self._stream is not None:
            try:
                self._write(text, self._stream)
            except self._ignored:
                self._drop()
        return len(text)

    @staticmethod
    def _write(text: str, stream: TextIO) -> None:
        try:
            stream.write(text)
        except UnicodeEncodeError as error:
            stream.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))

    def flush(self) -> None:
        """Flush the stream."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except self._ignored:
                self._drop()

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream is not None and not self._stream.closed and self._stream.isatty()

    @property
    def closed(self) -> bool:
        """Whether the stream is closed, so that writing to it raises."""
        return self._stream is not None and self._stream.closed

    def _drop(self) -> None:
        """Redirect the stream to the null device. Otherwise its buffer would raise again at exit."""
        with suppress(OSError, ValueError):
            assert self._stream is not None
            # Redirect the descriptor itself, because Python flushes its own buffer at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def lossy_streams() -> Iterator[None]:
    """Ignore a broken pipe of stdout and all errors of stderr, as a context manager."""
    before: tuple[Any, Any] = sys.stdout, sys.stderr
    streams: Any = Lossy(before[0], (BrokenPipeError,)), Lossy(before[1], (OSError, ValueError))
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def open_closed_descriptors() -> None:
    """Open closed standard descriptors on the null device, so that other files do not get their numbers."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # workers also need them


@contextmanager
def open_streams() -> Iterator[None]:
    """Replace missing standard streams, as in a service, by streams that discard text (context manager)."""
    open_closed_descriptors()
    missing = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    for name in missing:
        setattr(sys, name, Lossy(None, ()))
    try:
        yield
    finally:
        for name in missing:
            setattr(sys, name, None)


def printable(text: str) -> str:
    """Return `text` with escapes for control characters, which could control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
