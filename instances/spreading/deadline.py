"""Independent cascades with delays and a deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, FloatArray, IntArray
from cmab.environment import round_key
from cmab.feedback import Feedback
from instances.spreading.independent_cascade import IndependentCascade
from oracles import DirectedGraph
from oracles.diffusion.delays import Delays, TimedSets
from oracles.diffusion.reverse_sets import ReverseGraph

if TYPE_CHECKING:
    import networkx as nx


class DeadlineCascade(IndependentCascade):
    """Independent cascades with delayed messages; nodes that become active after the deadline do not count.

    Every node that becomes active sends a message along each of its out-edges. When the message arrives, it
    succeeds with the probability of the edge. The feedback has the outcomes of all messages that arrive by
    the deadline, also to nodes that are active already. Which outcomes are observed depends on delays and
    other outcomes, never on the observed outcomes themselves, so they are unbiased. The reward is the number
    of active nodes at the deadline. Outcomes equal those of `IndependentCascade` in the same round, so with
    an unlimited deadline the same nodes become active.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The graph of possible influence.
    probability : str or array_like
        As in `IndependentCascade`.
    deadline, meeting, rates
        As in `DeadlineInfluence`: each edge takes one step, or the time until its nodes meet, or an
        exponential time.
    k : int, optional
        Number of seeds for `optimum`.
    n_rr_sets : int
        Number of reverse-reachable sets from which expected rewards are estimated.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import DeadlineCascade
    >>> from oracles import DirectedGraph
    >>> chain = DirectedGraph.from_edges([0, 1, 2], [1, 2, 3])
    >>> environment = DeadlineCascade(chain, [1.0, 1.0, 1.0], deadline=2, k=1, n_rr_sets=1000)
    >>> environment.play(np.array([0]), np.random.default_rng(0))
    Feedback(arms=array([0, 1]), outcomes=array([1., 1.]), reward=3.0, pulls=None, squares=None)

    References
    ----------
    W. Chen, W. Lu, N. Zhang: Time-Critical Influence Maximization in Social Networks with Time-Delayed
    Diffusion Process, AAAI 2012.
    """

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        probability: str | ArrayLike = "p",
        *,
        deadline: float,
        meeting: ArrayLike | None = None,
        rates: ArrayLike | None = None,
        k: int | None = None,
        n_rr_sets: int = 2**20,
    ) -> None:
        super().__init__(graph, probability, k=k, n_rr_sets=n_rr_sets)
        self.delays = Delays.of(self.graph, deadline, meeting, rates)
        self.deadline, self.meeting, self.rates = deadline, self.delays.meeting, self.delays.rates

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Run one cascade; the arms of the feedback are in order of activation of their tails."""
        super_arm = self._check_super_arm(super_arm)
        from oracles.diffusion._kernels_deadlines import timed_cascade

        graph, n, m = self.graph, self.graph.n_nodes, self.n_arms
        world = self.delays.along(*graph.out_arcs, graph.out_heads, self.means)
        active, observed, outcomes = np.empty(n, np.int64), np.empty(m, np.int64), np.empty(m)
        times, heap, keys = np.full(n, np.inf), np.empty(n + m, np.int64), np.empty(n + m)
        size, seen = timed_cascade(
            world,
            graph.out_arcs[1],
            super_arm,
            round_key(rng),
            times,
            heap,
            keys,
            active,
            observed,
            outcomes,
        )
        return Feedback.unchecked(observed[:seen].copy(), outcomes[:seen].copy(), float(size))

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:  # noqa: ARG002
        """Return None, because the probabilities depend on delays, which are not enumerated."""
        return None

    def _reverse(self) -> ReverseGraph:
        return TimedSets.within(self.delays, self.graph, self.means)

    def _exact(self, seeds: IntArray) -> float | None:  # noqa: ARG002
        return None

    def _estimated(self, seeds: IntArray, cascades: int, key: int, threads: int) -> tuple[float, float]:
        return self.delays.spread(self.graph, self.means, seeds, cascades, key=key, threads=threads)
