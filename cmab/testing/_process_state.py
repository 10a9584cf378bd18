"""The state of the process that an object must leave as it was: settings, and resources that it may leak."""

from __future__ import annotations

import atexit
import builtins
import decimal
import gc
import locale
import logging
import math
import os
import random
import signal
import socket
import sys
import threading
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

#: Modules whose functions nobody may replace.
_SHARED = (builtins, math, os, random, time, np, np.random, np.linalg)


def settings() -> dict[str, Any]:
    """Return the settings of the process by name. Equal values mean that nothing changed."""
    found: dict[str, Any] = {
        "the environment variables": dict(os.environ),
        "the working directory": _folder(),
        "the file mode mask": _mask(),
        "numpy's error state": (np.geterr(), np.geterrcall()),
        "numpy's print options": repr(np.get_printoptions()),
        "the signal handlers": _handlers(),
        "the warning filters": list(warnings.filters),
        "the module search path": list(sys.path),
        "the arguments of the program": list(sys.argv),
        "the recursion limit": sys.getrecursionlimit(),
        "the thread switch interval": sys.getswitchinterval(),
        "the garbage collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug()),
        "the standard streams": (id(sys.stdin), id(sys.stdout), id(sys.stderr)),
        "the hooks of the interpreter": (
            sys.excepthook,
            sys.displayhook,
            threading.excepthook,
            sys.gettrace(),
        ),
        "the root logger": (logging.root.level, list(logging.root.handlers), logging.root.manager.disable),
        "the decimal context": (decimal.getcontext().prec, decimal.getcontext().rounding),
        "the locale": _locale(),
        "the time zone": time.tzname,
        "the pending alarm and blocked signals": _alarms(),
        "tracing of memory and profiling": (
            tracemalloc.is_tracing(),
            sys.getprofile(),
        ),
        "handlers of loggers": _log_handlers(),
        "the import system": (list(sys.meta_path), list(sys.path_hooks), sys.dont_write_bytecode),
        "other limits": (socket.getdefaulttimeout(), sys.get_int_max_str_digits(), _limits()),
        "functions of shared modules": _functions(),
        "classes of this package": _classes(),
        "the processors and the priority": _processors(),
    }
    return found


def restore(before: dict[str, Any]) -> None:
    """Restore those settings that can be restored, so that other checks run as usual."""
    now = settings()
    if now["the environment variables"] != before["the environment variables"]:
        os.environ.clear()
        os.environ.update(before["the environment variables"])
    with suppress(OSError):
        os.chdir(before["the working directory"])
    os.umask(before["the file mode mask"])
    np.seterr(**before["numpy's error state"][0])
    np.seterrcall(before["numpy's error state"][1])
    if list(warnings.filters) != before["the warning filters"]:
        warnings.resetwarnings()  # tells the interpreter that the filters change
        warnings.filters[:] = before["the warning filters"]  # type: ignore[index]
    sys.path[:] = before["the module search path"]
    sys.argv[:] = before["the arguments of the program"]
    sys.setrecursionlimit(before["the recursion limit"])
    sys.setswitchinterval(before["the thread switch interval"])
    (gc.enable if before["the garbage collector"][0] else gc.disable)()
    gc.set_threshold(*before["the garbage collector"][1])
    sys.excepthook, sys.displayhook, threading.excepthook, _ = before["the hooks of the interpreter"]
    logging.root.setLevel(before["the root logger"][0])
    logging.root.handlers[:] = before["the root logger"][1]
    logging.disable(before["the root logger"][2])
    decimal.getcontext().prec, decimal.getcontext().rounding = before["the decimal context"]
    for part in ("functions of shared modules", "classes of this package"):
        if now[part] != before[part]:
            for (owner, name), value in before[part].items():
                if vars(owner).get(name) is not value:
                    setattr(owner, name, value)
    sys.meta_path[:], sys.path_hooks[:], sys.dont_write_bytecode = before["the import system"]
    socket.setdefaulttimeout(before["other limits"][0])
    if tracemalloc.is_tracing() and not before["tracing of memory and profiling"][0]:
        tracemalloc.stop()
    if now["the pending alarm and blocked signals"][0] > before["the pending alarm and blocked signals"][0]:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    for number, handler in before["the signal handlers"].items():
        if now["the signal handlers"].get(number) is not handler:
            with suppress(OSError, ValueError, TypeError):
                signal.signal(number, handler)
    with suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, before["the locale"])
    with suppress(AttributeError, OSError, ValueError):
        os.sched_setaffinity(0, before["the processors and the priority"][0])


