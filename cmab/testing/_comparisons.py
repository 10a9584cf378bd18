"""What checks compare with: requirements that name the fault, their levels, and the time they take."""

from __future__ import annotations

from time import perf_counter, process_time

import numpy as np

from cmab.arrays import AnyArray

LEVEL = 1e-7  # false-alarm probability of one statistical check
POWER = 0.99


def require(condition: object, fault: str, message: str, *values: object) -> None:
    """Raise ``AssertionError`` with the fault's name unless `condition` holds (also under ``python -O``).

    `message` is a format string: writing arrays out takes longer than most checks, so it waits for a fault.
    """
    if not condition:
        raise AssertionError(f"{fault}: {message.format(*values)}")


def require_same(first: AnyArray, second: AnyArray, fault: str, what: str, *values: object) -> None:
    """Raise unless two answers are equal; `what` is a format string."""
    if not np.array_equal(first, second):
        raise AssertionError(f"{fault}: {what.format(*values)} gave {second} instead of {first}")


class Stopwatch:
    """Seconds of work since it was made: of the processors here, or of a solver that is waited for.

    On a crowded machine both go on more slowly than the clock, and checks should not try less for that.
    """

    def __init__(self) -> None:
        self._work, self._clock = process_time(), perf_counter()

    def seconds(self) -> float:
        """Return processor seconds, or a quarter of the wall clock's if that is more."""
        # Processor time, for other work on the machine must not cut checks short. But who waits for another
        # process, as a solver, would never come to an end by it.
        return max(process_time() - self._work, (perf_counter() - self._clock) / 4)
