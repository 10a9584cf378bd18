"""Counting an oracle's calls and the seconds in them, wherever a policy makes them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FunctionType
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
        """Return what `solve` returns."""
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


# Of a thread, for replications run in several at once and share the oracle.
class _Active(threading.local):
    meter: Meter | None = None


_ACTIVE = _Active()


@contextmanager
def metered(oracle: object) -> Iterator[Meter]:
    """Meter `oracle`, or with None nothing, in this thread: the object itself, and all around it, stays."""
    outer, meter = _ACTIVE.meter, Meter(oracle)
    _ACTIVE.meter = meter
    try:
        yield meter
    finally:
        _ACTIVE.meter = outer


def _watch(solve: Callable[..., Any], oracle: object, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Apart from `watched`, which travels with classes that no module defines, without what threads have."""
    meter = _ACTIVE.meter
    if meter is None or meter.oracle is not oracle:
        return solve(oracle, *given, **named)
    return meter.measure(solve, (oracle, *given), named)


def meter_solve(cls: type) -> None:
    """Let what a class defines of these methods be metered; unmetered, that costs two calls."""
    for name in ("solve", "solve_within", "solve_root"):
        solve = vars(cls).get(name)
        # What is no plain function, as a wrapper by somebody else, stays as it is.
        if isinstance(solve, FunctionType):
            setattr(cls, name, _watched(solve))


def _watched(solve: FunctionType) -> Callable[..., Any]:
    @wraps(solve)
    def watched(self: Any, *arguments: Any, **named: Any) -> Any:
        return _watch(solve, self, arguments, named)

    return watched
