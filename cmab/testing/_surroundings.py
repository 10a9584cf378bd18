"""The surroundings of a call that must not change its answer: the clock and the global generators."""

from __future__ import annotations

import datetime
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
_NAMES = (*_CLOCKS, *(f"{name}_ns" for name in _CLOCKS))
_DATES = ("localtime", "gmtime", "ctime")
# Another hour, weekday, month and season.
_LATER = 187 * 86_400 + 12_345.678_9
_TIME = datetime.datetime


@contextmanager
def later(*subjects: object) -> Iterator[None]:
    """Run the block as if it were half a year later, by replacing the functions of `time` and `datetime`.

    They are also replaced in the modules of the classes of `subjects`, which may have imported them by name.
    All clocks continue at their own pace.
    """
    false: list[tuple[Any, Any]] = [
        (getattr(time, name), _shifted(getattr(time, name), name.endswith("_ns"))) for name in _NAMES
    ]
    false += [(getattr(time, name), _dated(getattr(time, name))) for name in _DATES]
    false += [(datetime.datetime, _LaterTime), (datetime.date, _LaterDate)]
    places = [vars(time), vars(datetime)]
    for cls in {cls for subject in subjects for cls in type(subject).__mro__} - {object}:
        module = sys.modules.get(cls.__module__)
        places += [vars(module)] if module is not None else []
    moved = [
        (place, name, value, other)
        for place in places
        for name, value in list(place.items())
        for clock, other in false
        # A module may import a function under another name: `from time import monotonic as now`.
        if value is clock
    ]
    try:
        for place, name, _, other in moved:
            place[name] = other
        yield
    finally:
        for place, name, value, _ in moved:
            place[name] = value


def _shifted(clock: Callable[[], Any], in_nanoseconds: bool) -> Callable[[], Any]:
    offset = int(_LATER * 1e9) if in_nanoseconds else _LATER
    return lambda: clock() + offset


def _dated(convert: Callable[..., Any]) -> Callable[..., Any]:
    """Return a conversion of the present time, for a later time unless a time is given."""
    now = time.time  # the original
    return lambda *given: convert(*given) if given else convert(now() + _LATER)


class _LaterTime(datetime.datetime):
    """Points in time whose present is later."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return _TIME.now(tz) + datetime.timedelta(seconds=_LATER)

    @classmethod
    def utcnow(cls) -> Any:
        return _TIME.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(seconds=_LATER)

    @classmethod
    def today(cls) -> Any:
        return cls.now()


class _LaterDate(datetime.date):
    """Dates whose present is later."""

    @classmethod
    def today(cls) -> Any:
        return _LaterTime.now().date()


def global_state() -> tuple[Any, Any]:
    """Return the states of the global generators of numpy and of `random`."""
    return np.random.get_state(), random.getstate()  # noqa: NPY002


@contextmanager
def kept_generators() -> Iterator[None]:
    """Restore the states of the global generators after the block."""
    kept = global_state()
    try:
        yield
    finally:
        np.random.set_state(kept[0])  # noqa: NPY002
        random.setstate(kept[1])


def seed_generators(seed: int) -> None:
    """Seed the global generators of numpy and of `random`."""
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
