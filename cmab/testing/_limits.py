"""End a call of the checked object that does not return."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from cmab.testing._checks import EndlessCall
from cmab.validation import shown

#: Seconds of the processor between two looks, and looks at which a call may still run.
_TICK, _LOOKS = 5.0, 12


class _End(BaseException):
    """Ends a call, also through its `except Exception`."""


class _Watch:
    """Looks at regular intervals whether the same call still runs.

    A look counts instead of a time, because checks replace the clocks.
    """

    def __init__(self, owner: type) -> None:
        self.owner, self.looks, self.last = owner, 0, 0
        self.call: FrameType | None = None

    def __call__(self, _: int, frame: FrameType | None) -> None:
        call = self._outermost(frame)
        if call is None or call is not self.call:
            # The frame is kept from the second look on: before that, its arguments must not live longer.
            is_same = call is not None and id(call) == self.last
            self.call, self.looks, self.last = (call if is_same else None), int(is_same), id(call)
            return
        self.looks += 1
        if self.looks >= _LOOKS:
            self.call = None
            raise _End(_told(self.owner, call, frame))

    def _outermost(self, frame: FrameType | None) -> FrameType | None:
        """Return the first call of a method of the object since the check began, unless it compiles."""
        found = None
        while frame is not None and (module := frame.f_globals.get("__name__")) != __name__:
            if str(module).startswith("numba."):
                return None
            is_own = isinstance(_first(frame), self.owner) and hasattr(self.owner, frame.f_code.co_name)
            if is_own and not str(module).startswith("cmab.testing."):
                found = frame
            frame = frame.f_back
        return found


def _first(frame: FrameType) -> object:
    code = frame.f_code
    return frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None


def _told(owner: type, call: FrameType, frame: FrameType | None) -> str:
    code, last = call.f_code, frame or call
    given = [
        f"{name}={shown(call.f_locals[name])}"
        for name in code.co_varnames[1 : code.co_argcount]
        if name in call.f_locals and name != "rng"
    ]
    seconds, file = _TICK * _LOOKS, Path(last.f_code.co_filename).name
    return (
        f"{owner.__name__}.{code.co_name}({', '.join(given)}) did not return within {seconds:g} seconds of"
        f" the processor and was ended in line {last.f_lineno} of {file}"
    )


@contextmanager
def limited_calls(owner: type) -> Iterator[None]:
    """End a call of a method of `owner` that uses the processor for a minute.

    Nothing is limited outside the main thread, on systems without `setitimer`, and if another part of the
    program uses the virtual timer. A compiled function ends when it returns to Python.

    Raises
    ------
    EndlessCall
        If a call is ended.
    """
    is_free = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    former: Any = signal.getsignal(signal.SIGVTALRM) if is_free else None
    if former is not signal.SIG_DFL or signal.getitimer(signal.ITIMER_VIRTUAL) != (0.0, 0.0):
        yield
        return
    signal.signal(signal.SIGVTALRM, _Watch(owner))
    signal.siginterrupt(signal.SIGVTALRM, False)  # C code need not expect interrupted calls of the system
    signal.setitimer(signal.ITIMER_VIRTUAL, _TICK, _TICK)
    try:
        yield
    except _End as end:
        raise EndlessCall(str(end)) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, former)
