"""Kernels that draw reverse-reachable sets.

Set number i of a key has a random stream of its own, so that it is the same whoever draws it, in whatever
order and number of threads, stored or only looked at.
"""

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.kernels import GOLDEN, kernel, lean_kernel, mix, to_unit
from oracles.diffusion._kernels_graph import SCALE

S33 = np.uint64(33)
_LAST_33, _REST = np.uint64((1 << 33) - 1), 2.0**33


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


@lean_kernel
def draw_root(roots, cuts, aliases, state):
    """Return the root that the stream at `state` begins with, and the state after it."""
    state += GOLDEN
    # Vose's alias method: a slot, then a coin between its two nodes; cuts of 1 need no coin.
    slot = int(to_unit(mix(state)) * roots.shape[0])
    if cuts[slot] < 1.0:
        state += GOLDEN
        if to_unit(mix(state)) >= cuts[slot]:
            return aliases[slot], state
    return roots[slot], state


@lean_kernel
def is_below(word, chance):
    """Return whether a 64-bit number is below ``2^64 * chance``, where their first 31 bits are equal.

    So a probability is rounded by less than 2^-64: for fewer than 2^40 coins, which is more than any sample
    has, this is less than 1e-7 of probability of failure in all.
    """
    rest = chance * SCALE - math.floor(chance * SCALE)  # exact, as powers of two are
    return bool(np.float64(word & _LAST_33) < rest * _REST)


@lean_kernel
def _first_live(first, last, arms, chances, left):
    """Return the first live arc of a node, given that there is one; `left` is uniform below its chance."""
    all_dead, possible = 1.0, first
    for i in range(first, last):
        # P[arc i is the first live one] = p_i prod_{j < i} (1 - p_j): `left` falls below 0 at the right one.
        p = chances[arms[i]]
        left -= all_dead * p
        if left < 0.0:
            return i
        if p > 0.0:
            possible = i
        all_dead *= 1.0 - p
    return possible  # `left` came out as not below 0 by rounding


@lean_kernel
def _next_by_coins(i, stop, limits, arms, chances, state):
    """Return the first live arc from `i` on, or `stop`; the next coins after `state` are theirs, one each."""
    while i < stop:
        state += GOLDEN
        word = mix(state)
        first_bits = word >> S33
        # Nearly always the first 31 bits decide; where they are equal, all 64 do.
        if first_bits <= limits[i] and (first_bits < limits[i] or is_below(word, chances[arms[i]])):
            break
        i += 1
    return i


@lean_kernel
def _next_by_skips(i, stop, rate, top, arms, chances, state):
    """Return what `_next_by_coins` does, where no arc is live with more than probability `top`.

    The number of failures in a row at probability `top` is geometric; what ends them is a success of an arc
    of smaller probability p with chance p / top.
    """
    while i < stop:
        state += GOLDEN
        # P[skipped >= s] = (1 - top)^s, so skipped = ln(u) / ln(1 - top), rounded down.
        # In (0, 1], so that the logarithm is finite; `rate` is 1 / ln(1 - top).
        skipped = math.log(to_unit(mix(state)) + 2.0**-53) * rate
        if skipped >= stop - i:
            return stop, state
        i += int(skipped)
        state += GOLDEN
        # Thinning: success at `top`, and then with chance p / top, has chance p.
        if to_unit(mix(state)) * top < chances[arms[i]]:
            break
        i += 1
    return i, state


@kernel
def draw_sets(world, key, first, last, owners, ends, pool, stamps):
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
        # A set has at most n nodes: room for one is enough to draw it without looking again.
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
            granted = pairs and at == start  # the root's first live arc, which there is
            at += 1
            while True:
                if granted:
                    granted = False
                    state += GOLDEN
                    i = _first_live(i, stop, arms, chances, to_unit(mix(state)) * gammas[v])
                elif rate == 0.0:
                    # The stream moves by one number for each coin tossed.
                    tossed = i
                    i = _next_by_coins(i, stop, limits, arms, chances, state)
                    state += np.uint64(min(i + 1, stop) - tossed) * GOLDEN
                else:
                    i, state = _next_by_skips(i, stop, rate, tops[v], arms, chances, state)
                if i >= stop:
                    break
                u = tails[i]
                i += 1
                if stamps[u] != stamp:
                    stamps[u] = stamp
                    pool[end] = u
                    end += 1
                    owner = owners[u]
                    if owner >= 0:
                        break
        hits += owner >= 0
        if keep:
            if owner >= 0 and pool[end - 1] != owner:
                pool[end] = owner
                end += 1
            ends[j + 1] = end
            start = end
    return last - first, hits, examined
