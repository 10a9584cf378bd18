"""Sampling of reverse-reachable sets: tables of the arcs, and the kernels that draw sets.

Set i of a key has its own random stream. So the set does not depend on the order of drawing, on the number of
threads, or on whether it is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.compiled import GOLDEN, eager_kernel, inner_kernel, kernel, mix, to_unit
from oracles.influence.graph import SCALE

Result = TypeVar("Result")

# With fewer numbers for each thread, starting threads takes longer than the work.
_WORTH_A_THREAD = 1024
# The number of parts for each thread. Ctrl-C waits for the parts that have begun.
_PARTS = 8
# The number of arcs that one call of a kernel may examine: some tenths of a second.
_MOST_ARCS = 2**25


def in_parts(threads: int, first: int, last: int, work: Callable[[int, int], Result]) -> list[Result]:
    """Return ``work(a, b)`` for consecutive ranges that partition ``range(first, last)``, in order."""
    parts = min(_PARTS * threads, (last - first) // _WORTH_A_THREAD)
    if threads == 1 or parts <= 1:
        return [work(first, last)]
    cuts = np.linspace(first, last, parts + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, *ends) for ends in pairwise(cuts)]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def short_of(examined: int, done: int, n_arcs: int) -> int:
    """Return how many more sets a kernel may draw before Python checks for signals.

    `done` sets took `examined` arcs; a set takes at most `n_arcs`.
    """
    each = examined / done if done else n_arcs
    return max(1, int(_MOST_ARCS / max(1.0, each)))


class World(NamedTuple):
    """The distribution of roots, and the arcs into each node.

    A root is ``roots[slot]`` of a uniform slot with probability ``cuts[slot]``, otherwise ``aliases[slot]``.
    The arcs into node v are ``offsets[v]:offsets[v + 1]`` of `tails`, `limits` and `arms`. Arc i is live with
    probability ``chances[arms[i]]``. The first 31 bits of this probability are ``limits[i]``.
    """

    roots: AnyArray
    cuts: AnyArray
    aliases: AnyArray
    offsets: IntArray
    tails: AnyArray
    limits: AnyArray
    arms: AnyArray
    chances: FloatArray


class Ways(NamedTuple):
    """The nodes with arcs that are not tried one by one.

    If ``rates[v]`` is negative, it is 1 / ln(1 - p) of the largest probability p into v, ``tops[v]``, and one
    draw skips several failures. If `gammas` is not empty, sets of one node are omitted, and ``gammas[v]`` is
    the probability that v has a live arc.
    """

    rates: FloatArray
    tops: FloatArray
    gammas: FloatArray


# Tables of the arcs are computed for this many nodes at once, or for a few at first.
_NODES, _FEW_NODES = 2**14, 2**8
# For smaller p, 1 / ln(1 - p) is not finite.
_LEAST_CHANCE = 1e-300
# Measured: one draw with a logarithm costs as much as four to five single coins.
_LEAST_DEGREE, _COST_OF_SKIP = 15, 4.5


def limits_and_tops(offsets: IntArray, arms: AnyArray, chances: FloatArray) -> tuple[AnyArray, FloatArray]:
    """Return the first 31 bits of the probability of each arc, and the largest probability into each node."""
    n = len(offsets) - 1
    limits, tops = np.empty(len(arms), np.uint32), np.zeros(n)
    for first in range(0, n, _NODES):
        part = slice(offsets[first], offsets[min(n, first + _NODES)])
        values = chances[arms[part]]
        # Exact: a power of two moves the binary point. The cast drops the bits that `is_below` compares.
        limits[part] = values * SCALE
        starts = offsets[first : first + _NODES + 1] - part.start
        some = np.flatnonzero(starts[1:] > starts[:-1])[: n - first]
        if len(some):
            tops[first + some] = np.maximum.reduceat(values, starts[some])
    return limits, tops


def live_chances(
    offsets: IntArray, arms: AnyArray, chances: FloatArray, masses: FloatArray, most: float
) -> tuple[FloatArray, float]:
    """Return the probability that each node has a live arc into it, and the total mass of such nodes.

    Stop if the mass exceeds `most`; the remaining probabilities are then 0.
    """
    n, mass, last, size = len(masses), 0.0, 0, _FEW_NODES
    gammas = np.zeros(n)
    while last < n and mass <= most:
        # Mostly the first few nodes show that the mass is too large.
        first, last, size = last, min(n, last + size), min(2 * size, _NODES)
        heads = np.repeat(np.arange(last - first), np.diff(offsets[first : last + 1]))
        with np.errstate(divide="ignore"):  # a certain arc
            dead = np.log1p(-chances[arms[offsets[first] : offsets[last]]])
        # Accurate even for small probabilities.
        gammas[first:last] = -np.expm1(np.bincount(heads, dead, last - first))
        mass += float((gammas[first:last] * masses[first:last]).sum())
    return gammas, mass


def skip_rates(offsets: IntArray, tops: FloatArray) -> FloatArray:
    """Return 1 / ln(1 - p) for the largest probability p into each node, or 0 if coins are faster."""
    degrees = np.diff(offsets)
    # The expected draws of a node that skips are its successes at the largest probability plus one.
    skips = (degrees >= _LEAST_DEGREE) & ((degrees * tops + 1.0) * _COST_OF_SKIP < degrees)
    skips &= tops > _LEAST_CHANCE
    rates = np.zeros(len(tops))
    rates[skips] = 1.0 / np.log1p(-tops[skips])
    return rates


@kernel
def alias_table(masses):
    """Return Vose's alias table (cuts, aliases) of the distribution proportional to `masses`."""
    n = masses.shape[0]
    cuts, aliases = np.ones(n), np.arange(n).astype(np.int32)
    scaled = masses * (n / masses.sum())
    small, large, n_small, n_large = np.empty(n, np.int32), np.empty(n, np.int32), 0, 0
    for v in range(n):
        if scaled[v] < 1.0:
            small[n_small] = v
            n_small += 1
        else:
            large[n_large] = v
            n_large += 1
    # Each slot has probability 1 / n: a small slot is filled up from a large one.
    while n_small > 0 and n_large > 0:
        n_small -= 1
        v, u = small[n_small], large[n_large - 1]
        cuts[v], aliases[v] = scaled[v], u
        scaled[u] -= 1.0 - scaled[v]
        if scaled[u] < 1.0:
            n_large -= 1
            small[n_small] = u
            n_small += 1
    return cuts, aliases


