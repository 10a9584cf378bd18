"""Kernels that draw reverse-reachable sets.

Set number i of a key has a random stream of its own, so that it is the same whoever draws it, in whatever
order and number of threads, stored or only looked at.
"""

import numpy as np

from cmab._kernels import kernel
from cmab._kernels_random import mix
from cmab.arrays import AnyArray, BoolArray, IntArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ONE, _S11, _S33 = np.uint64(1), np.uint64(11), np.uint64(33)
_TO_UNIT = 2.0**-53


@kernel
def _grow(
    roots: AnyArray,
    offsets: IntArray,
    tails: AnyArray,
    limits: AnyArray,
    state: np.uint64,
    pool: AnyArray,
    start: int,
    stamps: AnyArray,
    stamp: int,
    marked: BoolArray,
) -> tuple[bool, int, int]:
    """Draw one set into ``pool[start:]``; stop at the first marked node.

    Return whether a marked node was met, the end of the set in the pool and the number of arcs examined.
    """
    # splitmix64: a counter in steps of the golden ratio, each value mixed.
    state += _GOLDEN
    root = roots[int(np.float64(mix(state) >> _S11) * _TO_UNIT * roots.shape[0])]
    pool[start] = root
    stamps[root] = stamp
    if marked[root]:
        return True, start + 1, 0
    at, end, examined = start, start + 1, 0
    while at < end:
        v = pool[at]
        at += 1
        examined += offsets[v + 1] - offsets[v]
        for i in range(offsets[v], offsets[v + 1]):
            state += _GOLDEN
            if mix(state) >> _S33 < limits[i]:
                u = tails[i]
                if stamps[u] != stamp:
                    stamps[u] = stamp
                    pool[end] = u
                    end += 1
                    if marked[u]:
                        return True, end, examined
    return False, end, examined


@kernel
def draw_sets(
    roots: AnyArray,
    offsets: IntArray,
    tails: AnyArray,
    limits: AnyArray,
    key: int,
    first: int,
    ends: IntArray,
    pool: AnyArray,
    stamps: AnyArray,
) -> tuple[int, int]:
    """Draw the sets `first`, first + 1, ... of `key` until `ends` is full or the pool could overflow.

    Set i fills ``pool[ends[i]:ends[i + 1]]``. Return the number of sets drawn so far and of arcs examined.
    """
    base, examined = mix(np.uint64(key)), 0
    n = offsets.shape[0] - 1
    unmarked = np.zeros(n, np.bool_)
    for i in range(first, ends.shape[0] - 1):
        if ends[i] + n > pool.shape[0]:
            return i, examined
        state = mix(base + (np.uint64(i) + _ONE) * _GOLDEN)
        _, ends[i + 1], arcs = _grow(
            roots, offsets, tails, limits, state, pool, ends[i], stamps, i + 1, unmarked
        )
        examined += arcs
    return ends.shape[0] - 1, examined


@kernel
def count_hits(
    roots: AnyArray,
    offsets: IntArray,
    tails: AnyArray,
    limits: AnyArray,
    key: int,
    n_sets: int,
    marked: BoolArray,
) -> tuple[int, int]:
    """Return how many of the first `n_sets` sets of `key` meet a marked node, and the arcs examined.

    Each set is left at its first marked node and none is stored.
    """
    base, hits, examined = mix(np.uint64(key)), 0, 0
    n = offsets.shape[0] - 1
    pool, stamps = np.empty(n, np.int32), np.zeros(n, np.int32)
    for i in range(n_sets):
        state = mix(base + (np.uint64(i) + _ONE) * _GOLDEN)
        hit, _, arcs = _grow(roots, offsets, tails, limits, state, pool, 0, stamps, i + 1, marked)
        hits += hit
        examined += arcs
    return hits, examined
