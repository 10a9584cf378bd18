"""Arrays of node numbers for the edges of a networkx graph."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cmab.arrays import IntArray
from cmab.validation import shown

if TYPE_CHECKING:
    import networkx as nx

    from oracles.influence.graph import DirectedGraph


class Network(NamedTuple):
    """The edges of a graph; ``edges[i]`` joins the nodes numbered ``tails[i]`` and ``heads[i]``."""

    number: dict[Hashable, int]
    edges: list[tuple[Hashable, ...]]
    tails: IntArray
    heads: IntArray


def network_of(graph: nx.Graph[Any] | DirectedGraph, *, undirected: bool = False) -> Network:
    """Return the arrays of a graph; with `undirected`, reject directed graphs and empty ones."""
    kind = "networkx.Graph or networkx.MultiGraph" if undirected else "networkx graph or a DirectedGraph"
    if not (hasattr(graph, "is_directed") and (hasattr(graph, "edges") or hasattr(graph, "arc_labels"))):
        raise ValueError(f"graph must be a {kind}, got {shown(graph)}")
    if undirected and graph.is_directed():
        raise ValueError(f"graph must be undirected, got {graph}; pass graph.to_undirected()")
    given: Any = graph
    if not hasattr(graph, "edges"):
        ends = given.tails.astype(np.int64), given.heads.astype(np.int64)
        return Network(given.node_numbers, given.arc_labels, *ends)
    edges: list[tuple[Hashable, ...]] = list(given.edges)
    if undirected and not edges:
        raise ValueError(f"graph must have an edge, got {graph}")
    number = {node: i for i, node in enumerate(given)}
    tails, heads = (
        np.fromiter((number[edge[end]] for edge in edges), np.int64, len(edges)) for end in (0, 1)
    )
    return Network(number, edges, tails, heads)


def topological_order(tails: IntArray, heads: IntArray, n_nodes: int) -> IntArray:
    """Return the nodes of a directed graph so that every arc leads forward; empty if the graph has a cycle.

    The order is that of networkx: by generations, and in each generation by the arcs that lead to a node.
    """
    waiting = np.bincount(heads, minlength=n_nodes).tolist()
    by_tail = np.argsort(tails, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n_nodes))]).tolist()
    ends = heads[by_tail].tolist()
    order = [node for node in range(n_nodes) if waiting[node] == 0]
    for node in order:
        for head in ends[starts[node] : starts[node + 1]]:
            waiting[head] -= 1
            if waiting[head] == 0:
                order.append(head)
    return np.array(order if len(order) == n_nodes else [], np.int64)


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
