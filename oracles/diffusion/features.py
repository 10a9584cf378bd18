"""Features of arcs that the network alone tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.validation import integer
from oracles.diffusion.directed_graph import DirectedGraph, as_directed_graph

if TYPE_CHECKING:
    import networkx as nx

# Networks of fewer nodes are decomposed whole.
_SMALL = 300


def edge_features(graph: nx.Graph[Any] | DirectedGraph, dimension: int = 8) -> FloatArray:
    """Return features of the arcs of a network: degrees, and whether its ends are near each other.

    For rules that learn coefficients of features in place of a mean for each arc: with
    ``CombLinUCB(oracle, edge_features(graph))``, which is IMLinUCB on these features, an arc that was never
    tried is known by others like it. Columns are a constant, one over the in-degree of the head, one over
    the out-degree of the tail, and products of the ends' coordinates: the first eigenvectors of the
    normalised adjacency of the network without directions, each node's scaled to length 1. Nodes of one
    community have nearly the same, so that the sum of their products is nearly 1.

    Means that are linear in these are weighted cascade's, exactly, and those that differ within and between
    communities, nearly. Of trivalency, whose probabilities are drawn, no feature tells anything.

    Parameters
    ----------
    graph : networkx.Graph or DirectedGraph
        The network. Edges without direction count as two arcs.
    dimension : int
        Number of eigenvectors, in ``[0, n_nodes]``; about the number of communities.

    Returns
    -------
    FloatArray, shape (n_arcs, 3 + dimension)
        In the order of the base arms of oracles of influence on this graph; no row is longer than 1. The
        same in every process: Lanczos' iteration starts from a fixed vector, and each eigenvector has its
        largest entry positive. Of eigenvalues that are equal, though, any basis may come.

    Examples
    --------
    >>> from oracles import DirectedGraph, edge_features
    >>> graph = DirectedGraph.from_edges([0, 1, 2, 3, 4, 5, 0], [1, 2, 0, 4, 5, 3, 3])
    >>> features = edge_features(graph, dimension=2)
    >>> features.shape
    (7, 5)
    >>> (2 * features[:, 3:].sum(axis=1)).round(1)  # the last arc joins the two triangles
    array([1. , 1. , 1. , 1. , 1. , 1. , 0.3])

    References
    ----------
    A. Y. Ng, M. I. Jordan, Y. Weiss: On Spectral Clustering, NIPS 2001, steps 1 to 4, for the coordinates.
    Z. Wen, B. Kveton, M. Valko, S. Vaswani: Online Influence Maximization under Independent Cascade Model
    with Semi-Bandit Feedback, NIPS 2017, section 6, for products of node features (from memory), where these
    are node2vec's.
    """
    arcs = as_directed_graph(graph)
    integer("dimension", dimension, 0, arcs.n_nodes)
    tails, heads = arcs.tails, arcs.heads
    incoming, outgoing = (np.bincount(ends, minlength=arcs.n_nodes) for ends in (heads, tails))
    places = _coordinates(arcs, dimension)
    degrees = [np.ones(arcs.n_arcs), 1.0 / incoming[heads], 1.0 / outgoing[tails]]
    features = np.column_stack([*degrees, places[tails] * places[heads]])
    # Each of three columns is at most 1, and so is the length of the rest; a little is left for rounding.
    scaled: FloatArray = features * (1.0 - 1e-12) / np.sqrt(3.0 + (dimension > 0))
    return scaled


def _coordinates(arcs: DirectedGraph, dimension: int) -> FloatArray:
    """Return the coordinates of the nodes, each of length 1, shape (n_nodes, dimension)."""
    if dimension == 0:
        return np.empty((arcs.n_nodes, 0))
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import eigsh

    shape = (arcs.n_nodes, arcs.n_nodes)
    joined = coo_array((np.ones(arcs.n_arcs), (arcs.tails, arcs.heads)), shape=shape).tocsr()
    both = joined + joined.T
    scale = diags_array(1.0 / np.sqrt(np.maximum(both.sum(axis=1), 1.0)))
    # Ng, Jordan and Weiss (2001), step 2: L = D^(-1/2) A D^(-1/2).
    normalised = scale @ both @ scale
    if arcs.n_nodes <= max(_SMALL, dimension):
        vectors = np.linalg.eigh(normalised.toarray())[1][:, ::-1][:, :dimension]
    else:
        start = np.random.default_rng(0).random(arcs.n_nodes)
        values, vectors = eigsh(normalised, k=dimension, which="LA", v0=start)
        vectors = vectors[:, np.argsort(-values, kind="stable")]
    largest = np.abs(vectors).argmax(axis=0)
    vectors = vectors * np.where(vectors[largest, np.arange(dimension)] < 0.0, -1.0, 1.0)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    places: FloatArray = vectors / np.where(lengths > 0.0, lengths, 1.0)
    return places
