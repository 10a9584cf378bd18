"""The cache folder of compiled code: private to the user, named by content, and protected by checksums.

numba's cache consists of pickles and machine code, so reading a file can run code, and numba does not detect
damaged files. The folder of each module therefore has a seal, the checksums of its files. A folder that does
not match its seal is emptied.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite.binding
import numba
import numpy as np

PACKAGES = ("cmab", "oracles", "instances")
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
#: A decorator of a compiled function.
_DECORATED = re.compile(rb"^@\w*kernel\b", re.MULTILINE)
_SEAL = "seal.json"
# With fewer free bytes on the disk, no code is cached, because writing the files may fail.
_ROOM = 64 * 2**20
# Seconds to wait for another process that compiles, which may be stopped, before compiling as well.
_LONGEST_WAIT = 30.0
_held = threading.local()
# Set after a wait that timed out. The next attempts try to get the lock once and do not wait.
_gave_up = threading.Event()


@functools.cache
def cache_folder() -> str:
    """Return a private folder for this version of all kernels, or "" if no folder is private.

    numba detects only changes in the file of a function. Without a folder per version, a kernel that calls a
    changed kernel of another module would use its old code.
    """
    folder = first_own_folder(_candidates())
    with suppress(OSError):
        return folder if folder and shutil.disk_usage(folder).free >= _ROOM else ""
    return ""


def _candidates() -> Iterator[Path]:
    """Yield the possible folders of compiled code in order of preference.

    If ``NUMBA_CACHE_DIR`` is set, this is the only folder. Otherwise they are the user's cache and the folder
    of the source.
    """
    name = f"kernels-{_content_hash()}"
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"]) / f"cmab-{name}"
        return
    base = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # the user has no home folder
        yield (Path(base) if base else Path.home() / ".cache") / "cmab" / name
    yield Path(__file__).parent / "__pycache__" / name


def _content_hash() -> str:
    root = Path(__file__).resolve().parents[2]
    files = sorted(path for package in PACKAGES for path in (root / package).rglob("*.py"))
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr((versions, llvmlite.binding.get_host_cpu_name())).encode())
    for path in files:
        text = path.read_bytes()
        if path.name.startswith("_kernels") or _DECORATED.search(text):
            digest.update(text)
    return digest.hexdigest()[:16]


@functools.cache
def module_folder(name: str) -> str:
    """Return the folder of a module's code, emptied if it does not match its seal; "" without a folder."""
    if not cache_folder():
        return ""
    folder = Path(cache_folder()) / name
    with suppress(OSError), sole_writer():
        folder.mkdir(mode=0o700, exist_ok=True)
        if _checksums(folder) != _sealed(folder):
            if not may_write():  # another process may be about to seal it
                return ""
            shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
        return str(folder)
    return ""


def seal(folder: Path) -> None:
    """Write the checksums of a module's files; if that fails, the next process compiles the code again."""
    with suppress(OSError):
        descriptor, path = tempfile.mkstemp(dir=folder, prefix=_SEAL)
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump(_checksums(folder), file)
            Path(path).replace(folder / _SEAL)
        except OSError:
            Path(path).unlink(missing_ok=True)


def _checksums(folder: Path) -> dict[str, str]:
    """Return the checksum of each file that numba wrote in a folder or its subfolders."""
    files = (path for path in folder.rglob("*.nb[ic]") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _sealed(folder: Path) -> object:
    path = folder / _SEAL
    try:
        # Only a regular file is read, because reading a pipe could block for ever.
        return json.loads(path.read_bytes()) if path.is_file() else {}
    except (ValueError, RecursionError):  # damaged
        return None


@contextmanager
def sole_writer() -> Iterator[None]:
    """Hold the lock of the folder, because numba uses the same file names in concurrent processes.

    A process that waited for the lock finds the code of the other process and need not compile it.
    """
    depth = getattr(_held, "depth", 0)
    descriptor = _lock() if depth == 0 and cache_folder() else None
    _held.depth = depth + 1
    try:
        yield
    finally:
        _held.depth = depth
        if descriptor is not None:
            _unlock(descriptor)


def may_write() -> bool:
    """Return whether the last `sole_writer` of this thread did not time out."""
    return not getattr(_held, "is_in_vain", False)


def _lock() -> int | None:
    """Return the locked file, or None if locks are not available or another process holds it for too long."""
    _held.is_in_vain = False
    try:
        import fcntl

        descriptor = os.open(Path(cache_folder(), "lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except (ImportError, OSError):
        return None
    until = time.monotonic() + (0.0 if _gave_up.is_set() else _LONGEST_WAIT)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _gave_up.clear()
            return descriptor
        except BlockingIOError:
            if time.monotonic() > until:
                _held.is_in_vain = True
                _gave_up.set()
                break
            time.sleep(0.01)
        except OSError:  # a file system without locks
            break
    os.close(descriptor)
    return None


def _unlock(descriptor: int) -> None:
    import fcntl

    # Without unlocking, child processes that were forked in the meantime would still hold the lock.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def compiled_in(function: Any) -> str:
    """Return a digest of everything from which numba compiles a function.

    numba compiles the code of called functions into the function, also from other files, and the present
    values of module constants.
    """
    digest = hashlib.sha256()
    for part in _taken_by(function, set()):
        digest.update(part.encode())
    return digest.hexdigest()


def _taken_by(function: Any, seen: set[int]) -> Iterator[str]:
    """Yield the code and constants of a function and of all functions that it calls."""
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
        elif (function := _python_form(value)) is not None and id(value) not in seen:
            seen.add(id(value))
            yield from _taken_by(function, seen)


def _python_form(value: Any) -> Any:
    """Return the Python function of a compiled function, or the function itself if numba would compile it.

    For all other values, return None.
    """
    if isinstance(value, FunctionType):
        return None if (value.__module__ or "").partition(".")[0] in ("numba", "numpy") else value
    return getattr(value, "py_func", None)


def first_own_folder(candidates: Iterable[Path]) -> str:
    """Return the first folder that only this user can write to, or "" if no such folder exists.

    A missing folder is created.
    """
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
            f"compiled code is not cached, so each process compiles it again, because {refused[0]} belongs to"
            " another user or can be written by others, who could have put code there; remove this folder",
            RuntimeWarning,
            stacklevel=2,
        )
    return ""


def _is_own(status: os.stat_result) -> bool:
    if os.name != "posix":  # the owner and the mode mean nothing on other systems
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS
