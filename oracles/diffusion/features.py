"""Features of arcs computed from the network alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.validation import integer
from oracles.diffusion.directed_graph import DirectedGraph, as_directed_graph

if TYPE_CHECKING:
    import networkx as nx

# Networks with fewer nodes use a dense eigendecomposition.
_SMALL = 300


def edge_features(graph: nx.Graph[Any] | DirectedGraph, dimension: int = 8) -> FloatArray:
    """Return features of the arcs of a network: degrees and the proximity of the ends of each arc.

    Policies for linear rewards learn coefficients of features instead of one mean per arc. With
    ``C2UCB(oracle, edge_features(graph), radius=0.1)``, which is IMLinUCB with these features, the estimate
    for an untried arc comes from similar arcs. The columns are a constant, one over the in-degree of the
    head, one over the out-degree of the tail, and the products of the coordinates of the two ends. The
    coordinates are the first eigenvectors of the normalised adjacency matrix of the undirected network,
    scaled to length 1 for each node. Nodes of one community have similar coordinates, so the sum of their
    products is close to 1.

    The means of the weighted-cascade model are exactly linear in these features. Means that differ within and
    between communities are approximately linear in them. The trivalency model draws its probabilities at
    random, so no features can predict them.

    Parameters
    ----------
    graph : networkx.Graph or DirectedGraph
        The network. An undirected edge counts as two arcs.
    dimension : int
        The number of eigenvectors, in ``[0, n_nodes]``; choose about the number of communities.

    Returns
    -------
    FloatArray, shape (n_arcs, 3 + dimension)
        The features, in the order of the base arms of influence oracles on this graph. The norm of each row
        is at most 1. The result is the same in every process: the Lanczos iteration starts from a fixed
        vector, and the largest entry of each eigenvector is positive. However, the basis for equal
        eigenvalues is arbitrary.

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
    A. Y. Ng, M. I. Jordan, Y. Weiss: On Spectral Clustering, NIPS 2001, steps 1 to 4 (the coordinates).
    Z. Wen, B. Kveton, M. Valko, S. Vaswani: Online Influence Maximization under Independent Cascade Model
    with Semi-Bandit Feedback, NIPS 2017, section 6 (products of node features; from memory). Its node
    features are those of node2vec.
    """
    arcs = as_directed_graph(graph)
    integer("dimension", dimension, 0, arcs.n_nodes)
    tails, heads = arcs.tails, arcs.heads
    incoming, outgoing = (np.bincount(ends, minlength=arcs.n_nodes) for ends in (heads, tails))
    places = _coordinates(arcs, dimension)
    degrees = [np.ones(arcs.n_arcs), 1.0 / incoming[heads], 1.0 / outgoing[tails]]
    features = np.column_stack([*degrees, places[tails] * places[heads]])
    # Three columns are at most 1 each, and the remaining columns have norm at most 1. The factor allows for
    # rounding.
    scaled: FloatArray = features * (1.0 - 1e-12) / np.sqrt(3.0 + (dimension > 0))
    return scaled


def _coordinates(arcs: DirectedGraph, dimension: int) -> FloatArray:
    """Return the coordinates of the nodes, scaled to length 1 for each node, shape (n_nodes, dimension)."""
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
