"""Forward cascades of the independent-cascade model: with feedback, for estimates, and by enumeration."""

import math

import numpy as np

from cmab.kernels import kernel, keyed_word, lean_kernel, mix, prefetch

_ARC = np.dtype([("limit", np.uint64), ("head", np.int32), ("arm", np.int32)])
_LINE = 64 // _ARC.itemsize


@kernel
def arcs_in_rows(arms, heads, means):
    """Return the fields of each arc that a cascade reads as one row, in the order of `arms`.

    An arc is successful if its `keyed_word` is below `limit`, i.e. if its `keyed_uniform` is below the mean.
    """
    arcs = np.empty(arms.shape[0], _ARC)
    for j in range(arms.shape[0]):
        # For integers k, k / 2^53 < p is equivalent to k < ceil(2^53 p). This is exact, without rounding.
        arcs[j]["limit"] = np.uint64(math.ceil(means[arms[j]] * 2.0**53))
        arcs[j]["head"] = heads[arms[j]]
        arcs[j]["arm"] = arms[j]
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
    size, seen, at = 0, 0, 0
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
    """Return the key of cascade `i`, a nonnegative integer."""
    return int(mix(np.uint64(key) + mix(np.uint64(i))) >> np.uint64(1))


@kernel
def spread_sums(offsets, arcs, weights, seeds, key, first, last, origin):
    """Return the sum, and the norm of distances from `origin`, of spreads `first`, ..., ``last - 1``.

    The arrays are those of `cascade`. The loop is also the same, but it keeps nodes instead of outcomes.
    """
    n = offsets.shape[0] - 1
    dormant, hit = np.ones(n, np.uint8), np.empty(max(n, arcs.shape[0]) + 1, np.int32)
    starts, stops = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    active = np.empty(n + 1, np.int32)
    total, norm = 0.0, 0.0
    for i in range(first, last):
        run = cascade_key(key, i)
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
                    hits += keyed_word(run, j) < arc["limit"]
                at += 1
        # One pass sums over the active nodes and resets the marks for the next cascade.
        for v in active[:size]:
            spread += weights[v]
            dormant[v] = 1
        total += spread
        norm = math.hypot(norm, spread - origin)
    return total, norm


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
