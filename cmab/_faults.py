"""Errors of files with a remedy."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

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
