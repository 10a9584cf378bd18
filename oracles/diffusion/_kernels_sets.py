"""Kernels that draw reverse-reachable sets.

Set number i of a key has a random stream of its own, so that it is the same whoever draws it, in whatever
order and number of threads, stored or only looked at.
"""

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.kernels import kernel, mix

# splitmix64: a counter in steps of the golden ratio, each value mixed.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
S11, S33 = np.uint64(11), np.uint64(33)
TO_UNIT, _SCALE, _REST = 2.0**-53, 2.0**31, 2.0**33
_LAST_33 = np.uint64((1 << 33) - 1)


class World(NamedTuple):
    """What sets are drawn from: how roots come about, and the arcs into each node.

    A root is ``roots[slot]`` of a uniform slot with probability ``cuts[slot]``, otherwise
    ``aliases[slot]``. Arcs into node v are ``offsets[v]:offsets[v + 1]`` of `tails`, `limits` and `arms`;
    arc i is live with probability ``chances[arms[i]]``, the first 31 bits of which are ``limits[i]``. Where
    ``rates[v]`` is not 0, it is 1 / ln(1 - p) of the largest probability p, ``tops[v]``, and failures are
    skipped in one draw. With `gammas` (not empty), sets of one node are left out: ``gammas[v]`` is the
    probability that v has a live arc.
    """

    roots: AnyArray
    cuts: AnyArray
    aliases: AnyArray
    offsets: IntArray
    tails: AnyArray
    limits: AnyArray
    arms: AnyArray
    chances: FloatArray
    rates: FloatArray
    tops: FloatArray
    gammas: FloatArray


@kernel
def draw_root(
    roots: AnyArray, cuts: FloatArray, aliases: AnyArray, state: np.uint64
) -> tuple[int, np.uint64]:
    """Return the root that the stream at `state` begins with, and the state after it."""
    state += GOLDEN
    slot = int(np.float64(mix(state) >> S11) * TO_UNIT * roots.shape[0])
    if cuts[slot] < 1.0:
        state += GOLDEN
        if np.float64(mix(state) >> S11) * TO_UNIT >= cuts[slot]:
            return aliases[slot], state
    return roots[slot], state


@kernel
def is_below(word: np.uint64, chance: float) -> bool:
    """Return whether a 64-bit number is below ``2^64 * chance``, where their first 31 bits are equal.

    So a probability is rounded by less than 2^-64: for fewer than 2^40 coins, which is more than any sample
    has, this is less than 1e-7 of probability of failure in all.
    """
    rest = chance * _SCALE - math.floor(chance * _SCALE)  # exact, as powers of two are
    return bool(np.float64(word & _LAST_33) < rest * _REST)


@kernel
def _first_live(first: int, last: int, arms: AnyArray, chances: FloatArray, left: float) -> int:
    """Return the first live arc of a node, given that there is one; `left` is uniform below its chance."""
    all_dead, possible = 1.0, first
    for i in range(first, last):
        p = chances[arms[i]]
        left -= all_dead * p
        if left < 0.0:
            return i
        if p > 0.0:
            possible = i
        all_dead *= 1.0 - p
    return possible  # `left` came out as not below 0 by rounding


@kernel
def draw_sets(
    world: World,
    key: int,
    first: int,
    last: int,
    owners: AnyArray,
    ends: IntArray,
    pool: AnyArray,
    stamps: AnyArray,
) -> tuple[int, int, int]:
    """Draw the sets `first`, ..., ``last - 1`` of `key`, each until it meets a node that has an owner.

    The owner is a node that then is in the set, -1 where there is none; it becomes the set's last entry.
    The j-th set fills ``pool[ends[j]:ends[j + 1]]``, ends[0] given, and drawing stops when the pool could
    overflow; with empty `ends` none is kept. Return the number of sets drawn, how many met
    a node with an owner, and the number of arcs examined.
    """
    # Names for what is in `world`: taking an array out of a tuple costs a reference count each time.
    roots, cuts, aliases = world.roots, world.cuts, world.aliases
    offsets, tails, limits = world.offsets, world.tails, world.limits
    arms, chances = world.arms, world.chances
    rates, tops, gammas = world.rates, world.tops, world.gammas
    base, n, keep, pairs = mix(np.uint64(key)), offsets.shape[0] - 1, ends.shape[0] > 0, gammas.shape[0] > 0
    hits, examined, start = 0, 0, ends[0] if keep else 0
    for j in range(last - first):
        if start + n > pool.shape[0]:
            return j, hits, examined
        stamp = first + j + 1
        v, state = draw_root(roots, cuts, aliases, mix(base + np.uint64(stamp) * GOLDEN))
        pool[start] = v
        stamps[v] = stamp
        at, end, owner = start, start + 1, owners[v]
        while at < end and owner < 0:
            v = pool[at]
            i, stop, rate = offsets[v], offsets[v + 1], rates[v]
            examined += stop - i
            granted = pairs and at == start  # the root's first live arc
            if granted:
                state += GOLDEN
                left = np.float64(mix(state) >> S11) * TO_UNIT * gammas[v]
                i = _first_live(i, stop, arms, chances, left)
            at += 1
            while i < stop:
                live = granted
                granted = False
                if not live and rate == 0.0:
                    state += GOLDEN
                    word = mix(state)
                    first_bits = word >> S33
                    if first_bits <= limits[i]:
                        live = first_bits < limits[i] or is_below(word, chances[arms[i]])
                elif not live:
                    # Failures in a row at the node's largest probability; then thinned to the arc's own.
                    state += GOLDEN
                    skipped = math.log((np.float64(mix(state) >> S11) + 1.0) * TO_UNIT) * rate
                    if skipped >= stop - i:
                        break
                    i += int(skipped)
                    state += GOLDEN
                    live = np.float64(mix(state) >> S11) * TO_UNIT * tops[v] < chances[arms[i]]
                if live and stamps[tails[i]] != stamp:
                    u = tails[i]
                    stamps[u] = stamp
                    pool[end] = u
                    end += 1
                    owner = owners[u]
                    if owner >= 0:
                        break
                i += 1
        hits += owner >= 0
        if keep:
            if owner >= 0 and pool[end - 1] != owner:
                pool[end] = owner
                end += 1
            ends[j + 1] = end
            start = end
    return last - first, hits, examined
