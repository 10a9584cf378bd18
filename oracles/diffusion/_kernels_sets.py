"""Kernels that draw reverse-reachable sets.

Set i of a key has its own random stream. So the set does not depend on the order of drawing, on the number of
threads, or on whether it is stored.
"""

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.kernels import GOLDEN, kernel, lean_kernel, mix, to_unit
from oracles.diffusion._kernels_graph import SCALE

S33 = np.uint64(33)
_LAST_33, _REST = np.uint64((1 << 33) - 1), 2.0**33
#: The rate of a node whose arcs are in classes of probabilities. Other rates are at most 0.
CLASSED = 1.0
#: Class c has the probabilities below 2^-c from 2^-(c + 1) on. Class 0 also has 1, and the last one also 0.
N_CLASSES = 32
_CLASS_TOPS = 0.5 ** np.arange(N_CLASSES)
_CLASS_RATES = np.append(0.0, 1.0 / np.log1p(-_CLASS_TOPS[1:]))


class World(NamedTuple):
    """The input of the sampling kernels: the distribution of roots, and the arcs into each node.

    A root is ``roots[slot]`` of a uniform slot with probability ``cuts[slot]``, otherwise ``aliases[slot]``.
    The arcs into node v are ``offsets[v]:offsets[v + 1]`` of `tails`, `limits` and `arms`. Arc i is live with
    probability ``chances[arms[i]]``. The first 31 bits of this probability are ``limits[i]``.

    If ``rates[v]`` is negative, it is 1 / ln(1 - p) of the largest probability p, ``tops[v]``, and one draw
    skips several failures. If it is CLASSED, the arcs into v are sorted by their classes, and one draw skips
    several failures at the largest probability of a class. If `gammas` is not empty, sets of one node are
    omitted, and ``gammas[v]`` is the probability that v has a live arc.

    If `is_early` is not empty, the arcs out of the nodes that it marks are tried as soon as their heads are
    in a set, before all other arcs. The early arcs into node v are ``early_offsets[v]:early_offsets[v + 1]``
    of `early_tails` and `early_chances`.
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
    early_offsets: AnyArray
    early_tails: AnyArray
    early_chances: FloatArray
    is_early: BoolArray


@lean_kernel
def draw_root(roots, cuts, aliases, state):
    """Return the root of the stream at `state`, and the state after it."""
    state += GOLDEN
    # Vose's alias method: draw a slot, then choose between its two nodes. A cut of 1 needs no choice.
    slot = int(to_unit(mix(state)) * roots.shape[0])
    if cuts[slot] < 1.0:
        state += GOLDEN
        if to_unit(mix(state)) >= cuts[slot]:
            return aliases[slot], state
    return roots[slot], state


@lean_kernel
def is_below(word, chance):
    """Return whether a 64-bit number is below ``2^64 * chance``, given that their first 31 bits are equal.

    A probability is rounded by less than 2^-64. No sample has 2^40 coins, so the rounding adds less than 1e-7
    to the failure probability.
    """
    rest = chance * SCALE - math.floor(chance * SCALE)  # exact: SCALE is a power of two
    return bool(np.float64(word & _LAST_33) < rest * _REST)


@lean_kernel
def _first_live(first, last, arms, chances, left):
    """Return the first live arc of a node that has one; `left` is uniform below the probability of this."""
    all_dead, possible = 1.0, first
    for i in range(first, last):
        # P[arc i is the first live one] = p_i prod_{j < i} (1 - p_j). Subtract until `left` is negative.
        p = chances[arms[i]]
        left -= all_dead * p
        if left < 0.0:
            return i
        if p > 0.0:
            possible = i
        all_dead *= 1.0 - p
    return possible  # `left` is not negative because of rounding


@lean_kernel
def _next_by_coins(i, stop, limits, arms, chances, state):
    """Return the first live arc from `i` on, or `stop`; each arc uses one number after `state`."""
    while i < stop:
        state += GOLDEN
        word = mix(state)
        first_bits = word >> S33
        # The first 31 bits nearly always decide. If they are equal, compare all 64 bits.
        if first_bits <= limits[i] and (first_bits < limits[i] or is_below(word, chances[arms[i]])):
            break
        i += 1
    return i


@lean_kernel
def _is_kept(word, top, i, limits, arms, chances):
    """Return whether a success at probability `top` is one of arc i, by thinning."""
    # A success at `top` that is kept with probability p / top has probability p. Comparing with the first 31
    # bits of p nearly always decides, and saves reading two distant places in memory.
    value = to_unit(word) * top
    scaled = value * SCALE
    return scaled < limits[i] or (scaled < limits[i] + 1.0 and value < chances[arms[i]])


@lean_kernel
def _next_by_skips(i, stop, rate, top, limits, arms, chances, state):
    """Return the same as `_next_by_coins`, if no arc has a probability above `top`.

    The number of successive failures at probability `top` is geometric. The success that ends them counts for
    an arc of smaller probability p with probability p / top.
    """
    while i < stop:
        state += GOLDEN
        # P[skipped >= s] = (1 - top)^s, so skipped = ln(u) / ln(1 - top), rounded down. u is in (0, 1], so
        # the logarithm is finite; `rate` is 1 / ln(1 - top).
        skipped = math.log(to_unit(mix(state)) + 2.0**-53) * rate
        if skipped >= stop - i:
            return stop, state
        i += int(skipped)
        state += GOLDEN
        if _is_kept(mix(state), top, i, limits, arms, chances):
            break
        i += 1
    return i, state


@lean_kernel
def class_of(limit):
    """Return the class of a probability with these first 31 bits."""
    return max(0, N_CLASSES - 1 - math.frexp(float(limit))[1])


@lean_kernel
def _next_by_classes(i, stop, limits, arms, chances, state):
    """Return the same as `_next_by_coins`, if the arcs are sorted by their classes.

    All arcs from `i` on have at most the largest probability of the class of arc i, so this is a step of
    `_next_by_skips` with a smaller probability after each arc (the idea from memory:
    Guo et al. 2020, section 3.3).
    """
    while i < stop:
        c = class_of(limits[i])
        if c > 0:
            state += GOLDEN
            skipped = math.log(to_unit(mix(state)) + 2.0**-53) * _CLASS_RATES[c]
            if skipped >= stop - i:
                return stop, state
            i += int(skipped)
        state += GOLDEN
        if _is_kept(mix(state), _CLASS_TOPS[c], i, limits, arms, chances):
            break
        i += 1
    return i, state


@lean_kernel
def _is_live(word, chance):
    """Return whether a 64-bit number is below ``2^64 * chance``, by the comparison of `_next_by_coins`."""
    first_bits, limit = np.float64(word >> S33), math.floor(chance * SCALE)
    return first_bits < limit or (first_bits == limit and is_below(word, chance))


@kernel
def draw_sets(world, key, first, last, owners, ends, pool, stamps):
    """Draw the sets `first`, ..., ``last - 1`` of `key`, each until it reaches a node with an owner.

    The owner of a node is in every set that contains the node; it is -1 if no set has the node as its owner.
    The owner becomes the last entry of the set. The j-th set is ``pool[ends[j]:ends[j + 1]]``, where ends[0]
    is given. Drawing stops if the pool could overflow. If `ends` is empty, no set is stored. Return the
    number of sets drawn, the number of sets that reached a node with an owner, and the number of examined
    arcs.
    """
    # Local names, because each access to an array in a tuple costs a reference count.
    roots, cuts, aliases = world.roots, world.cuts, world.aliases
    offsets, tails, limits = world.offsets, world.tails, world.limits
    arms, chances = world.arms, world.chances
    rates, tops, gammas = world.rates, world.tops, world.gammas
    early_offsets, early_tails = world.early_offsets, world.early_tails
    early_chances, is_early = world.early_chances, world.is_early
    base, n, keep, pairs = mix(np.uint64(key)), offsets.shape[0] - 1, ends.shape[0] > 0, gammas.shape[0] > 0
    has_early = is_early.shape[0] > 0
    hits, examined, start = 0, 0, ends[0] if keep else 0
    for j in range(last - first):
        # A set has at most n nodes, so this room is enough to draw it without further checks.
        if start + n > pool.shape[0]:
            return j, hits, examined
        stamp = first + j + 1
        v, state = draw_root(roots, cuts, aliases, mix(base + np.uint64(stamp) * GOLDEN))
        pool[start] = v
        stamps[v] = stamp
        at, end, owner, tried = start, start + 1, owners[v], start
        while at < end and owner < 0:
            # Try the early arcs into all new nodes, also into those that join by early arcs.
            while has_early and tried < end and owner < 0:
                v = pool[tried]
                tried += 1
                examined += early_offsets[v + 1] - early_offsets[v]
                for i in range(early_offsets[v], early_offsets[v + 1]):
                    state += GOLDEN
                    u = early_tails[i]
                    if stamps[u] != stamp and _is_live(mix(state), early_chances[i]):
                        stamps[u] = stamp
                        pool[end] = u
                        end += 1
                        owner = owners[u]
                        if owner >= 0:
                            break
            if owner >= 0:
                break
            v = pool[at]
            i, stop, rate = offsets[v], offsets[v + 1], rates[v]
            examined += stop - i
            if has_early:
                examined -= early_offsets[v + 1] - early_offsets[v]
            granted = pairs and at == start  # the root has a live arc
            at += 1
            while True:
                if granted:
                    granted = False
                    state += GOLDEN
                    i = _first_live(i, stop, arms, chances, to_unit(mix(state)) * gammas[v])
                elif rate == 0.0:
                    # The stream advances by one number per coin.
                    tossed = i
                    i = _next_by_coins(i, stop, limits, arms, chances, state)
                    state += np.uint64(min(i + 1, stop) - tossed) * GOLDEN
                elif rate > 0.0:
                    i, state = _next_by_classes(i, stop, limits, arms, chances, state)
                else:
                    i, state = _next_by_skips(i, stop, rate, tops[v], limits, arms, chances, state)
                if i >= stop:
                    break
                u = tails[i]
                i += 1
                if stamps[u] != stamp and not (has_early and is_early[u]):
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
