"""Writing a file all or nothing."""

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
    """Put a file with `data` at `path` in one step, in the place of the one that is there.

    A link stays, and what it points to is replaced; without `follow` the link itself is. The new file gets
    the mode of the old one. What a process killed on the way leaves behind begins with a dot and ends
    with ``.part``; nobody reads it.

    Raises
    ------
    OSError
        If the file cannot be written, with its path and what to do. What was at `path` before stays.
    """
    try:
        _write_bytes(path, data, follow)
    except OSError as error:
        raise in_words(error, path) from error


def _write_bytes(path: Path, data: bytes, follow: bool) -> None:
    # Through a link, the file behind it is replaced and the link stays one.
    target = Path(os.path.realpath(path)) if follow else path.absolute()
    try:
        found = target.lstat().st_mode
        mode = None if stat.S_ISLNK(found) else stat.S_IMODE(found)
    except FileNotFoundError:
        found, mode = stat.S_IFREG, None
    if not (stat.S_ISREG(found) or stat.S_ISLNK(found)):
        raise OSError(errno.EINVAL, "Must be a regular file, not a folder, pipe or device", str(path))
    # A name that nobody can guess, and that must not exist: a link planted there is not followed.
    start = os.fsencode(target.name)[:100].decode(errors="ignore")  # a name has at most 255 bytes
    temporary = target.with_name(f".{start}.{secrets.token_hex(8)}.part")
    try:
        descriptor = os.open(temporary, _NEW, 0o666 if mode is None else 0o600)
    except OSError as error:
        error.filename = os.fspath(path)  # the user knows no name of a temporary file
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None and hasattr(os, "fchmod"):
                # The new file may be read by whom the old one could: first by nobody else, then as before.
                os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            # On the disk before it takes the name: else a power cut may leave an empty file in its place.
            os.fsync(descriptor)
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can open folders."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:  # some network drives refuse, and the file is complete by now
        pass
    finally:
        os.close(descriptor)
