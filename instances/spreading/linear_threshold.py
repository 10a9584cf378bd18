"""The linear-threshold model as an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from instances.spreading.base import SpreadingInfluence
from oracles import DirectedGraph
from oracles.diffusion.spread import exact_threshold_spread, threshold_spread

if TYPE_CHECKING:
    import networkx as nx

_ROUNDING = 1e-9


class LinearThreshold(SpreadingInfluence):
    """A node becomes active when its active in-neighbours weigh more than its threshold.

    Thresholds are uniform on [0, 1] and anew in every round. The same spread, step by step, comes from live
    edges (Kempe et al. 2003, Claim 2.6): every node keeps at most one edge into it, each with
    the probability that is its weight, and influence follows the edges kept. Base arms are the directed edges
    as in ``InfluenceMaximization(model="lt")``, their outcomes say whether they were kept, and their means
    are the weights. Outcomes of edges into the same node exclude each other. The choice of a node belongs to
    (round, node): policies meet the same one.

    What a round can show without bias are edges that tried their head in the **first step in which it was
    tried at all** (their tails became active in the step before): nothing that happened until then depends on
    the choice of this head. Edges that try later, or a head that is active already, are left out, since there
    the choice is partly known: the edges back into a node that others convinced were rarely the ones kept.
    `feedback` says what is shown:

    ``"edge"``
        Of each of these edges, whether it was kept: who was convinced says by whom.
    ``"node"``
        Only who became active, and when. Shown are those of these edges that were alone in trying their
        head, which then became active or not.
    ``"none"``
        The reward alone (full bandit).

    Estimated weights into a node may sum to more than 1, which the oracle refuses; a learner scales them
    down first (see ``docs/how-to/influence.md``).

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        Who can influence whom; each edge of an undirected graph is two arcs.
    edge_weight : str, float or array_like, shape (n_arms,)
        Edge attribute of a networkx graph, or the weight of each arm, or one for all, or
        ``"weighted_cascade"``, the usual ones: one over the in-degree of the arm's head. A `DirectedGraph`
        that has probabilities of its own needs none.
    k : int, optional
        Number of seeds that `optimum` is about.
    feedback : {"edge", "node", "none"}
        What a round shows besides its reward.
    n_rr_sets : int
        Reverse-reachable sets that expected rewards are read from (fewer where they would hold more than
        2**25 nodes together).

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
        sums = np.bincount(self.graph.heads, self.means, self.graph.n_nodes)
        if sums.max() > 1.0 + _ROUNDING:
            node = int(sums.argmax())
            raise ValueError(
                f"weight must sum to at most 1 over the edges into a node, got {sums[node]}"
                f" at node {self.graph.label(node)!r}"
            )

    def _draws(self) -> tuple[AnyArray, FloatArray, FloatArray]:
        """Lay the edges into a node side by side on [0, 1]."""
        from oracles.diffusion._kernels_thresholds import side_by_side

        # A uniform number of a node picks the edge whose interval it falls into, or none.
        lows, highs = call_kernel(side_by_side, *self.graph.in_arcs, self.means)
        out = self.graph.out_arcs[1]
        return self.graph.out_heads, lows[out], highs[out]

    def _exact(self, seeds: IntArray) -> float | None:
        return exact_threshold_spread(self.graph, self.means, seeds)

    def _n_outcomes(self) -> int:
        # A node keeps one of its edges or none: in-degree + 1 outcomes, and the product over nodes.
        return 1 << min(int(np.ceil(np.log2(self.graph.in_degrees + 1.0).sum())), 62)

    def _estimated(self, seeds: IntArray, cascades: int, key: int, threads: int) -> tuple[float, float]:
        return threshold_spread(self.graph, self.means, seeds, cascades, key=key, threads=threads)
