"""Sentinels: the first seeds, chosen from a few sets, at which all further sets are left.

Where influence is high, most sets hold the same large part of the graph, and drawing it again and again is
what takes the time (HIST: Guo et al., Influence Maximization Revisited, SIGMOD 2020). Sets that are left at a
sentinel are the same sets, known in part: all of them count as covered once the sentinels are chosen, and
those that hold none are complete. So the bound on the optimum (of the steps after the sentinels) and the
validation are those of the complete sample, and certificates need no other confidence.
"""

from __future__ import annotations

import numpy as np

from cmab.arrays import BoolArray, IntArray
from oracles.diffusion.reverse_sets import SetCollection

# Measured on the graphs of the benchmark: smaller sets are drawn as fast as sentinels are found in them.
_LEAST_SIZE = 12
_FIRST_SETS, _ENOUGH_ARCS = 32, 200_000
_LEAST_GAIN, _LEAST_SHARE = 3, 0.5


def place_sentinels(
    sets: SetCollection, n_sets: int, k: int, allowed: BoolArray, *, always: bool = False
) -> None:
    """Draw a few of `n_sets` sets and leave the others at sentinels, where that saves time or `always`."""
    size = _FIRST_SETS
    while size < n_sets:
        sets.grow(size)
        if sets.edges_examined >= _ENOUGH_ARCS:
            break
        size *= 2
    if sets.n_sets > 0 and (always or sets.ends[-1] >= _LEAST_SIZE * sets.n_sets):
        sentinels, share = _most_covering(sets, k, allowed)
        if always or share >= _LEAST_SHARE:
            sets.stop_at(sentinels)


def _most_covering(sets: SetCollection, k: int, allowed: BoolArray) -> tuple[IntArray, float]:
    """Return greedy seeds that cover several sets more each, and the share of all entries in their sets.

    Among nodes that cover as many, give or take half a standard deviation, the one with the most arcs out is
    chosen: further sets come to it soonest.
    """
    from oracles.influence._kernels_sentinels import most_covering

    reverse, ends = sets.graph, sets.ends
    counted = np.bincount(reverse.component, reverse.graph.out_degrees, reverse.n_components)
    arcs_out = counted.astype(np.float64, copy=False)
    chosen, n_covered = most_covering(ends, sets.pool, arcs_out, allowed, k, _LEAST_GAIN)
    return chosen, n_covered / int(ends[-1])