S33 = np.uint64(33)
_LAST_33, _REST = np.uint64((1 << 33) - 1), 2.0**33


@inner_kernel
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


@inner_kernel
def is_below(word, chance):
    """Return whether a 64-bit number is below ``2^64 * chance``, given that their first 31 bits are equal.

    A probability is rounded by less than 2^-64. No sample has 2^40 coins, so the rounding adds less than 1e-7
    to the failure probability.
    """
    rest = chance * SCALE - math.floor(chance * SCALE)  # exact: SCALE is a power of two
    return bool(np.float64(word & _LAST_33) < rest * _REST)


@inner_kernel
def _next_by_coins(i, stop, limits, arms, chances, state):
    """Return the first live arc from `i` on, or `stop`, and the state after one number for each arc."""
    while i < stop:
        state += GOLDEN
        word = mix(state)
        first_bits = word >> S33
        # The first 31 bits nearly always decide. If they are equal, compare all 64 bits.
        if first_bits <= limits[i] and (first_bits < limits[i] or is_below(word, chances[arms[i]])):
            break
        i += 1
    return i, state


@inner_kernel
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


@inner_kernel
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
        # A success at `top` that is kept with probability p / top has probability p. Comparing with the first
        # 31 bits of p nearly always decides, and saves reading two distant places in memory.
        value = to_unit(mix(state)) * top
        scaled = value * SCALE
        if scaled < limits[i] or (scaled < limits[i] + 1.0 and value < chances[arms[i]]):
            break
        i += 1
    return i, state


