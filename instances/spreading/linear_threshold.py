"""The linear-threshold model as an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from cmab.validation import frozen
from instances.spreading.base import SpreadingInfluence
from oracles import DirectedGraph
from oracles.diffusion.spread import exact_threshold_spread, threshold_spread
from oracles.diffusion.threshold_weights import threshold_weights

if TYPE_CHECKING:
    import networkx as nx


class LinearThreshold(SpreadingInfluence):
    """A node becomes active when the weights of its active in-neighbours exceed its random threshold.

    Thresholds are uniform on [0, 1], and new in every round. An equivalent process uses live edges (Kempe et
    al. 2003, Claim 2.6): every node keeps at most one of its in-edges, each with a probability equal to its
    weight, and influence follows the kept edges. Base arms are the directed edges as in
    ``InfluenceMaximization(model="lt")``. The outcome of an edge is 1 if it was kept, and its mean is its
    weight. At most one edge into a node has outcome 1. The kept edge of a node depends only on the round and
    the node, so all policies meet the same outcomes.

    The feedback contains only edges with unbiased outcomes: edges that tried to activate their head in
    the **first step in which any edge tried** (their tails became active in the step before). Nothing that
    happened before this step depends on the kept edge of the head. Edges that try later, or try an active
    head, are left out, because the kept edge is then partly known. For example, the edge back into a node
    that another edge activated was rarely the kept one. The parameter `feedback` selects the observed
    outcomes:

    ``"edge"``
        The outcome of each of these edges. An active node reveals the edge that activated it.
    ``"node"``
        The policy knows only which nodes became active, and in which step. The feedback has those of these
        edges that were the only one to try to activate their head in that step.
    ``"none"``
        Only the reward (full bandit).

    Estimated weights into a node may sum to more than 1, which the oracle rejects. A learner must scale them
    down first (see ``docs/how-to/influence.md``).

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The graph of possible influence; each edge of an undirected graph is two arcs.
    edge_weight : str, float or array_like, shape (n_arms,)
        Name of an edge attribute of a networkx graph, the weight of each arm, one weight for all, or
        ``"weighted_cascade"``, the usual choice: one over the in-degree of the head. If a `DirectedGraph` has
        probabilities, they are used by default.
    k : int, optional
        Number of seeds for `optimum`.
    feedback : {"edge", "node", "none"}
        The outcomes that are observed in addition to the reward.
    n_rr_sets : int
        Number of reverse-reachable sets from which expected rewards are estimated. There are fewer sets if
        they would have more than 2**25 nodes in total.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import LinearThreshold
    >>> from oracles import DirectedGraph
    >>> graph = DirectedGraph.from_edges([0, 1, 2], [2, 2, 3])
    >>> environment = LinearThreshold(graph, [0.25, 0.5, 1.0], k=1)
    >>> environment.expected_reward(np.array([0])), environment.optimum
    (1.5, 2.0)

    References
    ----------
    D. Kempe, J. Kleinberg, E. Tardos: Maximizing the Spread of Influence through a Social Network, KDD 2003.
    S. Li, F. Kong, K. Tang, Q. Li, W. Chen: Online Influence Maximization under Linear Threshold Model,
    NeurIPS 2020.
    """

    model = "lt"
    shows = ("edge", "node", "none")

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        edge_weight: str | ArrayLike = "weight",
        *,
        k: int | None = None,
        feedback: Literal["edge", "node", "none"] = "edge",
        n_rr_sets: int = 2**20,
    ) -> None:
        super().__init__(
            graph, "edge_weight", values=edge_weight, k=k, feedback=feedback, n_rr_sets=n_rr_sets
        )
        self.means = frozen(threshold_weights("edge_weight", self.means, self.graph))

    def _draws(self) -> tuple[AnyArray, FloatArray, FloatArray]:
        """Place the weights of the edges into a node side by side on [0, 1]."""
        from oracles.diffusion._kernels_thresholds import side_by_side

        # A uniform number per node selects the edge whose interval contains it, or no edge.
        lows, highs = call_kernel(side_by_side, *self.graph.in_arcs, self.means)
        out = self.graph.out_arcs[1]
        return self.graph.out_heads, lows[out], highs[out]

    def _exact(self, seeds: IntArray) -> float | None:
        return exact_threshold_spread(self.graph, self.means, seeds)

    def _n_outcomes(self) -> int:
        # A node keeps one of its in-edges or none: the product of (in-degree + 1) over all nodes.
        return 1 << min(int(np.ceil(np.log2(self.graph.in_degrees + 1.0).sum())), 62)

    def _estimated(self, seeds: IntArray, cascades: int, key: int, threads: int) -> tuple[float, float]:
        return threshold_spread(self.graph, self.means, seeds, cascades, key=key, threads=threads)
