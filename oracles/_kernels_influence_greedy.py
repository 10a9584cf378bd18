"""Maximum coverage over reverse-reachable sets: index, greedy choice, bound on the optimum."""

import numpy as np

from cmab._kernels import kernel
from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray


@kernel
def invert(ends: IntArray, pool: AnyArray, n: int) -> tuple[AnyArray, AnyArray]:
    """Return the sets that hold each of `n` nodes, as (offsets, sets)."""
    n_sets = ends.shape[0] - 1
    offsets = np.zeros(n + 1, np.int64)
    for at in range(ends[n_sets]):
        offsets[pool[at] + 1] += 1
    for v in range(n):
        offsets[v + 1] += offsets[v]
    place = offsets[:-1].copy()
    sets = np.empty(ends[n_sets], np.int32)
    for i in range(n_sets):
        for at in range(ends[i], ends[i + 1]):
            sets[place[pool[at]]] = i
            place[pool[at]] += 1
    return offsets, sets


@kernel
def _largest(histogram: IntArray, top: int, k: int) -> int:
    """Return the sum of the `k` largest degrees, all at most `top`."""
    total = 0
    while top > 0 and k > 0:
        taken = min(k, histogram[top])
        total += taken * top
        k -= taken
        top -= 1
    return total


@kernel
def cover(
    ends: IntArray,
    pool: AnyArray,
    offsets: IntArray,
    sets: AnyArray,
    k: int,
    allowed: BoolArray,
    given: IntArray,
) -> tuple[IntArray, int, int]:
    """Choose at most `k` allowed nodes, `given` first and then greedily, ties to the lowest.

    Stop when nothing is left to gain. Return the nodes, the number of sets they cover, and an upper bound on
    what any k allowed nodes cover: the smallest, over the steps after `given`, of the coverage so far plus
    the k largest gains (Tang et al. 2018, eq. 10). Sets that hold a given node need not be complete.
    """
    n = offsets.shape[0] - 1
    degrees = np.zeros(n, np.int64)
    for v in range(n):
        if allowed[v]:
            degrees[v] = offsets[v + 1] - offsets[v]
    top = degrees.max()
    histogram = np.zeros(top + 1, np.int64)
    for v in range(n):
        histogram[degrees[v]] += 1
    covered_sets = np.zeros(ends.shape[0] - 1, np.bool_)
    chosen, size, covered, bound = np.empty(k, np.int64), 0, 0, ends.shape[0] - 1
    while True:
        if size >= given.shape[0]:
            bound = min(bound, covered + _largest(histogram, top, k))
        while top > 0 and histogram[top] == 0:
            top -= 1
        if size == k or (top == 0 and size >= given.shape[0]):
            return chosen[:size], covered, bound
        best = 0
        if size < given.shape[0]:
            best = given[size]
        else:
            while degrees[best] != top:
                best += 1
        chosen[size] = best
        size += 1
        covered += degrees[best]
        for j in range(offsets[best], offsets[best + 1]):
            if not covered_sets[sets[j]]:
                covered_sets[sets[j]] = True
                for at in range(ends[sets[j]], ends[sets[j] + 1]):
                    degree = degrees[pool[at]]
                    if degree > 0:  # others are not allowed
                        histogram[degree] -= 1
                        histogram[degree - 1] += 1
                        degrees[pool[at]] = degree - 1


@kernel
def _sum_of_largest(
    nodes: IntArray, degrees: IntArray, certain: FloatArray, slope: float, best: FloatArray
) -> float:
    """Return the sum of the largest ``certain + slope * degrees``, as many as `best` has room for."""
    best[:] = 0.0
    for v in nodes:
        value = certain[v] + slope * degrees[v]
        if value > best[0]:
            at = 0  # `best` stays in increasing order
            while at + 1 < best.shape[0] and best[at + 1] < value:
                best[at] = best[at + 1]
                at += 1
            best[at] = value
    return float(best.sum())


