"""Standard streams that do not end a run: closed ones, readers that left, letters that they cannot show."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


class Lossy:
    """A text stream that drops what cannot be written.

    Parameters
    ----------
    stream : TextIO or None
        Where to write; None, as Python has it where the stream was closed before it started, drops all.
    ignored : tuple of type of Exception
        Errors that are no reason to stop. Others are raised.
    """

    def __init__(self, stream: TextIO | None, ignored: tuple[type[Exception], ...]) -> None:
        self._stream, self._ignored = stream, ignored

    def write(self, text: str) -> int:
        """Write, with escapes for what the encoding lacks."""
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
        """Hand on what is buffered."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except self._ignored:
                self._drop()

    def isatty(self) -> bool:
        """Return whether somebody looks on."""
        return self._stream is not None and not self._stream.closed and self._stream.isatty()

    @property
    def closed(self) -> bool:
        """Whether what is written raises an error."""
        return self._stream is not None and self._stream.closed

    def _drop(self) -> None:
        """Have the rest go nowhere: what is buffered would otherwise fail again when Python ends."""
        with suppress(OSError, ValueError):
            assert self._stream is not None
            # The descriptor itself is led away, for Python flushes its own buffer at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def lossy_streams() -> Iterator[None]:
    """Go on without readers: of the results if they have seen enough, of messages whatever the reason."""
    before: tuple[Any, Any] = sys.stdout, sys.stderr
    streams: Any = Lossy(before[0], (BrokenPipeError,)), Lossy(before[1], (OSError, ValueError))
    sys.stdout, sys.stderr = streams
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def open_closed_descriptors() -> None:
    """Let standard streams that are closed lead nowhere: else files and workers would get their numbers."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # workers need them too


@contextmanager
def open_streams() -> Iterator[None]:
    """Have standard streams that lead nowhere where there are none, as under a service without a terminal."""
    open_closed_descriptors()
    missing = [name for name in ("stdout", "stderr") if getattr(sys, name) is None]
    for name in missing:
        setattr(sys, name, Lossy(None, ()))
    try:
        yield
    finally:
        for name in missing:
            setattr(sys, name, None)


def fitted(text: str, columns: int) -> str:
    """Return a line as lines of so many columns, the further ones below where its last column of text begins.

    That is where two blanks or more stand last within the first half.
    """
    gaps = [gap.end() for gap in re.finditer(r" {2,}", text) if gap.end() <= columns // 2]
    return textwrap.fill(
        text,
        columns,
        subsequent_indent=" " * (gaps[-1] if gaps else 0),
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    )


def printable(text: str) -> str:
    """Return `text` with escapes for control characters, which would command the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
