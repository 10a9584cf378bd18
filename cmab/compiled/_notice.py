"""One line that says why the first minute is silent: code is compiled, once."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from multiprocessing import current_process
from time import perf_counter

# Seconds of compiling after which it is told, and the variable that keeps it quiet.
_PATIENCE = 2.0
_QUIET = "CMAB_QUIET"


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
