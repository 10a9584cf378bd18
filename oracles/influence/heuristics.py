"""Heuristics for seeds without a guarantee: degrees, degree discounts and greedy on simulated cascades."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.compiled import kernel
from cmab.validation import integer, shown
from oracles.influence.graph import DirectedGraph
from oracles.influence.maximization import InfluenceOracle
from oracles.influence.spread import MOST_CASCADES, estimated_spread

if TYPE_CHECKING:
    import networkx as nx

Rule = Literal["degree", "single", "discount"]
_RULES: tuple[Rule, ...] = ("degree", "single", "discount")


@kernel
def seeds_by_degree(graph_arcs, means, k, candidates, single, discount):
    """Choose `k` candidates one by one by their scores; ties go to the lowest number.

    The score of v is the expected number of nodes that v activates in one step. With `single`, seeds do not
    count. With `discount`, the score is multiplied by the probability that no seed activates v.
    """
    tails, heads, out_offsets, out_arms, in_offsets, in_arms = graph_arcs
    n = out_offsets.shape[0] - 1
    degrees, untouched, free = np.zeros(n), np.ones(n), candidates.copy()
    for i in range(means.shape[0]):
        degrees[tails[i]] += means[i]
    chosen = np.empty(k, np.int64)
    for size in range(k):
        best, value = -1, -1.0
        for v in range(n):
            # With equal p and t seeds among d neighbours, this is (1 - p)^t (1 + (d - t) p). DegreeDiscountIC
            # (Chen et al. 2009) expands it to 1 + (d - 2t - (d - t) t p) p.
            score = (1.0 + degrees[v]) * untouched[v] if discount else degrees[v]
            if free[v] and score > value:
                best, value = v, score
        chosen[size] = best
        free[best] = False
        # Neighbours of a seed lose the arc to it. They count only with the probability that no seed activates
        # them.
        if single or discount:
            for j in range(in_offsets[best], in_offsets[best + 1]):
                degrees[tails[in_arms[j]]] -= means[in_arms[j]]
        if discount:
            for j in range(out_offsets[best], out_offsets[best + 1]):
                untouched[heads[out_arms[j]]] *= 1.0 - means[out_arms[j]]
    return chosen


class DegreeHeuristic(InfluenceOracle):
    """The `k` nodes of highest expected out-degree, with or without discounts.

    `alpha` is ``nan`` because no approximation ratio holds on all graphs; so the approximation regret is not
    defined. Arms and super arms are those of `InfluenceMaximization`.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        The number of seeds.
    rule : {"degree", "single", "discount"}
        The score of a node. ``"degree"`` is the sum of the probabilities of its outgoing edges. ``"single"``
        is this sum without the edges to chosen seeds. ``"discount"`` is one plus the sum of ``"single"``,
        times the probability that no chosen seed activates the node. The degree discount of the reference
        approximates ``"discount"`` for small, equal probabilities.
    candidates : array_like of int, optional
        The nodes that may be seeds; by default all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DegreeHeuristic, DirectedGraph
    >>> graph = DirectedGraph.from_edges([0, 0, 1, 1, 2], [1, 2, 0, 2, 3])
    >>> DegreeHeuristic(graph, k=2, rule="discount").solve(np.full(5, 0.9), np.random.default_rng(0))
    array([0, 3])

    References
    ----------
    W. Chen, Y. Wang, S. Yang: Efficient Influence Maximization in Social Networks, KDD 2009, section 3.
    """

    alpha = float("nan")

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        rule: Rule = "discount",
        candidates: IntArray | None = None,
    ) -> None:
        super().__init__(graph, k, candidates=candidates)
        if rule not in _RULES:
            raise ValueError(f"rule must be one of {_RULES}, got {shown(rule)}")
        self.rule: Rule = rule

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return k node numbers in the order of their choice."""
        probabilities = self._check_means(means, 0.0, 1.0)
        graph, single, discount = self.graph, self.rule == "single", self.rule == "discount"
        arcs = graph.tails, graph.heads, *graph.out_arcs, *graph.in_arcs
        seeds: IntArray = seeds_by_degree(arcs, probabilities, self.k, self.candidates, single, discount)
        return seeds


class MonteCarloGreedy(InfluenceOracle):
    """Lazy greedy selection (CELF) on simulated cascades: slow and simple, a reference for other oracles.

    One call fixes the random numbers of a number of cascades. On these cascades the spread is submodular, so
    lazy evaluation is exact, and the seeds reach at least 1 - 1/e of the best for these cascades. The
    accuracy for the expected spread depends on the number of cascades, so `alpha` is ``nan``. Arms and super
    arms are those of `InfluenceMaximization`.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        The number of seeds.
    cascades : int
        The number of cascades of each evaluation.
    node_weights, candidates : array_like, optional
        As in `InfluenceMaximization`.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, MonteCarloGreedy
    >>> graph = DirectedGraph.from_edges([0, 1, 3], [1, 2, 4])
    >>> MonteCarloGreedy(graph, k=2, cascades=200).solve(np.full(3, 0.8), np.random.default_rng(0))
    array([0, 3])

    References
    ----------
    J. Leskovec et al.: Cost-effective Outbreak Detection in Networks, KDD 2007, section 3.
    """

    alpha = float("nan")

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        cascades: int = 1000,
        node_weights: FloatArray | None = None,
        candidates: IntArray | None = None,
    ) -> None:
        super().__init__(graph, k, node_weights=node_weights, candidates=candidates)
        self.cascades = integer("cascades", cascades, 1, MOST_CASCADES)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return k node numbers in the order of the greedy choice."""
        probabilities = self._check_means(means, 0.0, 1.0)
        key = int(np.random.default_rng(rng).integers(0, 2**62))

        def spread(seeds: list[int]) -> float:
            arms = np.array(seeds, np.int64)
            return estimated_spread(
                self.graph, probabilities, arms, self.cascades, key=key, node_weights=self.node_weights
            )[0]

        # Entries are (-gain, node, number of seeds that the gain was computed for).
        queue = [(-spread([int(v)]), int(v), 0) for v in np.flatnonzero(self.candidates)]
        heapq.heapify(queue)
        seeds: list[int] = []
        value = 0.0
        while len(seeds) < self.k:
            gain, node, known_for = heapq.heappop(queue)
            # Gains only decrease. So if a gain is current and exceeds the older gains of the others, it is
            # the largest.
            if known_for == len(seeds):
                seeds.append(node)
                value -= gain
            else:
                heapq.heappush(queue, (value - spread([*seeds, node]), node, len(seeds)))
        return np.array(seeds, np.int64)
