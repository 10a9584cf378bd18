"""Models of the probabilities of ties, for influence maximization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cmab.arrays import FloatArray
from cmab.validation import real, shown, vector
from oracles import DirectedGraph


def weighted_cascade(graph: DirectedGraph) -> FloatArray:
    """Return 1 over the in-degree of the head of each arc, counting parallel arcs (Kempe et al. 2003).

    Parameters
    ----------
    graph : DirectedGraph
        The graph.

    Examples
    --------
    >>> from instances import weighted_cascade
    >>> from oracles import DirectedGraph
    >>> weighted_cascade(DirectedGraph.from_edges([0, 1, 0], [2, 2, 1]))
    array([0.5, 0.5, 1. ])
    """
    _check_graph(graph)
    return 1.0 / graph.in_degrees[graph.heads]


def _check_graph(graph: object) -> None:
    if not isinstance(graph, DirectedGraph):
        raise TypeError(
            f"graph must be a DirectedGraph, got {shown(graph)}; use DirectedGraph(graph) for a networkx"
            " graph"
        )


def constant_probabilities(graph: DirectedGraph, probability: float) -> FloatArray:
    """Return the same probability for each arc.

    Parameters
    ----------
    graph : DirectedGraph
        The graph.
    probability : float
        The probability, in [0, 1].

    Examples
    --------
    >>> from instances import constant_probabilities
    >>> from oracles import DirectedGraph
    >>> constant_probabilities(DirectedGraph.from_edges([0, 1], [1, 2]), 0.01)
    array([0.01, 0.01])
    """
    _check_graph(graph)
    return np.full(graph.n_arcs, real("probability", probability, 0.0, 1.0))


def trivalency(
    graph: DirectedGraph, rng: np.random.Generator, *, values: Sequence[float] = (0.1, 0.01, 0.001)
) -> FloatArray:
    """Return a random entry of `values` for each arc, drawn uniformly (Chen, Wang and Wang 2010).

    Parameters
    ----------
    graph : DirectedGraph
        The graph.
    rng : numpy.random.Generator
        The random generator.
    values : sequence of float
        The possible probabilities, each in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from instances import trivalency
    >>> from oracles import DirectedGraph
    >>> trivalency(DirectedGraph.from_edges([0, 1], [1, 2]), np.random.default_rng(0))
    array([0.001, 0.01 ])
    """
    _check_graph(graph)
    chances = vector("values", values, low=0.0, high=1.0)
    if not len(chances):
        raise ValueError(f"values must have at least one probability, got {shown(values)}")
    return rng.choice(chances, graph.n_arcs)
