"""The greedy choice of sentinels."""

import math

import numpy as np

from cmab.kernels import kernel
from oracles.diffusion._kernels_graph import order_by


@kernel
def most_covering(ends, pool, arcs_out, allowed, k, least_gain):
    """Return at most `k` allowed nodes that each cover `least_gain` more sets, and the entries of these sets.

    Set i is the entries of `pool` from ``ends[i]`` to ``ends[i + 1] - 1``. Among the nodes with a coverage
    within half a standard deviation of the largest, or one set, choose the one with the most arcs out, then
    the lowest number.
    """
    n, n_sets = allowed.shape[0], ends.shape[0] - 1
    entries = pool[: ends[n_sets]]
    offsets, positions = order_by(entries, n)
    set_of, is_covered = np.empty(entries.shape[0], np.int32), np.zeros(n_sets, np.bool_)
    gains, chosen = np.zeros(n, np.int64), np.empty(k, np.int64)
    # `positions` gives the places of a node in the pool; this array gives the set of each place.
    for i in range(n_sets):
        for j in range(ends[i], ends[i + 1]):
            set_of[j] = i
    for v in range(n):
        gains[v] = offsets[v + 1] - offsets[v] if allowed[v] else 0
    size, n_covered = 0, 0
    while size < k:
        most = 0
        for v in range(n):
            most = max(most, gains[v])
        # A node that covers one or two of a few sets may do so by chance.
        if most < least_gain:
            break
        # The variance of a count is about the count, so these nodes are equally good given the sets. If few
        # of the sets are large, a node may be in one more set by chance.
        best, bar = -1, most - max(1.0, 0.5 * math.sqrt(most))
        for v in range(n):
            # Sets reach the node with the most arcs out soonest, so they end sooner.
            if gains[v] >= bar and (best < 0 or arcs_out[v] > arcs_out[best]):
                best = v
        chosen[size] = best
        size += 1
        for position in positions[offsets[best] : offsets[best + 1]]:
            i = set_of[position]
            if is_covered[i]:
                continue
            is_covered[i] = True
            # Count entries, not sets, because ending sets early saves entries.
            n_covered += ends[i + 1] - ends[i]
            for j in range(ends[i], ends[i + 1]):
                if allowed[entries[j]]:
                    gains[entries[j]] -= 1
    return chosen[:size], n_covered