@contextmanager
def kept_settings() -> Iterator[None]:
    """Restore the settings after the block."""
    options = np.get_printoptions()
    before = settings()
    try:
        yield
    finally:
        restore(before)
        np.set_printoptions(**options)


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    """Return a description of each setting that differs."""
    after = dict(after)
    for part in ("functions of shared modules", "handlers of loggers"):
        # Some modules load functions, or make loggers, when they are first used.
        after[part] = {key: value for key, value in after[part].items() if key in before[part]}
    return {
        name: _difference(before[name], after[name])
        for name in before
        if not _equal(before[name], after[name])
    }


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return one is other or bool(one == other)


def _difference(one: Any, other: Any) -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        names = [key for key in {**one, **other} if not _equal(one.get(key), other.get(key))]
        named = [
            getattr(name[0], "__name__", "") + "." + name[1] if isinstance(name, tuple) else str(name)
            for name in names
        ]
        return ", ".join(sorted(named)[:5])
    return f"{str(one)[:80]} became {str(other)[:80]}"


def resources() -> dict[str, set[Any]]:
    """Return the threads, child processes, open files and exit functions of this process."""
    return {
        "threads": _names("/proc/self/task") or {thread.ident for thread in threading.enumerate()},
        "open files": _names("/proc/self/fd"),
        "child processes": _children(),
        "functions that run at exit": set(range(getattr(atexit, "_ncallbacks", int)())),
    }


def _names(folder: str) -> set[Any]:
    try:
        return {path.name for path in Path(folder).iterdir()}
    except OSError:
        return set()


def _children() -> set[Any]:
    found: set[Any] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found.update(file.read_text(encoding="ascii").split())
    return found


def _alarms() -> tuple[bool, set[int]]:
    try:
        return signal.getitimer(signal.ITIMER_REAL)[0] > 0, set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    except (AttributeError, OSError):
        return False, set()


def _log_handlers() -> dict[str, int]:
    loggers: dict[str, Any] = dict(logging.root.manager.loggerDict)
    return {name: len(each.handlers) for name, each in loggers.items() if getattr(each, "handlers", None)}


def _limits() -> list[tuple[int, int]]:
    try:
        import resource
    except ImportError:  # Windows
        return []
    names = (resource.RLIMIT_AS, resource.RLIMIT_NOFILE, resource.RLIMIT_STACK, resource.RLIMIT_CPU)
    return [resource.getrlimit(name) for name in names]


@cache
def _bases() -> tuple[type, ...]:
    from cmab.environment import Environment
    from cmab.explorer import Explorer
    from cmab.feedback import Feedback
    from cmab.oracle import LinearOracle, Oracle
    from cmab.policy import IndexPolicy, Policy
    from cmab.statistics import ArmStatistics

    return Oracle, LinearOracle, Policy, IndexPolicy, Explorer, Environment, Feedback, ArmStatistics


def _classes() -> dict[Any, Any]:
    return {
        (cls, name): value
        for cls in _bases()
        for name, value in vars(cls).items()
        if name[0] != "_" or not name.startswith(("__", "_abc"))
    }


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return ""


def _mask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


def _handlers() -> dict[int, Any]:
    return {number: signal.getsignal(number) for number in _signals()}


@cache
def _signals() -> tuple[int, ...]:
    """Return the numbers of the signals whose handlers can be read."""
    found = []
    for number in signal.valid_signals():
        with suppress(OSError, ValueError):
            signal.getsignal(number)
            found.append(int(number))
    return tuple(found)


def _locale() -> str:
    try:
        return str(locale.setlocale(locale.LC_ALL))
    except locale.Error:
        return ""


def _functions() -> dict[Any, Any]:
    names = _shared_names()
    parts = (map(vars(module).get, listed) for module, listed in names.items())
    return dict(zip(_owners(), chain.from_iterable(parts), strict=True))


@cache
def _shared_names() -> dict[Any, list[str]]:
    """Return the names of the shared functions of each module, listed once because they are many."""
    return {
        module: [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        for module in _SHARED
    }


@cache
def _owners() -> tuple[tuple[Any, str], ...]:
    return tuple((module, name) for module, names in _shared_names().items() for name in names)


def _processors() -> tuple[Any, int]:
    try:
        return os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)
    except (AttributeError, OSError):
        return None, 0
