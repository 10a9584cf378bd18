"""The folder of compiled code: only one's own, named by content, and read only as it was written.

numba's cache is pickles and machine code, so reading it runs it, and numba does not notice damage. Each
module has a folder with a seal, the checksums of its files. A folder that does not match its seal is emptied.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
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
_SEAL = "seal.json"
# Below so many free bytes nothing is kept: files that find no room are written in vain.
_ROOM = 64 * 2**20
# Seconds to wait for a process that compiles, which may be stopped, before compiling beside it.
_LONGEST_WAIT = 30.0
_held = threading.local()
# Set once a process waited in vain: others are then asked for the lock, but not waited for.
_gave_up = threading.Event()


@functools.cache
def cache_folder() -> str:
    """Return a folder of one's own for this version of all kernels, or "" where there is none.

    numba notices a change in a function's own file only, so that a kernel that calls one in another module
    would go on with its old code.
    """
    folder = first_own_folder(_candidates())
    with suppress(OSError):
        return folder if folder and shutil.disk_usage(folder).free >= _ROOM else ""
    return ""


def _candidates() -> Iterator[Path]:
    """Yield where compiled code may go: as the user says, else his cache, else beside the source."""
    name = f"kernels-{_content_hash()}"
    if os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(os.environ["NUMBA_CACHE_DIR"]) / f"cmab-{name}"
        return
    base = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home
        yield (Path(base) if base else Path.home() / ".cache") / "cmab" / name
    yield Path(__file__).parent / "__pycache__" / name


def _content_hash() -> str:
    root = Path(__file__).resolve().parents[2]
    files = sorted(path for package in PACKAGES for path in (root / package).rglob("_kernels*.py"))
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr((versions, llvmlite.binding.get_host_cpu_name())).encode())
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def module_folder(name: str) -> str:
    """Return the folder of a module's code, emptied if it is not as it was written; "" if there is none."""
    if not cache_folder():
        return ""
    folder = Path(cache_folder()) / name
    with suppress(OSError), sole_writer():
        folder.mkdir(mode=0o700, exist_ok=True)
        if _checksums(folder) != _sealed(folder):
            if not may_write():  # another process is perhaps about to seal it
                return ""
            shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
        return str(folder)
    return ""


def seal(folder: Path) -> None:
    """Write the checksums of a module's files; where that is impossible, its code is compiled again."""
    with suppress(OSError):
        descriptor, path = tempfile.mkstemp(dir=folder, prefix=_SEAL)
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump(_checksums(folder), file)
            Path(path).replace(folder / _SEAL)
        except OSError:
            Path(path).unlink(missing_ok=True)


def _checksums(folder: Path) -> dict[str, str]:
    """Return the checksum of each file that numba wrote below a folder."""
    files = (path for path in folder.rglob("*.nb[ic]") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _sealed(folder: Path) -> object:
    path = folder / _SEAL
    try:
        # Reading a pipe would wait for ever.
        return json.loads(path.read_bytes()) if path.is_file() else {}
    except (ValueError, RecursionError):  # damaged
        return None


@contextmanager
def sole_writer() -> Iterator[None]:
    """Hold the folder against other processes: numba gives two that write at once the same file names.

    One that waits finds the code of the other, and need not compile it.
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
    """Return whether this thread's last `sole_writer` did not wait in vain for another process."""
    return not getattr(_held, "is_in_vain", False)


def _lock() -> int | None:
    """Return the locked file; None where there are no locks, or another process has it for too long."""
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

    # Closing alone would leave the lock with children that were forked in the meantime.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


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
        elif (function := _python_form(value)) is not None and id(value) not in seen:
            seen.add(id(value))
            yield from _taken_by(function, seen)


def _python_form(value: Any) -> Any:
    """Return the function that was compiled, or that numba compiles when it is called; else None."""
    if isinstance(value, FunctionType):
        return None if (value.__module__ or "").partition(".")[0] in ("numba", "numpy") else value
    return getattr(value, "py_func", None)


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


def _is_own(status: os.stat_result) -> bool:
    if os.name != "posix":  # where these numbers say nothing
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & _WRITABLE_BY_OTHERS
