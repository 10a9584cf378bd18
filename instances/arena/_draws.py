"""Random graphs and means of the problems of the arena, with arms in random order."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from cmab.arrays import FloatArray

Rng = np.random.Generator


def shuffled(graph: nx.Graph[Any], rng: Rng) -> tuple[nx.Graph[Any], dict[Any, int]]:
    """Return a copy with nodes and edges in random order, and the new number of each node.

    Base arms are edges in the order of the graph. Therefore their order is random as well.
    """
    nodes = list(graph.nodes)
    new = {nodes[old]: place for place, old in enumerate(rng.permutation(len(nodes)).tolist())}
    made: nx.Graph[Any] = nx.DiGraph() if graph.is_directed() else nx.Graph()
    made.add_nodes_from(range(len(nodes)))
    for node, data in graph.nodes(data=True):
        made.nodes[new[node]].update(data)
    edges = list(graph.edges)
    for place in rng.permutation(len(edges)).tolist():
        tail, head = edges[place]
        ends = (new[tail], new[head])
        made.add_edge(*(ends if graph.is_directed() or rng.random() < 0.5 else ends[::-1]))
    return made, new


def seed_of(rng: Rng) -> int:
    """Return a seed for the graph generators of networkx."""
    return int(rng.integers(2**31))


def uniform(rng: Rng, n: int, low: float = 0.0, high: float = 1.0) -> FloatArray:
    """Return independent uniform means."""
    return rng.uniform(low, high, n)


def skewed(rng: Rng, n: int, a: float = 1.0, b: float = 3.0) -> FloatArray:
    """Return independent means from a Beta distribution."""
    return rng.beta(a, b, n)


def levels(rng: Rng, n: int, values: tuple[float, ...]) -> FloatArray:
    """Return means of equally frequent levels, in random order."""
    return rng.permutation(np.resize(values, n))


def leading(rng: Rng, n: int, k: int, high: float, low: float) -> FloatArray:
    """Return means of which k are `high` and the others `low`, in random order."""
    return rng.permutation(np.repeat([high, low], [k, n - k]))
