"""Cascades with node feedback: only the active nodes and their steps are observed."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.kernels import kernel, keyed_uniform

ALONE, CREDITED, COINS = 0, 1, 2

_TIES = 0x7135  # separates this number of a node from the one for its live arc


class Rows(NamedTuple):
    """The arcs out of node v are ``arms[offsets[v]:offsets[v + 1]]``; `heads` has the same order."""

    offsets: IntArray
    arms: AnyArray
    heads: AnyArray


class Coins(NamedTuple):
    """In the order of the rows: an arc is live if the number of (key, owner) is in ``[low, high)``.

    If `lows` is empty, every low is 0.
    """

    owners: AnyArray
    lows: FloatArray
    highs: FloatArray


class Shown(NamedTuple):
    """The output of a cascade: nodes in order of activation, shown arcs, and their outcomes."""

    active: IntArray
    observed: IntArray
    outcomes: FloatArray


@kernel
def cascade_with_node_feedback(rows, coins, seeds, key, shows, once, out):
    """Run one cascade, and show the outcomes that the activation steps of nodes determine.

    An arc tries its head in the step after its tail became active, unless the head was already active.

    Only arcs that tried their head are shown. With `once`, an arc is shown only if no arc tried the head in
    an earlier step. With `shows` = ALONE, an arc is shown if it was alone in trying its head. With COINS, all
    arcs are shown, with their true outcomes. With CREDITED, all arcs are shown; if the head became active,
    one of them, chosen uniformly, counts as the success.
    """
    offsets, arms, heads = rows
    owners, lows, highs = coins
    active, observed, outcomes = out
    n = offsets.shape[0] - 1
    since, tries, ever = np.full(n, -1, np.int64), np.zeros((n, 2), np.int64), np.zeros(n, np.bool_)
    size, seen, first, step = 0, 0, 0, 0
    for seed in seeds:
        since[seed] = 0
        active[size] = seed
        size += 1
    # The nodes of one step try together: their order is not observed.
    while first < size:
        last = size
        for v in active[first:last]:
            for j in range(offsets[v], offsets[v + 1]):
                w = heads[j]
                if 0 <= since[w] <= step:
                    continue
                # Count first, because ALONE and CREDITED need the number of arcs that tried.
                tries[w, 0] += 1
                if since[w] < 0 and _is_live(owners, lows, highs, key, j):
                    since[w] = step + 1
                    active[size] = w
                    size += 1
        for v in active[first:last]:
            for j in range(offsets[v], offsets[v + 1]):
                w = heads[j]
                if 0 <= since[w] <= step or (once and ever[w]) or (shows == ALONE and tries[w, 0] > 1):
                    continue
                observed[seen] = arms[j]
                if shows == CREDITED:
                    # Credit one of the arcs that tried, uniformly, because it is not observed which of them
                    # were live.
                    lucky = int(keyed_uniform(key ^ _TIES, w) * tries[w, 0])
                    outcomes[seen] = since[w] > step and tries[w, 1] == lucky
                    tries[w, 1] += 1
                else:
                    outcomes[seen] = _is_live(owners, lows, highs, key, j)
                seen += 1
        # Reset only heads that were tried, because a step is small and the graph is large.
        _forget(offsets, heads, active[first:last], tries, ever)
        first, step = last, step + 1
    return size, seen


@kernel
def _is_live(owners, lows, highs, key, j):
    # For thresholds the owner is the head: one number chooses among its incoming arcs.
    number = keyed_uniform(key, owners[j])
    return bool(number < highs[j] and (lows.shape[0] == 0 or number >= lows[j]))


@kernel
def _forget(offsets, heads, nodes, tries, ever):
    """Reset the tries of this step, and remember the heads that were tried."""
    for v in nodes:
        for j in range(offsets[v], offsets[v + 1]):
            tries[heads[j]] = 0
            ever[heads[j]] = True
