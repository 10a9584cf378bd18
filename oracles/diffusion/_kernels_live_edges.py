"""Reverse-reachable sets where live arcs are given: those of a world, or those into the nodes reached."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.kernels import kernel


class InArcs(NamedTuple):
    """Arcs into node v are ``arms[offsets[v]:offsets[v + 1]]``; arc i comes from ``tails[i]``."""

    offsets: IntArray
    arms: AnyArray
    tails: AnyArray


@kernel
def reach_back(arcs, live, owners, pool, start, stamps, stamp):
    """Fill the pool with the nodes that reach ``pool[start]`` over live arcs, until one has an owner.

    Return the end in the pool, whether an owner was met, and the number of arcs examined.
    """
    offsets, arms, tails = arcs
    at, end, examined = start, start + 1, 0
    stamps[pool[start]] = stamp
    # The root may have an owner itself: then no arc needs a look.
    if owners[pool[start]] >= 0:
        return end, True, 0
    # The pool is the queue of a breadth-first search against the arcs, and what it found.
    while at < end:
        v = pool[at]
        at += 1
        examined += offsets[v + 1] - offsets[v]
        for j in range(offsets[v], offsets[v + 1]):
            u = tails[arms[j]]
            # Stamps tell members: a new set costs no pass over all nodes.
            if live[arms[j]] and stamps[u] != stamp:
                stamps[u] = stamp
                pool[end] = u
                end += 1
                if owners[u] >= 0:
                    return end, True, examined
    return end, False, examined


@kernel
def widen(offsets, tails, live, owners, sets, nodes, members, is_open):
    """Add the tails of live arcs into ``nodes[i]`` to set ``sets[i]``, for each i; return what is new so.

    `tails` come in the order of the nodes that arcs lead to, `live` speaks of the arcs into `nodes` side by
    side, and `members` says which nodes a set holds. It takes none after one with an owner.
    """
    new_sets, new_nodes = np.empty(live.shape[0], np.int64), np.empty(live.shape[0], np.int64)
    end, at = 0, 0
    for i in range(sets.shape[0]):
        s = sets[i]
        for j in range(offsets[nodes[i]], offsets[nodes[i] + 1]):
            u = tails[j]
            # A closed set still walks over its arcs, for `at` has to keep step with `live`.
            if live[at] and is_open[s] and not members[s, u]:
                members[s, u] = True
                new_sets[end], new_nodes[end] = s, u
                end += 1
                # Whoever has an owner ends the set, as in `draw_sets`.
                is_open[s] = owners[u] < 0
            at += 1
    return new_sets[:end], new_nodes[:end]
