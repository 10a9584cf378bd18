"""Parallel work on threads, in steps that are short enough for Ctrl-C.

Kernels release the interpreter lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")

_WORTH_A_THREAD = 1024
# The number of arcs that one call of a kernel may examine: some tenths of a second.
_MOST_ARCS = 2**25
_THIS = threading.local()


class _StoppedError(Exception):
    """The calling thread was interrupted, or another part failed."""


def in_parts(
    threads: int,
    first: int,
    last: int,
    work: Callable[[int, int], Result],
    *,
    worth: int = _WORTH_A_THREAD,
) -> list[Result]:
    """Return ``work(a, b)`` for consecutive ranges that partition ``range(first, last)``, in order.

    Each thread gets at least `worth` numbers.

    If the calling thread is interrupted or a part fails, the other parts end at their next call of
    `short_of`.
    """
    parts = max(1, min(threads, (last - first) // worth))
    if parts == 1:
        return [work(first, last)]
    cuts = np.linspace(first, last, parts + 1).astype(np.int64).tolist()
    stop = threading.Event()

    def watched(start: int, end: int) -> Result:
        _THIS.stop = stop
        return work(start, end)

    with ThreadPoolExecutor(parts) as pool:
        futures = [pool.submit(watched, *ends) for ends in pairwise(cuts)]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            stop.set()
            raise
    return [future.result() for future in futures]


def short_of(examined: int, done: int, n_arcs: int) -> int:
    """Return how many more sets a kernel may draw before Python checks for signals.

    `done` sets took `examined` arcs; a set takes at most `n_arcs`.
    """
    stop = getattr(_THIS, "stop", None)
    if stop is not None and stop.is_set():
        raise _StoppedError
    each = examined / done if done else n_arcs
    return max(1, int(_MOST_ARCS / max(1.0, each)))
