"""The graph of a path oracle as arrays."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import IntArray
from cmab.validation import shown
from oracles._networks import end_numbers, network_of, topological_order

if TYPE_CHECKING:
    import networkx as nx

    from oracles.diffusion.directed_graph import DirectedGraph


@dataclass(frozen=True, eq=False)
class RoadMap:
    """The edges out of each node, numbered as in ``graph.edges``; an undirected edge leaves both its ends.

    The edges out of node v are ``edges[offsets[v]:offsets[v + 1]]``; `ends` has their other ends in the same
    order. `order` is a topological order of the nodes; it is empty if the graph is undirected or has a cycle.
    """

    labels: list[tuple[Hashable, ...]]
    tails: IntArray
    heads: IntArray
    offsets: IntArray
    ends: IntArray
    edges: IntArray
    order: IntArray
    source: int
    target: int

    @cached_property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return len(self.offsets) - 1

    @classmethod
    def of(cls, graph: nx.Graph[Any] | DirectedGraph, source: Hashable, target: Hashable) -> RoadMap:
        """Return the arrays of a graph of any kind."""
        number, labels, tails, heads = network_of(graph)
        start, end = end_numbers(source, target, number)
        directed = graph.is_directed()
        starts = tails if directed else np.concatenate([tails, heads])
        ends = heads if directed else np.concatenate([heads, tails])
        # Sort by start node; edges of one start node keep their order.
        by_start = np.lexsort((np.arange(len(starts)) % len(labels), starts))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=len(number)))])
        if not _leads_to(offsets, ends[by_start], start, end):
            raise ValueError(f"graph must have a path from {shown(source)} to {shown(target)}, got none")
        order = topological_order(tails, heads, len(number)) if directed else np.empty(0, np.int64)
        return cls(
            labels,
            tails,
            heads,
            offsets.astype(np.int64),
            ends[by_start],
            by_start % len(labels),
            order,
            start,
            end,
        )

    def holds_path(self, arms: IntArray) -> bool:
        """Return whether `arms`, in any order, form a path from source to target without repeated nodes."""
        node, met, left = self.source, {self.source}, set(arms.tolist())
        ways = self._ways(arms)
        while left:
            onward = [(edge, end) for start, edge, end in ways if start == node and edge in left]
            # If the path branches, some edge remains unused or some node is repeated.
            if len(onward) != 1:
                return False
            edge, node = onward[0]
            if node in met:
                return False
            met.add(node)
            left.remove(edge)
        return node == self.target

    def _ways(self, arms: IntArray) -> list[tuple[Any, ...]]:
        """Return (start, edge, end) for each direction in which one of `arms` can be used."""
        there = [(self.tails[arm], arm, self.heads[arm]) for arm in arms]
        if len(self.edges) == len(self.tails):
            return there
        return there + [(end, arm, start) for start, arm, end in there]


def _leads_to(offsets: IntArray, ends: IntArray, start: int, end: int) -> bool:
    """Return whether a path leads from `start` to `end`."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    n = len(offsets) - 1
    graph: Any = csr_array((np.ones(len(ends)), ends, offsets), shape=(n, n))
    return bool((breadth_first_order(graph, start, return_predecessors=False) == end).any())
