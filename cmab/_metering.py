"""Counting an oracle's calls and the seconds in them, wherever a policy makes them."""

from __future__ import annotations

import math
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

    def __init__(self, oracle: Any) -> None:
        self.oracle = oracle
        self.calls, self.seconds = 0, 0.0
        self._is_running = False
        self._of_call: float | None = None
        self._of_round: float | None = None
        self._latest = math.nan

    def measure(self, solve: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return the result of `solve`."""
        # An oracle may call its own `solve`, or that of its base class: only the outermost call counts.
        if self._is_running:
            return solve(*arguments, **named)
        self._is_running, started = True, time.perf_counter()
        self._of_call = None
        try:
            answer = solve(*arguments, **named)
            self._include(self._of_call)
            return answer
        finally:
            self.seconds += time.perf_counter() - started
            self.calls += 1
            self._is_running = False

    def report(self, ratio: float) -> None:
        """Store the approximation ratio that the present call proved."""
        self._of_call = ratio

    def _include(self, ratio: float | None) -> None:
        """Include the ratio of a call, which is the declared one if the call reported none."""
        if ratio is None:
            ratio = self.oracle.alpha * self.oracle.beta
        if self._of_round is not None and not math.isnan(ratio):
            worse = min if self.oracle.sense == "max" else max
            # The first operand is returned if a comparison with nan is false.
            ratio = worse(self._of_round, ratio)
        self._of_round = ratio

    def take_ratio(self) -> float:
        """Return the worst ratio of the calls since the last `take_ratio`; without a call, the last result.

        It is ``nan`` if a call proved no ratio.
        """
        if self._of_round is not None:
            self._latest, self._of_round = self._of_round, None
        return self._latest


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
