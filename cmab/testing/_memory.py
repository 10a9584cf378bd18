"""Measure the memory that each of many calls leaves behind."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from cmab.testing._comparisons import Stopwatch

_CALLS = 40
# Bytes per call that are no leak, in addition to a few numbers for each arm: the records of a round.
_ALLOWED = 16_384
# Calls of each stage. After 20,000 calls, caches of any usual bound are full.
_STAGES = (300, 300, 1_000, 3_000, 5_000, 10_400)


def growth(call: Callable[[int], object], size: int) -> tuple[float, bool]:
    """Return the bytes that each call leaves behind, as Python and numpy count them, and whether it leaks.

    A call on `size` numbers leaks if it leaves more than 16 KiB and 64 bytes for each number.
    """
    allowed = _ALLOWED + 64 * size
    left = _measure(call, collect=False)
    if left > allowed:  # perhaps reference cycles; collecting them takes time
        left = _measure(call, collect=True)
    return left, left > allowed


def creeps(call: Callable[[int], object], size: int, seconds: float) -> float | None:
    """Return the bytes that each of 20,000 calls leaves behind if the memory keeps growing, otherwise None.

    This test is more sensitive than `growth`: it detects calls that leave more than 8 bytes for each of the
    `size` numbers, that is one copy of the numbers. A bounded cache, for example of the last thousand
    answers, stops growing. The test therefore continues only while every stage after the first grows, and
    usually ends after the second stage. If the calls are too slow for the time limit, it returns None.
    """
    watch, number, held, left = Stopwatch(), 0, 0, 0.0
    tracemalloc.start()
    try:
        for stage, calls in enumerate(_STAGES):
            for _ in range(calls):
                call(number)
                number += 1
                # The first two stages are short. Growth in both is usually a fault, so that the other
                # stages may take longer.
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
    """Return the smaller growth of two stages in bytes per call, after a first stage that fills caches."""
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
    """Return the resident memory of this process in bytes, or 0 if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
