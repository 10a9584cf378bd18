"""The independent-cascade model as an environment."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.environment import round_key
from cmab.feedback import Feedback
from cmab.guards import checks_itself, generator
from cmab.validation import arm_indices
from instances.spreading.base import SpreadingInfluence
from oracles import DirectedGraph
from oracles.diffusion.spread import estimated_spread, exact_spread

if TYPE_CHECKING:
    import networkx as nx


class IndependentCascade(SpreadingInfluence):
    """Influence spreads from seeds along the edges of a graph, with a coin for each edge.

    Base arms are the directed edges as in `InfluenceMaximization`; a super arm lists seeds, node numbers.
    Every node that becomes active flips the coin of each of its out-edges once, and its successes make
    their heads active in the next step. A round earns the number of active nodes, seeds included. The coin
    of an edge belongs to (round, edge): policies meet the same coins. A round needs up to 56 bytes an edge
    and 40 a node, and says beforehand if they are not free. What it shows is `feedback`:

    ``"edge"``
        The coin of every edge out of every active node, **also towards nodes that were active already**.
        Semi-bandit feedback as Chen et al. 2016 assume it: their regret bounds hold for CUCB.
    ``"node"``
        Only who became active, and when. Of a node that at least two edges tried in the same step, nobody
        can tell which of them succeeded; shown are the coins that are certain and fairly chosen: of every
        edge that was the **only** one to try its head in that step (the head was not active before). Which
        coins are shown does not depend on how they fall, so they are unbiased: confidence bounds and
        posteriors hold. Regret bounds do not carry over, since an edge that is never alone is never seen.
    ``"credit"``
        The same knowledge, every attempt used: attempts at a head that stayed inactive failed; for one that
        became active, **one** of the edges that tried it in that step, drawn uniformly, gets the credit
        and the others count as failures (Vaswani et al. 2015). An approximation: exact where one
        edge tried; otherwise biased, mostly downwards, and more the larger the probabilities are.
    ``"none"``
        The reward alone (full bandit). Learners of arm means learn nothing from it.

    Edges out of the same node are not seen together except under ``"edge"``.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        Who can activate whom; each edge of an undirected graph is two arcs.
    probability : str, float or array_like, shape (n_arms,)
        Edge attribute of a networkx graph, or the probability of each arm, or one for all, or
        ``"weighted_cascade"``: one over the in-degree of the arm's head. A `DirectedGraph` that has
        probabilities of its own needs none.
    k : int, optional
        Number of seeds that `optimum` is about.
    feedback : {"edge", "node", "credit", "none"}
        What a round shows besides its reward.
    n_rr_sets : int
        Reverse-reachable sets that expected rewards are read from (fewer where they would hold more than
        2**25 nodes together).

    Raises
    ------
    ValueError
        If the graph cannot be used, a probability is missing or outside [0, 1], or `feedback` is unknown.
    MemoryError
        If the machine has less memory free than a round needs.

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

    @checks_itself
    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Run one cascade; the arms of the feedback come in order of activation of their tails."""
        from oracles.diffusion._kernels_cascade import cascade

        if self.feedback != "edge":
            return super().play(super_arm, rng)
        seeds, n_nodes = super_arm, self.graph.n_nodes
        if type(seeds) is not np.ndarray or seeds.dtype != np.int64 or seeds.ndim != 1:
            seeds = arm_indices("super_arm", super_arm, n_nodes)
        if type(rng) is not np.random.Generator:
            rng = generator(self, rng, ())
        observed, outcomes = np.empty(self.n_arms, np.int64), np.empty(self.n_arms)
        size, seen = cascade(self.graph.out_arcs[0], self._rows, seeds, round_key(rng), observed, outcomes)
        if size < 0:  # the kernel checks as it goes, and leaves it to this to say what is wrong
            arm_indices("super_arm", super_arm, n_nodes)
        # Shrinking in place gives the rest of the memory back without a copy.
        observed.resize(seen, refcheck=False)
        outcomes.resize(seen, refcheck=False)
        return Feedback.unchecked(observed, outcomes, float(size))

    @cached_property
    def _rows(self) -> AnyArray:
        from oracles.diffusion._kernels_cascade import arcs_in_rows

        rows: AnyArray = arcs_in_rows(self.graph.out_arcs[1], self.graph.heads, self.means)
        return rows

    def _draws(self) -> tuple[AnyArray, FloatArray, FloatArray]:
        """Return positions: the coins of `cascade`."""
        return np.arange(self.n_arms), np.empty(0), self.means[self.graph.out_arcs[1]]

    def _exact(self, seeds: IntArray) -> float | None:
        return exact_spread(self.graph, self.means, seeds)

    def _n_outcomes(self) -> int:
        # Two outcomes of each edge whose coin is not certain; shifts by more than 62 would not fit.
        return 1 << min(int(((self.means > 0.0) & (self.means < 1.0)).sum()), 62)

    def _estimated(self, seeds: IntArray, cascades: int, key: int, threads: int) -> tuple[float, float]:
        return estimated_spread(self.graph, self.means, seeds, cascades, key=key, threads=threads)
