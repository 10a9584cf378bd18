"""Greedy for probabilistic maximum coverage, lazily: gains only fall, so most need not be computed again."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import heap_drop, heap_sink, heap_up, kernel, lean_kernel, solve_kernel


class Sides(NamedTuple):
    """Left node u has the edges ``arms[offsets[u]:offsets[u + 1]]``, edge i the right node ``heads[i]``."""

    offsets: IntArray
    arms: IntArray
    heads: IntArray
    weights: FloatArray


class Scratch(NamedTuple):
    """Space for right nodes (`missing`: the chance that each is not covered yet) and for left nodes."""

    missing: FloatArray
    gains: FloatArray
    heap: IntArray
    age: IntArray


@lean_kernel
def gain(node, offsets, arms, heads, means, weights, missing):
    """Return what `node` adds: ``missing[v]`` is the probability that v is not covered yet."""
    total = 0.0
    for i in range(offsets[node], offsets[node + 1]):
        v = heads[arms[i]]
        # sum_v w_v prod_(u chosen) (1 - p_uv) p_iv: Chen et al. 2016, section 4.1
        total += weights[v] * missing[v] * means[arms[i]]
    return total


@lean_kernel
def cover_greedily(k, graph, means, scratch, chosen):
    """Write k nodes in increasing order: one after the other that of largest gain, ties to the lower.

    1 - (1 - 1/k)^k of the optimum (Nemhauser, Wolsey, Fisher 1978, section 4), lazily as Minoux has it.
    """
    offsets, arms, heads, weights = graph
    missing, gains, heap, age = scratch
    n = offsets.shape[0] - 1
    missing[:] = 1.0
    for node in range(n):
        heap[node], age[node] = node, 0
        gains[node] = gain(node, offsets, arms, heads, means, weights, missing)
    # Gains of a submodular reward only fall as nodes are chosen, so old ones are upper bounds: Minoux 1978.
    heap_up(heap, gains, n)
    size = n
    for step in range(k):
        while age[heap[0]] < step:  # the gain at the top is from an earlier step: an upper bound
            gains[0] = gain(heap[0], offsets, arms, heads, means, weights, missing)
            age[heap[0]] = step
            heap_sink(heap, gains, 0, size)
        node = heap[0]
        # Marks it as chosen: the ages of others stay below k.
        age[node] = k
        for i in range(offsets[node], offsets[node + 1]):
            # Edges succeed independently, so the chances of a miss multiply: Chen et al. 2016, section 4.1.
            missing[heads[arms[i]]] *= 1.0 - means[arms[i]]
        size = heap_drop(heap, gains, size)
    at = 0
    for node in range(n):
        if age[node] == k:
            chosen[at] = node
            at += 1


@kernel
def covered(chosen, graph, means):
    """Return the expected weight that the nodes of `chosen` cover."""
    offsets, arms, heads, weights = graph
    missing, total = np.ones(weights.shape[0]), 0.0
    for node in chosen:
        total += gain(node, offsets, arms, heads, means, weights, missing)
        for i in range(offsets[node], offsets[node + 1]):
            missing[heads[arms[i]]] *= 1.0 - means[arms[i]]
    return total


@solve_kernel
def solve_coverage(means, integers, reals, out):
    """`integers`: k, left nodes, offsets (left + 1), scratch (twice left), arms, heads.

    `reals`: weights of the right nodes, scratch of as many and of the left nodes.
    """
    m, k, n = means.shape[0], integers[0], integers[1]
    offsets, left, arcs = integers[2 : 3 + n], integers[3 + n : 3 + 3 * n], integers[3 + 3 * n :]
    # Two entries for each right node, one for each left node.
    right = (reals.shape[0] - n) // 2
    missing, gains = reals[right : 2 * right], reals[2 * right :]
    graph = Sides(offsets, arcs[:m], arcs[m:], reals[:right])
    cover_greedily(k, graph, means, Scratch(missing, gains, left[:n], left[n:]), out)
    return int(k)
