"""The check that Ctrl-C ends a call, by an interrupt at each line of the class."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._process_state import kept_settings
from cmab.testing._trials import prepared

_LINES = 60
_SHARE = 0.1
Place = tuple[str, int, str]


def check_interrupts(subject: Any) -> Finding:
    """Check that a ``KeyboardInterrupt`` at any line of the class leaves the call."""
    trial = prepared(subject)
    if trial.copy() is None:
        return Finding("not tried: the object cannot be copied")
    files = _files(trial.thing)
    places: dict[Place, None] = {}
    with kept_settings():
        _traced(files, lambda place: places.setdefault(place), lambda: trial.run(trial.copy()))
    watch, tried = Stopwatch(), 0
    for place in list(places)[:_LINES]:
        # A lock that is acquired in the line before `try:` would stay locked, also in careful code.
        line = linecache.getline(place[0], place[1]).strip()
        if line.startswith("try:") or place[2] in ("__del__", "__repr__"):
            continue
        if tried >= 3 and watch.seconds() > _SHARE * subject.seconds:
            break
        copy = trial.copy()
        with kept_settings():
            outcome = _interrupted(files, place, lambda copy=copy: trial.run(copy))  # type: ignore[misc]
        text = (
            "a KeyboardInterrupt in {}, line {} ({!r}), did not leave the call, {}; catch Exception or a"
            " narrower class, not BaseException"
        )
        require(not outcome, "interrupts", text, place[2], place[1], line, outcome)
        tried += 1
    return Finding(f"an interrupt at {tried} of {len(places)} lines")


def _files(thing: Any) -> set[str]:
    """Return the source files of the class and its bases, without the base classes of this package."""
    found = set()
    for cls in type(thing).__mro__:
        for part in vars(cls).values():
            inner = getattr(part, "unguarded", part)
            code = getattr(
                getattr(inner, "fget", None) or getattr(inner, "__wrapped__", inner), "__code__", None
            )
            if code is not None and cls.__module__.split(".")[0] not in ("cmab", "abc", "typing", "enum"):
                found.add(code.co_filename)
    return found


def _interrupted(files: set[str], place: Place, run: Callable[[], object]) -> str:
    """Interrupt the run once, at the first visit of `place`. Return what happened, '' if it ended."""
    raised = False

    def visit(here: Place) -> None:
        nonlocal raised
        if here == place and not raised:
            raised = True
            raise KeyboardInterrupt

    try:
        _traced(files, visit, run)
    except KeyboardInterrupt:
        return ""
    except BaseException as error:
        return f"which raised {error!r}" if raised else ""
    return "which returned an answer" if raised else ""


def _traced(files: set[str], visit: Callable[[Place], object], run: Callable[[], object]) -> None:
    """Call `visit` with each line of `files` that the run executes."""

    def trace(frame: FrameType, event: str, arg: object) -> Any:  # noqa: ARG001
        return local if frame.f_code.co_filename in files else None

    def local(frame: FrameType, event: str, arg: object) -> Any:  # noqa: ARG001
        if event == "line":
            visit((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        return local

    kept = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(kept)
