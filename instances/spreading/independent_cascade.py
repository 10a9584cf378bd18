"""The independent-cascade model as an environment."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.environment import round_key
from cmab.feedback import Feedback
from instances.spreading.base import SpreadingInfluence
from oracles import DirectedGraph
from oracles.diffusion.spread import estimated_spread, exact_spread

if TYPE_CHECKING:
    import networkx as nx


class IndependentCascade(SpreadingInfluence):
    """Influence spreads from seeds along the edges of a graph, each of which succeeds with its probability.

    Base arms are the directed edges as in `InfluenceMaximization`. A super arm is a list of seeds (node
    numbers). When a node becomes active, each of its out-edges succeeds or fails once, at random; the heads
    of successful edges become active in the next step. The reward is the number of active nodes, including
    seeds. The outcome of an edge depends only on the round and the edge, so all policies meet the same
    outcomes in a round. A round needs up to 56 bytes per edge and 40 bytes per node; the constructor raises
    `MemoryError` if less memory is free. The parameter `feedback` selects the observed outcomes:

    ``"edge"``
        The outcome of every out-edge of every active node, **also of edges to nodes that were active
        already**. This is the semi-bandit feedback of Chen et al. 2016, so their regret bounds hold for CUCB.
    ``"node"``
        The policy knows only which nodes became active, and in which step. If two or more edges tried to
        activate a node in the same step, their outcomes cannot be distinguished. The feedback has only the
        outcomes that are certain and unbiased: those of edges that were the **only** one to try to activate
        their head in that step, while the head was not yet active. Which outcomes are observed does not
        depend on the outcomes themselves, so confidence bounds and posteriors hold. Regret bounds do not
        carry over, because an edge that is never alone is never observed.
    ``"credit"``
        The policy knows the same as with ``"node"``, but every attempt is used. If the head stayed inactive,
        all edges that tried to activate it failed. If it became active, **one** of the edges that tried in
        that step, drawn uniformly, counts as a success and the others count as failures (Vaswani et al.
        2015). This is exact if only one edge tried. Otherwise it is biased, mostly downwards, and the bias
        grows with the probabilities.
    ``"none"``
        Only the reward (full bandit). Learners of arm means learn nothing from it.

    All out-edges of an active node are observed together only with ``"edge"``.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The graph of possible influence; each edge of an undirected graph is two arcs.
    probability : str, float or array_like, shape (n_arms,)
        Name of an edge attribute of a networkx graph, the probability of each arm, one probability for all,
        or ``"weighted_cascade"``: one over the in-degree of the head. If a `DirectedGraph` has probabilities,
        they are used by default.
    k : int, optional
        Number of seeds for `optimum`.
    feedback : {"edge", "node", "credit", "none"}
        The outcomes that are observed in addition to the reward.
    n_rr_sets : int
        Number of reverse-reachable sets from which expected rewards are estimated. There are fewer sets if
        they would have more than 2**25 nodes in total.

    Raises
    ------
    ValueError
        If the graph is not valid, if a probability is missing or outside [0, 1], or if `feedback` is unknown.
    MemoryError
        If less memory is free than a round needs.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from instances import IndependentCascade
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("ann", "bob", p=1.0)
    >>> graph.add_edge("bob", "cy", p=0.0)
    >>> environment = IndependentCascade(graph, probability="p", k=1)
    >>> environment.play(np.array([0]), np.random.default_rng(0))
    Feedback(arms=array([0, 1]), outcomes=array([1., 0.]), reward=2.0, pulls=None, squares=None)
    >>> environment.optimum
    2.0

    References
    ----------
    W. Chen, Y. Wang, Y. Yuan, Q. Wang: Combinatorial Multi-Armed Bandit and Its Extension to
    Probabilistically Triggered Arms, JMLR 17 (2016), section 4.3.
    S. Vaswani, L. Lakshmanan, M. Schmidt: Influence Maximization with Bandits, arXiv:1503.00024 (2015).
    """

    model = "ic"
    shows = ("edge", "node", "credit", "none")

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        probability: str | ArrayLike = "p",
        *,
        k: int | None = None,
        feedback: Literal["edge", "node", "credit", "none"] = "edge",
        n_rr_sets: int = 2**20,
    ) -> None:
        super().__init__(
            graph, "probability", values=probability, k=k, feedback=feedback, n_rr_sets=n_rr_sets
        )

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Run one cascade; the arms of the feedback are in order of activation of their tails."""
        from oracles.diffusion._kernels_cascade import cascade

        seeds = self._check_super_arm(super_arm)
        if self.feedback != "edge":
            return super().play(seeds, rng)
        observed, outcomes = np.empty(self.n_arms, np.int64), np.empty(self.n_arms)
        size, seen = cascade(self.graph.out_arcs[0], self._rows, seeds, round_key(rng), observed, outcomes)
        # Shrinking in place frees the rest of the memory without a copy.
        observed.resize(seen, refcheck=False)
        outcomes.resize(seen, refcheck=False)
        return Feedback.unchecked(observed, outcomes, float(size))

    @cached_property
    def _rows(self) -> AnyArray:
        from oracles.diffusion._kernels_cascade import arcs_in_rows

        rows: AnyArray = arcs_in_rows(self.graph.out_arcs[1], self.graph.heads, self.means)
        return rows

    def _draws(self) -> tuple[AnyArray, FloatArray, FloatArray]:
        """Return positions as owners, so that outcomes equal those of `cascade`."""
        return np.arange(self.n_arms), np.empty(0), self.means[self.graph.out_arcs[1]]

    def _exact(self, seeds: IntArray) -> float | None:
        return exact_spread(self.graph, self.means, seeds)

    def _n_outcomes(self) -> int:
        # Two outcomes for each uncertain edge; shifts by more than 62 bits would overflow.
        return 1 << min(int(((self.means > 0.0) & (self.means < 1.0)).sum()), 62)

    def _estimated(self, seeds: IntArray, cascades: int, key: int, threads: int) -> tuple[float, float]:
        return estimated_spread(self.graph, self.means, seeds, cascades, key=key, threads=threads)
