"""Covers: greedy, dual bounds and the removal of arms that are not needed."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.kernels import heap_drop, heap_rise, kernel, lean_kernel


class Incidence(NamedTuple):
    """Which arm covers which element, by rows and by columns.

    Arm a covers ``elements[starts[a] : starts[a + 1]]``. The arms of element e are
    ``arms[firsts[e] : firsts[e + 1]]``.
    """

    starts: IntArray
    elements: IntArray
    firsts: IntArray
    arms: IntArray


@lean_kernel
def _choose(incidence, arm, chosen, times):
    """Choose an arm, and return the number of elements that it covers first."""
    chosen[arm], fresh = True, 0
    for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
        fresh += times[incidence.elements[i]] == 0
        times[incidence.elements[i]] += 1
    return fresh


@kernel
def greedy_cover(incidence, costs, chosen):
    """Choose the arm of least cost per new element until every element is covered (Chvátal 1979).

    Arms of negative cost are chosen first. Ties are broken by the lower arm.
    """
    n, left = costs.shape[0], incidence.firsts.shape[0] - 1
    times, fresh = np.zeros(left, np.int64), np.diff(incidence.starts)
    heap, keys, size = np.empty(n, np.int64), np.empty(n), 0
    chosen[:] = False
    for arm in range(n):
        if costs[arm] < 0.0:
            left -= _choose(incidence, arm, chosen, times)
    for arm in range(n):
        fresh[arm] = _count_fresh(incidence, arm, times)
        if fresh[arm] > 0 and not chosen[arm]:
            heap[size], keys[size] = arm, -costs[arm] / fresh[arm]
            heap_rise(heap, keys, size)
            size += 1
    while left > 0:
        arm = heap[0]
        size = heap_drop(heap, keys, size)
        now = _count_fresh(incidence, arm, times)
        if now == fresh[arm]:
            left -= _choose(incidence, arm, chosen, times)
        elif now > 0:
            # The number of new elements only decreases, so an outdated price is a lower bound.
            fresh[arm] = now
            heap[size], keys[size] = arm, -costs[arm] / now
            heap_rise(heap, keys, size)
            size += 1


@lean_kernel
def _count_fresh(incidence, arm, times):
    """Return the number of elements of an arm that are not covered."""
    fresh = 0
    for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
        fresh += times[incidence.elements[i]] == 0
    return fresh


@kernel
def prune(incidence, costs, chosen):
    """Remove arms that are not needed, in decreasing order of cost; arms of negative cost remain."""
    times = np.zeros(incidence.firsts.shape[0] - 1, np.int64)
    for arm in range(costs.shape[0]):
        if chosen[arm]:
            _choose(incidence, arm, chosen, times)
    for arm in np.argsort(-costs, kind="mergesort"):
        if not chosen[arm] or costs[arm] < 0.0:
            continue
        is_needed = False
        for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
            is_needed |= times[incidence.elements[i]] == 1
        if not is_needed:
            chosen[arm] = False
            for i in range(incidence.starts[arm], incidence.starts[arm + 1]):
                times[incidence.elements[i]] -= 1


@kernel
def dual_bound(incidence, costs, order, left):
    """Return a lower bound on the cost of every cover: the value of a dual solution.

    Each element, in this order, takes the rest of the cheapest arm that covers it. `left` receives the costs
    that are left.
    """
    total = 0.0
    for arm in range(costs.shape[0]):
        left[arm] = max(costs[arm], 0.0)
        total += min(costs[arm], 0.0)
    for element in order:
        least = np.inf
        for i in range(incidence.firsts[element], incidence.firsts[element + 1]):
            least = min(least, left[incidence.arms[i]])
        if least > 0.0:
            total += least
            for i in range(incidence.firsts[element], incidence.firsts[element + 1]):
                left[incidence.arms[i]] -= least
    return total
