"""Independent sets of largest weight, by branch and bound on bit sets with weighted clique covers."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import kernel, lean_kernel

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_PLACES = np.zeros(64, np.int64)
for _i in range(64):
    _PLACES[(int(_DE_BRUIJN) << _i & (2**64 - 1)) >> 58] = _i
_ONE, _ALL, _TOP = np.uint64(1), np.uint64(2**64 - 1), np.uint64(58)


class Tree(NamedTuple):
    """The path of open nodes of the search.

    `apart` has the nodes that are not adjacent to each node, as bits. At depth d, `candidates` are the nodes
    that may be added, `branches` those that are yet to be tried, and `path` the node that was added last.
    `worth` has the weight of the path at each depth. `numbers`: the depth and the number of searched nodes.
    """

    apart: np.ndarray
    weights: FloatArray
    candidates: np.ndarray
    branches: np.ndarray
    path: IntArray
    worth: FloatArray
    rest: FloatArray
    clique: np.ndarray
    numbers: IntArray


DEPTH, NODES = range(2)


@lean_kernel
def _lowest(word):
    """Return the position of the lowest bit."""
    return _PLACES[((word & (~word + _ONE)) * _DE_BRUIJN) >> _TOP]


@lean_kernel
def _bound(tree, depth, slack):
    """Return an upper bound on the weight of independent candidates, or a number above `slack`.

    Cliques share the weights of the nodes. Each clique takes the least rest of its nodes and counts it once,
    because an independent set has at most one of them. The nodes whose rest is positive when the sum exceeds
    `slack` remain in `branches`: an independent set without them has at most the weight `slack` (Held, Cook,
    Sewell 2012; Tavares 2016; both from memory).
    """
    left, clique = tree.branches[depth], tree.clique
    words, total = left.shape[0], 0.0
    for w in range(words):
        left[w] = tree.candidates[depth, w]
        word = left[w]
        while word:
            place = _lowest(word)
            word &= word - _ONE
            tree.rest[64 * w + place] = tree.weights[64 * w + place]
    first = 0
    while True:
        while first < words and left[first] == 0:
            first += 1
        if first == words:
            return total
        least = np.inf
        for w in range(first, words):
            clique[w] = left[w]
        members = 0
        for w in range(first, words):
            while clique[w]:
                place = _lowest(clique[w])
                node = 64 * w + place
                tree.path[tree.path.shape[0] - 1 - members] = node
                members += 1
                least = min(least, tree.rest[node])
                clique[w] &= clique[w] - _ONE
                for k in range(w, words):
                    clique[k] &= ~tree.apart[node, k]
        if total + least > slack:
            return total + least
        total += least
        for k in range(members):
            node = tree.path[tree.path.shape[0] - 1 - k]
            tree.rest[node] -= least
            if tree.rest[node] <= 0.0:
                left[node >> 6] &= ~(_ONE << np.uint64(node & 63))


@kernel
def search_independent(tree, budget, best, chosen):
    """Search `budget` nodes; write the best set to `chosen`, and return its weight (at least `best`).

    The search is over if the depth is then -1. It can be continued with another call.
    """
    words = tree.clique.shape[0]
    limit = tree.numbers[NODES] + budget
    if tree.numbers[NODES] == 0:
        _bound(tree, 0, best)
        tree.numbers[NODES] = 1
    while tree.numbers[DEPTH] >= 0 and tree.numbers[NODES] < limit:
        depth = tree.numbers[DEPTH]
        node = -1
        for w in range(words - 1, -1, -1):
            if tree.branches[depth, w]:
                # The highest bit is the last candidate: it is in the largest cliques of the order.
                word = tree.branches[depth, w]
                while word:
                    node = 64 * w + _lowest(word)
                    word &= word - _ONE
                break
        if node < 0:
            tree.numbers[DEPTH] -= 1
            continue
        bit = ~(_ONE << np.uint64(node & 63))
        tree.branches[depth, node >> 6] &= bit
        tree.candidates[depth, node >> 6] &= bit
        worth = tree.worth[depth] + tree.weights[node]
        tree.path[depth] = node
        if worth > best:
            best = worth
            chosen[:] = False
            for d in range(depth + 1):
                chosen[tree.path[d]] = True
        is_empty = True
        for w in range(words):
            tree.candidates[depth + 1, w] = tree.candidates[depth, w] & tree.apart[node, w]
            is_empty &= tree.candidates[depth + 1, w] == 0
        tree.numbers[NODES] += 1
        if is_empty:
            continue
        tree.worth[depth + 1] = worth
        if _bound(tree, depth + 1, best - worth) > best - worth:
            tree.numbers[DEPTH] += 1
    return best


@kernel
def open_bound(tree, best):
    """Return an upper bound on the weight of every independent set, in the present state of the search."""
    most = best
    for depth in range(tree.numbers[DEPTH] + 1):
        kept = tree.branches[depth].copy()
        most = max(most, tree.worth[depth] + _bound(tree, depth, np.inf))
        tree.branches[depth] = kept
    return most
