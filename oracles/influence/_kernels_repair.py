"""Sampling of sets by random numbers of (key, set, arc), and repair of the sets for changed probabilities.

Set i is a function of (key, i, probabilities). A set uses the random number of an arc only if it contains the
head of the arc. So a set changes only if such a number is between the old and the new probability.
"""

from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, IntArray
from cmab.kernels import GOLDEN, kernel, mix
from oracles.diffusion._kernels_graph import CERTAIN
from oracles.diffusion._kernels_sets import S33, draw_root

# The first numbers of the stream of a set determine its root.
_COINS = 3


class Guards(NamedTuple):
    """Bounds on the random numbers of each arc: the largest live one, the smallest dead one."""

    floors: AnyArray
    ceilings: AnyArray


class OldSets(NamedTuple):
    """Sets that were drawn before, and which are stale; set i is ``pool[ends[i]:ends[i + 1]]``."""

    stale: BoolArray
    ends: IntArray
    pool: AnyArray


@kernel
def coin(base, number, arc):
    """Return the 31-bit random number of an arc in a set; `base` is the mixed key."""
    stream = mix(base + np.uint64(number + 1) * GOLDEN)
    return mix(stream + np.uint64(arc + _COINS) * GOLDEN) >> S33


@kernel
def draw_or_copy(world, key, done, old, guards, ends, pool):
    """Fill `ends` and `pool` from set number `done` on, until the pool could overflow.

    Old sets that are not stale are copied; the others are drawn, and their random numbers update the guards.
    Return the number of finished sets, the number of drawn sets, and the number of arcs examined for them.
    """
    stale, old_ends, old_pool = old
    floors, ceilings = guards
    roots, cuts, aliases = world.roots, world.cuts, world.aliases
    offsets, tails, limits = world.offsets, world.tails, world.limits
    n = offsets.shape[0] - 1
    base, stamps, drawn, examined = mix(np.uint64(key)), np.zeros(n, np.int32), 0, 0
    for j in range(done, ends.shape[0] - 1):
        start = ends[j]
        if j < stale.shape[0] and not stale[j]:
            size = old_ends[j + 1] - old_ends[j]
            if start + size > pool.shape[0]:
                return j, drawn, examined
            # Copy the set: none of its random numbers lies between an old and a new limit.
            for at in range(size):
                pool[start + at] = old_pool[old_ends[j] + at]
            ends[j + 1] = start + size
            continue
        if start + n > pool.shape[0]:
            return j, drawn, examined
        stamp = j + 1
        stream = mix(base + np.uint64(stamp) * GOLDEN)
        root, _ = draw_root(roots, cuts, aliases, stream)
        pool[start], stamps[root] = root, stamp
        at, end = start, start + 1
        while at < end:
            v = pool[at]
            at += 1
            examined += offsets[v + 1] - offsets[v]
            # The arcs into a node are adjacent, so their random numbers are adjacent in the stream.
            state = stream + np.uint64(offsets[v] + _COINS - 1) * GOLDEN
            for i in range(offsets[v], offsets[v + 1]):
                state += GOLDEN  # the same state as in `coin`, by one addition
                tossed = np.uint32(mix(state) >> S33)
                if tossed >= limits[i]:
                    # A dead number bounds the ceiling of its arc, a live one the floor. Limits may move
                    # between them.
                    ceilings[i] = min(ceilings[i], tossed)
                    continue
                floors[i] = max(floors[i], np.uint32(tossed + 1))
                u = tails[i]
                if stamps[u] != stamp:
                    stamps[u] = stamp
                    pool[end] = u
                    end += 1
        ends[j + 1] = end
        drawn += 1
    return ends.shape[0] - 1, drawn, examined


@kernel
def coins_to_compare(offsets, limits, guards, holders):
    """Return how many random numbers `find_stale` would compare, and how many all sets have together."""
    floors, ceilings = guards
    some, whole = 0, 0
    for v in range(offsets.shape[0] - 1):
        count = holders[v + 1] - holders[v]
        # Drawing all sets again draws all these numbers: the caller compares the two costs.
        whole += count * (offsets[v + 1] - offsets[v])
        for i in range(offsets[v], offsets[v + 1]):
            if limits[i] < floors[i] or limits[i] > ceilings[i]:
                some += count
    return some, whole


@kernel
def find_stale(offsets, key, before, after, guards, holders, sets, n_sets):
    """Return which sets change if the limits `before` become `after`, and update the guards.

    The sets that contain node v are ``sets[holders[v]:holders[v + 1]]``. No random number is between the
    guards of an arc, so a limit that stays between them changes no set.
    """
    floors, ceilings = guards
    base, stale = mix(np.uint64(key)), np.zeros(n_sets, np.bool_)
    for v in range(offsets.shape[0] - 1):
        for i in range(offsets[v], offsets[v + 1]):
            # The limit stays between the guards of this arc, so no set changes because of it.
            if floors[i] <= after[i] <= ceilings[i]:
                continue
            low, high = min(before[i], after[i]), max(before[i], after[i])
            floor, ceiling = np.uint32(0), CERTAIN
            for j in range(holders[v], holders[v + 1]):
                tossed = np.uint32(coin(base, sets[j], i))
                # The arc was live and is dead now, or vice versa.
                if low <= tossed < high:
                    stale[sets[j]] = True
                if tossed < after[i]:
                    floor = max(floor, np.uint32(tossed + 1))
                else:
                    ceiling = min(ceiling, tossed)
            floors[i], ceilings[i] = floor, ceiling
    return stale
