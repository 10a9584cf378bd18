"""Reverse-reachable sets for given live arcs, of a whole world or into the reached nodes."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.kernels import kernel


class InArcs(NamedTuple):
    """The arcs into node v are ``arms[offsets[v]:offsets[v + 1]]``; arc i comes from ``tails[i]``."""

    offsets: IntArray
    arms: AnyArray
    tails: AnyArray


@kernel
def reach_back(arcs, live, owners, pool, start, stamps, stamp):
    """Fill the pool with the nodes that reach ``pool[start]`` by live arcs, until a node has an owner.

    Return the end in the pool, whether a node with an owner was found, and the number of examined arcs.
    """
    offsets, arms, tails = arcs
    at, end, examined = start, start + 1, 0
    stamps[pool[start]] = stamp
    # If the root has an owner, no arc needs to be examined.
    if owners[pool[start]] >= 0:
        return end, True, 0
    # The pool is both the queue and the result of a breadth-first search against the direction of the arcs.
    while at < end:
        v = pool[at]
        at += 1
        examined += offsets[v + 1] - offsets[v]
        for j in range(offsets[v], offsets[v + 1]):
            u = tails[arms[j]]
            # Stamps mark the members, so a new set does not need a pass over all nodes.
            if live[arms[j]] and stamps[u] != stamp:
                stamps[u] = stamp
                pool[end] = u
                end += 1
                if owners[u] >= 0:
                    return end, True, examined
    return end, False, examined


@kernel
def widen(offsets, tails, live, owners, sets, nodes, members, is_open):
    """Add the tails of live arcs into ``nodes[i]`` to set ``sets[i]`` for each i; return the new members.

    `tails` are in the order of the heads of arcs. `live` has the arcs into `nodes` in order. `members` gives
    the nodes of each set. A set ends at its first node with an owner.
    """
    new_sets, new_nodes = np.empty(live.shape[0], np.int64), np.empty(live.shape[0], np.int64)
    end, at = 0, 0
    for i in range(sets.shape[0]):
        s = sets[i]
        for j in range(offsets[nodes[i]], offsets[nodes[i] + 1]):
            u = tails[j]
            # Also pass over the arcs of a closed set, because `at` must stay in step with `live`.
            if live[at] and is_open[s] and not members[s, u]:
                members[s, u] = True
                new_sets[end], new_nodes[end] = s, u
                end += 1
                # A node with an owner ends the set, as in `draw_sets`.
                is_open[s] = owners[u] < 0
            at += 1
    return new_sets[:end], new_nodes[:end]
