"""The surroundings of a call that must not change its answer: the clock and the global generators."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

_CLOCKS = ("time", "monotonic", "perf_counter", "process_time")
_LATER = 12_345.678_9


@contextmanager
def later(*subjects: object) -> Iterator[None]:
    """Run the block as if it were some hours later, by replacing the functions of `time`.

    The functions are also replaced in the modules of the classes of `subjects`, which may have imported them
    by name. All clocks continue at their own pace.
    """
    true = {name: getattr(time, name) for name in (*_CLOCKS, *(f"{name}_ns" for name in _CLOCKS))}
    false = {name: _shifted(clock, name.endswith("_ns")) for name, clock in true.items()}
    places = [vars(time)]
    for cls in {cls for subject in subjects for cls in type(subject).__mro__} - {object}:
        module = sys.modules.get(cls.__module__)
        places += [vars(module)] if module is not None else []
    moved = [
        (place, name, value, false[clock])
        for place in places
        for name, value in list(place.items())
        for clock in true
        # A module may import a function under another name: `from time import monotonic as now`.
        if value is true[clock]
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
