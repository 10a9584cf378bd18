"""Cascades seen from the nodes: only who became active, and in which step, is known."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.kernels import kernel, keyed_uniform

ALONE, CREDITED, COINS = 0, 1, 2

_TIES = 0x7135  # another number of a node than the one its live arc may depend on


class Rows(NamedTuple):
    """Arcs out of node v are ``arms[offsets[v]:offsets[v + 1]]``, to the heads at the same places."""

    offsets: IntArray
    arms: AnyArray
    heads: AnyArray


class Coins(NamedTuple):
    """In the order of the rows: an arc is live when the number of (key, owner) lies in its ``[low, high)``.

    Without `lows`, they are 0.
    """

    owners: AnyArray
    lows: FloatArray
    highs: FloatArray


class Shown(NamedTuple):
    """What a cascade writes to: nodes in order of activation, arcs that are shown, and their outcomes."""

    active: IntArray
    observed: IntArray
    outcomes: FloatArray


@kernel
def cascade_with_node_feedback(rows, coins, seeds, key, shows, once, out):
    """Run one cascade and show what the steps in which nodes became active tell about arcs.

    An arc tries its head in the step after its tail became active, unless the head was active before.

    Shown are the arcs that tried their head; with `once`, only in the first step in which it was tried. With
    `shows` = ALONE, those that were alone in trying it; with COINS, all, and whether they are live; with
    CREDITED, all, and where the head became active a uniform one of them counts as the success.
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
    # Nodes of one step try together: nobody sees which of them was first.
    while first < size:
        last = size
        for v in active[first:last]:
            for j in range(offsets[v], offsets[v + 1]):
                w = heads[j]
                if 0 <= since[w] <= step:
                    continue
                # Counted before anybody is shown: ALONE and CREDITED need to know how many tried.
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
                    # One of those that tried is credited, each as likely: live or not is not seen.
                    lucky = int(keyed_uniform(key ^ _TIES, w) * tries[w, 0])
                    outcomes[seen] = since[w] > step and tries[w, 1] == lucky
                    tries[w, 1] += 1
                else:
                    outcomes[seen] = _is_live(owners, lows, highs, key, j)
                seen += 1
        # Only heads that were tried are set back: steps are short, graphs are not.
        _forget(offsets, heads, active[first:last], tries, ever)
        first, step = last, step + 1
    return size, seen


@kernel
def _is_live(owners, lows, highs, key, j):
    # For thresholds the owner is the head: one number chooses among the arcs into it.
    number = keyed_uniform(key, owners[j])
    return bool(number < highs[j] and (lows.shape[0] == 0 or number >= lows[j]))


@kernel
def _forget(offsets, heads, nodes, tries, ever):
    """Set the tries of this step back, and remember that there were some."""
    for v in nodes:
        for j in range(offsets[v], offsets[v + 1]):
            tries[heads[j]] = 0
            ever[heads[j]] = True
