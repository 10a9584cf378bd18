"""Cascades of independent cascades and linear thresholds: with feedback, and for the expected spread."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.compiled import (
    eager_kernel,
    inner_kernel,
    kernel,
    keyed_uniform,
    keyed_word,
    lean_kernel,
    mix,
    prefetch,
)
from oracles.influence.graph import DirectedGraph, require_memory

# The number of rows of 16 bytes in a line of the processor cache.
_LINE = 4


@kernel
def _fill_rows(arms, heads, means, arcs):
    """Fill the rows that `arcs_in_rows` returns."""
    for j in range(arms.shape[0]):
        # For integers k, k / 2^53 < p is equivalent to k < ceil(2^53 p). This is exact, without rounding.
        arcs[j]["limit"] = np.uint64(math.ceil(means[arms[j]] * 2.0**53))
        arcs[j]["head"] = heads[arms[j]]
        arcs[j]["arm"] = arms[j]


def arcs_in_rows(arms: AnyArray, heads: AnyArray, means: FloatArray) -> AnyArray:
    """Return the fields of each arc that a cascade reads as one row, in the order of `arms`.

    An arc is successful if its `keyed_word` is below `limit`, i.e. if its `keyed_uniform` is below the mean.
    """
    fields = [("limit", np.uint64), ("head", np.int32), ("arm", arms.dtype)]
    arcs = np.empty(len(arms), np.dtype(fields, align=True))
    _fill_rows(arms, heads, means, arcs)
    return arcs


@kernel
def cascade(offsets, arcs, seeds, key, observed, outcomes):
    """Run one cascade; the random number of the arc at position j is a function of (key, j).

    `arcs` are the rows of `arcs_in_rows`, in the order of their tails; `offsets` gives the first arc of each
    node.

    Every arc out of every active node is observed, even if its head is already active. `observed` and
    `outcomes` are filled in order of activation. Return the number of active nodes and the number of observed
    arcs; return -1 and 0 if a seed is out of range or repeated.
    """
    n = offsets.shape[0] - 1
    dormant, hit = np.ones(n, np.uint8), np.empty(max(n, arcs.shape[0]) + 1, np.int32)
    starts, stops = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    size, seen, at, state = 0, 0, 0, mix(np.uint64(key))
    for seed in seeds:
        if not 0 <= seed < n or not dormant[seed]:
            return -1, 0
        starts[size], stops[size] = offsets[seed], offsets[seed + 1]
        size += 1
        dormant[seed] = 0
    # Outcomes are unpredictable for the processor. Without branches on outcomes, it mispredicts only the ends
    # of rows: first compute the outcomes of a step, then write down each node that was hit and keep it if it
    # was dormant. The rows of these nodes are prefetched from memory meanwhile.
    while at < size:
        hits = 0
        while at < size:
            for j in range(starts[at], stops[at]):
                arc = arcs[j]
                success = keyed_word(state, j) < arc["limit"]
                observed[seen] = arc["arm"]
                outcomes[seen] = success
                seen += 1
                hit[hits] = arc["head"]
                hits += success
            at += 1
        for w in hit[:hits]:
            starts[size], stops[size] = offsets[w], offsets[w + 1]
            prefetch(arcs, starts[size])
            prefetch(arcs, starts[size] + _LINE)
            size += dormant[w]
            dormant[w] = 0
    return size, seen


@inner_kernel
def cascade_key(key, i):
    """Return the key of cascade `i`, a nonnegative integer."""
    return int(mix(np.uint64(key) + mix(np.uint64(i))) >> np.uint64(1))


@eager_kernel
def spread_sums(offsets, arcs, weights, seeds, key, first, last, origin):
    """Return the sums of spreads `first`, ..., ``last - 1`` and of their squared distances from `origin`.

    The arrays are those of `cascade`. The loop is also the same, but it keeps nodes instead of outcomes.
    """
    n = offsets.shape[0] - 1
    dormant, hit = np.ones(n, np.uint8), np.empty(max(n, arcs.shape[0]) + 1, np.int32)
    starts, stops = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    active = np.empty(n + 1, np.int32)
    total, squares = 0.0, 0.0
    for i in range(first, last):
        state = mix(np.uint64(cascade_key(key, i)))
        # Seeds count as hit, so the loop below writes them down.
        hits, size, at, spread = seeds.shape[0], 0, 0, 0.0
        hit[:hits] = seeds
        while hits > 0:
            for w in hit[:hits]:
                active[size] = w
                starts[size], stops[size] = offsets[w], offsets[w + 1]
                prefetch(arcs, starts[size])
                prefetch(arcs, starts[size] + _LINE)
                size += dormant[w]
                dormant[w] = 0
            hits = 0
            while at < size:
                for j in range(starts[at], stops[at]):
                    arc = arcs[j]
                    hit[hits] = arc["head"]
                    hits += keyed_word(state, j) < arc["limit"]
                at += 1
        # One pass sums over the active nodes and resets the marks for the next cascade.
        for v in active[:size]:
            spread += weights[v]
            dormant[v] = 1
        total += spread
        squares += (spread - origin) ** 2
    return total, squares


@lean_kernel
def _reach(offsets, arms, heads, usable, seeds, reached, queue):
    """Write the nodes that `seeds` reach along usable arcs to `queue`, in order, and mark them."""
    size, at = 0, 0
    for seed in seeds:
        reached[seed] = True
        queue[size] = seed
        size += 1
    while at < size:
        v = queue[at]
        at += 1
        for j in range(offsets[v], offsets[v + 1]):
            w = heads[arms[j]]
            if usable[arms[j]] and not reached[w]:
                reached[w] = True
                queue[size] = w
                size += 1
    return size


@kernel
def reachable(offsets, arms, heads, usable, seeds):
    """Return the nodes that `seeds` reach along usable arcs, in order, and as a mask."""
    n = offsets.shape[0] - 1
    reached, queue = np.zeros(n, np.bool_), np.empty(n, np.int64)
    size = _reach(offsets, arms, heads, usable, seeds, reached, queue)
    return queue[:size], reached


@kernel
def uncertain_arms(offsets, arms, heads, means, seeds, most):
    """Return the uncertain arms that a cascade from `seeds` may examine, and their number.

    If there are more than `most`, the search ends and the number is ``most + 1``.
    """
    n = offsets.shape[0] - 1
    reached, queue, size, at = np.zeros(n, np.bool_), np.empty(n, np.int64), 0, 0
    found, count = np.empty(most, np.int64), 0
    for seed in seeds:
        reached[seed] = True
        queue[size] = seed
        size += 1
    while at < size:
        v = queue[at]
        at += 1
        for j in range(offsets[v], offsets[v + 1]):
            arm = arms[j]
            if means[arm] <= 0.0:
                continue
            if means[arm] < 1.0:
                # End early, because a cascade on a large graph may examine millions of arms.
                if count == most:
                    return found, most + 1
                found[count] = arm
                count += 1
            if not reached[heads[arm]]:
                reached[heads[arm]] = True
                queue[size] = heads[arm]
                size += 1
    return found[:count], count


@kernel
def exact_activation(offsets, arms, heads, means, seeds, uncertain):
    """Return the activation probability of each node, summed over all outcomes of `uncertain` arms.

    The other arms are certain or impossible.
    """
    n = offsets.shape[0] - 1
    usable, active = means >= 1.0, np.zeros(n)
    # Reset only the entries that were written, because most outcomes reach few of many nodes.
    reached, queue = np.zeros(n, np.bool_), np.empty(n, np.int64)
    # Kempe et al. 2003, proof of Theorem 2.2 (number from memory): in each outcome, the active nodes are
    # those that live arcs connect to the seeds.
    for outcome in range(1 << uncertain.shape[0]):
        chance = 1.0
        for b in range(uncertain.shape[0]):
            success = (outcome >> b) & 1 == 1
            usable[uncertain[b]] = success
            chance *= means[uncertain[b]] if success else 1.0 - means[uncertain[b]]
        # A probability that underflows adds nothing.
        if chance > 0.0:
            for v in queue[: _reach(offsets, arms, heads, usable, seeds, reached, queue)]:
                active[v] += chance
                reached[v] = False
    return active


@eager_kernel
def exact_threshold_activation(offsets, arms, heads, in_offsets, in_arms, means, seeds, nodes):
    """Return the activation probability of each node, summed over all choices of a live arc into `nodes`.

    At most one arc into each node is live (Kempe et al. 2003, Claim 2.6, number from memory).
    """
    n = offsets.shape[0] - 1
    usable, active, none_live = np.zeros(means.shape[0], np.bool_), np.zeros(n), np.ones(nodes.shape[0])
    reached, queue = np.zeros(n, np.bool_), np.empty(n, np.int64)
    for i in range(nodes.shape[0]):
        for j in range(in_offsets[nodes[i]], in_offsets[nodes[i] + 1]):
            none_live[i] -= means[in_arms[j]]
    # The position after the last arc of a node means that no arc is live.
    choice = in_offsets[nodes]
    while True:
        chance = 1.0
        for i in range(nodes.shape[0]):
            if choice[i] < in_offsets[nodes[i] + 1]:
                usable[in_arms[choice[i]]] = True
                chance *= means[in_arms[choice[i]]]
            else:
                # The sum of weights may exceed 1 by rounding.
                chance *= max(0.0, none_live[i])
        if chance > 0.0:
            for v in queue[: _reach(offsets, arms, heads, usable, seeds, reached, queue)]:
                active[v] += chance
                reached[v] = False
        # Count up to the next choice, like an odometer.
        is_carried = True
        for i in range(nodes.shape[0]):
            if choice[i] < in_offsets[nodes[i] + 1]:
                usable[in_arms[choice[i]]] = False
            if is_carried:
                choice[i] += 1
                is_carried = choice[i] > in_offsets[nodes[i] + 1]
                if is_carried:
                    choice[i] = in_offsets[nodes[i]]
        if is_carried:
            return active


@eager_kernel
def threshold_sums(arcs, weights, seeds, key, first, last, origin):
    """Return `spread_sums` for the spreads of cascades by thresholds.

    `arcs` has the offsets of the tails, and the heads and the means of the arcs in the order of their tails.
    A node becomes active if the weights of the arcs from active nodes exceed its threshold, which is a
    function of (key, cascade, node).
    """
    offsets, heads, means = arcs
    n = offsets.shape[0] - 1
    stamps, pressed = np.zeros(n, np.int32), np.zeros(n, np.int32)
    active, pressure = np.empty(n, np.int32), np.zeros(n)
    total, squares = 0.0, 0.0
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
        squares += (spread - origin) ** 2
    return total, squares


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


ALONE, CREDITED, COINS = 0, 1, 2

_TIES = 0x7135  # separates this number of a node from the one for its live arc


class Rows(NamedTuple):
    """The arcs out of node v are ``arms[offsets[v]:offsets[v + 1]]``; `heads` has the same order."""

    offsets: IntArray
    arms: AnyArray
    heads: AnyArray


class Coins(NamedTuple):
    """In the order of the rows: an arc is live if the number of (key, owner) is in ``[low, high)``.

    If `lows` is empty, every low is 0.
    """

    owners: AnyArray
    lows: FloatArray
    highs: FloatArray


class Shown(NamedTuple):
    """The output of a cascade: nodes in order of activation, shown arcs, and their outcomes."""

    active: IntArray
    observed: IntArray
    outcomes: FloatArray


@kernel
def cascade_with_node_feedback(rows, coins, seeds, key, shows, once, out):
    """Run one cascade, and show the outcomes that the activation steps of nodes determine.

    An arc tries its head in the step after its tail became active, unless the head was already active.

    Only arcs that tried their head are shown. With `once`, an arc is shown only if no arc tried the head in
    an earlier step. With `shows` = ALONE, an arc is shown if it was alone in trying its head. With COINS, all
    arcs are shown, with their true outcomes. With CREDITED, all arcs are shown; if the head became active,
    one of them, chosen uniformly, counts as the success.
    """
    offsets, arms, heads = rows
    owners, lows, highs = coins
    active, observed, outcomes = out
    n = offsets.shape[0] - 1
    since, tries, ever = np.full(n, -1, np.int64), np.zeros((n, 2), np.int64), np.zeros(n, np.bool_)
    size, seen, first, step = 0, 0, 0, 0
    for seed in seeds:
        since[seed] = 0
        active[size] = seed
        size += 1
    # The nodes of one step try together: their order is not observed.
    while first < size:
        last = size
        for v in active[first:last]:
            for j in range(offsets[v], offsets[v + 1]):
                w = heads[j]
                if 0 <= since[w] <= step:
                    continue
                # Count first, because ALONE and CREDITED need the number of arcs that tried.
                tries[w, 0] += 1
                if since[w] < 0 and _is_live(owners, lows, highs, key, j):
                    since[w] = step + 1
                    active[size] = w
                    size += 1
        for v in active[first:last]:
            for j in range(offsets[v], offsets[v + 1]):
                w = heads[j]
                if 0 <= since[w] <= step or (once and ever[w]) or (shows == ALONE and tries[w, 0] > 1):
                    continue
                observed[seen] = arms[j]
                if shows == CREDITED:
                    # Credit one of the arcs that tried, uniformly, because it is not observed which of them
                    # were live.
                    lucky = int(keyed_uniform(key ^ _TIES, w) * tries[w, 0])
                    outcomes[seen] = since[w] > step and tries[w, 1] == lucky
                    tries[w, 1] += 1
                else:
                    outcomes[seen] = _is_live(owners, lows, highs, key, j)
                seen += 1
        # Reset only heads that were tried, because a step is small and the graph is large.
        _forget(offsets, heads, active[first:last], tries, ever)
        first, step = last, step + 1
    return size, seen


@kernel
def _is_live(owners, lows, highs, key, j):
    # For thresholds the owner is the head: one number chooses among its incoming arcs.
    number = keyed_uniform(key, owners[j])
    return bool(number < highs[j] and (lows.shape[0] == 0 or number >= lows[j]))


@kernel
def _forget(offsets, heads, nodes, tries, ever):
    """Reset the tries of this step, and remember the heads that were tried."""
    for v in nodes:
        for j in range(offsets[v], offsets[v + 1]):
            tries[heads[j]] = 0
            ever[heads[j]] = True


_MOST_UNCERTAIN = 16
MOST_OUTCOMES = 1 << _MOST_UNCERTAIN
"""The largest number of outcomes that are enumerated: the outcomes of 16 uncertain arcs."""

KEY = 0x5EED
"""The default key of the random numbers, so that estimates are the same in every call."""
_RANGE = 1024
MOST_CASCADES = 2**31 - 1
"""The largest number of cascades, because cascade numbers have 32 bits."""

# The memory that all cascades share, and the memory of each thread.
_BYTES_OF_ARC, _BYTES_OF_ARC_AND_THREAD, _BYTES_OF_NODE_AND_THREAD = 24, 4, 25


def triggering_probabilities(
    graph: DirectedGraph, probabilities: FloatArray, seeds: IntArray
) -> FloatArray | None:
    """Return the probability that the tail of each arc becomes active under independent cascades.

    The result is None if there are more than `MOST_OUTCOMES` outcomes.
    """
    active = _activation(graph, probabilities, seeds)
    return None if active is None else np.clip(active, 0.0, 1.0)[graph.tails]


def exact_spread(
    graph: DirectedGraph, means: FloatArray, seeds: IntArray, *, node_weights: FloatArray | None = None
) -> float | None:
    """Return the expected weight of active nodes, or None if it depends on too many uncertain arcs."""
    active = _activation(graph, means, seeds)
    return None if active is None else float((active * node_worths(graph, node_weights)).sum())


def _activation(graph: DirectedGraph, means: FloatArray, seeds: IntArray) -> FloatArray | None:
    """Return the activation probability of each node, by one enumeration of all outcomes."""
    out = *graph.out_arcs, graph.heads
    uncertain, count = uncertain_arms(*out, means, seeds, _MOST_UNCERTAIN)
    if count > _MOST_UNCERTAIN:
        return None
    activation: FloatArray = exact_activation(*out, means, seeds, uncertain)
    return activation


def exact_threshold_spread(
    graph: DirectedGraph, means: FloatArray, seeds: IntArray, *, node_weights: FloatArray | None = None
) -> float | None:
    """Return `exact_spread` for linear thresholds; None if there are more than `MOST_OUTCOMES` outcomes."""
    out = *graph.out_arcs, graph.heads
    _, reached = reachable(*out, means > 0.0, seeds)
    reached[seeds] = False
    nodes = np.flatnonzero(reached)
    # Each node chooses one of its arcs or none. Use logarithms, because the product may overflow.
    if np.log2(graph.in_degrees[nodes] + 1.0).sum() > _MOST_UNCERTAIN:
        return None
    active = exact_threshold_activation(*out, *graph.in_arcs, means, seeds, nodes)
    return float((active * node_worths(graph, node_weights)).sum())


def estimated_spread(
    graph: DirectedGraph,
    means: FloatArray,
    seeds: IntArray,
    cascades: int,
    *,
    key: int = KEY,
    node_weights: FloatArray | None = None,
    threads: int = 1,
) -> tuple[float, float]:
    """Return the mean spread of `cascades` cascades and its standard error.

    Random numbers are functions of (key, cascade, arc). So a comparison of two vectors of means has little
    noise, and a larger mean never decreases the estimate.
    """
    _require_memory(graph, min(threads, -(-cascades // _RANGE)))
    offsets, arms = graph.out_arcs
    arcs = arcs_in_rows(arms, graph.heads, means)
    return mean_and_error(
        cascades,
        threads,
        node_worths(graph, node_weights),
        lambda *at: spread_sums(offsets, arcs, at[0], seeds, key, *at[1:]),
    )


def threshold_spread(
    graph: DirectedGraph,
    means: FloatArray,
    seeds: IntArray,
    cascades: int,
    *,
    key: int = KEY,
    node_weights: FloatArray | None = None,
    threads: int = 1,
) -> tuple[float, float]:
    """Return `estimated_spread` for linear thresholds."""
    _require_memory(graph, min(threads, -(-cascades // _RANGE)))
    offsets, arms = graph.out_arcs
    arcs = offsets, graph.out_heads, means[arms]
    return mean_and_error(
        cascades,
        threads,
        node_worths(graph, node_weights),
        lambda *at: threshold_sums(arcs, at[0], seeds, key, *at[1:]),
    )


def _require_memory(graph: DirectedGraph, threads: int) -> None:
    n, m = graph.n_nodes, graph.n_arcs
    kept = _BYTES_OF_ARC_AND_THREAD * max(n, m) + _BYTES_OF_NODE_AND_THREAD * n
    require_memory(_BYTES_OF_ARC * m + threads * kept, f"cascades on {graph!r} on {threads} threads")


def node_worths(graph: DirectedGraph, node_weights: FloatArray | None) -> FloatArray:
    """Return the weight of each node, which is 1 by default."""
    return np.ones(graph.n_nodes) if node_weights is None else node_weights


def mean_and_error(
    count: int,
    threads: int,
    worth: FloatArray,
    sums: Callable[[FloatArray, int, int, float], tuple[float, float]],
) -> tuple[float, float]:
    """Return mean and standard error of `count` spreads; `sums` returns the sums over a range of spreads.

    The ranges do not depend on the number of threads, so sums of weights are rounded in the same way. Weights
    are scaled to at most 1, and distances are measured from one of the spreads, so no square overflows.
    """
    unit = float(worth.max())
    scaled = worth / unit
    # Any value of the right magnitude avoids cancellation.
    origin, _ = sums(scaled, 0, 1, 0.0)
    cuts = [*range(0, count, _RANGE), count]

    def part(first: int, last: int) -> tuple[float, float]:
        return sums(scaled, first, last, origin)

    with ThreadPoolExecutor(threads) as pool:
        parts = list((pool.map if threads > 1 else map)(part, cuts[:-1], cuts[1:]))
    mean = sum(total for total, _ in parts) / count
    variance = sum(squares for _, squares in parts) / count - (mean - origin) ** 2
    return unit * mean, unit * math.sqrt(max(0.0, variance) / max(count - 1, 1))
