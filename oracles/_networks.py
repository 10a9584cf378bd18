"""Arrays of node numbers for the edges of a networkx graph."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.validation import shown

if TYPE_CHECKING:
    import networkx as nx


class Network(NamedTuple):
    """The edges of a graph; ``edges[i]`` joins the nodes numbered ``tails[i]`` and ``heads[i]``."""

    number: dict[Hashable, int]
    edges: list[tuple[Hashable, ...]]
    tails: IntArray
    heads: IntArray


def network_of(graph: nx.Graph[Any], *, undirected: bool = False) -> Network:
    """Return the arrays of a networkx graph; with `undirected`, reject directed graphs and empty ones."""
    kind = "networkx.Graph or networkx.MultiGraph" if undirected else "networkx graph"
    if not (hasattr(graph, "edges") and hasattr(graph, "is_directed")):
        raise ValueError(f"graph must be a {kind}, got {shown(graph)}")
    if undirected and graph.is_directed():
        raise ValueError(f"graph must be undirected, got {graph}; pass graph.to_undirected()")
    edges: list[tuple[Hashable, ...]] = list(graph.edges)
    if undirected and not edges:
        raise ValueError(f"graph must have an edge, got {graph}")
    number = {node: i for i, node in enumerate(graph)}
    tails, heads = (np.array([number[edge[end]] for edge in edges], np.int64) for end in (0, 1))
    return Network(number, edges, tails, heads)


def node_number(name: str, node: Hashable, number: dict[Hashable, int]) -> int:
    """Return the number of `node`; raise ``ValueError`` for the argument `name` if the graph lacks it."""
    try:
        return number[node]
    except (KeyError, TypeError):  # an unhashable object, such as a list, is not a node
        raise ValueError(f"{name} must be a node of graph, got {shown(node)}") from None


def end_numbers(source: Hashable, target: Hashable, number: dict[Hashable, int]) -> tuple[int, int]:
    """Return the numbers of two different nodes; raise ``ValueError`` if they are equal."""
    start, end = node_number("source", source, number), node_number("target", target, number)
    if start == end:
        raise ValueError(f"source and target must differ, got {shown(source)} twice")
    return start, end
