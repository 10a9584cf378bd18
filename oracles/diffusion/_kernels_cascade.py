"""Cascades of the independent-cascade model, forwards: one with feedback, many without, all of them."""

import math

import numpy as np

from cmab.kernels import kernel, keyed_word, lean_kernel, mix, prefetch

_ARC = np.dtype([("limit", np.uint64), ("head", np.int32), ("arm", np.int32)])
_LINE = 64 // _ARC.itemsize


@kernel
def arcs_in_rows(arms, heads, means):
    """Return what a cascade reads of each arc side by side, in the order of `arms`.

    A coin succeeds if its `keyed_word` is below `limit`: if its `keyed_uniform` is below the mean.
    """
    arcs = np.empty(arms.shape[0], _ARC)
    for j in range(arms.shape[0]):
        # k / 2^53 < p for whole k is k < ceil(2^53 p), which is exact: no coin is rounded.
        arcs[j]["limit"] = np.uint64(math.ceil(means[arms[j]] * 2.0**53))
        arcs[j]["head"] = heads[arms[j]]
        arcs[j]["arm"] = arms[j]
    return arcs


@kernel
def cascade(offsets, arcs, seeds, key, observed, outcomes):
    """Run one cascade; the coin of the arc at position j is the number that belongs to (key, j).

    `arcs` are those of `arcs_in_rows`, in the order of the nodes that they leave; `offsets` says where from.

    Every arc out of every active node is observed, whether its head is active already or not. `observed` and
    `outcomes` are filled in order of activation. Return the numbers of active nodes and of observed arcs; -1
    and 0 if a seed is out of range or repeated.
    """
    n = offsets.shape[0] - 1
    dormant, hit = np.ones(n, np.uint8), np.empty(max(n, arcs.shape[0]) + 1, np.int32)
    starts, stops = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    size, seen, at = 0, 0, 0
    for seed in seeds:
        if not 0 <= seed < n or not dormant[seed]:
            return -1, 0
        starts[size], stops[size] = offsets[seed], offsets[seed + 1]
        size += 1
        dormant[seed] = 0
    # Coins are not to be guessed. Without branches on them, the processor guesses only where rows end: the
    # coins of a step first, then the nodes they hit, each written down and kept if it was dormant. The rows
    # of those are under way from memory while the others are still written down.
    while at < size:
        hits = 0
        while at < size:
            for j in range(starts[at], stops[at]):
                arc = arcs[j]
                success = keyed_word(key, j) < arc["limit"]
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


@lean_kernel
def cascade_key(key, i):
    """Return the key of cascade `i`, a whole number that is not negative."""
    return int(mix(np.uint64(key) + mix(np.uint64(i))) >> np.uint64(1))


@kernel
def spread_sums(offsets, arcs, weights, seeds, key, first, last, origin):
    """Return sum, and norm of distances from `origin`, of the spreads of cascades `first`, ..., ``last - 1``.

    Arrays as in `cascade`, and the same loop, which keeps nodes instead of coins.
    """
    n = offsets.shape[0] - 1
    dormant, hit = np.ones(n, np.uint8), np.empty(max(n, arcs.shape[0]) + 1, np.int32)
    starts, stops = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    active = np.empty(n + 1, np.int32)
    total, norm = 0.0, 0.0
    for i in range(first, last):
        run = cascade_key(key, i)
        # Seeds count as hit: the loop below writes them down.
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
                    hits += keyed_word(run, j) < arc["limit"]
                at += 1
        # The sum over nodes that were active, and the marks set back for the next cascade, in one pass.
        for v in active[:size]:
            spread += weights[v]
            dormant[v] = 1
        total += spread
        norm = math.hypot(norm, spread - origin)
    return total, norm


@lean_kernel
def _reach(offsets, arms, heads, usable, seeds, reached, queue):
    """Write the nodes reached from `seeds` over usable arcs to `queue`, in order, and mark them."""
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
    """Return the nodes reached from `seeds` over usable arcs, in order, and as a mask."""
    n = offsets.shape[0] - 1
    reached, queue = np.zeros(n, np.bool_), np.empty(n, np.int64)
    size = _reach(offsets, arms, heads, usable, seeds, reached, queue)
    return queue[:size], reached


@kernel
def uncertain_arms(offsets, arms, heads, means, seeds, most):
    """Return the uncertain arms that a cascade from `seeds` may meet, and their number.

    The search ends when there are more than `most`: the number is ``most + 1`` then.
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
                # Early: on a large graph a cascade may meet millions.
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
    """Return the probability that each node becomes active, summed over all outcomes of the `uncertain` arms.

    Other arms are certain or impossible.
    """
    n = offsets.shape[0] - 1
    usable, active = means >= 1.0, np.zeros(n)
    # Set back after each outcome where it was written to: most outcomes reach few of many nodes.
    reached, queue = np.zeros(n, np.bool_), np.empty(n, np.int64)
    # Kempe et al. 2003, proof of Theorem 2.2 (number from memory): in each outcome of all coins the active
    # nodes are those that live arcs lead to.
    for outcome in range(1 << uncertain.shape[0]):
        chance = 1.0
        for b in range(uncertain.shape[0]):
            success = (outcome >> b) & 1 == 1
            usable[uncertain[b]] = success
            chance *= means[uncertain[b]] if success else 1.0 - means[uncertain[b]]
        # A chance that underflows adds nothing.
        if chance > 0.0:
            for v in queue[: _reach(offsets, arms, heads, usable, seeds, reached, queue)]:
                active[v] += chance
                reached[v] = False
    return active
