"""Influence maximisation that reuses its reverse-reachable sets in later calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.validation import integer
from oracles.diffusion._tables import limits_of
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import SetCollection
from oracles.influence._reused_sets import FirstSets, Sample, sample_under, search_with, trimmed
from oracles.influence.maximization import InfluenceMaximization
from oracles.influence.options import USUAL, Search
from oracles.influence.search import Found, Plan

if TYPE_CHECKING:
    import networkx as nx

# The largest number of nodes in the first 64 sets. Measured on the graphs of the benchmark: for larger sets
# it is faster to stop each set at its first seed, as the ordinary search does. Often the first 8 sets show
# this.
_MOST_NODES, _PROBES = 384, (8, 64)
# If a sample has this many times the sets that the last call used, the other sets are discarded.
_TOO_MANY = 4


class RepairedInfluence(InfluenceMaximization):
    """`InfluenceMaximization` that keeps the choosing sample and repairs it for the means of each call.

    The sample that chooses the seeds depends on the parameter `rng` of the oracle and not on the call: the
    random number of an edge in a set is a hash of (`rng`, set, edge), which is compared with the mean of the
    edge. From one call to the next, a set changes only if such a number is between the old and the new mean
    of its edge. The oracle searches for these numbers in the sets that contain the head of the edge, and
    draws the affected sets again. The result is the same, set for set, as a new sample. So an answer depends
    only on the means, the parameter `rng` and the generator of the call. Earlier calls change the time of a
    call, but not its answer. A copy of the oracle, or a worker process, starts without sets.

    **Guarantee.** In every call, given the entire past, the spread of the seeds is at least
    `Certificate.ratio` times the optimum, and at least ``alpha`` times the optimum, with probability at least
    ``beta``. The means may depend on earlier answers, on the parameter `rng` and on the kept sets, but not on
    the future random numbers of the generator. So pass the same generator to all calls. Do not create a
    generator from the round, the means or the parameter `rng`, because the past may already depend on its
    numbers. OPIM-C bounds the optimum from the choosing sample, which it assumes to be independent of the
    means. Here, this bound is only a heuristic. A second sample, new in every call, bounds both the optimum
    and the spread of the seeds. At the size where OPIM-C needs no test, the choice is made from a new sample,
    too.

    **Limitation.** All calls share a sample, so its errors recur in each round, and in each replication with
    the same parameter `rng`. The answers then vary less than those of `InfluenceMaximization`, and explore
    less by chance.

    This oracle is moderately faster if the sets are small and most means change little from call to call. It
    is not faster under Thompson sampling, where all means change. If certain edges are contracted, if sets of
    one node are omitted, or if sets have more than six nodes on average, a call is an ordinary call of
    `InfluenceMaximization`. The kept sample takes 12 bytes per edge, 8 bytes per set and 8 bytes per node of
    each set.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        The number of seeds, in ``[1, number of candidates]``.
    delta : float, optional
        The probability that the guarantee of a call fails, in (0, 1). The default is one over the number of
        arms, but at most 1/2.
    epsilon : float, optional
        The accuracy, in (0, 1 - (1 - 1/k)^k); 0.1 by default.
    rng : int
        The seed of the sample that chooses, nonnegative.
    node_weights, candidates, search
        As in `InfluenceMaximization`, except that `search` must not have a time limit or a sampler. Its
        threads draw only the sets that are not kept.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, RepairedInfluence
    >>> graph = DirectedGraph.from_edges([0, 1, 3], [1, 2, 1])
    >>> oracle, means = RepairedInfluence(graph, k=1, epsilon=0.2), np.array([0.5, 0.9, 0.2])
    >>> oracle.solve(means, np.random.default_rng(0))
    array([0])
    >>> means[2] = 0.95
    >>> oracle.solve(means, np.random.default_rng(1))
    array([3])

    References
    ----------
    J. Tang, X. Tang, X. Xiao, J. Yuan: Online Processing Algorithms for Influence Maximization, SIGMOD 2018,
    section 4. Repair, and the bound on the optimum from the second sample, are our derivation.
    """

    _fixed: ClassVar[Mapping[str, Any]] = {"sampler": "auto", "time_limit": None}

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        rng: int = 0,
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
        self.rng = integer("rng", rng, 0)
        # Samples are replaced, never changed, so threads that share this object do not interfere.
        self._sample: Sample | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sample": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # In pickles of version 0.2, this attribute is called "seed".
        self.__dict__ |= {"rng" if name == "seed" else name: value for name, value in state.items()}

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        restricted = self._restricted(available)
        seeds = restricted.solve(means, rng)
        self._sample = restricted._sample  # the sets do not depend on the candidates
        return seeds

    def _search(self, plan: Plan, k: int, allowed: BoolArray) -> Found:
        reverse = plan.reverse
        if reverse.n_components < self.graph.n_nodes or len(reverse.world.gammas) > 0:
            return super()._search(plan, k, allowed)
        # Include impossible arcs in this array, because the random numbers belong to positions in it.
        offsets, arms = self.graph.in_arcs
        known = reverse.world.limits
        is_whole = reverse.world.arms is arms
        limits = known.copy() if is_whole else limits_of(reverse.world.chances, arms, self.threads)
        world = reverse.world._replace(offsets=offsets, tails=self.graph.in_tails, limits=limits, arms=arms)
        sample, used, examined = self._sample, 0, 0

        def first_sets(n_sets: int) -> SetCollection:
            nonlocal sample, used, examined
            if sample is None or sample.limits is not limits or n_sets > sample.n_sets:
                sample = sample_under(world, self.rng, n_sets, sample)
                examined += sample.edges_examined
            used = n_sets
            return FirstSets(reverse, self.rng, sample, n_sets)

        try:
            is_ordinary = any(first_sets(few).ends[-1] > _MOST_NODES for few in _PROBES)
            found = None if is_ordinary else search_with(plan, first_sets, k, allowed)
        except MemoryError:
            # The ordinary search stores one sample instead of two, and its bounds do not depend on this
            # search.
            sample, found = None, None
        if found is None:
            found = super()._search(plan, k, allowed)
        if sample is not None and sample.n_sets >= _TOO_MANY * used > 0:
            sample = trimmed(sample, used)
        self._sample = sample
        return replace(found, edges_examined=found.edges_examined + examined)
