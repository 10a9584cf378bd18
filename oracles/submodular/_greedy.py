"""Greedy choice for a value function: lazy, or from a few random entries at a time."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

import numpy as np

from cmab.arrays import IntArray
from oracles.submodular._families import Family

Value = Callable[[list[int]], float]


def lazy_greedy(value: Value, candidates: IntArray, family: Family) -> list[int]:
    """Return the greedy set, which repeatedly adds the fitting entry of largest gain per price.

    Gains only decrease. So an entry with an outdated gain need not be evaluated again while the gain of
    another entry is larger (Minoux 1978). Ties go to the lower entry. If prices differ, the best single entry
    is returned if its value is larger.
    """
    chosen: list[int] = []
    worth = empty = value(chosen)
    fitting = [int(entry) for entry in candidates if family.fits(chosen, int(entry))]
    alone = {entry: value([entry]) for entry in fitting}
    # Divide by the largest gain, so that no quotient overflows.
    unit = max((alone[entry] - empty for entry in fitting), default=0.0) or 1.0

    def rank(gain: float, entry: int) -> float:
        price = float(family.prices[entry])
        return -gain / unit / price if price > 0.0 else -math.inf

    heap = [(rank(alone[entry] - empty, entry), entry, alone[entry], 0) for entry in fitting]
    heapq.heapify(heap)
    while heap and len(chosen) < family.largest:
        _, entry, with_it, known = heapq.heappop(heap)
        if not family.fits(chosen, entry):
            continue
        if known < len(chosen):
            with_it = value([*chosen, entry])
            heapq.heappush(heap, (rank(with_it - worth, entry), entry, with_it, len(chosen)))
            continue
        chosen.append(entry)
        worth = with_it
    best = max(fitting, key=alone.__getitem__, default=None)
    if not family.is_full and best is not None and alone[best] > worth:
        return [best]
    return chosen


def stochastic_greedy(
    value: Value, candidates: IntArray, k: int, epsilon: float, rng: np.random.Generator
) -> list[int]:
    """Return k entries, each the best of a few random ones (Mirzasoleiman et al. 2015, algorithm 1)."""
    chosen: list[int] = []
    worth, left = value(chosen), np.sort(candidates)
    few = math.ceil(len(left) / k * math.log(1.0 / epsilon))
    for _ in range(k):
        drawn = np.sort(rng.choice(left, min(few, len(left)), replace=False)).tolist()
        gains = [value([*chosen, entry]) - worth for entry in drawn]
        chosen.append(drawn[int(np.argmax(gains))])
        worth += max(gains)
        left = left[left != chosen[-1]]
    return chosen
