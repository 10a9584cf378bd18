"""Errors about insufficient memory, raised before the operating system ends the process.

Parallel work on threads, in steps that are short enough for Ctrl-C.

Kernels release the interpreter lock.

Linear thresholds: reverse-reachable sets as reverse walks, and cascades by thresholds.

Linear thresholds as live arcs: at most one live arc into each node.

Tables that determine how roots are drawn and which nodes skip failures.

Kernels that draw reverse-reachable sets.

Set i of a key has its own random stream. So the set does not depend on the order of drawing, on the number of
threads, or on whether it is stored.

Tables over all arcs or nodes, computed on several threads; the tables do not depend on their number.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray
from cmab.compiled import GOLDEN, call_kernel, eager_kernel, kernel, keyed_uniform, lean_kernel, mix, to_unit
from oracles.influence.graph import SCALE, require_memory
from oracles.influence.spread import _reach, cascade_key

if TYPE_CHECKING:
    from oracles.influence.graph import DirectedGraph


Result = TypeVar("Result")

_WORTH_A_THREAD = 1024
# The number of arcs that one call of a kernel may examine: some tenths of a second.
_MOST_ARCS = 2**25
_THIS = threading.local()


class _StoppedError(Exception):
    """The calling thread was interrupted, or another part failed."""


def in_parts(
    threads: int,
    first: int,
    last: int,
    work: Callable[[int, int], Result],
    *,
    worth: int = _WORTH_A_THREAD,
) -> list[Result]:
    """Return ``work(a, b)`` for consecutive ranges that partition ``range(first, last)``, in order.

    Each thread gets at least `worth` numbers.

    If the calling thread is interrupted or a part fails, the other parts end at their next call of
    `short_of`.
    """
    parts = max(1, min(threads, (last - first) // worth))
    if parts == 1:
        return [work(first, last)]
    cuts = np.linspace(first, last, parts + 1).astype(np.int64).tolist()
    stop = threading.Event()

    def watched(start: int, end: int) -> Result:
        _THIS.stop = stop
        return work(start, end)

    with ThreadPoolExecutor(parts) as pool:
        futures = [pool.submit(watched, *ends) for ends in pairwise(cuts)]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            stop.set()
            raise
    return [future.result() for future in futures]


def short_of(examined: int, done: int, n_arcs: int) -> int:
    """Return how many more sets a kernel may draw before Python checks for signals.

    `done` sets took `examined` arcs; a set takes at most `n_arcs`.
    """
    stop = getattr(_THIS, "stop", None)
    if stop is not None and stop.is_set():
        raise _StoppedError
    each = examined / done if done else n_arcs
    return max(1, int(_MOST_ARCS / max(1.0, each)))


class OutArcs(NamedTuple):
    """The arcs in the order of their tails; those of node v begin at ``offsets[v]``."""

    offsets: IntArray
    heads: AnyArray
    means: FloatArray


@kernel
def draw_walks(world, key, first, last, owners, ends, pool, stamps):
    """Draw sets as `draw_sets` does, if at most one arc into each node is live.

    Arc i is the live one with probability ``chances[arms[i]]`` (Kempe et al. 2003, Claim 2.6, number from
    memory).
    """
    roots, cuts, aliases = world.roots, world.cuts, world.aliases
    offsets, tails, arms, chances = world.offsets, world.tails, world.arms, world.chances
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


@eager_kernel
def threshold_sums(arcs, weights, seeds, key, first, last, origin):
    """Return `spread_sums` for the spreads of cascades by thresholds.

    A node becomes active if the weights of the arcs from active nodes exceed its threshold, which is a
    function of (key, cascade, node).
    """
    offsets, heads, means = arcs
    n = offsets.shape[0] - 1
    stamps, pressed = np.zeros(n, np.int32), np.zeros(n, np.int32)
    active, pressure = np.empty(n, np.int32), np.zeros(n)
    total, norm = 0.0, 0.0
    for i in range(first, last):
        run = cascade_key(key, i)
        size, at, spread = 0, 0, 0.0
        for seed in seeds:
            stamps[seed] = i + 1
            active[size] = seed
            size += 1
        while at < size:
            v = active[at]
            spread += weights[v]
            at += 1
            for j in range(offsets[v], offsets[v + 1]):
                w = heads[j]
                if stamps[w] == i + 1:
                    continue
                # Stamps mark the cascade of a pressure, so a new cascade does not need a pass over all nodes.
                pressure[w] = means[j] + (pressure[w] if pressed[w] == i + 1 else 0.0)
                pressed[w] = i + 1
                # The threshold is a function of (key, cascade, node), so each comparison uses the same
                # number.
                if keyed_uniform(run, w) < pressure[w]:
                    stamps[w] = i + 1
                    active[size] = w
                    size += 1
        total += spread
        # Update the norm without squares, which could overflow.
        norm = math.hypot(norm, spread - origin)
    return total, norm


@kernel
def side_by_side(offsets, arms, means):
    """Return the interval of each arm; the arms into a node have adjacent intervals from 0 on."""
    lows, highs = np.empty(means.shape[0]), np.empty(means.shape[0])
    for v in range(offsets.shape[0] - 1):
        end = 0.0
        for j in range(offsets[v], offsets[v + 1]):
            lows[arms[j]] = end
            end += means[arms[j]]
            highs[arms[j]] = end
    return lows, highs


@eager_kernel
def exact_threshold_spread(arcs, means, weights, seeds, nodes):
    """Return the expected spread, summed over all choices of at most one live arc into each of `nodes`."""
    in_offsets, in_arms = arcs.in_offsets, arcs.in_arms
    usable, n_nodes = np.zeros(means.shape[0], np.bool_), weights.shape[0]
    # Reset only the entries that were written, because most choices reach few of many nodes.
    reached, queue = np.zeros(n_nodes, np.bool_), np.empty(n_nodes, np.int64)
    # The position after the last arc of a node means that no arc is live.
    choice = in_offsets[nodes]
    expected = 0.0
    while True:
        chance = 1.0  # nodes choose independently: Kempe et al. 2003, Claim 2.6 (number from memory)
        for i in range(nodes.shape[0]):
            v = nodes[i]
            usable[in_arms[in_offsets[v] : in_offsets[v + 1]]] = False
            if choice[i] < in_offsets[v + 1]:
                usable[in_arms[choice[i]]] = True
                chance *= means[in_arms[choice[i]]]
            else:
                # The sum of weights may exceed 1 by rounding.
                chance *= max(0.0, 1.0 - means[in_arms[in_offsets[v] : in_offsets[v + 1]]].sum())
        if chance > 0.0:
            for v in queue[
                : _reach(arcs.out_offsets, arcs.out_arms, arcs.heads, usable, seeds, reached, queue)
            ]:
                expected += chance * weights[v]
                reached[v] = False
        # Count up to the next choice, like an odometer.
        at = 0
        while at < nodes.shape[0]:
            choice[at] += 1
            if choice[at] <= in_offsets[nodes[at] + 1]:
                break
            choice[at] = in_offsets[nodes[at]]
            at += 1
        if at == nodes.shape[0]:
            return expected


# For smaller p, 1 / ln(1 - p) is not finite.
_LEAST_CHANCE = 1e-300
# Measured: one draw with a logarithm costs as much as four to five single coins.
_LEAST_DEGREE, _COST_OF_SKIP = 15, 4.5
# Sorting arcs by their classes takes memory, so it has to save a third of the draws.
_MUCH_LESS = 2 / 3


@kernel
def write_live_chances(offsets, arms, chances, masses, first, last, gammas):
    """Write to `gammas` the probability that each of some nodes has a live arc into it.

    Return the mass of the nodes ``first..last - 1``, each times its probability.
    """
    mass = 0.0
    for v in range(first, last):
        gamma = 0.0
        for i in range(offsets[v], offsets[v + 1]):
            gamma += (1.0 - gamma) * chances[arms[i]]  # accurate even for small probabilities
        gammas[v] = min(gamma, 1.0)
        mass += gammas[v] * masses[v]
    return mass


@kernel
def write_skip_rates(offsets, limits, arms, chances, may_sort, first, last, rates, tops):
    """Write 1 / ln(1 - p) and p for the largest probability p of some nodes; 0 if coins are faster.

    If `may_sort` is true and skips are much faster with arcs in classes (see `write_classes`), the rate is
    CLASSED. Return the number of arcs into such nodes.
    """
    classed, counts = 0, np.zeros(N_CLASSES, np.int64)
    for v in range(first, last):
        rates[v], tops[v] = 0.0, 0.0
        degree = offsets[v + 1] - offsets[v]
        if degree < _LEAST_DEGREE:
            continue
        most = np.uint32(0)
        for i in range(offsets[v], offsets[v + 1]):
            most = max(most, limits[i])
        # The expected draws of a node that skips are its successes at the largest probability plus one, in
        # units of coins.
        cost = min(float(degree), (degree * (most + 1.0) / SCALE + 1.0) * _COST_OF_SKIP)
        if may_sort and _cost_in_classes(offsets[v], offsets[v + 1], limits, counts) < _MUCH_LESS * cost:
            rates[v] = CLASSED
            classed += degree
        elif cost < degree:
            for i in range(offsets[v], offsets[v + 1]):
                tops[v] = max(tops[v], chances[arms[i]])
            if tops[v] > _LEAST_CHANCE:
                rates[v] = 1.0 / math.log1p(-tops[v])
    return classed


@lean_kernel
def _cost_in_classes(first, stop, limits, counts):
    """Return the expected cost of trying the arcs of a node in classes, in units of coins."""
    counts[:] = 0
    for i in range(first, stop):
        counts[class_of(limits[i])] += 1
    # An arc of class 0 takes a coin. In other classes, there is a draw for each success at the largest
    # probability of the class, and at most one more for each class.
    draws = 0.0
    for c in range(1, counts.shape[0]):
        if counts[c] > 0:
            draws += counts[c] * 0.5**c + 1.0
    return counts[0] + draws * _COST_OF_SKIP


@kernel
def write_classes(offsets, rates, arcs, first, last, sorted_arcs):
    """Write the arcs into some nodes, in the order of their classes if the rate of the node is CLASSED.

    `arcs` and `sorted_arcs` are (tails, limits, arms). The order within a class does not change.
    """
    tails, limits, arms = arcs
    new_tails, new_limits, new_arms = sorted_arcs
    places = np.empty(N_CLASSES + 1, np.int64)
    for v in range(first, last):
        start, stop = offsets[v], offsets[v + 1]
        places[:] = 0
        if rates[v] == CLASSED:
            for i in range(start, stop):
                places[class_of(limits[i]) + 1] += 1
            for c in range(N_CLASSES):
                places[c + 1] += places[c]
        for i in range(start, stop):
            c = class_of(limits[i]) if rates[v] == CLASSED else 0
            at = start + places[c]
            places[c] += 1
            new_tails[at], new_limits[at], new_arms[at] = tails[i], limits[i], arms[i]


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


@eager_kernel
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


# Sums are computed in blocks of this many nodes, so that their rounding does not depend on the threads.
_BLOCK = 2**18
# With fewer entries for each thread, starting threads takes longer than the work.
_WORTH_A_THREAD_tables = 2**16
# The share of arcs that have to be faster in classes.
_WORTH_SORTING = 0.05


class _Writable:
    """The memory of a read-only array as a writable one, for kernels that only read it."""

    def __init__(self, array: FloatArray) -> None:
        self._kept = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def plain(values: FloatArray) -> FloatArray:
    """Return `values` as a contiguous writable array, without a copy if possible.

    Kernels are compiled separately for read-only arrays.
    """
    array = np.ascontiguousarray(values, np.float64)
    return array if array.flags.writeable or array.size == 0 else np.asarray(_Writable(array))


def useful(threads: int, n: int) -> int:
    """Return how many of `threads` are worth their start for `n` entries."""
    return max(1, min(threads, n // _WORTH_A_THREAD_tables))


def limits_of(chances: FloatArray, arms: AnyArray, threads: int) -> AnyArray:
    """Return the first 31 bits of the probabilities of `arms`."""
    from oracles.influence.graph import write_limits

    limits = np.empty(len(arms), np.uint32)
    in_parts(useful(threads, len(arms)), 0, len(arms), lambda a, b: write_limits(chances, arms, a, b, limits))
    return limits


def live_chances(
    offsets: IntArray, arms: AnyArray, chances: FloatArray, masses: FloatArray, most: float, threads: int
) -> tuple[FloatArray, float]:
    """Return the probability that each node has a live arc into it, and the total mass of such nodes.

    Stop if the mass exceeds `most`; the remaining probabilities are then 0.
    """
    n, mass = len(masses), 0.0
    gammas, blocks = np.zeros(n), -(-n // _BLOCK)
    parallel = useful(threads, n)

    def some(first: int, last: int) -> list[float]:
        ends = [(i * _BLOCK, min(n, (i + 1) * _BLOCK)) for i in range(first, last)]
        return [write_live_chances(offsets, arms, chances, masses, a, b, gammas) for a, b in ends]

    for first in range(0, blocks, parallel):
        last = min(blocks, first + parallel)
        parts = in_parts(last - first, first, last, some, worth=1)
        for part in parts:
            mass += sum(part)
        if mass > most:
            break
    return gammas, mass


def with_skips(
    arcs: tuple[IntArray, AnyArray, AnyArray, AnyArray], chances: FloatArray, threads: int
) -> tuple[tuple[IntArray, AnyArray, AnyArray, AnyArray], FloatArray, FloatArray]:
    """Return arcs (offsets, tails, limits, arms) for skips, their rates and the largest probabilities.

    A rate is 1 / ln(1 - p) for the largest probability p into a node, or 0 if single coins are faster. If
    skips are faster in classes of probabilities for many arcs, these are sorted by their classes, and the
    rates of their heads are CLASSED.
    """
    offsets, tails, limits, arms = arcs
    n = len(offsets) - 1
    rates, tops, parts = np.empty(n), np.empty(n), useful(threads, n)

    def classed(may_sort: bool) -> int:
        given = offsets, limits, arms, chances, may_sort
        return sum(in_parts(parts, 0, n, lambda a, b: write_skip_rates(*given, a, b, rates, tops)))

    if classed(may_sort=True) <= _WORTH_SORTING * len(arms):
        if (rates == CLASSED).any():
            classed(may_sort=False)
        return arcs, rates, tops
    require_memory(12 * len(arms), "the arcs in classes of probabilities")
    old = tails, limits, arms
    new = np.empty_like(tails), np.empty_like(limits), np.empty_like(arms)
    in_parts(parts, 0, n, lambda a, b: write_classes(offsets, rates, old, a, b, new))
    return (offsets, *new), rates, tops


def early_arcs(graph: DirectedGraph, chances: FloatArray, nodes: IntArray) -> dict[str, AnyArray]:
    """Return the arcs out of `nodes` that can be live, by their heads, as the early arcs of a `World`."""
    offsets, arms = graph.out_arcs
    parts = [slice(offsets[v], offsets[v + 1]) for v in nodes]
    some = np.concatenate([arms[part] for part in parts])
    # Entries of a mapped array that are far apart would bring most of it into memory. A part is contiguous.
    has_heads = "out_heads" in vars(graph)
    heads = np.concatenate([graph.out_heads[part] for part in parts]) if has_heads else graph.heads[some]
    tails = np.repeat(np.asarray(nodes, np.int32), [part.stop - part.start for part in parts])
    kept = np.flatnonzero(chances[some] > 0.0)
    kept = kept[np.argsort(heads[kept], kind="stable")]
    early_offsets, is_early = np.zeros(graph.n_nodes + 1, np.int32), np.zeros(graph.n_nodes, np.bool_)
    np.cumsum(np.bincount(heads[kept], minlength=graph.n_nodes), out=early_offsets[1:])
    is_early[nodes] = True
    return {
        "early_offsets": early_offsets,
        "early_tails": tails[kept],
        "early_chances": chances[some[kept]],
        "is_early": is_early,
    }


def inverted(ends: IntArray, pool: AnyArray, n: int, threads: int) -> tuple[IntArray, AnyArray]:
    """Return the sets that contain each of `n` nodes, as (offsets, sets).

    Every thread reads all sets, and indexes the nodes of every so many stripes.
    """
    from oracles.influence.cover import count_stripes, fill_stripes, invert

    parts = useful(threads, int(ends[-1]))
    if parts == 1:
        found: tuple[IntArray, AnyArray] = call_kernel(invert, ends, pool, n)
        return found
    offsets, sets = np.zeros(n + 1, np.int64), np.empty(ends[-1], np.int32)

    def each(work: Any, *arrays: AnyArray) -> None:
        in_parts(
            parts, 0, parts, lambda a, b: [work(ends, pool, i, parts, *arrays) for i in range(a, b)], worth=1
        )

    each(count_stripes, offsets[1:])
    np.cumsum(offsets, out=offsets)
    each(fill_stripes, offsets[:-1].copy(), sets)
    return offsets, sets
