"""Groups of arcs that are likely to have much in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import IntArray
from oracles.diffusion.directed_graph import DirectedGraph, as_directed_graph

if TYPE_CHECKING:
    import networkx as nx


def in_degree_groups(graph: nx.Graph[Any] | DirectedGraph) -> IntArray:
    """Return the group of each arc: the logarithm to base 2, rounded down, of the in-degree of its head.

    A node with many arcs in rarely listens much to each of them. For `cmab.HierarchicalCTS`, which then
    learns the probabilities of arcs to popular and to unpopular nodes apart.

    Parameters
    ----------
    graph : networkx.Graph or DirectedGraph
        The network. Edges without direction count as two arcs.

    Returns
    -------
    IntArray, shape (n_arcs,)
        In the order of the base arms of oracles of influence on this graph.

    Examples
    --------
    >>> from oracles import DirectedGraph, in_degree_groups
    >>> in_degree_groups(DirectedGraph.from_edges([0, 1, 2, 0, 3], [3, 3, 3, 1, 0]))
    array([1, 1, 1, 0, 0])
    """
    arcs = as_directed_graph(graph)
    degrees = np.asarray(arcs.in_degrees, np.int64)[arcs.heads]
    # Exact, where a logarithm could round up to the next whole number.
    groups: IntArray = np.frexp(degrees.astype(np.float64))[1].astype(np.int64) - 1
    return groups