@eager_kernel
def draw_sets(world, ways, key, first, last, owners, ends, pool, stamps):
    """Draw the sets `first`, ..., ``last - 1`` of `key`, each until it reaches a node with an owner.

    If `ways` is None, arcs are tried one by one. The owner of a node is in every set that contains the node;
    it is -1 if no set has the node as its owner. The owner becomes the last entry of the set. The j-th set is
    ``pool[ends[j]:ends[j + 1]]``, where ends[0] is given. Drawing stops if the pool could overflow. If `ends`
    is empty, no set is stored. Return the number of sets drawn, the number of sets that reached a node with
    an owner, and the number of examined arcs.
    """
    # numba compiles only one branch of ``if ways is None``.
    roots, cuts, aliases, offsets, tails, limits, arms, chances = world
    base, n, keep = mix(np.uint64(key)), offsets.shape[0] - 1, ends.shape[0] > 0
    hits, examined, start = 0, 0, ends[0] if keep else 0
    for j in range(last - first):
        # A set has at most n nodes, so this room is enough to draw it without further checks.
        if start + n > pool.shape[0]:
            return j, hits, examined
        stamp = first + j + 1
        v, state = draw_root(roots, cuts, aliases, mix(base + np.uint64(stamp) * GOLDEN))
        pool[start] = v
        stamps[v] = stamp
        at, end, owner = start, start + 1, owners[v]
        while at < end and owner < 0:
            v = pool[at]
            i, stop = offsets[v], offsets[v + 1]
            examined += stop - i
            is_root, at = at == start, at + 1
            while True:
                if ways is None:
                    i, state = _next_by_coins(i, stop, limits, arms, chances, state)
                else:
                    rate = ways.rates[v]
                    if is_root and ways.gammas.shape[0] > 0:  # the root has a live arc
                        state += GOLDEN
                        i = _first_live(i, stop, arms, chances, to_unit(mix(state)) * ways.gammas[v])
                    elif rate == 0.0:
                        i, state = _next_by_coins(i, stop, limits, arms, chances, state)
                    else:
                        i, state = _next_by_skips(i, stop, rate, ways.tops[v], limits, arms, chances, state)
                    is_root = False
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


@eager_kernel
def draw_walks(world, key, first, last, owners, ends, pool, stamps):
    """Draw sets as `draw_sets` does, if at most one arc into each node is live.

    Arc i is the live one with probability ``chances[arms[i]]`` (Kempe et al. 2003, Claim 2.6, number from
    memory).
    """
    roots, cuts, aliases, offsets, tails, _, arms, chances = world
    base, n, keep = mix(np.uint64(key)), offsets.shape[0] - 1, ends.shape[0] > 0
    hits, examined, start = 0, 0, ends[0] if keep else 0
    for j in range(last - first):
        if start + n > pool.shape[0]:
            return j, hits, examined
        stamp = first + j + 1
        v, state = draw_root(roots, cuts, aliases, mix(base + np.uint64(stamp) * GOLDEN))
        end, owner = start, -1
        # At most one live arc continues the set, so it is a walk that ends without a live arc or in a cycle.
        while stamps[v] != stamp:
            stamps[v] = stamp
            pool[end] = v
            end += 1
            owner = owners[v]
            if owner >= 0:
                hits += 1
                break
            state += GOLDEN
            drawn, below = to_unit(mix(state)), 0.0
            examined += offsets[v + 1] - offsets[v]
            # One uniform number chooses one of the adjacent intervals in [0, 1), or none.
            for i in range(offsets[v], offsets[v + 1]):
                below += chances[arms[i]]
                if drawn < below:
                    v = tails[i]
                    break
        if keep:
            if owner >= 0 and pool[end - 1] != owner:
                pool[end] = owner
                end += 1
            ends[j + 1] = end
            start = end
    return last - first, hits, examined
