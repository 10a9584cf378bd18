"""What to do about an error of the file system, in words."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

_FULL = "the drive is full. Free some space and call again"
_CLOSED = "the file cannot be written. Make the file and its folder writable, or choose another path"
_REMEDIES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EROFS: _CLOSED,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.ENOENT: "the file or its folder is missing. Put it back, or choose another path",
    errno.ENOTDIR: "a part of the path is no folder. Choose another path",
    errno.EISDIR: "the path is a folder. Choose the path of a file",
    errno.EIO: "the drive failed. Check the drive, or choose a path on another one",
    errno.ESTALE: "the folder is no longer mounted. Mount it again, or choose another path",
}


def in_words(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """Return the error with its path and what to do, as an error of the same class."""
    remedy = _REMEDIES.get(error.errno or 0)
    if remedy is None:
        return error
    reason = os.strerror(error.errno or 0)
    return OSError(error.errno, f"{reason}: {remedy}. Nothing that was saved before is lost", str(path))


@contextmanager
def told(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise errors of the file system with their path and what to do."""
    try:
        yield
    except OSError as error:
        raise in_words(error, path) from error
