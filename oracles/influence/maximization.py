"""Influence maximisation under the independent-cascade model."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import Model, ReverseGraph, SetCollection
from oracles.influence._choosing import choose_some, first_of_largest
from oracles.influence._cluster import Call, Cluster, RemotePlan, RemoteSets, check_client, until_done
from oracles.influence._sentinels import place_sentinels, sampled_graph
from oracles.influence._time_limit import sets_until
from oracles.influence.base import InfluenceOracle
from oracles.influence.certificate import Certificate, Schedule, greedy_ratio, log_binomial
from oracles.influence.options import USUAL, Search
from oracles.influence.search import Found, Plan, find

if TYPE_CHECKING:
    import networkx as nx

# If arcs are contracted, sets are cheap. A first sample for the few remaining components alone would be so
# small that the seeds are worse. Measured on upper confidence bounds of CUCB.
_AHEAD = 2


class InfluenceMaximization(InfluenceOracle):
    """The `k` nodes with the largest expected spread, found by OPIM-C on reverse-reachable sets.

    Base arms are the directed edges of the graph in the order of ``graph.edges``. Edge i of an undirected
    graph is two arms, 2i and 2i + 1, one for each direction. Parallel edges are separate arms, and self-loops
    are rejected. A super arm lists k nodes, the seeds, by their positions in ``graph.nodes``, in the order of
    the greedy choice. It triggers the edges out of every node that becomes active.

    With probability at least ``beta = 1 - delta``, the spread of the seeds is at least
    ``alpha = 1 - (1 - 1/k)^k - epsilon`` times the optimum. This ratio is ``1 - epsilon`` for one seed and
    above ``1 - 1/e - epsilon`` for any number of seeds.

    A reverse-reachable set contains the nodes from which a random node can be reached along edges that
    succeed. The spread of seeds is proportional to the share of sets that contain a seed. A call draws two
    independent samples of sets. The first sample chooses the seeds and bounds the optimum; the second sample
    validates the seeds. The call doubles both samples until the ratio is certified. The first sets show which
    sizes are too small, so the call skips these. The bounds (binomial tails) are at least as sharp as
    those of OPIM-C. The answer depends neither on the number of threads, because each random number is a
    function of a key from `rng` and the number of its set, nor on earlier calls, because a call reuses
    nothing from them.

    The probabilities determine how the sets are drawn. This changes the time of the call, but not its
    guarantee:

    1. Certain edges (probability 1) are contracted with their strong components if there are more than half
       as many certain edges as nodes. With optimistic bounds, most probabilities are 1 for hundreds of
       rounds.
    2. Each edge into a node of a set is tried with its own random number. If a node has at least 15
       incoming edges and their largest probability is small, one random number skips several failed edges
       (``"skips"``).
    3. If less than 20 % of the nodes are expected to have an incoming edge that succeeds, sets of one node
       are omitted and their probability is computed exactly (``"pairs"``): SKIS, Nguyen et al. 2017. On
       graphs with large sets, rule 4 applies instead.
    4. If the first sets have more than a dozen nodes each and a few nodes are in most of these
       sets, those nodes become seeds (sentinels), and the drawing of a set ends as soon as it contains one of
       them (``"sentinels"``): HIST, Guo et al. 2020. If a sample shows that other seeds are better, or would
       be certified sooner, its sets are drawn completely.
    5. The validation of a set ends as soon as the set contains a seed. The validation of a sample ends early
       if it can no longer succeed.

    Memory: during a call, 8 bytes per arc and 100 bytes per node; with the graph, 8 to 16 bytes per arc
    remain. The stored sample takes 8 bytes per set and 8 bytes per node of each set.

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
    node_weights : array_like, optional
        The weight of each node if it is active, nonnegative; 1 by default (targeted influence).
    candidates : array_like of int, optional
        The nodes that may be seeds; by default all of them.
    model : {"ic", "lt"}
        Independent cascade or linear threshold. For ``"lt"`` the means are weights, and the weights of the
        edges into a node must sum to at most 1 (optimistic bounds usually exceed this). Reverse-reachable
        sets are then walks, and `Search.sampler` is ignored.
    search : Search
        The number of reverse-reachable sets, the way they are drawn, and the quality of the seeds: see
        `Search`.
    backend : distributed.Client, optional
        A Dask client. The sets are then drawn, stored and counted on the workers of its cluster, to which the
        graph is sent once, and the probabilities in each call. The seeds and the certificate are those of a
        call without a cluster, also if workers are lost or added during the call. If the graph is a
        `StoredGraph`, only its path is sent, so every worker needs a copy of the store at this path.

    Raises
    ------
    ValueError
        If a number is out of range or the graph is invalid.
    MemoryError
        In a call, if the arcs and nodes do not fit into memory (24 bytes per arc and 100 bytes per node).
    ImportError
        If `backend` is given and Dask is missing; the extra ``cmab[dask]`` installs it.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import InfluenceMaximization
    >>> oracle = InfluenceMaximization(nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("dan", "bob")]), k=1)
    >>> seeds = oracle.solve(np.array([0.9, 0.9, 0.9]), np.random.default_rng(0))
    >>> oracle.labels(seeds), oracle.expected_reward(seeds, np.array([0.9, 0.9, 0.9]))
    (['ann'], 2.8)

    References
    ----------
    W. Chen, Y. Wang, Y. Yuan, Q. Wang: Combinatorial Multi-Armed Bandit and Its Extension to
    Probabilistically Triggered Arms, JMLR 17 (2016), section 4.3.
    J. Tang, X. Tang, X. Xiao, J. Yuan: Online Processing Algorithms for Influence Maximization, SIGMOD 2018.
    """

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        node_weights: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        model: Model = "ic",
        search: Search = USUAL,
        backend: Any = None,
    ) -> None:
        if backend is not None:
            check_client(backend)
            self._cluster = Cluster(backend)
        super().__init__(graph, k, node_weights=node_weights, candidates=candidates, model=model)
        self._promise(greedy_ratio(self.k), epsilon, delta, search)
        self.time_limit, self._uses_all_time = search.time_limit, search.quality is None
        self.sampler, self.threads = self._fixed.get("sampler", search.sampler), search.threads

    @cached_property
    def _cluster(self) -> Cluster:
        # A cached property is not a parameter of the oracle: a saved session opens with or without a cluster.
        return Cluster()

    @property
    def backend(self) -> Any:
        """The Dask client of the cluster that draws the sets, or None."""
        # Asked of `vars`, so that a look at it adds nothing to what is pickled.
        return self._cluster.client if "_cluster" in vars(self) else None

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return k node numbers in the order of the greedy choice."""
        return self.solve_certified(means, rng).seeds

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> Certificate:
        """Return k seeds with their certified ratio, their estimated spread and the effort of the search."""
        found, seeds, reverse = self._found(self._probabilities(means), rng)
        answer = found.certificate(seeds, self.alpha, reverse.n_components)
        return self._uncertified.see(answer, self.alpha, type(self).__name__)

    def optimum_bound(self, means: FloatArray, rng: np.random.Generator) -> float:
        """Return an upper bound on the spread of any seeds; it holds with probability `beta`.

        It is the bound that the search computes to certify its seeds.
        """
        return self._found(self._probabilities(means), rng)[0].optimum

    def _found(
        self, probabilities: FloatArray, rng: np.random.Generator
    ) -> tuple[Found, IntArray, ReverseGraph]:
        """Return the result of the search, its seeds as node numbers, and the sampled graph."""
        started = time.perf_counter()
        choosing, validating = (int(key) for key in rng.integers(0, 2**62, 2))
        reverse = self._reverse_graph(probabilities)
        lowest = reverse.representatives(self.candidates)
        allowed = lowest >= 0
        k = min(self.k, int(allowed.sum()))
        largest = first_of_largest(np.where(allowed, reverse.masses, -1.0), k)
        by_themselves = float(reverse.masses[largest].sum())
        floor = by_themselves or self._reached(probabilities)
        if len(reverse.world.tails) == 0 or k == reverse.n_components or floor == 0.0:
            # No edges join components, all components are chosen, or no node of positive weight can be
            # reached.
            found = Found(largest, 1.0, by_themselves, 0.0, 0, 0, by_themselves, by_themselves)
        else:
            plan = self._plan(reverse, k, allowed, floor, (choosing, validating))
            if self.time_limit is not None:
                plan = self._within(started + self.time_limit, plan, k, allowed, rng)
            if self.backend is None:
                found = self._search(plan, k, allowed)
            else:
                found = until_done(
                    self._cluster,
                    lambda: self._search(self._on_cluster(plan, probabilities, allowed), k, allowed),
                )
        return found, self._filled(lowest[found.chosen]), reverse

    def _on_cluster(self, plan: Plan, probabilities: FloatArray, allowed: BoolArray) -> RemotePlan:
        """Return the plan with its sets on the workers of the cluster."""
        options = {"node_weights": self.node_weights, "sampler": self.sampler, "model": self.model}
        call = Call(self._cluster, self.graph, probabilities, options, allowed)
        return RemotePlan(**vars(plan), call=call)

    def _search(self, plan: Plan, k: int, allowed: BoolArray) -> Found:
        """Return `k` of the allowed components."""
        reverse = plan.reverse
        forced = self.sampler == "sentinels"
        may_stop = forced or (self.sampler == "auto" and len(reverse.world.gammas) == 0)
        # The greedy choice may lose a quarter of the difference between greedy's ratio and `alpha` on each
        # sample.
        least_share = self.alpha + 0.75 * self.epsilon

        def choose(sets: SetCollection, log_term: float, is_last: bool) -> tuple[IntArray, int, float]:
            if isinstance(sets, RemoteSets):
                from oracles.influence._remote_choice import choose_remotely

                return choose_remotely(sets, k, allowed, log_term, is_last, least_share)
            return choose_some(sets, k, allowed, log_term, is_last, least_share)

        def place(sets: SetCollection, n_sets: int) -> None:
            placing = partial(place_sentinels, k=k, allowed=allowed, always=forced)
            if isinstance(sets, RemoteSets):
                sets.placed(placing, n_sets)
            else:
                placing(sets, n_sets)

        return find(plan, choose, place if may_stop else None)

    def _within(
        self, deadline: float, plan: Plan, k: int, allowed: BoolArray, rng: np.random.Generator
    ) -> Plan:
        """Return `plan` with as many sets as `deadline` allows, estimated by trial searches with other sets.

        The number of sets depends on the clock and the trial sets only. Both are independent of the sets of
        the certificate.
        """
        others = tuple(int(key) for key in rng.integers(0, 2**62, 2))

        def tried(n_sets: int) -> Found:
            return self._search(plan.of_size(n_sets, keys=(others[0], others[1])), k, allowed)

        most = sets_until(deadline, plan.max_sets, tried)
        return plan.of_size(most) if self._uses_all_time else replace(plan, max_rr_sets=2 * most)

    def _plan(
        self, reverse: ReverseGraph, k: int, allowed: BoolArray, floor: float, keys: tuple[int, int]
    ) -> Plan:
        """Return the plan of the search for `k` components, the best of which reach at least `floor`."""
        log_choices = log_binomial(int(allowed.sum()), k)
        schedule = Schedule.of(
            reverse.total_weight,
            log_choices,
            floor,
            self.epsilon,
            self.delta,
            self.first_rr_sets,
            _AHEAD if reverse.n_components < self.graph.n_nodes else 1,
            greedy_ratio(self.k),  # with fewer components to choose from, the ratio is higher
        )
        return Plan(
            reverse,
            schedule,
            self.alpha,
            keys,
            self.max_rr_sets,
            self.threads,
            least_hits=self._least_hits(log_choices),
        )

    def _reverse_graph(self, probabilities: FloatArray) -> ReverseGraph:
        """Return the graph from which the reverse-reachable sets are sampled."""
        return sampled_graph(
            self.graph,
            probabilities,
            node_weights=self.node_weights,
            sampler=self.sampler,
            model=self.model,
            threads=self.threads,
        )
