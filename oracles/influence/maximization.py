"""Influence maximisation under the independent-cascade model."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.former_arguments import formerly
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import Model, ReverseGraph, SetCollection
from oracles.influence._choosing import choose_some
from oracles.influence._sentinels import place_sentinels
from oracles.influence._time_limit import sets_until
from oracles.influence.base import InfluenceOracle
from oracles.influence.certificate import Certificate, Schedule, greedy_ratio, log_binomial
from oracles.influence.options import FORMERLY, USUAL, Search
from oracles.influence.search import Found, Plan, find

if TYPE_CHECKING:
    import networkx as nx

# Where arcs are contracted, sets cost little, and a first sample for the few components that are left would
# be so small that seeds suffer. Measured on upper bounds of CUCB.
_AHEAD = 2


class InfluenceMaximization(InfluenceOracle):
    """The k nodes that activate the most nodes in expectation: OPIM-C on reverse-reachable sets.

    Base arms are the directed edges of the graph in the order of ``graph.edges`` (edge i of an undirected
    graph is arms 2i and 2i + 1, one for each direction; parallel edges are arms of their own; self-loops
    are refused). A super arm lists k node numbers, positions in ``graph.nodes``, in the order of the greedy
    choice; it triggers the edges out of every node that becomes active. ``alpha`` is
    ``1 - (1 - 1/k)^k - epsilon``, which is ``1 - epsilon`` for one seed and above ``1 - 1/e - epsilon``
    for any number; ``beta`` is ``1 - delta``.

    One sample of reverse-reachable sets chooses the seeds and bounds the optimum, an independent one
    validates them; both are doubled until the ratio is certified, by bounds at least as sharp as OPIM-C's
    (binomial tails). Each random number belongs to a key from `rng` and to the number of its set. Nothing is
    carried over from call to call, not even a sample size, which would let an answer depend on the calls
    before: the first sets of a call tell how many doublings can be left out. Any number of threads gives the
    same answer.

    What makes a call fast is chosen by the probabilities of the call, and changes its time but not its
    guarantee. (1) Certain edges (probability 1), when there is more than one for two nodes, are contracted
    with their strong components: optimistic bounds are mostly 1 for hundreds of rounds. (2) Sets are drawn by
    single coins, or by skipping failures (``"skips"``) at nodes with at least 15 edges in and a small largest
    probability. (3) Where less than 20 % of the nodes would have a live edge, sets of one node are left out
    and accounted for exactly (``"pairs"``): SKIS, Nguyen et al. 2017. (4) Elsewhere, where the first sets
    hold more than a dozen nodes each and a few nodes are in most of them, these become seeds, and other sets
    are left where they are certain to hold one (``"sentinels"``): HIST, Guo et al. 2020. If a sample shows
    that other seeds are better or sooner certified, its sets are drawn completely instead. (5) Validation
    leaves each set where it is certain to hold a seed, and gives up when success is out of reach.

    Memory: 8 bytes an arc and 100 a node during a call, 8 to 16 an arc that stay with the graph; 8 bytes a
    set and 8 for each of its nodes in the sample that is stored.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        Who can activate whom.
    k : int
        Number of seeds, in ``[1, number of candidates]``.
    delta : float, optional
        Probability of failure of a call, in (0, 1); one over the number of arms if left out, at most 1/2.
    epsilon : float, optional
        Accuracy, in (0, 1 - (1 - 1/k)^k); 0.1 if left out.
    node_weights : array_like, optional
        What each node is worth when active, not negative; 1 each if left out (targeted influence).
    candidates : array_like of int, optional
        Nodes that may be seeds; all of them if left out.
    model : {"ic", "lt"}
        Independent cascade, or linear threshold: then means are weights, those of the edges into a node must
        sum to at most 1 (which optimistic bounds do not), and sets are walks, for which `Search.sampler` is
        ignored.
    search : Search
        How many reverse-reachable sets are drawn, in which way, and how good seeds shall be: see `Search`.

    Raises
    ------
    ValueError
        If a number is out of its range or the graph cannot be used.
    MemoryError
        At a call, if the arcs and nodes do not fit into memory (24 bytes an arc and 100 a node).

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

    @formerly(**FORMERLY)
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
    ) -> None:
        super().__init__(graph, k, node_weights=node_weights, candidates=candidates, model=model)
        self._promise(greedy_ratio(self.k), epsilon, delta, search)
        self.time_limit, self._uses_all_time = search.time_limit, search.quality is None
        self.sampler, self.threads = self._fixed.get("sampler", search.sampler), search.threads

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return k node numbers in the order of the greedy choice."""
        return self.solve_certified(means, rng).seeds

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> Certificate:
        """Return k seeds with the ratio that is certain, their estimated spread and what it took."""
        found, seeds, reverse = self._found(self._probabilities(means), rng)
        answer = found.certificate(seeds, self.alpha, reverse.n_components)
        return self._uncertified.see(answer, self.alpha, type(self).__name__)

    def _found(
        self, probabilities: FloatArray, rng: np.random.Generator
    ) -> tuple[Found, IntArray, ReverseGraph]:
        """Return what a search found, seeds that stand for it, and the graph that it drew sets from."""
        started = time.perf_counter()
        choosing, validating = (int(key) for key in rng.integers(0, 2**62, 2))
        reverse = self._reverse_graph(probabilities)
        lowest = reverse.representatives(self.candidates)
        allowed = lowest >= 0
        k = min(self.k, int(allowed.sum()))
        largest = np.argsort(-np.where(allowed, reverse.masses, -1.0), kind="stable")[:k]
        by_themselves = float(reverse.masses[largest].sum())
        floor = by_themselves or self._reached(probabilities)
        if len(reverse.world.tails) == 0 or k == reverse.n_components or floor == 0.0:
            # Nothing spreads between components, all of them are chosen, or nobody of worth can be reached.
            found = Found(largest, 1.0, by_themselves, 0.0, 0, 0, by_themselves, by_themselves)
        else:
            plan = self._plan(reverse, k, allowed, floor, (choosing, validating))
            if self.time_limit is not None:
                plan = self._within(started + self.time_limit, plan, k, allowed, rng)
            found = self._search(plan, k, allowed)
        return found, self._filled(lowest[found.chosen]), reverse

    def _search(self, plan: Plan, k: int, allowed: BoolArray) -> Found:
        """Return `k` of the allowed components."""
        reverse = plan.reverse
        forced = self.sampler == "sentinels"
        may_stop = forced or (self.sampler == "auto" and len(reverse.world.gammas) == 0)
        # Of greedy's guarantee on each sample, a quarter of the distance to what is promised may be lost.
        least_share = self.alpha + 0.75 * self.epsilon

        def choose(sets: SetCollection, log_term: float, is_last: bool) -> tuple[IntArray, int, float]:
            return choose_some(sets, k, allowed, log_term, is_last, least_share)

        return find(
            plan,
            choose,
            partial(place_sentinels, k=k, allowed=allowed, always=forced) if may_stop else None,
        )

    def _within(
        self, deadline: float, plan: Plan, k: int, allowed: BoolArray, rng: np.random.Generator
    ) -> Plan:
        """Return `plan` with as many sets as `deadline` allows, by trying out others.

        The clock and these say how many: neither knows anything of the sets that the certificate rests on.
        """
        others = tuple(int(key) for key in rng.integers(0, 2**62, 2))

        def tried(n_sets: int) -> Found:
            return self._search(plan.of_size(n_sets, keys=(others[0], others[1])), k, allowed)

        most = sets_until(deadline, plan.max_sets, tried)
        return plan.of_size(most) if self._uses_all_time else replace(plan, max_rr_sets=2 * most)

    def _plan(
        self, reverse: ReverseGraph, k: int, allowed: BoolArray, floor: float, keys: tuple[int, int]
    ) -> Plan:
        """Return how `k` components are looked for, the best of which are worth at least `floor`."""
        log_choices = log_binomial(int(allowed.sum()), k)
        schedule = Schedule.of(
            reverse.total_weight,
            log_choices,
            floor,
            self.epsilon,
            self.delta,
            self.first_rr_sets,
            _AHEAD if reverse.n_components < self.graph.n_nodes else 1,
            greedy_ratio(self.k),  # fewer components than that to choose from only raise it
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
        """Return what sets are drawn from."""
        return ReverseGraph.of(
            self.graph, probabilities, node_weights=self.node_weights, sampler=self.sampler, model=self.model
        )
