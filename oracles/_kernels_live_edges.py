"""Reverse-reachable sets in a world that is given as live arcs."""

from cmab._kernels import kernel
from cmab.arrays import AnyArray, BoolArray, IntArray


@kernel
def reach_back(
    offsets: IntArray,
    arms: AnyArray,
    tails: AnyArray,
    live: BoolArray,
    owners: AnyArray,
    pool: AnyArray,
    start: int,
    stamps: AnyArray,
    stamp: int,
) -> tuple[int, bool, int]:
    """Fill the pool with the nodes that reach ``pool[start]`` over live arcs, until one has an owner.

    Return the end in the pool, whether an owner was met, and the number of arcs examined.
    """
    at, end, examined = start, start + 1, 0
    stamps[pool[start]] = stamp
    if owners[pool[start]] >= 0:
        return end, True, 0
    while at < end:
        v = pool[at]
        at += 1
        examined += offsets[v + 1] - offsets[v]
        for j in range(offsets[v], offsets[v + 1]):
            u = tails[arms[j]]
            if live[arms[j]] and stamps[u] != stamp:
                stamps[u] = stamp
                pool[end] = u
                end += 1
                if owners[u] >= 0:
                    return end, True, examined
    return end, False, examined
