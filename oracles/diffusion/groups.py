"""Groups of arcs with similar expected probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import IntArray
from oracles.diffusion.directed_graph import DirectedGraph, as_directed_graph

if TYPE_CHECKING:
    import networkx as nx


def in_degree_groups(graph: nx.Graph[Any] | DirectedGraph) -> IntArray:
    """Return the group of each arc: the base-2 logarithm of the in-degree of its head, rounded down.

    An arc into a node of high in-degree is rarely successful. With these groups, `cmab.HierarchicalCTS`
    learns separate priors for arcs into nodes of high and of low in-degree.

    Parameters
    ----------
    graph : networkx.Graph or DirectedGraph
        The network. An undirected edge counts as two arcs.

    Returns
    -------
    IntArray, shape (n_arcs,)
        The groups, in the order of the base arms of influence oracles on this graph.

    Examples
    --------
    >>> from oracles import DirectedGraph, in_degree_groups
    >>> in_degree_groups(DirectedGraph.from_edges([0, 1, 2, 0, 3], [3, 3, 3, 1, 0]))
    array([1, 1, 1, 0, 0])
    """
    arcs = as_directed_graph(graph)
    degrees = np.asarray(arcs.in_degrees, np.int64)[arcs.heads]
    # frexp is exact, whereas a logarithm could round up to the next integer.
    groups: IntArray = np.frexp(degrees.astype(np.float64))[1].astype(np.int64) - 1
    return groups
