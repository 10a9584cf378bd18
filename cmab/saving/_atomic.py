"""Writing a file completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from cmab._faults import in_words

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def write_bytes(path: Path, data: bytes, *, follow: bool = True) -> None:
    """Write `data` to `path` in one step, and replace an existing file.

    If `path` is a link, the function replaces the target of the link. With ``follow=False``, it replaces the
    link itself. The new file gets the mode of the old file. If the process is killed, a temporary file may
    remain. Its name begins with a dot and ends with ``.part``. It can be deleted.

    Raises
    ------
    OSError
        If the file cannot be written, with the path and a remedy. An existing file at `path` is unchanged.
    """
    try:
        _write_bytes(path, data, follow)
    except OSError as error:
        raise in_words(error, path) from error


def _write_bytes(path: Path, data: bytes, follow: bool) -> None:
    # Replace the target of a link, so that the link remains.
    target = Path(os.path.realpath(path)) if follow else path.absolute()
    try:
        found = target.lstat().st_mode
        mode = None if stat.S_ISLNK(found) else stat.S_IMODE(found)
    except FileNotFoundError:
        found, mode = stat.S_IFREG, None
    if not (stat.S_ISREG(found) or stat.S_ISLNK(found)):
        raise OSError(errno.EINVAL, "Must be a regular file, not a folder, pipe or device", str(path))
    # An unpredictable name that must not exist, so that a link at this name cannot redirect the data.
    start = os.fsencode(target.name)[:100].decode(errors="ignore")  # a name has at most 255 bytes
    temporary = target.with_name(f".{start}.{secrets.token_hex(8)}.part")
    try:
        descriptor = os.open(temporary, _NEW, 0o666 if mode is None else 0o600)
    except OSError as error:
        error.filename = os.fspath(path)  # the user does not know the temporary file
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                # Until here only the owner can read the file. Now it gets the mode of the old file.
                os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            # Sync before renaming, otherwise a power failure may leave an empty file.
            os.fsync(descriptor)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder on POSIX systems, so that a new name in it survives a power failure."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network drives do not support it, and the file is already complete
        pass
    finally:
        os.close(descriptor)
