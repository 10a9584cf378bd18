"""Cascades of the independent-cascade model, forwards: one with feedback, many without, all of them."""

import numpy as np

from cmab._kernels import kernel
from cmab._kernels_random import keyed_uniform, mix
from cmab.arrays import AnyArray, BoolArray, FloatArray, IntArray


@kernel
def cascade(
    offsets: IntArray,
    arms: AnyArray,
    heads: AnyArray,
    means: FloatArray,
    seeds: IntArray,
    key: int,
    active: IntArray,
    observed: IntArray,
    outcomes: FloatArray,
) -> tuple[int, int]:
    """Run one cascade; the coin of an arc is the number that belongs to (key, arm).

    `arms`, `heads` and `means` come in the order of the nodes that arcs leave, `offsets` says where from.

    Every arc out of every active node is observed, whether its head is active already or not. `active`,
    `observed` and `outcomes` are filled in order of activation; return how far.
    """
    reached = np.zeros(offsets.shape[0] - 1, np.bool_)
    size, seen = 0, 0
    for seed in seeds:
        reached[seed] = True
        active[size] = seed
        size += 1
    at = 0
    while at < size:
        v = active[at]
        at += 1
        for j in range(offsets[v], offsets[v + 1]):
            arm = arms[j]
            success = keyed_uniform(key, arm) < means[j]
            observed[seen] = arm
            outcomes[seen] = success
            seen += 1
            if success and not reached[heads[j]]:
                reached[heads[j]] = True
                active[size] = heads[j]
                size += 1
    return size, seen


@kernel
def spread_sums(
    offsets: IntArray,
    arms: AnyArray,
    heads: AnyArray,
    means: FloatArray,
    weights: FloatArray,
    seeds: IntArray,
    key: int,
    first: int,
    count: int,
) -> tuple[float, float]:
    """Return sum and sum of squares of the spreads of cascades `first`, ... of `key`, `count` of them.

    Arrays as in `cascade`.
    """
    n = offsets.shape[0] - 1
    stamps, active = np.zeros(n, np.int32), np.empty(n, np.int32)
    total, squares = 0.0, 0.0
    for i in range(count):
        run = int(mix(np.uint64(key) + mix(np.uint64(first + i))) >> np.uint64(1))
        size, spread = 0, 0.0
        for seed in seeds:
            stamps[seed] = i + 1
            active[size] = seed
            size += 1
        at = 0
        while at < size:
            v = active[at]
            spread += weights[v]
            at += 1
            for j in range(offsets[v], offsets[v + 1]):
                if stamps[heads[j]] != i + 1 and keyed_uniform(run, arms[j]) < means[j]:
                    stamps[heads[j]] = i + 1
                    active[size] = heads[j]
                    size += 1
        total += spread
        squares += spread * spread
    return total, squares


@kernel
def reachable(
    offsets: IntArray, arms: AnyArray, heads: AnyArray, usable: BoolArray, seeds: IntArray
) -> tuple[IntArray, BoolArray]:
    """Return the nodes reached from `seeds` over usable arcs, in order, and as a mask."""
    n = offsets.shape[0] - 1
    reached, queue, size, at = np.zeros(n, np.bool_), np.empty(n, np.int64), 0, 0
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
    return queue[:size], reached


@kernel
def uncertain_arms(
    offsets: IntArray, arms: AnyArray, heads: AnyArray, means: FloatArray, seeds: IntArray, most: int
) -> tuple[IntArray, int]:
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
def exact_spread(
    offsets: IntArray,
    arms: AnyArray,
    heads: AnyArray,
    means: FloatArray,
    weights: FloatArray,
    seeds: IntArray,
    uncertain: IntArray,
) -> float:
    """Return the expected spread, summed over all outcomes of the `uncertain` arms; others are 0 or 1."""
    usable = means >= 1.0
    expected = 0.0
    for outcome in range(1 << uncertain.shape[0]):
        chance = 1.0
        for b in range(uncertain.shape[0]):
            success = (outcome >> b) & 1 == 1
            usable[uncertain[b]] = success
            chance *= means[uncertain[b]] if success else 1.0 - means[uncertain[b]]
        if chance > 0.0:
            reached, _ = reachable(offsets, arms, heads, usable, seeds)
            for v in reached:
                expected += chance * weights[v]
    return expected