@kernel
def _most_gaining(
    nodes: IntArray, degrees: IntArray, certain: FloatArray, per_set: float
) -> tuple[int, float]:
    """Return the first node of largest ``certain + per_set * degrees``, and that."""
    best, value = -1, -1.0
    for v in nodes:
        if certain[v] + per_set * degrees[v] > value:
            best, value = v, certain[v] + per_set * degrees[v]
    return best, value


@kernel
def cover_and_gain(
    ends: IntArray,
    pool: AnyArray,
    offsets: IntArray,
    sets: AnyArray,
    k: int,
    nodes: IntArray,
    certain: FloatArray,
    per_set: float,
    slope: float,
    cut: float,
) -> tuple[IntArray, int, float]:
    """Choose among `nodes` as `cover` does, where v is worth ``certain[v]`` and each covered set `per_set`.

    Return the nodes, the number of sets they cover, and an upper bound on what any k of `nodes` are worth
    when a set is worth `slope`, not less than `per_set`. Nodes that never were worth `cut` with `slope` are
    looked at only where fewer than `k` others still are.
    """
    n = offsets.shape[0] - 1
    degrees, left = np.empty(n, np.int64), certain.copy()
    for v in range(n):
        degrees[v] = offsets[v + 1] - offsets[v]
    near = nodes[certain[nodes] + slope * degrees[nodes] >= cut]
    covered_sets = np.zeros(ends.shape[0] - 1, np.bool_)
    chosen, largest, covered, gained, bound = np.empty(k, np.int64), np.empty(k), 0, 0.0, np.inf
    for size in range(k + 1):
        more = _sum_of_largest(near, degrees, left, slope, largest)
        if largest[0] < cut:
            more = _sum_of_largest(nodes, degrees, left, slope, largest)
        bound = min(bound, gained + slope * covered + more)
        if size == k:
            break
        best, value = _most_gaining(near, degrees, left, per_set)
        if value < cut:
            best, value = _most_gaining(nodes, degrees, left, per_set)
        if value <= 0.0:
            return chosen[:size], covered, bound
        chosen[size] = best
        gained += left[best]
        left[best] = 0.0
        covered += degrees[best]
        for j in range(offsets[best], offsets[best + 1]):
            if not covered_sets[sets[j]]:
                covered_sets[sets[j]] = True
                for at in range(ends[sets[j]], ends[sets[j] + 1]):
                    degrees[pool[at]] -= 1
    return chosen, covered, bound


@kernel
def cover_within(
    ends: IntArray, pool: AnyArray, offsets: IntArray, sets: AnyArray, costs: FloatArray, budget: float
) -> tuple[IntArray, int, IntArray]:
    """Choose nodes greedily by gain per cost, ties to the lowest, while the budget allows any gain.

    Return the nodes, the number of sets they cover, and the gains that are left.
    """
    n = offsets.shape[0] - 1
    gains, chosen, size, covered = np.empty(n, np.int64), np.empty(n, np.int64), 0, 0
    for v in range(n):
        gains[v] = offsets[v + 1] - offsets[v]
    covered_sets = np.zeros(ends.shape[0] - 1, np.bool_)
    while True:
        best, rate = -1, 0.0
        for v in range(n):
            if costs[v] <= budget and gains[v] > rate * costs[v]:
                best, rate = v, gains[v] / costs[v]
        if best < 0:
            return chosen[:size], covered, gains
        chosen[size] = best
        size += 1
        covered += gains[best]
        budget -= costs[best]
        for j in range(offsets[best], offsets[best + 1]):
            if not covered_sets[sets[j]]:
                covered_sets[sets[j]] = True
                for at in range(ends[sets[j]], ends[sets[j] + 1]):
                    gains[pool[at]] -= 1


@kernel
def count_covered(offsets: IntArray, sets: AnyArray, nodes: IntArray, seen: BoolArray) -> int:
    """Return how many sets hold one of `nodes`; `seen`, one entry a set, is false before and after."""
    covered = 0
    for v in nodes:
        for j in range(offsets[v], offsets[v + 1]):
            covered += not seen[sets[j]]
            seen[sets[j]] = True
    for v in nodes:
        for j in range(offsets[v], offsets[v + 1]):
            seen[sets[j]] = False
    return covered
