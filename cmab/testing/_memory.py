"""How much memory a thing holds more after each of many calls."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from cmab.testing._comparisons import Stopwatch

_CALLS = 40
# Bytes a call that are no leak: notes of a round, beside a few numbers for each arm.
_ALLOWED = 16_384
# 20,000 calls: caches of any usual bound are full by then.
_STAGES = (300, 300, 1_000, 3_000, 5_000, 10_400)


def growth(call: Callable[[int], object], size: int) -> tuple[float, bool]:
    """Return the bytes that each later call left behind, as Python and numpy count them, and if it leaks.

    A call that works on `size` numbers leaks if it leaves more than notes of itself.
    """
    allowed = _ALLOWED + 64 * size
    left = _measure(call, collect=False)
    if left > allowed:  # cycles that nobody holds may wait to be collected, which takes its time
        left = _measure(call, collect=True)
    return left, left > allowed


def creeps(call: Callable[[int], object], size: int, seconds: float) -> float | None:
    """Return the bytes of each call if calls on `size` numbers go on to leave as many behind; None if not.

    Looks closer than `growth`, at a copy of the numbers for each call. Who keeps his last thousand answers
    fills up and stops: so calls go on for as long as the memory grows, and only what grew in every stage of
    twenty thousand calls creeps. Most stop after the second stage; what is too slow is not judged.
    """
    watch, number, held, left = Stopwatch(), 0, 0, 0.0
    tracemalloc.start()
    try:
        for stage, calls in enumerate(_STAGES):
            for _ in range(calls):
                call(number)
                number += 1
                # All get a short look; what grew, which is a fault as a rule, may take its time.
                if watch.seconds() > (3.0 if stage > 1 else 0.06) * seconds:
                    return None
            before, held = held, tracemalloc.get_traced_memory()[0]
            if stage > 0 and held - before > 8 * size * calls:
                gc.collect()
                held = tracemalloc.get_traced_memory()[0]
            left = (held - before) / calls
            if stage > 0 and left <= 8 * size:
                return None
    finally:
        tracemalloc.stop()
    return left


def _measure(call: Callable[[int], object], collect: bool) -> float:
    """Return the less of two stages after a first one: what is built at first use, or fills a bound, ends."""
    tracemalloc.start()
    try:
        held, number = [], 0
        for _ in range(3):
            for _ in range(_CALLS):
                call(number)
                number += 1
            if collect:
                gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    return min(held[1] - held[0], held[2] - held[1]) / _CALLS


def resident() -> int:
    """Return the bytes of this process in memory; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
