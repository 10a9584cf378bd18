"""Compiled code on disk: only one's own, and only as it was written.

A cache of numba is pickles and machine code, so reading it runs it. What somebody else could have written is
not read, and what does not match its checksum is compiled anew.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

_HEADER = hashlib.sha256().digest_size
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
# Neither a planted link is followed nor a planted pipe waited for.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class CheckedFile:
    """The compiled versions of one function, in one file that starts with a checksum of the rest.

    Stands in for numba's pair of index and data files, which it reads as they are.

    Parameters
    ----------
    path : Path
        The file; its folder must exist when it is written.
    stamp : object
        What the versions depend on besides their keys, by its `repr`: another stamp is another content.
    dumps : callable
        Gives the bytes of an object, for ``pickle.loads``.
    """

    def __init__(self, path: Path, stamp: object, dumps: Callable[[Any], bytes]) -> None:
        self._path, self._dumps = path, dumps
        # A file that was copied to another's place is not what was written there either.
        self._start = f"{path.name}\0{stamp!r}\0".encode()

    def load(self, key: object) -> Any:
        """Return what was saved under a key, or None; where anything is wrong with the file, None."""
        with suppress(Exception):  # the checksum is right: pickled by other versions of what it refers to
            found = self._versions().get(key)
            return None if found is None else pickle.loads(found)
        return None

    def save(self, key: object, value: object) -> None:
        """Write a version beside those there are; where that is impossible, go on without."""
        with suppress(Exception):  # a full disk, say: the code is compiled, and will be again
            self._write(self._versions() | {key: self._dumps(value)})

    def flush(self) -> None:
        """Forget all versions."""
        with suppress(OSError):
            self._path.unlink()

    def _versions(self) -> dict[object, bytes]:
        try:
            content = _read_own(self._path)
            if content[:_HEADER] == self._checksum(content[_HEADER:]):
                versions: dict[object, bytes] = pickle.loads(content[_HEADER:])
                return versions
        except Exception:
            pass
        return {}

    def _write(self, versions: dict[object, bytes]) -> None:
        body = self._dumps(versions)
        descriptor, name = tempfile.mkstemp(dir=self._path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(self._checksum(body) + body)
            Path(name).replace(self._path)
        except BaseException:
            Path(name).unlink()
            raise

    def _checksum(self, body: bytes) -> bytes:
        return hashlib.sha256(self._start + body).digest()


def compiled_in(function: Any) -> str:
    """Return a digest of what compiling a function takes from outside its file.

    numba compiles what it calls into it, in whatever file that stands, and constants of modules as they are.
    """
    digest = hashlib.sha256()
    for part in _taken_by(function, set()):
        digest.update(part.encode())
    return digest.hexdigest()


def _taken_by(function: Any, seen: set[int]) -> Iterator[str]:
    """Yield what tells the code of a function from others, and that of all that it calls."""
    codes, names = [function.__code__], set()
    for code in codes:
        codes.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
        constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
        names.update(code.co_names)
        yield repr((code.co_code, constants, code.co_names))
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    outside = [function.__globals__[name] for name in sorted(names) if name in function.__globals__]
    values = [*cells, *(function.__defaults__ or ()), *outside]
    for value in values:
        if isinstance(value, (ModuleType, type)) and id(value) not in seen:
            seen.add(id(value))
            values.extend(getattr(value, name, None) for name in sorted(names))
        elif isinstance(value, tuple):
            values.extend(value)
        elif isinstance(value, np.ndarray):
            yield repr((value.dtype, value.shape, value.tobytes()))
        elif isinstance(value, (int, float, complex, str, bytes, np.generic)):
            yield repr(value)
        elif hasattr(value, "py_func") and id(value) not in seen:
            seen.add(id(value))
            yield from _taken_by(value.py_func, seen)


def first_own_folder(candidates: Iterable[Path]) -> str:
    """Return the first folder, made if it is missing, that only this user can write to; "" if none is."""
    refused = []
    for folder in candidates:
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            status = folder.lstat()
            if not (stat.S_ISDIR(status.st_mode) and _is_own(status)):
                refused.append(folder)
                continue
            if os.name == "posix" and status.st_mode & 0o077:
                folder.chmod(0o700)
        except (OSError, RuntimeError):
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    if refused:
        warnings.warn(
            f"compiled code is not kept, and each process compiles again: {refused[0]} belongs to somebody"
            " else or can be written by others, who could have planted code there; remove it",
            RuntimeWarning,
            stacklevel=2,
        )
    return ""


def _read_own(path: Path) -> bytes:
    """Return the bytes of a file, none if somebody else could have written them."""
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        status = os.fstat(file.fileno())
        return file.read() if stat.S_ISREG(status.st_mode) and _is_own(status) else b""


def _is_own(status: os.stat_result) -> bool:
    if os.name != "posix":  # where these numbers say nothing
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS
