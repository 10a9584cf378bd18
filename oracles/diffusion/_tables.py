"""Tables over all arcs or nodes, computed on several threads; the tables do not depend on their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from oracles.diffusion._memory import require_memory
from oracles.diffusion._threads import in_parts

if TYPE_CHECKING:
    from oracles.diffusion.directed_graph import DirectedGraph

# Sums are computed in blocks of this many nodes, so that their rounding does not depend on the threads.
_BLOCK = 2**18
# With fewer entries for each thread, starting threads takes longer than the work.
_WORTH_A_THREAD = 2**16
# The share of arcs that have to be faster in classes.
_WORTH_SORTING = 0.05


class _Writable:
    """The memory of a read-only array as a writable one, for kernels that only read it."""

    def __init__(self, array: FloatArray) -> None:
        self._kept = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


def plain(values: FloatArray) -> FloatArray:
    """Return `values` as a contiguous writable array, without a copy if possible.

    Kernels are compiled separately for read-only arrays.
    """
    array = np.ascontiguousarray(values, np.float64)
    return array if array.flags.writeable or array.size == 0 else np.asarray(_Writable(array))


def useful(threads: int, n: int) -> int:
    """Return how many of `threads` are worth their start for `n` entries."""
    return max(1, min(threads, n // _WORTH_A_THREAD))


def limits_of(chances: FloatArray, arms: AnyArray, threads: int) -> AnyArray:
    """Return the first 31 bits of the probabilities of `arms`."""
    from oracles.diffusion._kernels_graph import write_limits

    limits = np.empty(len(arms), np.uint32)
    in_parts(useful(threads, len(arms)), 0, len(arms), lambda a, b: write_limits(chances, arms, a, b, limits))
    return limits


def live_chances(
    offsets: IntArray, arms: AnyArray, chances: FloatArray, masses: FloatArray, most: float, threads: int
) -> tuple[FloatArray, float]:
    """Return the probability that each node has a live arc into it, and the total mass of such nodes.

    Stop if the mass exceeds `most`; the remaining probabilities are then 0.
    """
    from oracles.diffusion._kernels_roots import write_live_chances

    n, mass = len(masses), 0.0
    gammas, blocks = np.zeros(n), -(-n // _BLOCK)
    parallel = useful(threads, n)

    def some(first: int, last: int) -> list[float]:
        ends = [(i * _BLOCK, min(n, (i + 1) * _BLOCK)) for i in range(first, last)]
        return [write_live_chances(offsets, arms, chances, masses, a, b, gammas) for a, b in ends]

    for first in range(0, blocks, parallel):
        last = min(blocks, first + parallel)
        parts = in_parts(last - first, first, last, some, worth=1)
        for part in parts:
            mass += sum(part)
        if mass > most:
            break
    return gammas, mass


def with_skips(
    arcs: tuple[IntArray, AnyArray, AnyArray, AnyArray], chances: FloatArray, threads: int
) -> tuple[tuple[IntArray, AnyArray, AnyArray, AnyArray], FloatArray, FloatArray]:
    """Return arcs (offsets, tails, limits, arms) for skips, their rates and the largest probabilities.

    A rate is 1 / ln(1 - p) for the largest probability p into a node, or 0 if single coins are faster. If
    skips are faster in classes of probabilities for many arcs, these are sorted by their classes, and the
    rates of their heads are CLASSED.
    """
    from oracles.diffusion._kernels_roots import write_classes, write_skip_rates
    from oracles.diffusion._kernels_sets import CLASSED

    offsets, tails, limits, arms = arcs
    n = len(offsets) - 1
    rates, tops, parts = np.empty(n), np.empty(n), useful(threads, n)

    def classed(may_sort: bool) -> int:
        given = offsets, limits, arms, chances, may_sort
        return sum(in_parts(parts, 0, n, lambda a, b: write_skip_rates(*given, a, b, rates, tops)))

    if classed(may_sort=True) <= _WORTH_SORTING * len(arms):
        if (rates == CLASSED).any():
            classed(may_sort=False)
        return arcs, rates, tops
    require_memory(12 * len(arms), "the arcs in classes of probabilities")
    old = tails, limits, arms
    new = np.empty_like(tails), np.empty_like(limits), np.empty_like(arms)
    in_parts(parts, 0, n, lambda a, b: write_classes(offsets, rates, old, a, b, new))
    return (offsets, *new), rates, tops


def early_arcs(graph: DirectedGraph, chances: FloatArray, nodes: IntArray) -> dict[str, AnyArray]:
    """Return the arcs out of `nodes` that can be live, by their heads, as the early arcs of a `World`."""
    offsets, arms = graph.out_arcs
    parts = [slice(offsets[v], offsets[v + 1]) for v in nodes]
    some = np.concatenate([arms[part] for part in parts])
    # Entries of a mapped array that are far apart would bring most of it into memory. A part is contiguous.
    has_heads = "out_heads" in vars(graph)
    heads = np.concatenate([graph.out_heads[part] for part in parts]) if has_heads else graph.heads[some]
    tails = np.repeat(np.asarray(nodes, np.int32), [part.stop - part.start for part in parts])
    kept = np.flatnonzero(chances[some] > 0.0)
    kept = kept[np.argsort(heads[kept], kind="stable")]
    early_offsets, is_early = np.zeros(graph.n_nodes + 1, np.int32), np.zeros(graph.n_nodes, np.bool_)
    np.cumsum(np.bincount(heads[kept], minlength=graph.n_nodes), out=early_offsets[1:])
    is_early[nodes] = True
    return {
        "early_offsets": early_offsets,
        "early_tails": tails[kept],
        "early_chances": chances[some[kept]],
        "is_early": is_early,
    }


def inverted(ends: IntArray, pool: AnyArray, n: int, threads: int) -> tuple[IntArray, AnyArray]:
    """Return the sets that contain each of `n` nodes, as (offsets, sets).

    Every thread reads all sets, and indexes the nodes of every so many stripes.
    """
    from oracles.diffusion._kernels_cover import count_stripes, fill_stripes, invert

    parts = useful(threads, int(ends[-1]))
    if parts == 1:
        found: tuple[IntArray, AnyArray] = call_kernel(invert, ends, pool, n)
        return found
    offsets, sets = np.zeros(n + 1, np.int64), np.empty(ends[-1], np.int32)

    def each(work: Any, *arrays: AnyArray) -> None:
        in_parts(
            parts, 0, parts, lambda a, b: [work(ends, pool, i, parts, *arrays) for i in range(a, b)], worth=1
        )

    each(count_stripes, offsets[1:])
    np.cumsum(offsets, out=offsets)
    each(fill_stripes, offsets[:-1].copy(), sets)
    return offsets, sets
