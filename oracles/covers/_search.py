"""Local search for covers and branch and bound for independent sets, in steps that Ctrl-C can end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from oracles._watch import Watch
from oracles.anytime import Clock
from oracles.covers._kernels_covers import Incidence
from oracles.covers._kernels_improve import Walk, begin_walk, improve_cover
from oracles.covers._kernels_independent import DEPTH, Tree, open_bound, search_independent

# The exchanges of a search, and between two looks at the clock. The number grows with the instance.
_EXCHANGES, _PER_ARM, _BLOCK = 5_000, 20, 500
_NODES = 2_000


def improved(
    incidence: Incidence,
    costs: FloatArray,
    chosen: BoolArray,
    bound: float,
    clock: Clock,
    watch: Watch,
    exchanges: int | None = None,
) -> BoolArray:
    """Return the best cover that a local search finds, which starts from `chosen`.

    By default, the number of exchanges depends on the instance only, so the answer is the same on every
    machine unless the clock ends the search.
    """
    n, n_elements = len(costs), len(incidence.firsts) - 1
    numbers = np.zeros(4, np.int64)
    walk = Walk(
        np.zeros(n_elements, np.int64),
        np.empty(n_elements),
        np.empty(n),
        np.zeros(n, np.int64),
        np.empty(n, bool),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n_elements, np.int64),
        np.empty(n_elements, np.int64),
        numbers,
        np.zeros(1),
    )
    best = chosen.copy()
    begin_walk(incidence, costs, best, walk)
    least, done = float(costs[best].sum()), 0
    total = _EXCHANGES + _PER_ARM * n if exchanges is None else exchanges
    while done < total and not clock.is_over and not watch.is_interrupted and least > bound:
        least = improve_cover(incidence, costs, walk, min(_BLOCK, total - done), best, least)
        done += _BLOCK
        watch.tell(least, bound)
    return best


def independent(
    apart: Callable[[IntArray], BoolArray],
    weights: FloatArray,
    known: BoolArray,
    most_nodes: int,
    clock: Clock,
    watch: Watch,
    costs_of: float,
) -> tuple[BoolArray, float, bool]:
    """Return the independent set of largest weight found, an upper bound on all, and whether it is optimal.

    `apart` returns the matrix of pairs that are not adjacent, in a given order of the nodes. `costs_of`
    is the cost of all nodes and of the rest of the cover, which converts weights to costs for the display.
    """
    n = len(weights)
    order = _order(apart(np.arange(n)), weights)
    matrix, sorted_weights = apart(order), weights[order]
    words = -(-n // 64)
    bits = np.zeros((n, words * 64), np.uint8)
    bits[:, :n] = matrix
    packed = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    everything = np.zeros(words * 64, np.uint8)
    everything[:n] = 1
    padded = np.zeros(words * 64)
    padded[:n] = sorted_weights
    candidates = np.zeros((n + 2, words), np.uint64)
    candidates[0] = np.packbits(everything, bitorder="little").view(np.uint64)
    tree = Tree(
        packed,
        padded,
        candidates,
        np.zeros_like(candidates),
        np.zeros(2 * n + 66, np.int64),
        np.zeros(n + 2),
        np.zeros(words * 64),
        np.zeros(words, np.uint64),
        np.zeros(2, np.int64),
    )
    chosen = np.zeros(len(padded), bool)
    chosen[:n] = known[order]
    best, done, bound = float(padded[chosen].sum()), 0, np.inf
    while tree.numbers[DEPTH] >= 0 and done < most_nodes and not clock.is_over and not watch.is_interrupted:
        best = search_independent(tree, _NODES, best, chosen)
        done += _NODES
        watch.tell(costs_of - best, costs_of - bound)
    is_over = bool(tree.numbers[DEPTH] < 0)
    bound = best if is_over else open_bound(tree, best)
    found = np.zeros(n, bool)
    found[order] = chosen[:n]
    return found, bound, is_over


def _order(apart: BoolArray, weights: FloatArray) -> IntArray:
    """Return the nodes in a degeneracy order of the graph of pairs that may be chosen together.

    The node of least degree comes last, so it is tried first, when few other nodes remain for it.
    """
    n = len(weights)
    degrees, left, order = apart.sum(axis=1).astype(np.float64), np.ones(n, bool), np.empty(n, np.int64)
    for place in range(n - 1, -1, -1):
        node = int(np.argmin(np.where(left, degrees, np.inf)))
        order[place], left[node] = node, False
        degrees -= apart[node]
    return order
