"""Probabilistic maximum coverage as an environment."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.compiled import keyed_uniforms
from cmab.environment import round_key
from cmab.feedback import Feedback
from cmab.oracle import check_super_arm
from cmab.validation import shown
from instances.arms import ValuedByOracle
from oracles import MaxCoverage

if TYPE_CHECKING:
    import networkx as nx

_MOST_ENUMERATED = 20_000


class Coverage(ValuedByOracle):
    """Probabilistic maximum coverage: chosen left nodes cover right nodes through random edges.

    Each edge of a chosen left node succeeds with its probability. The reward is the total weight of the right
    nodes with at least one successful edge. All edges of the chosen nodes are observed. The outcome of an
    edge depends only on the round and the edge, so all policies that choose it in a round observe the same
    outcome.

    Parameters
    ----------
    graph : networkx.Graph
        A bipartite graph, as for `MaxCoverage`.
    k : int
        Number of left nodes in a super arm.
    probability : str or array_like, shape (n_arms,)
        Name of the edge attribute with the probabilities, or the probability of each edge, in [0, 1].
    node_weight : str, optional
        Name of the node attribute with the weights of the right nodes.

    Attributes
    ----------
    optimum : float
        Expected reward of the best super arm, by enumeration of up to 20,000 super arms. If there are more,
        it is the value of the greedy solution for the true means, which is at least ``1 - 1/e`` times the
        optimum, and `optimum_is_exact` is False.
    oracle : MaxCoverage
        The family of super arms.

    Examples
    --------
    >>> import networkx as nx
    >>> from instances import Coverage
    >>> graph = nx.Graph()
    >>> graph.add_nodes_from(["news", "blog"], bipartite=0)
    >>> graph.add_nodes_from(["ann", "bob"], bipartite=1)
    >>> graph.add_weighted_edges_from([("news", "ann", 0.5), ("news", "bob", 0.5), ("blog", "bob", 0.9)])
    >>> Coverage(graph, k=1, probability="weight").optimum
    1.0
    """

    oracle: MaxCoverage

    def __init__(
        self,
        graph: nx.Graph[Any],
        k: int,
        *,
        probability: str | ArrayLike = "p",
        node_weight: str | None = None,
    ) -> None:
        oracle = MaxCoverage(graph, k, node_weight=node_weight)
        given: Any = probability
        if isinstance(probability, str):
            given = [data.get(probability) for *_, data in graph.edges(data=True)]
            missing = [edge for edge, p in zip(oracle.edges, given, strict=True) if p is None]
            if missing:
                raise ValueError(
                    f"all edges must have the attribute {probability!r}, got {shown(missing)} without"
                )
        super().__init__(oracle, "probability", given)

    @property
    def optimum_is_exact(self) -> bool:
        """Whether `optimum` is exact."""
        # If there are few enough super arms, all are evaluated. Otherwise `optimum` is the value of the
        # greedy one.
        return comb(self.oracle.n_choices, self.oracle.k) <= _MOST_ENUMERATED

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        if not self.optimum_is_exact:
            return super().optimum
        choices = combinations(range(self.oracle.n_choices), self.oracle.k)
        return max(self.expected_reward(np.array(chosen, np.int64)) for chosen in choices)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Draw the outcome of every edge of the k chosen left nodes; raise ``ValueError`` if not feasible."""
        arms = self.oracle.triggered_arms(check_super_arm(self.oracle, super_arm))
        outcomes = (keyed_uniforms(round_key(rng), arms) < self.means[arms]).astype(np.float64)
        return Feedback.unchecked(arms, outcomes, self._weight_reached(arms, outcomes))

    def _weight_reached(self, arms: IntArray, outcomes: FloatArray) -> float:
        """Return the realised reward: the expected reward if the probability of each edge is its outcome."""
        certain = np.zeros(self.n_arms)
        # Edges that were not drawn have outcome 0, so the set of all left nodes has the same reward.
        certain[arms] = outcomes
        left = np.arange(self.oracle.n_choices)
        return self.oracle.expected_reward(left, certain)
