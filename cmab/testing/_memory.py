"""Measurement of the memory that an object accumulates over many calls."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from cmab.testing._comparisons import Stopwatch

_CALLS = 40
# Bytes per call that are not a leak, in addition to a few numbers for each arm: records of a round.
_ALLOWED = 16_384
# Together 20,000 calls. Caches of any usual size are full after this number.
_STAGES = (300, 300, 1_000, 3_000, 5_000, 10_400)


def growth(call: Callable[[int], object], size: int) -> tuple[float, bool]:
    """Return the bytes that each later call leaves behind, and whether the call leaks memory.

    The bytes are those that Python and NumPy count. A call on `size` numbers leaks if it leaves more behind
    than a record of a round.
    """
    allowed = _ALLOWED + 64 * size
    left = _measure(call, collect=False)
    if left > allowed:  # collect cyclic garbage, which is slow, before the call is blamed
        left = _measure(call, collect=True)
    return left, left > allowed


def creeps(call: Callable[[int], object], size: int, seconds: float) -> float | None:
    """Return the bytes that each call leaves behind if memory grows steadily; otherwise None.

    This is more sensitive than `growth`: it detects one copy of `size` numbers per call. An object that keeps
    its last thousand answers stops growing when its store is full. So the calls continue as long as memory
    grows, and only growth in every stage of twenty thousand calls counts. Most objects stop growing after the
    second stage. Slow calls are not judged.
    """
    watch, number, held, left = Stopwatch(), 0, 0, 0.0
    tracemalloc.start()
    try:
        for stage, calls in enumerate(_STAGES):
            for _ in range(calls):
                call(number)
                number += 1
                # All objects get a short test. An object that grows is probably faulty and gets more time.
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
    """Return the smaller growth of two stages after a first one, which fills caches and lazy attributes."""
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
    """Return the resident memory of this process in bytes; 0 if the system does not provide it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
