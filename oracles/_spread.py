"""Expected spread of a seed set: exact where it can be enumerated, by cascades elsewhere."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray, IntArray
from oracles.directed_graph import DirectedGraph

_MOST_UNCERTAIN = 16
MOST_OUTCOMES = 1 << _MOST_UNCERTAIN
"""Largest number of outcomes that are enumerated: those of 16 uncertain arcs."""

_KEY = 0x5EED


def exact_spread(
    graph: DirectedGraph, means: FloatArray, seeds: IntArray, weights: FloatArray | None = None
) -> float | None:
    """Return the expected weight of active nodes, or None if it depends on too many uncertain arcs."""
    from oracles._kernels_cascade import exact_spread as enumerate_outcomes
    from oracles._kernels_cascade import uncertain_arms

    offsets, arms = graph.out_arcs
    uncertain, count = uncertain_arms(offsets, arms, graph.heads, means, seeds, _MOST_UNCERTAIN)
    if count > _MOST_UNCERTAIN:
        return None
    worth = np.ones(graph.n_nodes) if weights is None else weights
    return float(enumerate_outcomes(offsets, arms, graph.heads, means, worth, seeds, uncertain))


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
    worth = np.ones(graph.n_nodes) if weights is None else weights
    arcs = (*graph.out_arcs, *graph.in_arcs, graph.heads)
    return float(enumerate_choices(*arcs, means, worth, seeds, nodes))


def estimated_spread(
    graph: DirectedGraph,
    means: FloatArray,
    seeds: IntArray,
    cascades: int,
    key: int = _KEY,
    weights: FloatArray | None = None,
) -> tuple[float, float]:
    """Return the mean spread of `cascades` cascades and its standard error.

    Coins belong to (key, cascade, arc), so that spreads under two vectors of means compare without noise
    of their own, and a larger mean never lowers the estimate.
    """
    from oracles._kernels_cascade import spread_sums

    offsets, arms = graph.out_arcs
    worth = np.ones(graph.n_nodes) if weights is None else weights
    total, squares = spread_sums(offsets, arms, graph.out_heads, means[arms], worth, seeds, key, 0, cascades)
    return _mean_and_error(total, squares, cascades)


def threshold_spread(
    graph: DirectedGraph,
    means: FloatArray,
    seeds: IntArray,
    cascades: int,
    key: int = _KEY,
    weights: FloatArray | None = None,
) -> tuple[float, float]:
    """Return what `estimated_spread` returns, for linear thresholds."""
    from oracles._kernels_influence_walks import threshold_sums

    offsets, arms = graph.out_arcs
    worth = np.ones(graph.n_nodes) if weights is None else weights
    sums = threshold_sums(offsets, graph.out_heads, means[arms], worth, seeds, key, cascades)
    return _mean_and_error(*sums, cascades)


def _mean_and_error(total: float, squares: float, count: int) -> tuple[float, float]:
    mean = total / count
    variance = max(0.0, squares / count - mean**2)
    return mean, float(np.sqrt(variance / max(count - 1, 1)))
