"""Probabilistic maximum coverage as an environment."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.environment import round_key
from cmab.feedback import Feedback
from cmab.guards import unguarded
from cmab.validation import frozen, shown, vector
from instances._valued_by_oracle import ValuedByOracle
from oracles import MaxCoverage

if TYPE_CHECKING:
    import networkx as nx

_MOST_ENUMERATED = 20_000


class Coverage(ValuedByOracle):
    """Chosen left nodes cover right nodes, with a coin for each edge; all their edges are observed.

    The reward is the weight of the right nodes that at least one successful edge reaches. The coin of an
    edge belongs to (round, edge): policies meet the same coins.

    Parameters
    ----------
    graph : networkx.Graph
        Bipartite, as for `MaxCoverage`.
    k : int
        Number of left nodes in a super arm.
    probability : str or array_like, shape (n_arms,)
        Edge attribute, or the probability of each edge.
    node_weight : str, optional
        Node attribute with the weights of right nodes.

    Attributes
    ----------
    optimum : float
        By enumeration up to 20,000 super arms. Beyond that it is the value of the greedy choice for the
        true means, at least ``1 - 1/e`` of the optimum, and `optimum_is_exact` is false.
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
        self.oracle = MaxCoverage(graph, k, node_weight=node_weight)
        self.n_arms, self.n_choices = self.oracle.n_arms, self.oracle.n_choices
        given: Any = probability
        if isinstance(probability, str):
            given = [data.get(probability) for *_, data in graph.edges(data=True)]
            missing = [edge for edge, p in zip(self.oracle.edges, given, strict=True) if p is None]
            if missing:
                raise ValueError(f"every edge must have the attribute {probability!r}, got {shown(missing)}")
        self.means = frozen(vector("probability", given, self.n_arms, 0.0, 1.0))

    def __repr__(self) -> str:
        return described(self, oracle=self.oracle, means=self.means)

    @property
    def optimum_is_exact(self) -> bool:
        """Whether `optimum` is the optimum itself."""
        # Few enough sets to try them all; else the optimum is what greedy finds.
        return comb(self.oracle.n_choices, self.oracle.k) <= _MOST_ENUMERATED

    @cached_property
    def optimum(self) -> float:  # type: ignore[override]
        if not self.optimum_is_exact:
            return super().optimum
        choices = combinations(range(self.oracle.n_choices), self.oracle.k)
        return max(self.expected_reward(np.array(chosen, np.int64)) for chosen in choices)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Flip the coin of every edge at the chosen left nodes; refuses a super arm without k of them."""
        from cmab.kernels import keyed_uniforms

        arms = unguarded(self.oracle.triggered_arms)(self.oracle.check_super_arm(super_arm))
        outcomes = (keyed_uniforms(round_key(rng), arms) < self.means[arms]).astype(np.float64)
        return Feedback.unchecked(arms, outcomes, self._weight_reached(arms, outcomes))

    def _weight_reached(self, arms: IntArray, outcomes: FloatArray) -> float:
        """Return the realised reward: the expected one if every coin's probability were its outcome."""
        certain = np.zeros(self.n_arms)
        # Coins that were not flipped count as 0, so all left nodes may be asked about.
        certain[arms] = outcomes
        left = np.arange(self.oracle.n_choices)
        return unguarded(self.oracle.expected_reward)(left, certain)
