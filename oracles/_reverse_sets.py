"""The reverse graph of a round, and growing collections of reverse-reachable sets on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from oracles.directed_graph import DirectedGraph

_WORTH_CONTRACTING = 0.05


@dataclass(frozen=True, eq=False)
class ReverseGraph:
    """Arcs into each component, under one vector of probabilities.

    A component is a node, or a set of nodes that reach each other over arcs of probability 1: they are
    always active together, so a cascade on components is the cascade on nodes.

    Attributes
    ----------
    roots : AnyArray, shape (n_nodes,)
        Component of each node: a uniform entry is a root in proportion to the sizes of components.
    offsets, tails, limits : AnyArray
        Component v can be activated by ``tails[offsets[v]:offsets[v + 1]]``, with probabilities
        ``limits / 2**31``; arcs of probability 0 (below 2**-32) and within a component are left out.
    """

    roots: AnyArray
    offsets: IntArray
    tails: AnyArray
    limits: AnyArray

    @classmethod
    def of(cls, graph: DirectedGraph, means: FloatArray, contract: bool | None = None) -> ReverseGraph:
        """Return the reverse graph under `means`.

        Certain arcs are contracted when they are more than 5 % of all (finding components costs a few
        passes over the graph), or as `contract` says.
        """
        from oracles._kernels_influence_graph import limits_of, reverse_arcs, strong_components

        limits, certain = limits_of(means)
        if contract is None:
            contract = certain > _WORTH_CONTRACTING * graph.n_arcs
        roots = (
            strong_components(*graph.out_arcs, graph.heads, limits)
            if contract
            else np.arange(graph.n_nodes, dtype=np.int32)
        )
        n = int(roots.max()) + 1
        return cls(roots, *reverse_arcs(graph.tails, graph.heads, limits, roots, n))

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.offsets) - 1

    def sizes(self) -> IntArray:
        """Return the number of nodes of each component."""
        return np.bincount(self.roots, minlength=self.n_components)

    def representatives(self) -> IntArray:
        """Return the lowest node of each component."""
        # Components are numbered by their lowest nodes, so first occurrences come in order.
        return np.unique(self.roots, return_index=True)[1]


class SetCollection:
    """The first sets of one key, stored; it grows when asked.

    Attributes
    ----------
    ends : IntArray, shape (n_sets + 1,)
        Set i is ``pool[ends[i]:ends[i + 1]]``.
    pool : AnyArray
        Components of all sets.
    edges_examined : int
        Coins flipped so far.
    """

    def __init__(self, graph: ReverseGraph, key: int) -> None:
        self.graph, self.key = graph, key
        self.ends = np.zeros(1, np.int64)
        self.pool = np.empty(2 * graph.n_components, np.int32)
        self.edges_examined = 0
        self._stamps = np.zeros(graph.n_components, np.int32)

    @property
    def n_sets(self) -> int:
        """Number of sets stored."""
        return len(self.ends) - 1

    def grow(self, n_sets: int, most_entries: int | None = None) -> None:
        """Draw sets until there are `n_sets`, or until the pool would hold more than `most_entries`."""
        from oracles._kernels_influence_sets import draw_sets

        graph, done = self.graph, self.n_sets
        self.ends = np.concatenate((self.ends, np.zeros(n_sets - done, np.int64)))
        while True:
            done, edges = draw_sets(
                graph.roots,
                graph.offsets,
                graph.tails,
                graph.limits,
                self.key,
                done,
                self.ends,
                self.pool,
                self._stamps,
            )
            self.edges_examined += edges
            full = most_entries is not None and 2 * len(self.pool) > most_entries + graph.n_components
            if done == n_sets or full:
                self.ends = self.ends[: done + 1]
                return
            # Extrapolate from what is there, at least doubling, so that large collections are copied rarely.
            wanted = int(1.1 * self.ends[done] / max(done, 1) * n_sets) + graph.n_components
            room = np.empty(max(2 * len(self.pool), wanted), np.int32)
            room[: self.ends[done]] = self.pool[: self.ends[done]]
            self.pool = room

    def index(self) -> tuple[IntArray, AnyArray]:
        """Return the sets that hold each component, as (offsets, sets)."""
        from oracles._kernels_influence_greedy import invert

        return invert(self.ends, self.pool, self.graph.n_components)
