"""Work in equal parts on threads; kernels release the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")

_WORTH_A_THREAD = 1024


def in_parts(threads: int, first: int, last: int, work: Callable[[int, int], Result]) -> list[Result]:
    """Return ``work(a, b)`` of consecutive ranges that make up ``range(first, last)``, in order."""
    parts = max(1, min(threads, (last - first) // _WORTH_A_THREAD))
    if parts == 1:
        return [work(first, last)]
    cuts = np.linspace(first, last, parts + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(parts) as pool:
        return list(pool.map(work, cuts[:-1], cuts[1:]))
