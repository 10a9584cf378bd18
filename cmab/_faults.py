"""Errors of files with a remedy, and error messages of the command in one sentence without traceback."""

from __future__ import annotations

import errno
import os
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from cmab._streams import printable

# The option that shows the traceback of an error.
DEBUG = "--debug"
# Worker processes inherit this variable, so that they print warnings in the format of the command.
_PLAIN = "CMAB_PLAIN_WARNINGS"
_LONGEST = 2_000
_FULL = "free some space and try again"
_CLOSED = "change the permissions, or choose another path"
_MISSING = "check the name, or put the file back"
#: Remedies by error number.
_REMEDIES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "raise the limit of the size of files (`ulimit -f`), or choose a path on another drive",
    errno.EROFS: "choose a path that can be written",
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.ENOENT: _MISSING,
    errno.ENOTDIR: _MISSING,
    errno.ELOOP: _MISSING,
    errno.EISDIR: "choose the path of a file instead of a folder",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EIO: "check that the drive works and try again, or choose a path on another drive",
    errno.ESTALE: "mount the folder again, or choose another path",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`), or use fewer workers",
    errno.ENOMEM: "use a smaller problem or fewer workers",
}


def sentence(error: Exception) -> str:
    """Return the message of an error and a remedy, without a traceback.

    For errors of files, arguments, imports and memory, the sentence contains their message. For any other
    exception, it says that the exception is a bug of cmab or of a plug-in.
    """
    if isinstance(error, MemoryError):
        what = str(error) or "an array does not fit"
        return f"not enough memory: {what}; use a smaller problem, fewer workers, or a machine with more"
    if isinstance(error, OSError):
        return _of_a_file(error)
    text = str(error)
    if text and isinstance(error, ValueError | ImportError):
        return text
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return (
        f"{type(error).__name__}{where}: {text or 'no message'}; this is a bug of cmab or of a plug-in, not"
        f" an error in your input: use {DEBUG} to see the traceback, and please report it"
    )


def of_pieces(failures: int, first: str, trace: str) -> str:
    """Return the error message for failed pieces, with the exception of the first traceback."""
    lines = trace.rstrip().split("\n")
    last = max((at for at, text in enumerate(lines) if text.startswith("  File ")), default=-1)
    # The exception and its notes follow the last frame and its source line.
    why = next((text for text in lines[last + 1 :] if text[:1].strip()), "no message")
    if why.startswith("MemoryError"):
        why = sentence(MemoryError(why.partition(": ")[2]))
    failed = "1 piece failed and is" if failures == 1 else f"{failures:,} pieces failed and are"
    return (
        f"{failed} not stored; the first is {first}: {why}; all other pieces are stored; run again to retry"
        f" the failed pieces ({DEBUG} shows the traceback)"
    )


def line(message: str) -> str:
    """Return a message of the command as one printable line."""
    text = " ".join(part.strip() for part in message.splitlines() if part.strip())
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
    return f"cmab: {printable(short)}"


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print each warning, also of workers, as one line without source code, as a context manager."""
    before, inherited = warnings.formatwarning, os.environ.get(_PLAIN)
    warnings.formatwarning = _plain
    os.environ[_PLAIN] = "1"
    try:
        yield
    finally:
        warnings.formatwarning = before
        if inherited is None:
            with suppress(KeyError):
                del os.environ[_PLAIN]


def follow_the_command() -> None:
    """Print the warnings of a worker process in the format of the command, if the command started it."""
    if os.environ.get(_PLAIN):
        warnings.formatwarning = _plain


def _plain(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    return f"{_warned(str(message))}\n"


def _warned(message: str) -> str:
    return line(f"warning: {message}")


def show_traceback(error: Exception, stream: TextIO) -> None:
    """Print the traceback of an exception, with the tracebacks of workers that it contains."""
    told = "".join(traceback.format_exception(error))
    print("\n".join(map(printable, told.rstrip().split("\n"))), file=stream)


def _of_a_file(error: OSError) -> str:
    """Return the message of an error of a file, with its path and a remedy."""
    if error.strerror is None:
        return str(error) or type(error).__name__
    # An error with a message of this package already contains a remedy.
    is_plain = error.strerror == os.strerror(error.errno or 0)
    advice = "; ".join(getattr(error, "__notes__", ())) or (
        _REMEDIES.get(error.errno or 0) if is_plain else None
    )
    told = error.strerror if error.filename is None else f"{printable(str(error.filename))}: {error.strerror}"
    if error.filename is None and error.errno == errno.ENOSPC:
        told += f" (on the disk of the output, in /dev/shm, or in {tempfile.gettempdir()})"
    return told if advice is None else f"{told}; {advice}"


def in_words(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """Return an error of the same class with the path and, as a note, a remedy."""
    remedy = _REMEDIES.get(error.errno or 0)
    if remedy is None:
        return error
    return noted(error.errno, path, f"{remedy}. Earlier saved data is not lost")


def noted(number: int | None, path: str | os.PathLike[str], remedy: str) -> OSError:
    """Return an error of a file with a remedy as a note, so that a traceback shows the path first."""
    error = OSError(number, os.strerror(number or 0), str(path))
    error.add_note(remedy)
    return error


@contextmanager
def told(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise errors of the file system with the path and a remedy, as a context manager."""
    try:
        yield
    except OSError as error:
        raise in_words(error, path) from error
