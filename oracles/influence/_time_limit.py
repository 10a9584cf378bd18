"""How many reverse-reachable sets a call gets through in the time that it has."""

from __future__ import annotations

import time
from collections.abc import Callable

# Sets that are tried out first, and the share of the time that is left from which what they took tells.
_FEW, _TELLING = 256, 0.05
# Time for larger samples grows a little faster than they do, as caches overflow.
_CAREFUL = 0.8


def sets_until(deadline: float, most: int, search_with: Callable[[int], object]) -> int:
    """Return how many sets in each sample, of `most`, `search_with` can take up to `deadline`.

    By trying out a few; the first try is for what is compiled or loaded then, and not counted.
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
