"""Compiled rules of the matroids with a greedy algorithm of one pass over the sorted arms."""

import numpy as np

from cmab.arrays import IntArray
from cmab.kernels import descending_order, lean_kernel, solve_kernel
from oracles.matroids._kernels_greedy import kruskal, laminar_greedy


@lean_kernel
def _best_first(means, sign, reals, order, scratch):
    """Write the arms from best to worst mean to `order`, and the signed means to `reals`."""
    for i in range(means.shape[0]):
        # The product is exact because the sign is 1 or -1, so ties remain ties.
        reals[i] = sign * means[i]
    descending_order(reals, order, scratch)


@lean_kernel
def _write(taken, out):
    """Write the chosen arms in increasing order; return their number."""
    # The marks are in the order of the arms, so no sorting is needed.
    size = 0
    for arm in range(taken.shape[0]):
        if taken[arm]:
            out[size] = arm
            size += 1
    return size


@solve_kernel
def solve_laminar(means, integers, reals, out):
    """Solve; `integers`: sign, sets, order, scratch, innermost (m each), parent, room, scratch (sets)."""
    m, sign, n = means.shape[0], integers[0], integers[1]
    order, taken, rest = integers[2 : 2 + m], integers[2 + m : 2 + 2 * m], integers[2 + 2 * m :]
    innermost, sets = rest[:m], rest[m:]
    # The sort uses `taken` as scratch space first.
    _best_first(means, sign, reals, order, taken)
    laminar_greedy(order, innermost, sets[:n], sets[n : 2 * n], sets[2 * n :], taken)
    return _write(taken, out)


@solve_kernel
def solve_graphic(means, integers, reals, out):
    """Solve; `integers`: sign, nodes, order, scratch, tails, heads (m each), scratch (twice the nodes)."""
    m, sign, n = means.shape[0], integers[0], integers[1]
    order, taken, rest = integers[2 : 2 + m], integers[2 + m : 2 + 2 * m], integers[2 + 2 * m :]
    _best_first(means, sign, reals, order, taken)
    nodes = rest[2 * m :]
    kruskal(order, rest[:m], rest[m : 2 * m], nodes[:n], nodes[n:], taken)
    return _write(taken, out)


def packed(sign: float, number: int, n_arms: int, *parts: IntArray, scratch: int) -> IntArray:
    """Return the `integers` argument of these kernels."""
    # The scratch space is at known positions of this array, so a call allocates no array.
    own, last = np.zeros(2 * n_arms, np.int64), np.zeros(scratch, np.int64)
    return np.concatenate([np.array([sign, number], np.int64), own, *parts, last])
