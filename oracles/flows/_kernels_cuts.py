"""Minimum cuts by blocking flows."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.kernels import kernel, lean_kernel


class Levels(NamedTuple):
    """The distance of each node from the source, the next entry to try at each node, and a queue."""

    level: IntArray
    at: IntArray
    queue: IntArray


@lean_kernel
def _end(pipes, entry):
    """Return the node to which an entry leads."""
    return int(pipes.tails[entry >> 1] if entry & 1 else pipes.heads[entry >> 1])


@lean_kernel
def _measure(pipes, room, source, levels):
    """Write the distances over entries that have room; -1 for nodes that are not reached."""
    level, at, queue = levels
    level[:] = -1
    level[source], queue[0], size, first = 0, source, 1, 0
    while first < size:
        node = queue[first]
        first += 1
        at[node] = pipes.offsets[node]
        for entry in pipes.entries[pipes.offsets[node] : pipes.offsets[node + 1]]:
            end = _end(pipes, entry)
            if room[entry] > 0.0 and level[end] < 0:
                level[end] = level[node] + 1
                queue[size] = end
                size += 1


@kernel
def minimum_cut(pipes, room, source, target, is_near):
    """Write which nodes are on the source's side of a cheapest cut; return whether a finite cut exists.

    ``room[2 i]`` is the remaining capacity of arc i forward, ``room[2 i + 1]`` backward; both are modified.
    Dinic 1970.
    """
    n = is_near.shape[0]
    levels = Levels(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64))
    level, at, way = levels.level, levels.at, np.empty(n, np.int64)
    while True:
        _measure(pipes, room, source, levels)
        if level[target] < 0:
            is_near[:] = level >= 0
            return True
        node, length = source, 0
        while True:
            if node == target:
                least = np.inf
                for i in range(length):
                    least = min(least, room[way[i]])
                if least == np.inf:
                    return False
                # Go backward, so that the search continues from the first entry that is full.
                for i in range(length - 1, -1, -1):
                    room[way[i]] -= least
                    room[way[i] ^ 1] += least
                    if room[way[i]] == 0.0:
                        length = i
                node = _end(pipes, way[length] ^ 1)
            while at[node] < pipes.offsets[node + 1]:
                entry = pipes.entries[at[node]]
                if room[entry] > 0.0 and level[_end(pipes, entry)] == level[node] + 1:
                    break
                at[node] += 1
            if at[node] < pipes.offsets[node + 1]:
                way[length] = pipes.entries[at[node]]
                node = _end(pipes, way[length])
                length += 1
            elif node == source:
                break
            else:
                length -= 1
                node = _end(pipes, way[length] ^ 1)
                at[node] += 1
