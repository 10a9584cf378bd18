"""Influence maximisation with a deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.validation import integer
from oracles.diffusion.delays import Delays, TimedSets
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import ReverseGraph
from oracles.diffusion.spread import MOST_CASCADES, node_worths
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.options import USUAL, Search

if TYPE_CHECKING:
    import networkx as nx

_CASCADES = 2000


class DeadlineInfluence(InfluenceMaximization):
    """The `k` nodes that activate the most nodes by a deadline, with OPIM-C's guarantee.

    A node that becomes active sends one message along each outgoing edge. The message takes a random time of
    known distribution and succeeds with the edge's mean. Arms, super arms, ``alpha``, ``beta`` and the search
    are those of `InfluenceMaximization`. A reverse-reachable set has the nodes that reach its root by the
    deadline.

    There are three delay models. Without `meeting` and `rates`, each message takes one step, and the deadline
    is a number of hops. With `meeting`, two people meet in each step with this probability, and the message
    takes until their first meeting (the IC-M model). With `rates`, time is continuous and delays are
    exponential.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        The number of seeds, in ``[1, number of candidates]``.
    deadline : float
        The time up to which activations count, positive. Seeds are active at time 0.
    meeting : float or array_like, shape (n_arms,), optional
        The probability of a meeting in a step, in (0, 1]. A scalar applies to all edges.
    rates : float or array_like, shape (n_arms,), optional
        One over the mean delay, positive. A scalar applies to all edges. Give either `rates` or `meeting`.
    delta : float, optional
        The probability that the guarantee of a call fails. The default is one over the number of arms, but at
        most 1/2.
    epsilon : float, optional
        The accuracy, in (0, 1 - (1 - 1/k)^k); 0.1 by default.
    node_weights, candidates, search
        As in `InfluenceMaximization`, except that `search` must not have a sampler.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DeadlineInfluence, DirectedGraph
    >>> chain_or_star = DirectedGraph.from_edges([0, 1, 2, 3, 5, 5], [1, 2, 3, 4, 6, 7])
    >>> means, rng = np.full(6, 0.9), np.random.default_rng(0)
    >>> [DeadlineInfluence(chain_or_star, k=1, deadline=hops).solve(means, rng).tolist() for hops in (1, 4)]
    [[5], [0]]

    References
    ----------
    W. Chen, W. Lu, N. Zhang: Time-Critical Influence Maximization in Social Networks with Time-Delayed
    Diffusion Process, AAAI 2012 (IC-M).
    N. Du, L. Song, M. Gomez-Rodriguez, H. Zha: Scalable Influence Estimation in Continuous-Time Diffusion
    Networks, NIPS 2013.
    Y. Tang, Y. Shi, X. Xiao: Influence Maximization in Near-Linear Time: A Martingale Approach, SIGMOD 2015,
    on sets in continuous time (section number from memory: 4.3).
    """

    #: Reports of people do not show which messages were still under way.
    _people_tell_coins: ClassVar[bool] = False
    _fixed: ClassVar[Mapping[str, Any]] = {"sampler": "coins"}

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        deadline: float,
        meeting: ArrayLike | None = None,
        rates: ArrayLike | None = None,
        delta: float | None = None,
        epsilon: float | None = None,
        node_weights: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        search: Search = USUAL,
    ) -> None:
        super().__init__(
            graph,
            k,
            delta=delta,
            epsilon=epsilon,
            node_weights=node_weights,
            candidates=candidates,
            search=search,
        )
        self.delays = Delays.of(self.graph, deadline, meeting, rates)
        self.deadline, self.meeting, self.rates = deadline, self.delays.meeting, self.delays.rates
        # Some messages of a sender arrive in time and others do not, so the edges out of a node are not a
        # cluster.
        self.clusters = None

    def spread(
        self, super_arm: IntArray, means: FloatArray, *, cascades: int = _CASCADES
    ) -> tuple[float, float]:
        """Return the mean number (or weight) of nodes active by the deadline, and its standard error.

        The mean is over `cascades` simulated cascades with the same random numbers in every call.
        """
        probabilities = self._probabilities(means)
        cascades = integer("cascades", cascades, 2, MOST_CASCADES)
        return self.delays.spread(
            self.graph, probabilities, super_arm, cascades, node_weights=self.node_weights
        )

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """Return None: the probabilities depend on delays, which cannot be enumerated."""
        return None

    def _reached(self, probabilities: FloatArray) -> float:
        worths, tails, heads = node_worths(self.graph, self.node_weights), self.graph.tails, self.graph.heads
        reach = self.candidates.astype(np.float64)
        for hops in range(1, self.graph.n_nodes):
            # Give each hop of a path an equal part of the time: a lower bound on the probability of being in
            # time.
            chances = probabilities * self.delays.chances_within(self.deadline / hops)
            further = self.candidates.astype(np.float64)
            for _ in range(hops):
                before, further = further, further.copy()
                np.maximum.at(further, heads, before[tails] * chances)
            worth = float((further * worths).max())
            if worth > 0.0 or np.array_equal(further > 0.0, reach > 0.0):
                return worth
            reach = further
        return 0.0

    def _reverse_graph(self, probabilities: FloatArray) -> ReverseGraph:
        return TimedSets.within(self.delays, self.graph, probabilities, self.node_weights)
