"""How much memory a thing holds more after each of many calls."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

_CALLS = 40
_ALLOWED = 16_384


def growth(call: Callable[[int], object], size: int) -> tuple[float, bool]:
    """Return the bytes that each later call left behind, as Python and numpy count them, and if it leaks.

    A call that works on `size` numbers leaks if it leaves more than notes of itself.
    """
    allowed = _ALLOWED + 64 * size
    left = _measure(call, collect=False)
    if left > allowed:  # cycles that nobody holds may wait to be collected, which takes its time
        left = _measure(call, collect=True)
    return left, left > allowed


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
