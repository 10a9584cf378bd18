"""Families of graphs and of probabilities on which the influence search is tested and measured."""

import math

import networkx as nx
import numpy as np

from oracles import DirectedGraph
from oracles.influence.graph import as_directed_graph

FAMILIES = [
    "ordered, isolated nodes",
    "ordered",
    "out-tree",
    "in-tree",
    "ring",
    "out-star",
    "in-star",
    "regular",
    "bipartite",
    "small world",
    "one giant component",
    "small components",
]


def family(name, n, seed=0):
    """Return a graph of a family with about `n` nodes."""
    rng, others = np.random.default_rng(seed), np.arange(1, n)
    if name.startswith("ordered"):
        tails, heads = np.array(list(nx.gnm_random_graph(n, min(3 * n, n * (n - 1) // 2), seed=seed).edges)).T
        if name == "ordered":
            _, ends = np.unique([tails, heads], return_inverse=True)
            tails, heads = ends.reshape(2, -1)
            return DirectedGraph.from_edges(tails, heads)
    elif name in ("out-tree", "in-tree"):
        tails, heads = (rng.random(n - 1) * others).astype(int), others
    elif name in ("out-star", "in-star"):
        tails, heads = np.zeros(n - 1, int), others
    elif name == "ring":
        tails, heads = np.arange(n), (np.arange(n) + 1) % n
    elif name == "regular":
        return as_directed_graph(nx.random_regular_graph(4, n, seed=seed))
    elif name == "small world":
        return as_directed_graph(nx.watts_strogatz_graph(n, 4, 0.1, seed=seed))
    elif name == "bipartite":
        tails, heads = rng.integers(0, n // 2, 3 * n), rng.integers(n // 2, n, 3 * n)
    elif name == "one giant component":
        tails, heads = rng.integers(0, n, (2, 5 * n))
        tails, heads = tails[tails != heads], heads[tails != heads]
    else:
        heads = np.setdiff1d(np.arange(n), np.arange(0, n, 5))
        tails = heads // 5 * 5
    if name.startswith("in-"):
        tails, heads = heads, tails
    return DirectedGraph.from_edges(tails, heads, n_nodes=n)


def vectors(n_arcs, seed=0):
    """Return pairs of a name and probabilities of the arcs."""
    rng = np.random.default_rng(seed)
    few = np.ones(n_arcs)
    few[rng.integers(0, n_arcs, max(1, n_arcs // 20))] = 0.3
    yield from {"ones": np.ones(n_arcs), "ones but a few": few, "zeros": np.zeros(n_arcs)}.items()
    for rounds in (1, 10, 100):
        counts = np.maximum(1, rng.binomial(rounds, 0.3, n_arcs))
        bounds = rng.binomial(counts, 0.1) / counts + np.sqrt(1.5 * math.log(rounds + 1) / counts)
        seen = rng.random(n_arcs) < 1.0 - 0.97**rounds
        yield f"CUCB, round {rounds}", np.where(seen, np.minimum(1.0, bounds), 1.0)
    yield "Thompson", rng.beta(1, 30, n_arcs)
    yield "Thompson, flat prior", rng.beta(1, 1, n_arcs)
    for p in (1e-4, 1e-3, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99):
        yield f"all {p}", np.full(n_arcs, p)
