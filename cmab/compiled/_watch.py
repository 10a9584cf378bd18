"""Actions around compilation: lock the cache folder, seal the written files, and print a line to stderr."""

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

# Seconds of compilation after which a line is printed, and the environment variable that suppresses it.
_PATIENCE = 2.0
_QUIET = "CMAB_QUIET"


# The compiled functions of this project. Compilations of other functions do not count.
_watched: weakref.WeakSet[Any] = weakref.WeakSet()


def watch(dispatcher: Any) -> None:
    """Start listening to numba's events for a function."""
    _watched.add(dispatcher)
    _listen()


@functools.cache
def _listen() -> None:
    listener, register = _Listener(), cast(Any, event.register)
    register("numba:compiler_lock", listener)
    register("numba:compile", listener)


class _Listener(event.Listener):
    """A listener for the start and the end of compilations, which may be nested in each thread."""

    def __init__(self) -> None:
        self._stopwatch = Stopwatch(cache_folder())
        self._held = threading.local()

    def on_start(self, event: Any) -> None:
        """Start the stopwatch, or wait for other processes and take the lock."""
        if event.kind == "numba:compile":
            if event.data["dispatcher"] in _watched:
                self._stopwatch.__enter__()
            return
        holders: list[AbstractContextManager[None]] = self._held.__dict__.setdefault("holders", [])
        holder = sole_writer()
        holder.__enter__()
        holders.append(holder)

    def on_end(self, event: Any) -> None:
        """Stop the stopwatch, or seal the written files and release the lock."""
        changed: set[Any] = self._held.__dict__.setdefault("changed", set())
        if event.kind == "numba:compile":
            if event.data["dispatcher"] in _watched:
                self._stopwatch.__exit__()
                changed.add(event.data["dispatcher"].stats.cache_path)  # None if the code is not cached
            return
        holder = self._held.holders.pop()
        try:
            if not self._held.holders:
                # numba writes a file after the event that ends its compilation and before this event.
                for path in changed - {None}:
                    if may_write() and Path(path).is_relative_to(cache_folder() or os.devnull):
                        seal(Path(path).parent)
                changed.clear()
        finally:  # release the lock also after Ctrl-C
            holder.__exit__(None, None, None)


class Stopwatch:
    """A context manager that adds up compilation times and prints one line when the sum is long.

    Parameters
    ----------
    folder : str
        The cache folder of the code, or "" if the code is not cached.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self._depth, self._since, self._total = folder, 0, 0.0, 0.0
        # If several workers compile the same code, only one prints the line.
        name = current_process().name
        self._is_told = bool(os.environ.get(_QUIET)) or not (name == "MainProcess" or name.endswith("-1"))

    def __enter__(self) -> None:
        # The compilation of a function contains the compilations of the functions that it calls.
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
        kept = (
            f"cached in {self._folder}" if self._folder else "not cached, so each process compiles it again"
        )
        with suppress(OSError, ValueError, AttributeError):  # stderr may be closed or None
            sys.stderr.write(
                f"cmab: compiling, which takes up to a minute. The code is {kept}."
                f" Run `cmab warmup` to compile in advance. Set {_QUIET}=1 to suppress this line.\n"
            )
            sys.stderr.flush()
