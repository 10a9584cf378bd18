"""Adaptive influence maximisation: observe the spread of each wave of seeds, then choose the next wave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, IntArray
from cmab.description import described
from cmab.feedback import Feedback
from cmab.validation import arm_indices, integer, vector
from oracles.diffusion.directed_graph import DirectedGraph, as_directed_graph
from oracles.diffusion.spread import node_worths
from oracles.influence.certificate import Certificate, greedy_ratio
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.options import USUAL, Search

if TYPE_CHECKING:
    import networkx as nx


class AdaptiveInfluence:
    """A campaign of several waves of seeds, where each wave is chosen after the cascade of the one before.

    `ask` chooses the best `k` inactive seeds for the inactive part of the graph. `tell` records the nodes
    that are active when their cascade has ended. Under independent cascades nothing else is needed: the edges
    out of active nodes have been tried, and all other edges are as before, so the remaining problem is
    influence maximisation among inactive nodes.

    Guarantee: the expected spread of all waves is at least `alpha` times that of the best policy that knows
    the means and uses as many waves of `k` seeds. That policy also observes each wave before it chooses the
    next, so its spread is at least that of the best ``waves * k`` seeds chosen at once. With ``k=1`` and many
    waves, `alpha` is close to 1 - 1/e.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        The number of seeds in each wave.
    waves : int
        The number of waves. There must be at least ``waves * k`` candidates.
    delta : float, optional
        The probability that the guarantee of some wave fails. The default is that of `InfluenceMaximization`.
    epsilon, node_weights, candidates, search
        As in `InfluenceMaximization`.

    Attributes
    ----------
    active : BoolArray, shape (n_nodes,)
        The nodes that are active.
    seeds : IntArray
        The seeds of the waves reported so far, in order.
    left : int
        The number of waves that remain.
    alpha : float
        The ratio described above.

    Raises
    ------
    ValueError
        If a number is out of range or the graph is invalid. In `ask`, if no wave is left or the means are not
        probabilities. In `tell`, if it does not follow `ask` or a node is not in the graph.

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
        # The options of the oracle of each wave. The oracle is new in each wave: weights and candidates
        # change.
        self._options: dict[str, Any] = {"epsilon": epsilon, "search": search}
        whole = InfluenceMaximization(
            graph, k, delta=delta, node_weights=node_weights, candidates=candidates, **self._options
        )
        self.k = whole.k
        integer("waves", waves, 1, int(whole.candidates.sum()) // self.k)
        self._uncertified = whole._uncertified
        self.graph, self.candidates, self.delta = graph, whole.candidates, whole.delta
        self.epsilon, self.node_weights = whole.epsilon, whole.node_weights
        # Golovin and Krause 2011, Theorem 5.2, with a finite number of waves. In expectation, each wave
        # closes ratio / waves of the gap to the best policy. A wave whose guarantee fails, which has
        # probability at most delta / waves, closes nothing.
        each = (greedy_ratio(self.k) - self.epsilon) * (1.0 - self.delta / self.waves)
        self.alpha = 1.0 - (1.0 - each / self.waves) ** self.waves
        self.active: BoolArray = np.zeros(graph.n_nodes, np.bool_)
        self.seeds: IntArray = np.empty(0, np.int64)
        self.left = self.waves
        self._asked: IntArray | None = None

    def __repr__(self) -> str:
        return described(self)

    def ask(self, means: ArrayLike, rng: np.random.Generator) -> Certificate:
        """Return the seeds of the next wave; the certificate is about the weight that they add.

        There are fewer than `k` seeds (possibly 0) if fewer inactive candidates remain. A second `ask` before
        `tell` chooses again.

        Parameters
        ----------
        means : array_like, shape (n_arcs,)
            The current estimate of the probability of each edge.
        rng : numpy.random.Generator
            Source of all randomness.
        """
        if self.left == 0:
            raise ValueError(f"ask must come at most once for each of {self.waves} waves, got one more call")
        free = np.flatnonzero(self.candidates & ~self.active)
        size = min(self.k, len(free))
        worths = np.where(self.active, 0.0, node_worths(self.graph, self.node_weights))
        if size == 0 or not worths.any():
            # No node can be gained, so any seeds are optimal.
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
        # The arcs out of active nodes have been tried; the arcs into active nodes cannot activate anybody.
        touched = self.active[self.graph.tails] | self.active[self.graph.heads]
        probabilities = np.where(touched, 0.0, vector("means", means, self.graph.n_arcs, 0.0, 1.0))
        answer = oracle.solve_certified(probabilities, rng)
        self._asked = answer.seeds
        return answer

    def tell(self, reached: ArrayLike | Feedback) -> None:
        """Record the nodes that are active after the cascade of the seeds of the last `ask`.

        Parameters
        ----------
        reached : array_like of int, or Feedback
            The active nodes; seeds and nodes that were active before may be omitted. Alternatively, the
            feedback by edges for the cascade of this wave's seeds or of all seeds so far.
        """
        if self._asked is None:
            raise ValueError("tell must follow a call of ask, got no open wave")
        if isinstance(reached, Feedback):
            reached = np.unique(self.graph.heads[reached.arms[reached.outcomes > 0.0]])
        nodes = arm_indices("reached", reached, self.graph.n_nodes)
        self.seeds = np.append(self.seeds, self._asked)
        self.active[self._asked] = True
        self.active[nodes] = True
        self.left, self._asked = self.left - 1, None
