"""The weights of linear thresholds, which sum to at most 1 at each node."""

from __future__ import annotations

import warnings

import numpy as np

from cmab.arrays import FloatArray
from oracles.diffusion.directed_graph import DirectedGraph

# Sums up to the first number are rounding errors of floats; sums up to the second, of written decimals.
_EXACT, _WRITTEN = 1.0 + 1e-9, 1.0 + 1e-3


def threshold_weights(name: str, weights: FloatArray, graph: DirectedGraph) -> FloatArray:
    """Return the weights of the edges, scaled at nodes where rounding makes them sum to more than 1.

    Parameters
    ----------
    name : str
        The name of the argument, for errors.
    weights : FloatArray, shape (n_arcs,)
        The weight of each edge, in [0, 1].
    graph : DirectedGraph
        The graph.

    Raises
    ------
    ValueError
        If the weights of the edges into a node sum to more than 1.001.

    Warns
    -----
    RuntimeWarning
        If the weights into a node sum to more than 1, by at most 0.001. They are divided by their sum.
    """
    sums = np.bincount(graph.heads, weights, graph.n_nodes)
    largest = float(sums.max(initial=0.0))
    if largest <= _EXACT:
        return weights
    where = f"at node {graph.label(int(sums.argmax()))!r}"
    if largest > _WRITTEN:
        raise ValueError(
            f"{name} must sum to at most 1 over the edges into a node for linear thresholds, got {largest}"
            f" {where}"
        )
    warnings.warn(
        f"{name} sum to more than 1 over the edges into {np.count_nonzero(sums > _EXACT)} nodes, by rounding,"
        f" at most {largest} {where}; they are divided by their sum",
        RuntimeWarning,
        stacklevel=4,
    )
    over = np.maximum(sums, 1.0)
    scaled: FloatArray = weights / over[graph.heads]
    return scaled
