"""Comparisons of checks: assertions that name the fault, error levels and time limits."""

from __future__ import annotations

from time import perf_counter, process_time

import numpy as np

from cmab.arrays import AnyArray

LEVEL = 1e-7  # the false-alarm probability of one statistical check
POWER = 0.99


def require(condition: object, fault: str, message: str, *values: object) -> None:
    """Raise ``AssertionError`` with the name of the fault unless `condition` holds, even under ``python -O``.

    `message` is a format string, which is filled only if the check fails, because printing arrays is slow.
    """
    if not condition:
        raise AssertionError(f"{fault}: {message.format(*values)}")


def require_same(first: AnyArray, second: AnyArray, fault: str, what: str, *values: object) -> None:
    """Raise ``AssertionError`` unless two answers are equal; `what` is a format string."""
    if not np.array_equal(first, second):
        raise AssertionError(f"{fault}: {what.format(*values)} gave {second} instead of {first}")


class Stopwatch:
    """A stopwatch of the work since it was made: processor time, or time spent waiting for a solver.

    On a busy machine both pass more slowly than the clock, so checks do not try less because of other
    programs.
    """

    def __init__(self) -> None:
        self._work, self._clock = process_time(), perf_counter()

    def seconds(self) -> float:
        """Return the processor time in seconds, or a quarter of the wall-clock time if that is larger."""
        # Processor time does not include other programs. But while the process waits for another one, such as
        # a solver, processor time does not advance.
        return max(process_time() - self._work, (perf_counter() - self._clock) / 4)
