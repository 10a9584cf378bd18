"""Lazy greedy for probabilistic maximum coverage."""

from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.kernels import heap_drop, heap_sink, heap_up, kernel, lean_kernel, solve_kernel


class Sides(NamedTuple):
    """Left node u has the edges ``arms[offsets[u]:offsets[u + 1]]``; edge i leads to ``heads[i]``."""

    offsets: IntArray
    arms: IntArray
    heads: IntArray
    weights: FloatArray


class Scratch(NamedTuple):
    """Scratch space for right nodes (`missing`: the probability of being uncovered) and for left nodes."""

    missing: FloatArray
    gains: FloatArray
    heap: IntArray
    age: IntArray


@lean_kernel
def gain(node, offsets, arms, heads, means, weights, missing):
    """Return the gain of `node`; ``missing[v]`` is the probability that v is not covered yet."""
    total = 0.0
    for i in range(offsets[node], offsets[node + 1]):
        v = heads[arms[i]]
        # sum_v w_v prod_(u chosen) (1 - p_uv) p_iv: Chen et al. 2016, section 4.1
        total += weights[v] * missing[v] * means[arms[i]]
    return total


@lean_kernel
def cover_greedily(k, graph, means, scratch, chosen):
    """Write the greedy choice of k nodes in increasing order; ties go to the lower node.

    The ratio is 1 - (1 - 1/k)^k (Nemhauser, Wolsey, Fisher 1978, section 4); lazy evaluation as in Minoux.
    """
    offsets, arms, heads, weights = graph
    missing, gains, heap, age = scratch
    n = offsets.shape[0] - 1
    missing[:] = 1.0
    for node in range(n):
        heap[node], age[node] = node, 0
        gains[node] = gain(node, offsets, arms, heads, means, weights, missing)
    # The gains of a submodular reward decrease with each choice, so old gains are upper bounds: Minoux 1978.
    heap_up(heap, gains, n)
    size = n
    for step in range(k):
        while age[heap[0]] < step:  # the top gain is from an earlier step
            gains[0] = gain(heap[0], offsets, arms, heads, means, weights, missing)
            age[heap[0]] = step
            heap_sink(heap, gains, 0, size)
        node = heap[0]
        # Mark the node as chosen: the ages of other nodes stay below k.
        age[node] = k
        for i in range(offsets[node], offsets[node + 1]):
            # Edges are independent, so the probabilities of failure multiply: Chen et al. 2016, section 4.1.
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
    """Solve; `integers`: k, left nodes, offsets (left + 1), scratch (twice left), arms, heads.

    `reals`: weights of the right nodes, then scratch for the right and the left nodes.
    """
    m, k, n = means.shape[0], integers[0], integers[1]
    offsets, left, arcs = integers[2 : 3 + n], integers[3 + n : 3 + 3 * n], integers[3 + 3 * n :]
    # `reals` has two entries for each right node and one for each left node.
    right = (reals.shape[0] - n) // 2
    missing, gains = reals[right : 2 * right], reals[2 * right :]
    graph = Sides(offsets, arcs[:m], arcs[m:], reals[:right])
    cover_greedily(k, graph, means, Scratch(missing, gains, left[:n], left[n:]), out)
    return int(k)
