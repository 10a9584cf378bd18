"""Requirements that name a fault, the levels of statistical checks, and a stopwatch."""

from __future__ import annotations

import threading
from contextlib import suppress
from time import perf_counter, process_time
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray

LEVEL = 1e-7  # false-alarm probability of one statistical check
POWER = 0.99
#: Seconds between two readings of the delay of this thread.
_INTERVAL = 0.02


def require(condition: object, fault: str, message: str, *values: object) -> None:
    """Raise ``AssertionError`` with the name of the fault unless `condition` holds, also under ``python -O``.

    `message` is a format string. It is formatted only for a fault, because formatting arrays takes longer
    than most checks.
    """
    if not condition:
        raise AssertionError(f"{fault}: {message.format(*values)}")


def require_same(first: AnyArray, second: AnyArray, fault: str, what: str, *values: object) -> None:
    """Raise ``AssertionError`` unless two answers are equal; `what` is a format string for the call."""
    if not np.array_equal(first, second):
        raise AssertionError(f"{fault}: {what.format(*values)} gave {second} instead of {first}")


#: The last reading of the delay of each thread.
_LAST = threading.local()


class Stopwatch:
    """Seconds of work since this object was made.

    On a busy machine, the work proceeds more slowly than the wall clock. Checks should not try less there.
    """

    def __init__(self) -> None:
        self._work, self._clock = process_time(), perf_counter()
        self._delay = _recent_delay(self._clock)
        self._lost, self._read = 0.0, self._clock

    def seconds(self) -> float:
        """Return the larger of the processor seconds and a quarter of the other seconds of this thread.

        The time in which this thread was ready but other work had the processor does not count.
        """
        # A call that waits for another process, such as a solver, uses no processor time, hence the clock.
        now, work = perf_counter(), process_time() - self._work
        # Reading the delay takes longer than many calls. It matters only if the clock decides.
        if now - self._clock > 4 * work and now - self._read > _INTERVAL:
            self._lost, self._read = _delay() - self._delay, now
        return max(work, (now - self._clock - self._lost) / 4)


def _recent_delay(now: float) -> float:
    """Return the delay of this thread at most `_INTERVAL` before `now`, because reading it takes long."""
    if now - getattr(_LAST, "read", -np.inf) >= _INTERVAL:
        _LAST.read, _LAST.delay = now, _delay()
    return float(_LAST.delay)


def _delay() -> float:
    """Return the seconds in which this thread was ready to run but did not; 0 if the system does not say."""
    with suppress(OSError, ValueError, IndexError), open("/proc/thread-self/schedstat", "rb") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * 1e-9
    return 0.0


def entries(answer: Any) -> IntArray:
    """Return a copy of an answer as an array."""
    return np.array(sorted(answer) if isinstance(answer, set | frozenset) else answer)
