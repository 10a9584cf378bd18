"""Seeds in waves: see how far the first have spread, then choose the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, IntArray
from cmab.description import described
from cmab.feedback import Feedback
from cmab.former_arguments import formerly
from cmab.validation import arm_indices, integer, vector
from oracles.diffusion.directed_graph import DirectedGraph, as_directed_graph
from oracles.diffusion.spread import node_worths
from oracles.influence.certificate import Certificate, greedy_ratio
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.options import FORMERLY, USUAL, Search

if TYPE_CHECKING:
    import networkx as nx


class AdaptiveInfluence:
    """One campaign of several waves of seeds, each chosen when the wave before it has run its course.

    `ask` chooses `k` seeds among those who are not active, the best for what is not reached yet; `tell` takes
    in who is active when their cascade has ended. Under independent cascades nothing else needs to be known:
    all coins of edges out of active nodes have been tossed, all others are as before, so that what is left
    is influence maximisation among inactive nodes.

    What waves are worth: in expectation over the coins, `alpha` times what the best policy of as many waves
    of `k` seeds reaches that knows the means. That policy also sees each wave before it chooses the next, so
    it is never below the best ``waves * k`` seeds at once. With ``k=1`` and many waves `alpha` is nearly
    1 - 1/e.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        Who can activate whom.
    k : int
        Seeds in each wave.
    waves : int
        Number of waves; all their seeds must be candidates.
    delta : float, optional
        Probability that an answer of one of the waves lacks its ratio; as in `InfluenceMaximization`.
    epsilon, node_weights, candidates, search
        As in `InfluenceMaximization`.

    Attributes
    ----------
    active : BoolArray, shape (n_nodes,)
        Who is active.
    seeds : IntArray
        Seeds of the waves that were told, in order.
    left : int
        Waves to come.
    alpha : float
        See above.

    Raises
    ------
    ValueError
        If a number is out of its range or the graph cannot be used; at `ask`, if no wave is left or the
        means are no probabilities; at `tell`, if nothing was asked or a node is none.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import IndependentCascade
    >>> from oracles import AdaptiveInfluence, DirectedGraph
    >>> graph = DirectedGraph.from_edges([0, 0, 3, 4], [1, 2, 4, 5])
    >>> campaign = AdaptiveInfluence(graph, k=1, waves=2)
    >>> world = IndependentCascade(graph, [1.0, 1.0, 1.0, 0.0])
    >>> means, rng = np.full(4, 0.5), np.random.default_rng(0)
    >>> while campaign.left:
    ...     now = campaign.ask(means, rng).seeds
    ...     # The same generator again is the same world: the cascade of all seeds so far.
    ...     campaign.tell(world.play(np.append(campaign.seeds, now), np.random.default_rng(7)))
    >>> campaign.seeds, int(campaign.active.sum())
    (array([0, 3]), 5)

    References
    ----------
    D. Golovin, A. Krause: Adaptive Submodularity: Theory and Applications in Active Learning and Stochastic
    Optimization, JAIR 42 (2011), Theorem 5.2 and section 8 (full-adoption feedback); numbers from memory.
    K. Han, K. Huang, X. Xiao, J. Tang, A. Sun, X. Tang: Efficient Algorithms for Adaptive Influence
    Maximization, PVLDB 11 (2018), for waves of several seeds.
    """

    @formerly(**FORMERLY)
    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        waves: int,
        delta: float | None = None,
        epsilon: float | None = None,
        node_weights: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        search: Search = USUAL,
    ) -> None:
        graph = as_directed_graph(graph)
        self.waves = integer("waves", waves, 1)
        # What each wave asks; of its own, because the weights and candidates change from wave to wave.
        self._options: dict[str, Any] = {"epsilon": epsilon, "search": search}
        whole = InfluenceMaximization(
            graph, k, delta=delta, node_weights=node_weights, candidates=candidates, **self._options
        )
        self.k = whole.k
        integer("waves", waves, 1, int(whole.candidates.sum()) // self.k)
        self._uncertified = whole._uncertified
        self.graph, self.candidates, self.delta = graph, whole.candidates, whole.delta
        self.epsilon, self.node_weights = whole.epsilon, whole.node_weights
        # Golovin and Krause 2011, Theorem 5.2, with a finite number of waves: of the gap to the best policy,
        # each closes ratio / waves in expectation; a wave that fails, with the probability that it may,
        # closes nothing.
        each = (greedy_ratio(self.k) - self.epsilon) * (1.0 - self.delta / self.waves)
        self.alpha = 1.0 - (1.0 - each / self.waves) ** self.waves
        self.active: BoolArray = np.zeros(graph.n_nodes, np.bool_)
        self.seeds: IntArray = np.empty(0, np.int64)
        self.left = self.waves
        self._asked: IntArray | None = None

    def __repr__(self) -> str:
        return described(self)

    def ask(self, means: ArrayLike, rng: np.random.Generator) -> Certificate:
        """Return the seeds of the next wave; what is certified is the weight that they add.

        Fewer than `k` are left where nearly everybody is active already, or none. Asking again before `tell`
        chooses anew.

        Parameters
        ----------
        means : array_like, shape (n_arcs,)
            Probability of each edge, as it is known by now.
        rng : numpy.random.Generator
            Source of all randomness.
        """
        if self.left == 0:
            raise ValueError(f"ask must come at most once for each of {self.waves} waves, got one more")
        free = np.flatnonzero(self.candidates & ~self.active)
        size = min(self.k, len(free))
        worths = np.where(self.active, 0.0, node_worths(self.graph, self.node_weights))
        if size == 0 or not worths.any():
            # Nobody is left to be won: any seeds are the best.
            self._asked = free[:size]
            return Certificate(self._asked, 1.0, True, 0.0, 0.0, 0, 0, 0)
        oracle = InfluenceMaximization(
            self.graph,
            size,
            candidates=free,
            node_weights=worths if self.active.any() else self.node_weights,
            delta=self.delta / self.waves,
            **self._options,
        )
        oracle._uncertified = self._uncertified
        # Arcs out of active nodes have had their chance, arcs into them nothing to win.
        touched = self.active[self.graph.tails] | self.active[self.graph.heads]
        probabilities = np.where(touched, 0.0, vector("means", means, self.graph.n_arcs, 0.0, 1.0))
        answer = oracle.solve_certified(probabilities, rng)
        self._asked = answer.seeds
        return answer

    def tell(self, reached: ArrayLike | Feedback) -> None:
        """Take in who is active when the cascade of the seeds that were asked for has ended.

        Parameters
        ----------
        reached : array_like of int, or Feedback
            Nodes that are active; those who were active before, and the seeds, need not be told again. Or the
            feedback, edge by edge, of the cascade of this wave's seeds or of all seeds so far.
        """
        if self._asked is None:
            raise ValueError("tell must follow ask, got nothing that was asked for")
        if isinstance(reached, Feedback):
            reached = np.unique(self.graph.heads[reached.arms[reached.outcomes > 0.0]])
        nodes = arm_indices("reached", reached, self.graph.n_nodes)
        self.seeds = np.append(self.seeds, self._asked)
        self.active[self._asked] = True
        self.active[nodes] = True
        self.left, self._asked = self.left - 1, None
