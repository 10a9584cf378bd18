"""Cascades with delays up to a deadline: with feedback, for estimates, and backward as sets.

In both directions, nodes are settled in order of time, as in Dijkstra's algorithm.
"""

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.kernels import GOLDEN, heap_drop, heap_rise, kernel, keyed_uniform, lean_kernel, mix, to_unit
from oracles.diffusion._kernels_cascade import cascade_key
from oracles.diffusion._kernels_sets import draw_root

_DELAYS = 0x71CE  # separates the delay of an arc from its outcome
_TINY = 2.0**-53


class Timed(NamedTuple):
    """The arcs ``offsets[v]:offsets[v + 1]`` of each node v, to or from `others`.

    Arc j succeeds with probability ``chances[j]`` after its delay. The delay is ``ln(u) * scales[j]`` for a
    uniform u; with `steps`, it is one plus the integer part of this. Events after `deadline` do not happen.
    """

    offsets: IntArray
    others: AnyArray
    chances: FloatArray
    scales: FloatArray
    steps: bool
    deadline: float


@lean_kernel
def _delay(number, scale, steps):
    # In (0, 1], so the logarithm is finite. P[delay > t] = e^(-rate t), or (1 - meeting)^t for integers t.
    delay = math.log(number + _TINY) * scale
    return 1.0 + math.floor(delay) if steps else delay


@lean_kernel
def _arrive(v, time, times, heap, keys, size):
    """Activate node v at `time` unless it is active earlier; return the size of the heap."""
    times[v] = time
    heap[size], keys[size] = v, -time
    heap_rise(heap, keys, size)
    return size + 1


@kernel
def timed_cascade(world, arms, seeds, key, times, heap, keys, active, observed, outcomes):
    """Run one cascade; outcome and delay of the arc at position j are functions of (key, j).

    An arc out of an active node is observed if its delay is over by the deadline, even if its head is already
    active. `times` must be infinite at first; it returns the times of the `active` nodes, which are in order
    of time. If `observed` is empty, nothing is recorded. Return the number of active nodes and of observed
    arcs.
    """
    offsets, others, chances, scales = world.offsets, world.others, world.chances, world.scales
    steps, deadline, shows = world.steps, world.deadline, observed.shape[0] > 0
    size, n_active, seen = 0, 0, 0
    for seed in seeds:
        size = _arrive(seed, 0.0, times, heap, keys, size)
    while size > 0:
        v, now = heap[0], -keys[0]
        size = heap_drop(heap, keys, size)
        if now > times[v]:  # an outdated entry: an earlier message was found later
            continue
        active[n_active] = v
        n_active += 1
        for j in range(offsets[v], offsets[v + 1]):
            then = now + _delay(keyed_uniform(key ^ _DELAYS, j), scales[j], steps)
            if then > deadline:
                continue
            success = keyed_uniform(key, j) < chances[j]
            if shows:
                observed[seen], outcomes[seen] = arms[j], success
                seen += 1
            if success and then < times[others[j]]:
                size = _arrive(others[j], then, times, heap, keys, size)
    return n_active, seen


@kernel
def timed_sums(world, weights, seeds, key, first, last, origin):
    """Return `spread_sums` for the spreads of cascades up to the deadline."""
    n, m = world.offsets.shape[0] - 1, world.others.shape[0]
    times, active = np.full(n, np.inf), np.empty(n, np.int64)
    heap, keys = np.empty(n + m, np.int64), np.empty(n + m)
    nothing, no_arms, no_numbers = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
    total, norm = 0.0, 0.0
    for i in range(first, last):
        run, spread = cascade_key(key, i), 0.0
        size, _ = timed_cascade(world, no_arms, seeds, run, times, heap, keys, active, nothing, no_numbers)
        for v in active[:size]:
            spread += weights[v]
            times[v] = np.inf
        total += spread
        norm = math.hypot(norm, spread - origin)
    return total, norm


@kernel
def draw_timed_sets(world, backwards, key, first, last, owners, ends, pool, stamps):
    """Draw sets of the nodes that reach a root by the deadline (Tang et al. 2015, section 5)."""
    roots, cuts, aliases = world.roots, world.cuts, world.aliases
    offsets, others, chances, scales = (
        backwards.offsets,
        backwards.others,
        backwards.chances,
        backwards.scales,
    )
    steps, deadline = backwards.steps, backwards.deadline
    base, n, keep = mix(np.uint64(key)), offsets.shape[0] - 1, ends.shape[0] > 0
    heap, keys = np.empty(n + others.shape[0], np.int64), np.empty(n + others.shape[0])
    times = np.empty(n)  # valid for nodes with the stamp of the set
    hits, examined, start = 0, 0, ends[0] if keep else 0
    for j in range(last - first):
        if start + n > pool.shape[0]:
            return j, hits, examined
        stamp = first + j + 1
        v, state = draw_root(roots, cuts, aliases, mix(base + np.uint64(stamp) * GOLDEN))
        pool[start], stamps[v], end, owner = v, stamp, start + 1, owners[v]
        size = _arrive(v, 0.0, times, heap, keys, 0)
        while size > 0 and owner < 0:
            v, now = heap[0], -keys[0]
            size = heap_drop(heap, keys, size)
            if now > times[v]:
                continue
            examined += offsets[v + 1] - offsets[v]
            for i in range(offsets[v], offsets[v + 1]):
                state += GOLDEN
                if to_unit(mix(state)) >= chances[i]:
                    continue
                state += GOLDEN
                then, u = now + _delay(to_unit(mix(state)), scales[i], steps), others[i]
                is_new = stamps[u] != stamp
                # A node that is in time once is in the set. A shorter path only lets it reach further back.
                if then > deadline or not (is_new or then < times[u]):
                    continue
                size = _arrive(u, then, times, heap, keys, size)
                if is_new:
                    stamps[u], pool[end] = stamp, u
                    end += 1
                    owner = owners[u]
                    if owner >= 0:
                        break
        hits += owner >= 0
        if keep:
            if owner >= 0 and pool[end - 1] != owner:
                pool[end] = owner
                end += 1
            ends[j + 1] = start = end
    return last - first, hits, examined
