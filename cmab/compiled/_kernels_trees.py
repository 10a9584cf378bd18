"""Tournament trees, which hold the largest of many keys and take O(log n) time per change of a key.

Several trees over the same arms share a table: ``keys[tree, node]`` is the largest key below a node, and
``winners[tree, node]`` is the arm with this key. Node 1 is the root, and arm i is the leaf ``size + i``.
"""

import numpy as np

from cmab.compiled._kernels import kernel, lean_kernel


@kernel
def tree_size(n):
    """Return the number of leaves, the least power of two that is at least `n`."""
    size = 1
    while size < n:
        size *= 2
    return size


@kernel
def plant(n_trees, size):
    """Return `n_trees` trees without arms, in which every key is minus infinity."""
    keys = np.full((n_trees, 2 * size), -np.inf)
    winners = np.empty((n_trees, 2 * size), np.int64)
    for tree in range(n_trees):
        # Leaves first. All keys are equal, so the left child wins, because ties go to the lower index.
        for node in range(2 * size - 1, 0, -1):
            winners[tree, node] = node - size if node >= size else winners[tree, 2 * node]
    return keys, winners


@lean_kernel
def put(keys, winners, tree, arm, key, last):
    """Give `arm` a new key; among equal keys the first arm wins, or the last one if `last`."""
    node = arm + (keys.shape[1] >> 1)
    keys[tree, node] = key
    while node > 1:
        left = node & ~1
        best, other = keys[tree, left], keys[tree, left + 1]
        winner = left
        if other > best or (last and other == best):
            best = other
            winner = left + 1
        node >>= 1
        arm = winners[tree, winner]
        # If this node does not change, the nodes above do not change either.
        if keys[tree, node] == best and winners[tree, node] == arm:
            return
        keys[tree, node] = best
        winners[tree, node] = arm
