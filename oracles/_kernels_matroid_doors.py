"""The compiled doors of the matroids whose greedy is one pass over the sorted arms."""

import numpy as np

from cmab._kernels import kernel
from cmab._kernels_doors import solve_kernel
from cmab._kernels_select import descending_order
from cmab.arrays import BoolArray, FloatArray, IntArray
from oracles._kernels_matroids import kruskal, laminar_greedy


@kernel
def _best_first(means: FloatArray, sign: int, reals: FloatArray, order: IntArray, scratch: IntArray) -> None:
    """Write the arms from the best mean to the worst; `reals` takes the signed means."""
    for i in range(means.shape[0]):
        reals[i] = sign * means[i]
    descending_order(reals, order, scratch)


@kernel
def _write(taken: BoolArray, out: IntArray) -> int:
    """Write the arms taken in increasing order; return their number."""
    size = 0
    for arm in range(taken.shape[0]):
        if taken[arm]:
            out[size] = arm
            size += 1
    return size


@solve_kernel
def solve_laminar(means: FloatArray, integers: IntArray, reals: FloatArray, out: IntArray) -> int:
    """`integers`: sign, number of sets, order and scratch (m each), innermost (m), parent and room (sets)."""
    m, sign, n_sets = means.shape[0], integers[0], integers[1]
    order, scratch, innermost = (
        integers[2 : 2 + m],
        integers[2 + m : 2 + 2 * m],
        integers[2 + 2 * m : 2 + 3 * m],
    )
    parent, room = integers[2 + 3 * m : 2 + 3 * m + n_sets], integers[2 + 3 * m + n_sets :]
    _best_first(means, sign, reals, order, scratch)
    return _write(laminar_greedy(order, innermost, parent, room.copy()), out)


@solve_kernel
def solve_graphic(means: FloatArray, integers: IntArray, reals: FloatArray, out: IntArray) -> int:
    """`integers`: sign, number of nodes, order and scratch (m each), tails and heads (m each)."""
    m, sign, n_nodes = means.shape[0], integers[0], integers[1]
    order, scratch = integers[2 : 2 + m], integers[2 + m : 2 + 2 * m]
    tails, heads = integers[2 + 2 * m : 2 + 3 * m], integers[2 + 3 * m :]
    _best_first(means, sign, reals, order, scratch)
    return _write(kruskal(order, tails, heads, n_nodes), out)


def packed(sign: int, number: int, n_arms: int, *parts: IntArray) -> IntArray:
    """Return the `integers` of these kernels."""
    room = np.zeros(2 * n_arms, np.int64)
    return np.concatenate([np.array([sign, number]), room, *parts])
