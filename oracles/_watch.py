"""Long searches: progress on a terminal, and Ctrl-C that waits until the search can stop."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_PATIENCE, _INTERVAL = 1.0, 0.25  # seconds before the first line, and between lines
_QUIET = "CMAB_QUIET"
_Handler = Callable[[int, FrameType | None], Any]
# Signals other than Ctrl-C whose handlers may raise exceptions; Windows has only some of them.
_NAMES = ("SIGALRM", "SIGVTALRM", "SIGPROF", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGBREAK")
_OTHERS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


class Watch:
    """The progress of one search, and whether Ctrl-C was pressed.

    Parameters
    ----------
    name : str
        The name of the searching oracle.

    Attributes
    ----------
    is_interrupted : bool
        Whether Ctrl-C was pressed. The search must then stop soon.
    """

    def __init__(self, name: str) -> None:
        self._name, self.is_interrupted = name, False
        self._started = time.perf_counter()
        self._next, self._has_line = self._started + _PATIENCE, False

    def tell(self, value: float, bound: float) -> None:
        """Show the best value and the bound so far on the terminal, at most four times a second."""
        now = time.perf_counter()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        if _is_watched():
            gap = abs(bound - value) / abs(value) if math.isfinite(value) and value else math.inf
            texts = [
                f"{name} {number:.8g}"
                for name, number in (("best", value), ("bound", bound))
                if math.isfinite(number)
            ]
            texts += [f"gap {gap:.2%}"] if math.isfinite(gap) else []
            line = ", ".join([*texts, f"{now - self._started:.0f} s"])
            sys.stderr.write(f"\r{self._name}: {line}\x1b[K")
            sys.stderr.flush()
            self._has_line = True

    def clear(self) -> None:
        """Remove the line."""
        if self._has_line:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


@contextmanager
def watched(name: str) -> Iterator[Watch]:
    """Watch a search. Ctrl-C sets `Watch.is_interrupted`, and takes effect when the context ends.

    An exception in the middle of compiled code or of a callback of a solver would leave it in an invalid
    state, and the solver would lose the exception. An exception from the handler of another signal, for
    example a timer, therefore also ends the search and is raised when the context ends.
    """
    watch, raised = Watch(name), _Raised()
    usual = signal.getsignal(signal.SIGINT)
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        watch.is_interrupted = True
        came.append((number, frame))

    # Only the main thread can set handlers, and a handler that was set outside of Python cannot be called.
    is_main = threading.current_thread() is threading.main_thread()
    replaced: dict[int, tuple[_Handler, _Handler]] = {}
    if is_main:
        handlers = {number: signal.getsignal(number) for number in _OTHERS}
        for number, handler in handlers.items():
            if callable(handler):
                replaced[number] = handler, raised.handler(handler, watch)
        if callable(usual):
            replaced[signal.SIGINT] = usual, note
    try:
        for number, (_, ours) in replaced.items():
            signal.signal(number, ours)
        yield watch
    finally:
        for number, (theirs, ours) in replaced.items():
            # A handler may have set another one.
            if signal.getsignal(number) is ours:
                signal.signal(number, theirs)
        watch.clear()
        # An error of the search may follow from its interruption, so the exceptions of handlers replace it.
        if came and callable(usual):
            usual(*came[0])
        if raised.error is not None:
            raise raised.error


class _Raised:
    """The first exception that a handler raised during a search."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def handler(self, usual: _Handler, watch: Watch) -> _Handler:
        """Return a handler that calls `usual`, and ends the search in place of raising an exception."""

        def handle(number: int, frame: FrameType | None) -> None:
            try:
                usual(number, frame)
            except BaseException as error:
                watch.is_interrupted = True
                self.error = self.error or error

        return handle


def _is_watched() -> bool:
    """Return whether standard error is a terminal on which no progress bar is shown."""
    if os.environ.get(_QUIET) or sys.stderr is None or not sys.stderr.isatty():
        return False
    tqdm = sys.modules.get("tqdm")
    return tqdm is None or not getattr(tqdm.tqdm, "_instances", None)
