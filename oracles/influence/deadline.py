"""Influence maximisation up to a deadline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.former_arguments import formerly
from cmab.validation import integer
from oracles.diffusion.delays import Delays, TimedSets
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import ReverseGraph
from oracles.diffusion.spread import MOST_CASCADES, node_worths
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.options import FORMERLY, USUAL, Search

if TYPE_CHECKING:
    import networkx as nx

_CASCADES = 2000


class DeadlineInfluence(InfluenceMaximization):
    """The k nodes that activate the most nodes by a deadline, with OPIM-C's guarantee.

    Who becomes active sends a message along each edge out, once. It takes some time, of a known law, and
    succeeds with the edge's mean. Arms, super arms, ``alpha`` and ``beta`` are those of
    `InfluenceMaximization`, and so is the search: its reverse-reachable sets are those who reach a root by
    the deadline.

    Delays are one of three. With neither `meeting` nor `rates` a message takes one step, and the deadline is
    a number of hops. With `meeting` probabilities people meet in each step with these, and the message takes
    until they first do: the IC-M model. With `rates` time is continuous, and delays are exponential.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        Who can activate whom.
    k : int
        Number of seeds, in ``[1, number of candidates]``.
    deadline : float
        Time up to which activations count, positive; seeds are active at time 0.
    meeting : float or array_like, shape (n_arms,), optional
        Probability to meet in a step, in (0, 1], for all edges or for each.
    rates : float or array_like, shape (n_arms,), optional
        One over the mean delay, positive, in place of `meeting`.
    delta : float, optional
        Probability of failure of a call; one over the number of arms if left out, at most 1/2.
    epsilon : float, optional
        Accuracy, in (0, 1 - (1 - 1/k)^k); 0.1 if left out.
    node_weights, candidates, search
        As in `InfluenceMaximization`, but for a sampler.

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

    #: Which messages were still under way, people do not tell.
    _people_tell_coins: ClassVar[bool] = False
    _fixed: ClassVar[Mapping[str, Any]] = {"sampler": "coins"}

    @formerly(**FORMERLY)
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
        # Of the messages of one sender, some come in time and others do not.
        self.clusters = None

    def spread(
        self, super_arm: IntArray, means: FloatArray, *, cascades: int = _CASCADES
    ) -> tuple[float, float]:
        """Return the mean number (or weight) of nodes active by the deadline, and its standard error.

        From `cascades` with fixed coins and delays, the same in every call.
        """
        probabilities = self._probabilities(means)
        cascades = integer("cascades", cascades, 2, MOST_CASCADES)
        return self.delays.spread(
            self.graph, probabilities, super_arm, cascades, node_weights=self.node_weights
        )

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:  # noqa: ARG002
        """Return None: they depend on times, which are not enumerated."""
        return None

    def _reached(self, probabilities: FloatArray) -> float:
        worths, tails, heads = node_worths(self.graph, self.node_weights), self.graph.tails, self.graph.heads
        reach = self.candidates.astype(np.float64)
        for hops in range(1, self.graph.n_nodes):
            # On a way of so many hops each has its equal part of the time: a lower bound on being in time.
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
