"""Influence maximisation under the independent-cascade model."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab._validation import integer, real
from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.oracle import Oracle
from oracles._reverse_sets import ReverseGraph, SetCollection
from oracles._spread import estimated_spread, exact_spread
from oracles.directed_graph import DirectedGraph, as_directed_graph
from oracles.influence_certificate import (
    GREEDY_RATIO,
    Certificate,
    Schedule,
    log_binomial,
    lower_bound,
    upper_bound,
)

if TYPE_CHECKING:
    import networkx as nx

_CASCADES = 2000


class InfluenceMaximization(Oracle):
    """The k nodes that activate the most nodes in expectation: OPIM-C on reverse-reachable sets.

    Base arms are the directed edges of the graph in the order of ``graph.edges`` (edge i of an undirected
    graph is arms 2i and 2i + 1, one for each direction; parallel edges are arms of their own; self-loops
    are refused). A super arm lists k node numbers, positions in ``graph.nodes``, in the order of the greedy
    choice; it triggers the edges out of every node that becomes active. ``alpha`` is ``1 - 1/e - epsilon``
    and ``beta`` is ``1 - delta``.

    One sample of sets chooses the seeds and bounds the optimum, an independent one validates them; both are
    doubled until the ratio is certified. Certain edges (probability 1) are contracted with their strong
    components first, which changes nothing but the time. Each random number belongs to a key from `rng`
    and to the number of its set: nothing is carried over from call to call.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        Who can activate whom.
    k : int
        Number of seeds, in ``[1, number of nodes]``.
    epsilon : float
        Accuracy, in (0, 1 - 1/e).
    delta : float, optional
        Probability of failure of a call, in (0, 1); one over the number of arms if left out, at most 1/2.
    max_samples : int, optional
        Largest number of sets in both samples together. A call that stops there has its own, lower ratio
        (`Certificate.ratio`): the declared ``alpha`` is then what was aimed at, and no longer certain.
    first_samples : int, optional
        Sets in each sample of the first attempt; OPIM-C's own if left out. The size at which earlier calls
        stopped saves the steps up to there.

    Raises
    ------
    ValueError
        If a number is out of its range or the graph cannot be used.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import InfluenceMaximization
    >>> oracle = InfluenceMaximization(nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("dan", "bob")]), k=1)
    >>> seeds = oracle.solve(np.array([0.9, 0.9, 0.9]), np.random.default_rng(0))
    >>> oracle.labels(seeds), oracle.expected_reward(seeds, np.array([0.9, 0.9, 0.9]))
    (['ann'], 2.8)

    References
    ----------
    J. Tang, X. Tang, X. Xiao, J. Yuan: Online Processing Algorithms for Influence Maximization, SIGMOD 2018.
    """

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        epsilon: float = 0.1,
        delta: float | None = None,
        *,
        max_samples: int | None = None,
        first_samples: int | None = None,
    ) -> None:
        self.graph = as_directed_graph(graph)
        self.n_arms = self.graph.n_arcs
        self.k = integer("k", k, 1, self.graph.n_nodes)
        self.epsilon = real("epsilon", epsilon, 0.0, GREEDY_RATIO, inside=True)
        self.delta = real("delta", 1 / max(2, self.n_arms) if delta is None else delta, 0.0, 1.0, inside=True)
        self.max_samples = None if max_samples is None else integer("max_samples", max_samples, 2)
        self.first_samples = None if first_samples is None else integer("first_samples", first_samples, 1)
        self.alpha, self.beta = GREEDY_RATIO - self.epsilon, 1.0 - self.delta
        self.clusters = self.graph.tails.astype(np.int64)

    def __repr__(self) -> str:
        return f"InfluenceMaximization({self.graph!r}, k={self.k}, epsilon={self.epsilon:g})"

    @property
    def n_choices(self) -> int:
        """Number of nodes."""
        return self.graph.n_nodes

    @property
    def max_size(self) -> int:
        """Number of arms: a cascade may trigger all of them."""
        return self.n_arms

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return k node numbers in the order of the greedy choice."""
        return self.solve_certified(means, rng).seeds

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> Certificate:
        """Return k seeds with the ratio that is certain, their estimated spread and what it took."""
        probabilities = self._check_means(means, 0.0, 1.0)
        choosing, validating = (int(key) for key in rng.integers(0, 2**62, 2))
        reverse = ReverseGraph.of(self.graph, probabilities)
        sizes = reverse.sizes()
        k = min(self.k, reverse.n_components)
        if len(reverse.tails) == 0 or k == reverse.n_components:
            return self._certain(reverse, sizes, k)
        floor = float(np.sort(sizes)[-k:].sum())
        plan = Schedule.of(
            self.graph.n_nodes,
            log_binomial(reverse.n_components, k),
            floor,
            self.epsilon,
            self.delta,
            self.first_samples,
        )
        return self._search(reverse, sizes, k, plan, SetCollection(reverse, choosing), validating)

    def _certain(self, reverse: ReverseGraph, sizes: IntArray, k: int) -> Certificate:
        """Return the optimum where nothing spreads between components, or all of them are chosen."""
        chosen = np.argsort(-sizes, kind="stable")[:k]
        seeds, spread = self._seeds(reverse, chosen), float(sizes[chosen].sum())
        return Certificate(seeds, 1.0, True, spread, 0.0, 0, 0, reverse.n_components)

    def _search(
        self, reverse: ReverseGraph, sizes: IntArray, k: int, plan: Schedule, sets: SetCollection, key: int
    ) -> Certificate:
        from oracles._kernels_influence_greedy import cover
        from oracles._kernels_influence_sets import count_hits

        n, most = float(self.graph.n_nodes), plan.last
        if self.max_samples is not None:
            most = min(most, self.max_samples // 2)
        n_sets, edges = min(plan.first, most), 0
        while True:
            sets.grow(n_sets)
            chosen, covered, bound = cover(sets.ends, sets.pool, *sets.index(), k)
            optimum = upper_bound(bound, n_sets, n, plan.log_term)
            promising = lower_bound(covered, n_sets, n, plan.log_term) >= self.alpha * optimum
            # Greedy's own coverage is optimistic: validation is worth its time only where even that passes.
            if promising or n_sets == most:
                marked = _mask(chosen, reverse.n_components)
                hits, examined = count_hits(
                    reverse.roots, reverse.offsets, reverse.tails, reverse.limits, key, n_sets, marked
                )
                edges += examined
                secured = max(float(sizes[chosen].sum()), lower_bound(hits, n_sets, n, plan.log_term))
                ratio = min(1.0, secured / max(optimum, secured))
                if ratio >= self.alpha or n_sets == most:
                    break
            n_sets = min(2 * n_sets, most)
        if n_sets == plan.last:  # so many sets are enough in themselves (Tang et al. 2018, Lemma 6.1)
            ratio = max(ratio, self.alpha)
        share = hits / n_sets
        return Certificate(
            self._seeds(reverse, chosen),
            ratio,
            ratio >= self.alpha,
            n * share,
            n * float(np.sqrt(share * (1.0 - share) / n_sets)),
            2 * n_sets,
            edges + sets.edges_examined,
            reverse.n_components,
        )

    def _seeds(self, reverse: ReverseGraph, chosen: IntArray) -> IntArray:
        """Return the lowest node of each chosen component, filled up to k with the lowest other nodes."""
        seeds = reverse.representatives()[chosen]
        others = np.flatnonzero(~_mask(seeds, self.graph.n_nodes))
        return np.concatenate((seeds, others[: self.k - len(seeds)]))

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return the expected number of active nodes, seeds included.

        Exact while at most 16 uncertain edges can be reached; otherwise the mean of 2,000 cascades with
        fixed coins, whose standard error `spread` gives.
        """
        return self.spread(super_arm, means)[0]

    def spread(
        self, super_arm: IntArray, means: FloatArray, cascades: int = _CASCADES
    ) -> tuple[float, float]:
        """Return the expected number of active nodes and its standard error, 0 where it is exact."""
        probabilities = self._check_means(means, 0.0, 1.0)
        seeds = np.asarray(super_arm, np.int64)
        exact = exact_spread(self.graph, probabilities, seeds)
        if exact is not None:
            return exact, 0.0
        return estimated_spread(self.graph, probabilities, seeds, integer("cascades", cascades, 2))

    def is_feasible(self, super_arm: IntArray) -> bool:
        """Return whether `super_arm` has k nodes."""
        return len(super_arm) == self.k

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the edges out of every node that can be reached from the seeds."""
        from oracles._kernels_cascade import reachable

        offsets, arms = self.graph.out_arcs
        usable = np.ones(self.n_arms, np.bool_)
        _, reached = reachable(offsets, arms, self.graph.heads, usable, np.asarray(super_arm, np.int64))
        return np.flatnonzero(reached[self.graph.tails])

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        """Return the user's names of the nodes."""
        return [self.graph.label(node) for node in super_arm]


def _mask(entries: IntArray, n: int) -> BoolArray:
    mask = np.zeros(n, np.bool_)
    mask[entries] = True
    return mask
