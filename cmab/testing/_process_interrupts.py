"""The check that Ctrl-C ends a call, by an interrupt at each line of the class."""

from __future__ import annotations

import ast
import copy
import linecache
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._process_state import kept_settings
from cmab.testing._trials import Trial, prepared

_LINES = 60
_SHARE = 0.1
_LEAVING = (ast.Return, ast.Break, ast.Continue)
Place = tuple[str, int, str]


def check_interrupts(subject: Any) -> Finding:
    """Check that a ``KeyboardInterrupt`` at any line of the class leaves the call."""
    trial = prepared(subject)
    if _copy(trial) is None:
        return Finding("not tried: the object cannot be copied")
    files = _files(trial.thing)
    places: dict[Place, None] = {}
    with kept_settings():
        _traced(files, lambda place: places.setdefault(place), lambda: trial.run(_copy(trial)))
    guarded = {file: _guarded_lines(file) for file in files}
    watch, tried = Stopwatch(), 0
    for place in [place for place in places if place[1] in guarded[place[0]]][:_LINES]:
        if place[2] in ("__del__", "__repr__"):
            continue
        if tried >= 3 and watch.seconds() > _SHARE * subject.seconds:
            break
        line = linecache.getline(place[0], place[1]).strip()
        thing = _copy(trial)
        with kept_settings():
            outcome = _interrupted(files, place, lambda thing=thing: trial.run(thing))  # type: ignore[misc]
        text = (
            "a KeyboardInterrupt in {}, line {} ({!r}), did not leave the call, {}; catch Exception or a"
            " narrower class, not BaseException"
        )
        require(not outcome, "interrupts", text, place[2], place[1], line, outcome)
        tried += 1
    return Finding(
        f"{len(places)} lines, {tried} of them in blocks that catch exceptions, where an interrupt came"
    )


def _copy(trial: Trial) -> Any:
    """Return a copy whose code names its source file, which code that is pickled by value does not."""
    try:
        return copy.deepcopy(trial.thing)
    except Exception:  # a deep copy is not required
        return trial.copy()


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


def _guarded_lines(file: str) -> set[int]:
    """Return the lines of blocks that may catch an exception: of `try` with handlers, and of `with`.

    An interrupt elsewhere leaves the call in any case. Between the acquisition of a lock and `try`, it would
    lock the lock for good, also in careful code.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return set()
    found: set[int] = set()
    for node in ast.walk(tree):
        ends = any(
            isinstance(part, _LEAVING) for last in getattr(node, "finalbody", []) for part in ast.walk(last)
        )
        if isinstance(node, ast.With) or (isinstance(node, ast.Try) and (node.handlers or ends)):
            for part in node.body:
                found.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
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

    def trace(frame: FrameType, event: str, arg: object) -> Any:
        return local if frame.f_code.co_filename in files else None

    def local(frame: FrameType, event: str, arg: object) -> Any:
        if event == "line":
            visit((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        return local

    kept = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(kept)
