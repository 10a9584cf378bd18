"""Requirements that name a fault, the levels of statistical checks, and a stopwatch."""

from __future__ import annotations

from time import perf_counter, process_time

import numpy as np

from cmab.arrays import AnyArray

LEVEL = 1e-7  # false-alarm probability of one statistical check
POWER = 0.99


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


class Stopwatch:
    """Seconds of work since this object was made.

    On a busy machine, the work proceeds more slowly than the wall clock. Checks should not try less there.
    """

    def __init__(self) -> None:
        self._work, self._clock = process_time(), perf_counter()

    def seconds(self) -> float:
        """Return the larger of the processor seconds and a quarter of the wall-clock seconds."""
        # Other work on the machine does not count as processor time, so that it does not cut checks short. A
        # call that waits for another process, such as a solver, uses none, hence the wall clock.
        return max(process_time() - self._work, (perf_counter() - self._clock) / 4)
