"""Kernels that find and drop parallel arcs."""

import numpy as np

from cmab.kernels import kernel


@kernel
def repeats(offsets, arms, others, n):
    """Return for each arc whether an arc of a lower number has the same ends.

    ``arms[offsets[v]:offsets[v + 1]]`` are the arcs into v in increasing order, and `others` are their tails.
    """
    seen, again = np.zeros(n, np.int32), np.zeros(arms.shape[0], np.bool_)
    for v in range(n):
        for i in range(offsets[v], offsets[v + 1]):
            again[arms[i]] = seen[others[i]] == v + 1
            seen[others[i]] = v + 1
    return again
