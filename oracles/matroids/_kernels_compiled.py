"""The compiled forms of the matroids whose greedy is one pass over the sorted arms."""

import numpy as np

from cmab.arrays import IntArray
from cmab.kernels import descending_order, lean_kernel, solve_kernel
from oracles.matroids._kernels_greedy import kruskal, laminar_greedy


@lean_kernel
def _best_first(means, sign, reals, order, scratch):
    """Write the arms from the best mean to the worst; `reals` takes the signed means."""
    for i in range(means.shape[0]):
        # Exact, for the sign is 1 or -1; so ties stay ties.
        reals[i] = sign * means[i]
    descending_order(reals, order, scratch)


@lean_kernel
def _write(taken, out):
    """Write the arms taken in increasing order; return their number."""
    # No sort: the marks stand in the order of the arms.
    size = 0
    for arm in range(taken.shape[0]):
        if taken[arm]:
            out[size] = arm
            size += 1
    return size


@solve_kernel
def solve_laminar(means, integers, reals, out):
    """`integers`: sign, sets, order, scratch and innermost (m each), parent, room and scratch (sets)."""
    m, sign, n = means.shape[0], integers[0], integers[1]
    order, taken, rest = integers[2 : 2 + m], integers[2 + m : 2 + 2 * m], integers[2 + 2 * m :]
    innermost, sets = rest[:m], rest[m:]
    # `taken` is scratch of the sort first.
    _best_first(means, sign, reals, order, taken)
    laminar_greedy(order, innermost, sets[:n], sets[n : 2 * n], sets[2 * n :], taken)
    return _write(taken, out)


@solve_kernel
def solve_graphic(means, integers, reals, out):
    """`integers`: sign, nodes, order, scratch, tails and heads (m each), scratch (twice the nodes)."""
    m, sign, n = means.shape[0], integers[0], integers[1]
    order, taken, rest = integers[2 : 2 + m], integers[2 + m : 2 + 2 * m], integers[2 + 2 * m :]
    _best_first(means, sign, reals, order, taken)
    nodes = rest[2 * m :]
    kruskal(order, rest[:m], rest[m : 2 * m], nodes[:n], nodes[n:], taken)
    return _write(taken, out)


def packed(sign: float, number: int, n_arms: int, *parts: IntArray, scratch: int) -> IntArray:
    """Return the `integers` of these kernels."""
    # What a call writes to stands at known places, so that a call makes no array.
    own, last = np.zeros(2 * n_arms, np.int64), np.zeros(scratch, np.int64)
    return np.concatenate([np.array([sign, number], np.int64), own, *parts, last])
