"""Expected spread of a seed set: exact where it can be enumerated, by cascades elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cmab.arrays import FloatArray, IntArray
from oracles._memory import require_memory
from oracles.directed_graph import DirectedGraph

_MOST_UNCERTAIN = 16
MOST_OUTCOMES = 1 << _MOST_UNCERTAIN
"""Largest number of outcomes that are enumerated: those of 16 uncertain arcs."""

_KEY = 0x5EED
_RANGE = 1024
# What cascades read, and what each thread keeps for itself.
_BYTES_OF_ARC, _BYTES_OF_ARC_AND_THREAD, _BYTES_OF_NODE_AND_THREAD = 24, 4, 25


def triggering_probabilities(
    graph: DirectedGraph, probabilities: FloatArray, seeds: IntArray
) -> FloatArray | None:
    """Return the probability that the tail of each arc becomes active under independent cascades.

    None beyond `MOST_OUTCOMES` outcomes.
    """
    active = _activation(graph, probabilities, seeds)
    return None if active is None else np.clip(active, 0.0, 1.0)[graph.tails]


def exact_spread(
    graph: DirectedGraph, means: FloatArray, seeds: IntArray, weights: FloatArray | None = None
) -> float | None:
    """Return the expected weight of active nodes, or None if it depends on too many uncertain arcs."""
    active = _activation(graph, means, seeds)
    return None if active is None else float((active * _worth(graph, weights)).sum())


def _activation(graph: DirectedGraph, means: FloatArray, seeds: IntArray) -> FloatArray | None:
    """Return the probability that each node becomes active: one enumeration of outcomes for all nodes."""
    from oracles._kernels_cascade import exact_activation, uncertain_arms

    offsets, arms = graph.out_arcs
    uncertain, count = uncertain_arms(offsets, arms, graph.heads, means, seeds, _MOST_UNCERTAIN)
    if count > _MOST_UNCERTAIN:
        return None
    return exact_activation(offsets, arms, graph.heads, means, seeds, uncertain)


def exact_threshold_spread(
    graph: DirectedGraph, means: FloatArray, seeds: IntArray, weights: FloatArray | None = None
) -> float | None:
    """Return what `exact_spread` returns, for linear thresholds; None beyond `MOST_OUTCOMES` outcomes."""
    from oracles._kernels_cascade import reachable
    from oracles._kernels_thresholds import exact_threshold_spread as enumerate_choices

    _, reached = reachable(*graph.out_arcs, graph.heads, means > 0.0, seeds)
    reached[seeds] = False
    nodes = np.flatnonzero(reached)
    if np.log2(graph.in_degrees[nodes] + 1.0).sum() > np.log2(MOST_OUTCOMES):
        return None
    arcs = (*graph.out_arcs, *graph.in_arcs, graph.heads)
    return float(enumerate_choices(*arcs, means, _worth(graph, weights), seeds, nodes))


def estimated_spread(
    graph: DirectedGraph,
    means: FloatArray,
    seeds: IntArray,
    cascades: int,
    key: int = _KEY,
    weights: FloatArray | None = None,
    threads: int = 1,
) -> tuple[float, float]:
    """Return the mean spread of `cascades` cascades and its standard error.

    Coins belong to (key, cascade, arc), so that spreads under two vectors of means compare without noise
    of their own, and a larger mean never lowers the estimate.
    """
    from oracles._kernels_cascade import arcs_in_rows, spread_sums

    _require_memory(graph, min(threads, -(-cascades // _RANGE)))
    offsets, arms = graph.out_arcs
    arcs, worth = arcs_in_rows(arms, graph.heads, means), _worth(graph, weights)
    return _mean_and_error(
        cascades, threads, lambda a, b: spread_sums(offsets, arcs, worth, seeds, key, a, b)
    )


def threshold_spread(
    graph: DirectedGraph,
    means: FloatArray,
    seeds: IntArray,
    cascades: int,
    key: int = _KEY,
    weights: FloatArray | None = None,
    threads: int = 1,
) -> tuple[float, float]:
    """Return what `estimated_spread` returns, for linear thresholds."""
    from oracles._kernels_influence_walks import threshold_sums

    _require_memory(graph, min(threads, -(-cascades // _RANGE)))
    offsets, arms = graph.out_arcs
    arcs = (offsets, graph.out_heads, means[arms], _worth(graph, weights))
    return _mean_and_error(cascades, threads, lambda a, b: threshold_sums(*arcs, seeds, key, a, b))


def _require_memory(graph: DirectedGraph, threads: int) -> None:
    n, m = graph.n_nodes, graph.n_arcs
    kept = _BYTES_OF_ARC_AND_THREAD * max(n, m) + _BYTES_OF_NODE_AND_THREAD * n
    require_memory(_BYTES_OF_ARC * m + threads * kept, f"cascades on {graph!r} on {threads} threads")


def _worth(graph: DirectedGraph, weights: FloatArray | None) -> FloatArray:
    return np.ones(graph.n_nodes) if weights is None else weights


def _mean_and_error(
    count: int, threads: int, sums: Callable[[int, int], tuple[float, float]]
) -> tuple[float, float]:
    """Return mean and standard error of `count` spreads, `sums` being those of a range of them.

    Ranges are the same for any number of threads, so that sums of weights are rounded alike.
    """
    cuts = [*range(0, count, _RANGE), count]
    if threads == 1:
        parts = list(map(sums, cuts[:-1], cuts[1:]))
    else:
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(sums, cuts[:-1], cuts[1:]))
    total, squares = (float(sum(part[i] for part in parts)) for i in (0, 1))
    mean = total / count
    variance = max(0.0, squares / count - mean**2)
    return mean, float(np.sqrt(variance / max(count - 1, 1)))
