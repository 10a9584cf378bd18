"""Sets drawn by coins that belong to (key, set, arc), and what has to be drawn again for other probabilities.

Set i is the same function of (key, i, probabilities) whoever draws it. Its coin of an arc is looked at when
the set holds the arc's head: a set changes only if such a coin lies between the old and the new probability.
"""

from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, IntArray
from cmab.kernels import GOLDEN, kernel, mix
from oracles.diffusion._kernels_graph import CERTAIN
from oracles.diffusion._kernels_sets import S33, draw_root

# The first numbers of a set's stream are for its root.
_COINS = 3


class Guards(NamedTuple):
    """Of the coins of each arc, no live one is at least its floor, and no dead one below its ceiling."""

    floors: AnyArray
    ceilings: AnyArray


class OldSets(NamedTuple):
    """Sets drawn before, set i ``pool[ends[i]:ends[i + 1]]``, and which of them no longer hold."""

    stale: BoolArray
    ends: IntArray
    pool: AnyArray


@kernel
def coin(base, number, arc):
    """Return the 31-bit coin of an arc in a set; `base` is the mixed key."""
    stream = mix(base + np.uint64(number + 1) * GOLDEN)
    return mix(stream + np.uint64(arc + _COINS) * GOLDEN) >> S33


@kernel
def draw_or_copy(world, key, done, old, guards, ends, pool):
    """Fill `ends` and `pool` from set number `done` on, until the pool could overflow.

    Old sets that are not stale are copied, others drawn; what coins of those say is added to the guards.
    Return the number of sets done, how many were drawn, and the arcs examined for them.
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
            # Copied, not drawn: none of its coins lies between an old and a new limit.
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
            # Arcs into a node lie side by side, so their coins are neighbours in the stream.
            state = stream + np.uint64(offsets[v] + _COINS - 1) * GOLDEN
            for i in range(offsets[v], offsets[v + 1]):
                state += GOLDEN  # as `coin` does, by one addition
                tossed = np.uint32(mix(state) >> S33)
                if tossed >= limits[i]:
                    # A dead coin is a ceiling of its arc, a live one a floor: limits may move between.
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
    """Return how many coins `find_stale` would look at, and how many there are in all sets together."""
    floors, ceilings = guards
    some, whole = 0, 0
    for v in range(offsets.shape[0] - 1):
        count = holders[v + 1] - holders[v]
        # Drawing anew tosses all of them: the caller compares the two numbers.
        whole += count * (offsets[v + 1] - offsets[v])
        for i in range(offsets[v], offsets[v + 1]):
            if limits[i] < floors[i] or limits[i] > ceilings[i]:
                some += count
    return some, whole


@kernel
def find_stale(offsets, key, before, after, guards, holders, sets, n_sets):
    """Return which sets change with the limits `before` that become `after`, and make the guards hold again.

    The sets that hold node v are ``sets[holders[v]:holders[v + 1]]``. No coin lies between an arc's guards,
    so that a limit which stays between them changes nothing.
    """
    floors, ceilings = guards
    base, stale = mix(np.uint64(key)), np.zeros(n_sets, np.bool_)
    for v in range(offsets.shape[0] - 1):
        for i in range(offsets[v], offsets[v + 1]):
            # No coin of this arc lies between its guards: no set changes by it.
            if floors[i] <= after[i] <= ceilings[i]:
                continue
            low, high = min(before[i], after[i]), max(before[i], after[i])
            floor, ceiling = np.uint32(0), CERTAIN
            for j in range(holders[v], holders[v + 1]):
                tossed = np.uint32(coin(base, sets[j], i))
                # Live before and dead now, or the other way round.
                if low <= tossed < high:
                    stale[sets[j]] = True
                if tossed < after[i]:
                    floor = max(floor, np.uint32(tossed + 1))
                else:
                    ceiling = min(ceiling, tossed)
            floors[i], ceilings[i] = floor, ceiling
    return stale
