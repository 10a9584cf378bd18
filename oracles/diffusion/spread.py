"""Expected spread of a seed set: exact by enumeration if possible, otherwise by simulated cascades."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from oracles.diffusion._memory import require_memory
from oracles.diffusion.directed_graph import DirectedGraph

_MOST_UNCERTAIN = 16
MOST_OUTCOMES = 1 << _MOST_UNCERTAIN
"""The largest number of outcomes that are enumerated: the outcomes of 16 uncertain arcs."""

KEY = 0x5EED
"""The default key of the random numbers, so that estimates are the same in every call."""
_RANGE = 1024
_LARGE = 2.0**900
MOST_CASCADES = 2**31 - 1
"""The largest number of cascades, because cascade numbers have 32 bits."""

# The memory that all cascades share, and the memory of each thread.
_BYTES_OF_ARC, _BYTES_OF_ARC_AND_THREAD, _BYTES_OF_NODE_AND_THREAD = 24, 4, 25


def triggering_probabilities(
    graph: DirectedGraph, probabilities: FloatArray, seeds: IntArray
) -> FloatArray | None:
    """Return the probability that the tail of each arc becomes active under independent cascades.

    The result is None if there are more than `MOST_OUTCOMES` outcomes.
    """
    active = _activation(graph, probabilities, seeds)
    return None if active is None else np.clip(active, 0.0, 1.0)[graph.tails]


def exact_spread(
    graph: DirectedGraph, means: FloatArray, seeds: IntArray, *, node_weights: FloatArray | None = None
) -> float | None:
    """Return the expected weight of active nodes, or None if it depends on too many uncertain arcs."""
    active = _activation(graph, means, seeds)
    return None if active is None else float((active * node_worths(graph, node_weights)).sum())


def _activation(graph: DirectedGraph, means: FloatArray, seeds: IntArray) -> FloatArray | None:
    """Return the activation probability of each node, by one enumeration of all outcomes."""
    from oracles.diffusion._kernels_cascade import exact_activation, uncertain_arms

    offsets, arms = graph.out_arcs
    uncertain, count = call_kernel(uncertain_arms, offsets, arms, graph.heads, means, seeds, _MOST_UNCERTAIN)
    if count > _MOST_UNCERTAIN:
        return None
    activation: FloatArray = exact_activation(offsets, arms, graph.heads, means, seeds, uncertain)
    return activation


def exact_threshold_spread(
    graph: DirectedGraph, means: FloatArray, seeds: IntArray, *, node_weights: FloatArray | None = None
) -> float | None:
    """Return `exact_spread` for linear thresholds; None if there are more than `MOST_OUTCOMES` outcomes."""
    from oracles.diffusion._kernels_cascade import reachable
    from oracles.diffusion._kernels_graph import Arcs
    from oracles.diffusion._kernels_thresholds import exact_threshold_spread as enumerate_choices

    _, reached = call_kernel(reachable, *graph.out_arcs, graph.heads, means > 0.0, seeds)
    reached[seeds] = False
    nodes = np.flatnonzero(reached)
    # Each node chooses one of its arcs or none. Use logarithms, because the product may overflow.
    if np.log2(graph.in_degrees[nodes] + 1.0).sum() > np.log2(MOST_OUTCOMES):
        return None
    arcs = Arcs(graph.tails, graph.heads, *graph.out_arcs, *graph.in_arcs)
    return float(enumerate_choices(arcs, means, node_worths(graph, node_weights), seeds, nodes))


def estimated_spread(
    graph: DirectedGraph,
    means: FloatArray,
    seeds: IntArray,
    cascades: int,
    *,
    key: int = KEY,
    node_weights: FloatArray | None = None,
    threads: int = 1,
) -> tuple[float, float]:
    """Return the mean spread of `cascades` cascades and its standard error.

    Random numbers are functions of (key, cascade, arc). So a comparison of two vectors of means has little
    noise, and a larger mean never decreases the estimate.
    """
    from oracles.diffusion._kernels_cascade import arcs_in_rows, spread_sums

    _require_memory(graph, min(threads, -(-cascades // _RANGE)))
    offsets, arms = graph.out_arcs
    arcs = arcs_in_rows(arms, graph.heads, means)
    return mean_and_error(
        cascades,
        threads,
        node_worths(graph, node_weights),
        lambda *at: spread_sums(offsets, arcs, at[0], seeds, key, *at[1:]),
    )


def threshold_spread(
    graph: DirectedGraph,
    means: FloatArray,
    seeds: IntArray,
    cascades: int,
    *,
    key: int = KEY,
    node_weights: FloatArray | None = None,
    threads: int = 1,
) -> tuple[float, float]:
    """Return `estimated_spread` for linear thresholds."""
    from oracles.diffusion._kernels_walks import OutArcs, threshold_sums

    _require_memory(graph, min(threads, -(-cascades // _RANGE)))
    offsets, arms = graph.out_arcs
    arcs = OutArcs(offsets, graph.out_heads, means[arms])
    return mean_and_error(
        cascades,
        threads,
        node_worths(graph, node_weights),
        lambda *at: threshold_sums(arcs, at[0], seeds, key, *at[1:]),
    )


def _require_memory(graph: DirectedGraph, threads: int) -> None:
    n, m = graph.n_nodes, graph.n_arcs
    kept = _BYTES_OF_ARC_AND_THREAD * max(n, m) + _BYTES_OF_NODE_AND_THREAD * n
    require_memory(_BYTES_OF_ARC * m + threads * kept, f"cascades on {graph!r} on {threads} threads")


def node_worths(graph: DirectedGraph, node_weights: FloatArray | None) -> FloatArray:
    """Return the weight of each node, which is 1 by default."""
    return np.ones(graph.n_nodes) if node_weights is None else node_weights


def mean_and_error(
    count: int,
    threads: int,
    worth: FloatArray,
    sums: Callable[[FloatArray, int, int, float], tuple[float, float]],
) -> tuple[float, float]:
    """Return mean and standard error of `count` spreads; `sums` returns the sums over a range of spreads.

    The ranges do not depend on the number of threads, so sums of weights are rounded in the same way.
    Distances are measured from one of the spreads and never squared, because weights may have any size, and
    one weight may be much larger than the others.
    """
    scaled, unit = summable(worth)
    # Any value of the right magnitude avoids cancellation.
    origin, _ = sums(scaled, 0, 1, 0.0)
    cuts = [*range(0, count, _RANGE), count]

    def part(first: int, last: int) -> tuple[float, float]:
        return sums(scaled, first, last, origin)

    if threads == 1:
        parts = list(map(part, cuts[:-1], cuts[1:]))
    else:
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(part, cuts[:-1], cuts[1:]))
    mean = float(sum(total for total, _ in parts)) / count
    error = standard_error(math.hypot(*(norm for _, norm in parts)), mean - origin, count)
    return mean / unit, error / unit


def summable(worth: FloatArray) -> tuple[FloatArray, float]:
    """Return `worth` in units in which sums of spreads do not overflow, and one over the unit."""
    return (worth * 2.0**-64, 2.0**-64) if worth.sum() > _LARGE else (worth, 1.0)


def standard_error(norm: float, shift: float, count: int) -> float:
    """Return the standard error of a mean; `norm` is of distances from a point `shift` off the mean."""
    # Factorise the variance size^2 - shift^2: no square overflows, and the difference keeps its precision.
    size, shift = norm / math.sqrt(count), abs(shift)
    return math.sqrt(max(0.0, size - shift)) * math.sqrt(size + shift) / math.sqrt(max(count - 1, 1))
