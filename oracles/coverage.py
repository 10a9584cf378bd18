"""Probabilistic maximum coverage, by lazy greedy or by enumeration."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.compiled import kernel, lean_kernel
from cmab.guarantees import Smoothness
from cmab.oracle import Oracle
from cmab.parameters import described
from cmab.selection import heap_drop, heap_sink, heap_up
from cmab.validation import integer, real, shown

if TYPE_CHECKING:
    import networkx as nx


class Sides(NamedTuple):
    """Left node u has the edges ``arms[offsets[u]:offsets[u + 1]]``; edge i leads to ``heads[i]``."""

    offsets: IntArray
    arms: IntArray
    heads: IntArray
    weights: FloatArray


class Scratch(NamedTuple):
    """Scratch space for right nodes (`missing`: the probability of being uncovered) and for left nodes."""

    missing: FloatArray
    gains: FloatArray
    heap: IntArray
    age: IntArray


@lean_kernel
def gain(node, offsets, arms, heads, means, weights, missing):
    """Return the gain of `node`; ``missing[v]`` is the probability that v is not covered yet."""
    total = 0.0
    for i in range(offsets[node], offsets[node + 1]):
        v = heads[arms[i]]
        # sum_v w_v prod_(u chosen) (1 - p_uv) p_iv: Chen et al. 2016, section 4.1
        total += weights[v] * missing[v] * means[arms[i]]
    return total


@lean_kernel
def cover_greedily(k, graph, means, scratch, chosen):
    """Write the greedy choice of k nodes in increasing order; ties go to the lower node.

    The ratio is 1 - (1 - 1/k)^k (Nemhauser, Wolsey, Fisher 1978, section 4); lazy evaluation as in Minoux.
    """
    offsets, arms, heads, weights = graph
    missing, gains, heap, age = scratch
    n = offsets.shape[0] - 1
    missing[:] = 1.0
    for node in range(n):
        heap[node], age[node] = node, 0
        gains[node] = gain(node, offsets, arms, heads, means, weights, missing)
    # The gains of a submodular reward decrease with each choice, so old gains are upper bounds: Minoux 1978.
    heap_up(heap, gains, n)
    size = n
    for step in range(k):
        while age[heap[0]] < step:  # the top gain is from an earlier step
            gains[0] = gain(heap[0], offsets, arms, heads, means, weights, missing)
            age[heap[0]] = step
            heap_sink(heap, gains, 0, size)
        node = heap[0]
        # Mark the node as chosen: the ages of other nodes stay below k.
        age[node] = k
        for i in range(offsets[node], offsets[node + 1]):
            # Edges are independent, so the probabilities of failure multiply: Chen et al. 2016, section 4.1.
            missing[heads[arms[i]]] *= 1.0 - means[arms[i]]
        size = heap_drop(heap, gains, size)
    at = 0
    for node in range(n):
        if age[node] == k:
            chosen[at] = node
            at += 1


@kernel
def covered(chosen, graph, means):
    """Return the expected weight that the nodes of `chosen` cover."""
    offsets, arms, heads, weights = graph
    missing, total = np.ones(weights.shape[0]), 0.0
    for node in chosen:
        total += gain(node, offsets, arms, heads, means, weights, missing)
        for i in range(offsets[node], offsets[node + 1]):
            missing[heads[arms[i]]] *= 1.0 - means[arms[i]]
    return total


#: The largest number of numbers in a table of all super arms.
_MOST_NUMBERS = 1_000_000


class MaxCoverage(Oracle):
    """The sets of `k` left nodes of a bipartite graph, with the covered weight as reward; by greedy.

    Base arm i is the i-th edge of ``graph.edges``; its mean is the probability that its left node covers its
    right node. A super arm lists left nodes, as positions among the nodes with ``bipartite=0``, and triggers
    all their edges. Its reward is the expected covered weight, ``sum_v w_v (1 - prod (1 - p_uv))``. The
    oracle uses lazy greedy. ``alpha`` is ``1 - (1 - 1/k)^k``, which is at least 1 - 1/e; it is 1 if all left
    nodes are chosen.

    Parameters
    ----------
    graph : networkx.Graph
        A graph in which each edge joins a node with the attribute ``bipartite=0`` to a node with
        ``bipartite=1``. The direction of a directed edge is ignored, so edges in both directions between two
        nodes are parallel edges, which are rejected.
    k : int
        The number of left nodes in a super arm, in ``[1, number of left nodes]``.
    node_weight : str, optional
        The node attribute with the weights of right nodes, nonnegative; by default all weights are 1.

    Attributes
    ----------
    left, right : list of node
        The nodes of each side, in the order of the graph.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import MaxCoverage
    >>> graph = nx.Graph()
    >>> graph.add_nodes_from(["news", "blog"], bipartite=0)
    >>> graph.add_nodes_from(["ann", "bob", "cy"], bipartite=1)
    >>> graph.add_edges_from([("news", "ann"), ("news", "bob"), ("blog", "cy")])
    >>> oracle = MaxCoverage(graph, k=1)
    >>> page = oracle.solve(np.array([0.5, 0.5, 0.9]), np.random.default_rng(0))
    >>> oracle.labels(page), oracle.expected_reward(page, np.array([0.5, 0.5, 0.9]))
    (['news'], 1.0)

    References
    ----------
    Chen et al. (JMLR 2016), section 4.1; G. Nemhauser, L. Wolsey, M. Fisher: An analysis of approximations
    for maximizing submodular set functions, Mathematical Programming 14 (1978).
    """

    has_membership = True

    def __init__(self, graph: nx.Graph[Any], k: int, *, node_weight: str | None = None) -> None:
        if not (hasattr(graph, "edges") and hasattr(graph, "is_multigraph")):
            raise ValueError(f"graph must be a networkx graph, got {shown(graph)}")
        sides = dict(graph.nodes(data="bipartite"))
        wrong = [node for node, side in sides.items() if side not in (0, 1)]
        if wrong:
            raise ValueError(
                f"every node must have bipartite=0 or bipartite=1, got {shown(wrong)} without it"
            )
        if graph.is_multigraph() or graph.number_of_edges() == 0:
            raise ValueError(f"graph must have at least one edge and no parallel edges, got {graph}")
        same = [edge for edge in graph.edges if sides[edge[0]] == sides[edge[1]]]
        if same:
            raise ValueError(f"every edge must join the two sides, got {shown(same)}")
        self.left = self._names = [node for node, side in sides.items() if side == 0]
        self.right = [node for node, side in sides.items() if side == 1]
        self.edges: list[tuple[Hashable, Hashable]] = [
            (u, v) if sides[u] == 0 else (v, u) for u, v in graph.edges
        ]
        if len(set(self.edges)) < len(self.edges):  # a directed graph with both directions of an edge
            twice = [edge for i, edge in enumerate(self.edges) if edge in self.edges[:i]]
            raise ValueError(f"graph must have no parallel edges, got {shown(twice)} in both directions")
        self.n_arms = len(self.edges)
        self.k = integer("k", k, 1, len(self.left))
        self.alpha = 1.0 if self.k == len(self.left) else 1.0 - (1.0 - 1.0 / self.k) ** self.k
        self.node_weights = _weights(graph, self.right, node_weight)
        rows, columns = ({node: i for i, node in enumerate(side)} for side in (self.left, self.right))
        tails = np.array([rows[u] for u, _ in self.edges], np.int64)
        self._heads = np.array([columns[v] for _, v in self.edges], np.int64)
        self._arms = np.argsort(tails, kind="stable")
        degrees = np.bincount(tails, minlength=len(self.left))
        self._offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
        # Cluster numbers are consecutive; a left node without edges has none.
        self.clusters = (np.cumsum(degrees > 0) - 1)[tails]

    def __repr__(self) -> str:
        weights = None if (self.node_weights == 1.0).all() else self.node_weights
        return described(self, left=len(self.left), right=len(self.right), node_weights=weights)

    @property
    def n_choices(self) -> int:
        return len(self.left)

    @property
    def max_size(self) -> int:
        return int(np.sort(np.diff(self._offsets))[-self.k :].sum())

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return the greedy choice of k left nodes, in increasing order."""
        return self._cover(self._sides(), self._check_means(means, 0.0, 1.0))

    def optimum_bound(self, means: FloatArray, rng: np.random.Generator) -> float:
        """Return the reward of the best super arm if there are few of them, otherwise an upper bound."""
        values = self._check_means(means, 0.0, 1.0)
        if comb(len(self.left), self.k) * self.k * len(self.right) <= _MOST_NUMBERS:
            # Row u has the probability that left node u does not cover each right node.
            misses = np.ones((len(self.left), len(self.right)))
            for node in range(len(self.left)):
                arms = self.triggered_arms(np.array([node]))
                misses[node, self._heads[arms]] = 1.0 - values[arms]
            sets = np.array([*combinations(range(len(self.left)), self.k)])
            return float(((1.0 - misses[sets].prod(axis=1)) @ self.node_weights).max())
        return self.expected_reward(self.solve(values, rng), values) / self.alpha

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        available = self._check_available(available)
        free = np.flatnonzero(available)
        if len(free) < self.k:
            raise self._none_within(available)
        offsets = np.concatenate([[0], np.cumsum(np.diff(self._offsets)[free])]).astype(np.int64)
        part = self._sides()._replace(offsets=offsets, arms=self.triggered_arms(free))
        return free[self._cover(part, self._check_means(means, 0.0, 1.0))]

    def _cover(self, graph: Sides, means: FloatArray) -> IntArray:
        """Return the greedy choice of k left nodes, in the node numbers of `graph`."""
        n, chosen = len(graph.offsets) - 1, np.empty(self.k, np.int64)
        scratch = Scratch(np.empty(len(self.right)), np.empty(n), *np.empty((2, n), np.int64))
        cover_greedily(self.k, graph, means, scratch, chosen)
        return chosen

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        return float(covered(super_arm, self._sides(), self._check_means(means, 0.0, 1.0)))

    def _sides(self) -> Sides:
        return Sides(self._offsets, self._arms, self._heads, self.node_weights)

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return len(super_arm) == self.k

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the edges at the chosen left nodes, node by node."""
        super_arm = self._check_entries(super_arm)
        if len(super_arm) == 0:
            return np.empty(0, np.int64)
        return np.concatenate([self._arms[self._offsets[u] : self._offsets[u + 1]] for u in super_arm])

    def smoothness(self) -> Smoothness:
        """Return ``W x``, where W is the largest total weight of the right ends of the edges of k left nodes.

        The constant modulated by triggering is the largest weight of a node.
        """
        tiny = np.finfo(np.float64).tiny
        weights = np.add.reduceat(
            np.append(self.node_weights[self._heads[self._arms]], 0.0), self._offsets[:-1]
        )
        weights[np.diff(self._offsets) == 0] = 0.0  # `reduceat` does not sum empty ranges
        total = float(np.sort(weights)[-self.k :].sum())
        return Smoothness.coverage(max(total, tiny), max(float(self.node_weights.max()), tiny))

    def _arm_labels(self) -> list[Hashable]:
        return list(self.edges)


def _weights(graph: nx.Graph[Any], right: list[Any], weight: str | None) -> FloatArray:
    if weight is None:
        return np.ones(len(right))
    if not isinstance(weight, Hashable):
        raise ValueError(f"node_weight must be the name of an attribute, got {shown(weight)}")
    missing = [node for node in right if weight not in graph.nodes[node]]
    if missing:
        raise ValueError(
            f"every right node must have the attribute {weight!r}, got {shown(missing)} without it"
        )
    return np.array([real(f"{weight} of {node!r}", graph.nodes[node][weight], 0.0) for node in right])
