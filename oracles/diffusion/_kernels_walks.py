"""Linear thresholds: reverse-reachable sets as reverse walks, and cascades by thresholds."""

import math
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.kernels import GOLDEN, kernel, keyed_uniform, mix, to_unit
from oracles.diffusion._kernels_cascade import cascade_key
from oracles.diffusion._kernels_sets import draw_root


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


@kernel
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
