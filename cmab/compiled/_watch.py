"""What happens around compiling: one process at a time writes, its files are sealed, and a line says so."""

from __future__ import annotations

import functools
import os
import sys
import threading
import weakref
from contextlib import AbstractContextManager, suppress
from multiprocessing import current_process
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from numba.core import event

from cmab.compiled._code_cache import cache_folder, may_write, seal, sole_writer

# Seconds of compiling after which it is told, and the variable that keeps it quiet.
_PATIENCE = 2.0
_QUIET = "CMAB_QUIET"


# The compiled functions of `cmab`: how long a program's others take is not ours to tell.
_watched: weakref.WeakSet[Any] = weakref.WeakSet()


def watch(dispatcher: Any) -> None:
    """Listen to numba's events of a function from now on."""
    _watched.add(dispatcher)
    _listen()


@functools.cache
def _listen() -> None:
    listener, register = _Listener(), cast(Any, event.register)
    register("numba:compiler_lock", listener)
    register("numba:compile", listener)


class _Listener(event.Listener):
    """Follows numba into and out of its compiler, in which each thread may be several levels deep."""

    def __init__(self) -> None:
        self._stopwatch = Stopwatch(cache_folder())
        self._held = threading.local()

    def on_start(self, event: Any) -> None:
        """Wait for the other processes, or start the clock."""
        if event.kind == "numba:compile":
            if event.data["dispatcher"] in _watched:
                self._stopwatch.__enter__()
            return
        holders: list[AbstractContextManager[None]] = self._held.__dict__.setdefault("holders", [])
        holder = sole_writer()
        holder.__enter__()
        holders.append(holder)

    def on_end(self, event: Any) -> None:
        """Seal what was written, and let other processes write."""
        changed: set[Any] = self._held.__dict__.setdefault("changed", set())
        if event.kind == "numba:compile":
            if event.data["dispatcher"] in _watched:
                self._stopwatch.__exit__()
                changed.add(event.data["dispatcher"].stats.cache_path)  # None if it is not kept
            return
        holder = self._held.holders.pop()
        try:
            if not self._held.holders:
                # numba writes a file after the event that ends its compilation, and before this one.
                for path in changed - {None}:
                    if may_write() and Path(path).is_relative_to(cache_folder() or os.devnull):
                        seal(Path(path).parent)
                changed.clear()
        finally:  # Ctrl-C while files are read must not keep the lock
            holder.__exit__(None, None, None)


class Stopwatch:
    """Adds up how long a process compiles, and tells it once: around each time, as a context.

    Parameters
    ----------
    folder : str
        Where the code is kept; "" if it is not.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self._depth, self._since, self._total = folder, 0, 0.0, 0.0
        # Of several workers that compile the same, one tells it.
        name = current_process().name
        self._is_told = bool(os.environ.get(_QUIET)) or not (name == "MainProcess" or name.endswith("-1"))

    def __enter__(self) -> None:
        # What a function calls is compiled within it.
        if self._depth == 0:
            self._since = perf_counter()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._total += perf_counter() - self._since
            if self._total > _PATIENCE and not self._is_told:
                self._is_told = True
                self._tell()

    def _tell(self) -> None:
        kept = f"kept in {self._folder}" if self._folder else "and again in each process"
        with suppress(OSError, ValueError, AttributeError):  # a stream that is closed, or none
            sys.stderr.write(
                f"cmab: compiling, which takes up to a minute, once for this version, {kept};"
                f" `cmab warmup` does it ahead, {_QUIET}=1 does without this line\n"
            )
            sys.stderr.flush()
