"""Counting an oracle's calls and the seconds in them, wherever a policy makes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Meter:
    """Counts the calls of one oracle's `solve`, `solve_within` and `solve_root`.

    Attributes
    ----------
    calls : int
        Calls so far; those that they make of themselves belong to it.
    seconds : float
        Wall-clock seconds in them.
    """

    def __init__(self, oracle: object) -> None:
        self.oracle = oracle
        self.calls, self.seconds = 0, 0.0
        self._is_running = False

    def measure(self, solve: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return the result of `solve`."""
        # An oracle may call its own `solve`, or that of its base class: only the outermost call counts.
        if self._is_running:
            return solve(*arguments, **named)
        self._is_running, started = True, time.perf_counter()
        try:
            return solve(*arguments, **named)
        finally:
            self.seconds += time.perf_counter() - started
            self.calls += 1
            self._is_running = False


# Of a thread, for replications run in several at once and share the oracle. Classes that no module defines
# travel with their methods, which therefore find it in this module.
class _Active(threading.local):
    meter: Meter | None = None


ACTIVE = _Active()


@contextmanager
def metered(oracle: object) -> Iterator[Meter]:
    """Meter `oracle`, or with None nothing, in this thread: the object itself, and all around it, stays."""
    outer, meter = ACTIVE.meter, Meter(oracle)
    ACTIVE.meter = meter
    try:
        yield meter
    finally:
        ACTIVE.meter = outer
