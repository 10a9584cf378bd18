"""The number of reverse-reachable sets that a call can draw within its time limit."""

from __future__ import annotations

import time
from collections.abc import Callable

# The number of sets in the first trial. A trial is conclusive if it takes this share of the remaining time.
_FEW, _TELLING = 256, 0.05
# The time grows slightly faster than the number of sets, because caches overflow.
_CAREFUL = 0.8


def sets_until(deadline: float, most: int, search_with: Callable[[int], object]) -> int:
    """Return the number of sets per sample, at most `most`, that `search_with` can process until `deadline`.

    The number is estimated from trials. The first trial only loads or compiles code, and its time is ignored.
    """
    search_with(_FEW)
    n_sets = _FEW
    while True:
        started = time.perf_counter()
        search_with(n_sets)
        now = time.perf_counter()
        took, left = now - started, deadline - now
        if took >= _TELLING * left:
            return min(most, max(_FEW, int(_CAREFUL * n_sets * left / took)))
        if n_sets >= most:
            return most
        n_sets *= 4
