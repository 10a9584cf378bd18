"""Influence maximisation: the base class of its oracles, and the oracle for cascades and thresholds."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.campaign.posterior import Network
from cmab.feedback import Feedback
from cmab.guarantees import Smoothness
from cmab.oracle import Oracle
from cmab.parameters import described
from cmab.validation import arm_indices, frozen, integer, real, shown, vector
from oracles.influence.certificate import LEAST_DELTA, Certificate, Schedule, greedy_ratio, log_binomial
from oracles.influence.cluster import Call, Cluster, RemotePlan, check_client
from oracles.influence.cover import choose_some, first_of_largest
from oracles.influence.graph import DirectedGraph, as_directed_graph, in_degree_groups, threshold_weights
from oracles.influence.search import USUAL, Found, Plan, Search, find, hits_per_unit
from oracles.influence.sentinels import place_sentinels, sampled_graph
from oracles.influence.sets import MODELS, Model, ReverseGraph, Sampler
from oracles.influence.spread import (
    MOST_CASCADES,
    estimated_spread,
    exact_spread,
    exact_threshold_spread,
    node_worths,
    threshold_spread,
    triggering_probabilities,
)

if TYPE_CHECKING:
    import networkx as nx


_CASCADES, _EPSILON = 2000, 0.1
# A bound on the optimum raises a simulated spread by this number of standard errors.
_ERRORS = 5.0


class InfluenceOracle(Oracle):
    """The sets of `k` seeds, with their expected spread under independent cascades as reward.

    A subclass sets `alpha` and `beta` and defines `solve`.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        Number of seeds, in ``[1, number of candidates]``.
    node_weights : array_like, optional
        The weight of each node in the reward if it is active, nonnegative; by default 1. A candidate may have
        weight 0, for example if the seeds of one group are to reach another group.
    candidates : array_like of int, optional
        The nodes that may be seeds; by default all of them.
    model : {"ic", "lt"}
        The diffusion model: independent cascade or linear threshold. For ``"lt"`` the means are weights, and
        the weights of the edges into a node must sum to at most 1.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import InfluenceOracle
    >>> class FirstNodes(InfluenceOracle):
    ...     alpha, beta = 0.0, 1.0
    ...     def solve(self, means, rng):
    ...         return np.arange(self.k)
    >>> FirstNodes(nx.path_graph(4), k=2).solve(np.full(6, 0.5), np.random.default_rng(0))
    array([0, 1])
    """

    triggers_surely = False
    has_membership = True
    #: Whether a report by people determines the outcomes of some edges.
    _people_tell_coins: ClassVar[bool] = True

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        node_weights: ArrayLike | None = None,
        candidates: ArrayLike | None = None,
        model: Model = "ic",
    ) -> None:
        self.graph = as_directed_graph(graph)
        self.n_arms, n = self.graph.n_arcs, self.graph.n_nodes
        self.node_weights = (
            None if node_weights is None else frozen(vector("node_weights", node_weights, n, 0.0))
        )
        self.candidates = np.full(n, candidates is None)
        if candidates is not None:
            self.candidates[arm_indices("candidates", candidates, n)] = True
            if not self.candidates.any():
                raise ValueError("candidates must hold at least one node, got none")
        if self.node_weights is not None and not self.node_weights.max(initial=0.0) > 0.0:
            raise ValueError("node_weights must be positive for at least one node, got only zeros")
        with np.errstate(over="ignore"):
            total = 0.0 if self.node_weights is None else float(self.node_weights.sum())
        if self.node_weights is not None and not np.isfinite(total):
            raise ValueError(f"node_weights must have a finite sum, got {self.node_weights.max()} among them")
        self.k = integer("k", k, 1, int(self.candidates.sum()))
        if model not in MODELS:
            raise ValueError(f"model must be one of {MODELS}, got {shown(model)}")
        self.model: Model = model

    #: The parameter that limits the seeds.
    _size: ClassVar[str] = "k"
    #: The options of `Search` that this class does not accept, and the values that it uses instead.
    _fixed: ClassVar[Mapping[str, Any]] = {}

    def _promise(self, ratio: float, epsilon: float | None, delta: float | None, search: Search) -> None:
        """Set `alpha`, `beta` and the options of an oracle that certifies its answers."""
        if not isinstance(search, Search):
            raise ValueError(f"search must be a Search, got {shown(search)}")
        for name in self._fixed:
            if (given := getattr(search, name)) != getattr(Search, name):
                raise ValueError(f"search.{name} must be left out for {type(self).__name__}, got {given!r}")
        self.search = search
        # A saved session compares these plain attributes.
        self.quality, self.sampler = search.used_quality, search.sampler
        self.max_rr_sets, self.first_rr_sets = search.max_rr_sets, search.first_rr_sets
        self.epsilon = real("epsilon", _EPSILON if epsilon is None else epsilon, 0.0, ratio, inside=True)
        usual = 1 / max(2, self.n_arms)
        self.delta = real("delta", usual if delta is None else delta, LEAST_DELTA, 1.0, inside=True)
        self.alpha, self.beta = ratio - self.epsilon, 1.0 - self.delta

    def _reached(self, probabilities: FloatArray) -> float:
        """Return a lower bound on the spread of the best candidate, from single paths with few edges.

        Used if all candidates have weight 0. The result is 0 if no candidate reaches a node of positive
        weight.
        """
        worths, tails, heads = node_worths(self.graph, self.node_weights), self.graph.tails, self.graph.heads
        reach = self.candidates.astype(np.float64)
        for hops in range(1, self.graph.n_nodes):
            # Under both models, all edges of a path are live with the product of their probabilities.
            chances = self._hop_chances(probabilities, hops)
            further = self.candidates.astype(np.float64)
            for _ in range(hops):
                before, further = further, further.copy()
                np.maximum.at(further, heads, before[tails] * chances)
            worth = float((further * worths).max())
            if worth > 0.0 or np.array_equal(further > 0.0, reach > 0.0):
                return worth
            reach = further
        return 0.0

    def _hop_chances(self, probabilities: FloatArray, hops: int) -> FloatArray:
        """Return the probabilities of the edges of a path with a number of hops."""
        return probabilities

    def _plan(
        self, reverse: ReverseGraph, log_choices: float, floor: float, greedy: float, keys: tuple[int, int]
    ) -> Plan:
        """Return the plan of a search among ``exp(log_choices)`` sets, the best of which reach `floor`.

        `greedy` is the ratio of the greedy choice on the sets of the first key.
        """
        # The sample sizes of Tang et al. 2018, section 4, contain the term ln C(n, k) + ln(6 / delta).
        least_hits = hits_per_unit(self.quality) * (log_choices + math.log(1.0 / self.delta))
        sizes = log_choices, floor, self.epsilon, self.delta, self.first_rr_sets, greedy
        schedule, threads = Schedule.of(reverse.total_weight, *sizes), self.search.threads
        return Plan(reverse, schedule, self.alpha, keys, self.max_rr_sets, threads, least_hits)

    def __repr__(self) -> str:
        # Omit the arguments that equal their defaults.
        usual = {"delta": 1 / max(2, self.n_arms), "epsilon": _EPSILON, "search": USUAL}
        given = {name: getattr(self, name, value) for name, value in usual.items()}
        facts = {name: None if value == usual[name] else value for name, value in given.items()}
        candidates = None if self.candidates.all() else int(self.candidates.sum())
        size = {self._size: getattr(self, self._size)}
        return described(self, **size, **facts, node_weights=self.node_weights, candidates=candidates)

    @cached_property
    def clusters(self) -> IntArray | None:  # type: ignore[override]
        """The tail of each edge: a round shows all edges out of an active node, which the regret bounds use.

        None for linear thresholds, under which the edges out of a node are not seen together.
        """
        return None if self.model == "lt" else self.graph.tails.astype(np.int64)

    @property
    def n_choices(self) -> int:
        return self.graph.n_nodes

    @property
    def max_size(self) -> int:
        """Number of arms, because a cascade may trigger all of them."""
        return self.n_arms

    @property
    def network(self) -> Network | None:
        """The ends of the arcs and the number of nodes; None if arms are no coins of independent cascades."""
        if self.model == "lt" or not self._people_tell_coins:
            return None
        return Network(self.graph.tails, self.graph.heads, self.graph.n_nodes)

    @property
    def arm_groups(self) -> IntArray:  # type: ignore[override]
        """The arms, grouped by the in-degree of their heads: see `in_degree_groups`."""
        return in_degree_groups(self.graph)

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return the result of `solve` with the available candidates only.

        Raises
        ------
        ValueError
            If fewer than k candidates are available.
        """
        available = self._check_available(available)
        return self._restricted(available).solve(means, rng)

    def _restricted(self, available: BoolArray) -> Self:
        """Return a copy of this oracle with the available nodes as candidates."""
        free = self.candidates & available
        if free.sum() < self._fewest:
            raise self._none_within(available)
        restricted = object.__new__(type(self))
        restricted.__dict__.update(self.__dict__, candidates=free)
        return restricted

    @property
    def _fewest(self) -> int:
        """The smallest number of candidates that a super arm needs."""
        return self.k

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return the expected number (or weight) of active nodes, including the seeds.

        The value is exact if at most 65,536 outcomes are possible: 16 uncertain edges that independent
        cascades can reach, or as many choices of the live edge into each reachable node under linear
        thresholds. Otherwise it is the mean of 2,000 simulated cascades with fixed random numbers; `spread`
        also returns its standard error.
        """
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        return self.spread(super_arm, means)[0]

    def spread(
        self, super_arm: IntArray, means: FloatArray, *, cascades: int = _CASCADES
    ) -> tuple[float, float]:
        """Return the expected number (or weight) of active nodes and its standard error, 0 if it is exact."""
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        probabilities = self._probabilities(means)
        cascades = integer("cascades", cascades, 2, MOST_CASCADES)
        by_enumeration, by_cascades = (
            (exact_threshold_spread, threshold_spread)
            if self.model == "lt"
            else (exact_spread, estimated_spread)
        )
        exact = by_enumeration(self.graph, probabilities, super_arm, node_weights=self.node_weights)
        if exact is not None:
            return exact, 0.0
        return by_cascades(self.graph, probabilities, super_arm, cascades, node_weights=self.node_weights)

    def optimum_bound(self, means: FloatArray, rng: np.random.Generator) -> float:
        """Return an upper bound on the spread of any seeds: at most the weight of all nodes."""
        value, error = self.spread(self.solve(means, rng), means)
        bound = (value + _ERRORS * error) / self.alpha
        # Heuristics have no ratio (nan), so only the weight of all nodes is a bound.
        return bound if bound < self._most else self._most

    @property
    def _most(self) -> float:
        """The weight of all nodes."""
        return float(self.graph.n_nodes if self.node_weights is None else self.node_weights.sum())

    def _probabilities(self, means: FloatArray) -> FloatArray:
        """Return `means`; raise ``ValueError`` unless they are probabilities that the model allows."""
        probabilities = self._check_means(means, 0.0, 1.0)
        if self.model == "lt":
            return threshold_weights("means", probabilities, self.graph)
        return probabilities

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return len(super_arm) == self.k and bool(self.candidates[super_arm].all())

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the edges out of every node that is reachable from the seeds."""
        super_arm = self._check_entries(super_arm)
        from oracles.influence.spread import reachable

        offsets, arms = self.graph.out_arcs
        usable = np.ones(self.n_arms, np.bool_)
        _, reached = reachable(offsets, arms, self.graph.heads, usable, super_arm)
        return np.flatnonzero(reached[self.graph.tails])

    def _explains(self, super_arm: IntArray, arms: IntArray) -> bool:
        """Return whether edges of `arms` alone form paths from the seeds to the tails of all these edges.

        The time depends on the size of the report, not of the graph. A complete report of a cascade passes.
        """
        if type(self).triggered_arms is not InfluenceOracle.triggered_arms:
            return False
        heads: dict[int, list[int]] = {}
        for tail, head in zip(self.graph.tails[arms].tolist(), self.graph.heads[arms].tolist(), strict=True):
            heads.setdefault(tail, []).append(head)
        reached: list[int] = super_arm.tolist()
        while reached and heads:
            reached += heads.pop(reached.pop(), ())
        return not heads

    def triggering_probabilities(self, super_arm: IntArray, means: FloatArray) -> FloatArray | None:
        """Return the probability that the tail of each edge becomes active.

        The probability is found by enumeration of outcomes. The result is None if there are more than 65,536
        outcomes. It is also None for linear thresholds, because the environment decides which edges a round
        shows: `LinearThreshold` omits edges that try a head later than other edges.
        """
        super_arm, means = self._check_entries(super_arm), self._check_means(means)
        probabilities = self._probabilities(means)
        if self.model == "lt":
            return None
        return triggering_probabilities(self.graph, probabilities, super_arm)

    def smoothness(self) -> Smoothness | None:
        """Return the smoothness ``|E| W x``, where W is the total weight of the nodes.

        For cascades, the constant of triggering probability modulated smoothness is W. For linear thresholds
        it is None, because the probability that an edge is shown is unknown.
        """
        # Chen et al. 2016, Lemma 6, for nodes of weight 1.
        found = Smoothness.influence(self.n_arms, self._most)
        return replace(found, modulated=None) if self.model == "lt" else found

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        super_arm = self._check_entries(super_arm)
        return list(map(self.graph.label, np.asarray(super_arm).tolist()))

    def _arm_labels(self) -> list[Hashable]:
        """Return each edge as the names of its two nodes, with a number if it has parallel edges.

        An edge of an undirected graph is two arms, one in each direction.
        """
        return self.graph.arc_labels

    def feedback_of(
        self,
        super_arm: IntArray,
        *,
        joined: Collection[Hashable] | Mapping[Hashable, int] | None = None,
        carried: Collection[Hashable] | None = None,
        unseen: Collection[Hashable] = (),
        known: Mapping[Hashable, float] | None = None,
        **others: Any,
    ) -> Feedback:
        """Return the feedback of a cascade from a report about people.

        With `carried`, all edges out of the joined people were tried, and the edges in `carried`
        succeeded. Without `carried`, the outcomes of some edges are hidden, and the feedback is a
        `CascadeFeedback`. A `Session` or `Campaign` learns from it by drawing these outcomes from their
        posterior, if its policy draws the means from Beta posteriors.

        If `joined` gives the step of each person and `known` is omitted, the feedback also has the edges
        whose outcome is certain and unbiased: the edges that were alone in trying their head in a step. Other
        policies learn from these edges only. `IndependentCascade` shows the same edges for
        ``feedback="node"``.

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            The seeds. They joined in step 0, even if `joined` does not contain them.
        joined : collection or mapping
            The names of the joined people, or a mapping from each name to a step, or to None if the step is
            unknown. With `carried`, steps are not used.
        carried : collection, optional
            The names of all edges that carried the message, including edges to people that had joined
            already. If you know only the edge that first reached each person, omit `carried` and give the
            steps: otherwise, the other edges between joined people count as failures, and the estimates of
            their means are too low.
        unseen : collection
            The names of people that may have joined without a report; seeds among them change nothing. With
            `carried`, the names of people with unobserved outgoing edges.
        known : mapping, optional
            The outcomes of some edges that were tried: 1 if the message passed, 0 otherwise. It cannot be
            combined with `carried`.
        **others
            Any other argument is an error.

        Raises
        ------
        ValueError
            If a name is unknown, or if no edges can have reached a joined person, or not in the given step.
            If `carried` is given under linear thresholds, or if a step is missing there. Under deadlines and
            triggering models, for any report of people, because it does not determine the outcomes of edges.

        Examples
        --------
        >>> import networkx as nx
        >>> from oracles import DegreeHeuristic
        >>> friends = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("bob", "dan"), ("cy", "dan")])
        >>> oracle = DegreeHeuristic(friends, k=1)
        >>> feedback = oracle.feedback_of([0], joined=["bob"], carried=[("ann", "bob")])
        >>> [oracle._arm_labels()[arm] for arm in feedback.arms], feedback.outcomes, feedback.reward
        ([('ann', 'bob'), ('ann', 'cy'), ('bob', 'dan')], array([1., 0., 0.]), 2.0)
        >>> oracle.feedback_of([0], joined={"bob": 1, "cy": 1, "dan": 2}).arms  # two people may have told dan
        array([0, 1])
        """
        super_arm = self._check_entries(super_arm)
        from oracles.influence.reports import feedback_of_joined, feedback_of_ties

        if not self._people_tell_coins:
            given_all = {"joined": joined, "carried": carried, "unseen": unseen, "known": known, **others}
            raise ValueError(
                f"a report for {type(self).__name__} must be outcomes of base arms, such as {{name: 1.0}},"
                f" got {', '.join(given_all)}"
            )
        if others or joined is None:
            given = ", ".join(others) or "nothing"
            raise ValueError(
                f"a report must have the keyword joined, and may have carried, unseen and known, got {given}"
            )
        if carried is not None and known is not None:
            raise ValueError(
                "known must be left out if carried lists all edges that carried the message, got both"
            )
        if carried is not None:
            return feedback_of_ties(self, super_arm, joined, carried, unseen)
        return feedback_of_joined(self, super_arm, joined, unseen, known)

    def _filled(self, seeds: IntArray) -> IntArray:
        """Return `seeds`, filled up to `k` with the other candidates of lowest number."""
        free = self.candidates.copy()
        free[seeds] = False
        others = np.flatnonzero(free)
        return np.concatenate((seeds, others[: self.k - len(seeds)]))


class Options(TypedDict, total=False):
    """Options of `InfluenceMaximization` that its subclasses accept."""

    delta: float | None
    epsilon: float | None
    node_weights: ArrayLike | None
    candidates: ArrayLike | None
    search: Search


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

    @cached_property
    def _cluster(self) -> Cluster:
        # A cached property is not a parameter of the oracle: a saved session opens with or without a cluster.
        return Cluster()

    @property
    def backend(self) -> Any:
        """The Dask client of the cluster that draws the sets, or None."""
        # Asked of `vars`, so that a look at it adds nothing to what is pickled.
        return self._cluster.client if "_cluster" in vars(self) else None

    @property
    def _sampler(self) -> Sampler:
        sampler: Sampler = self._fixed.get("sampler", self.search.sampler)
        return sampler

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return k node numbers in the order of the greedy choice."""
        return self.solve_certified(means, rng).seeds

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> Certificate:
        """Return k seeds with their certified ratio, their estimated spread and the effort of the search."""
        found, seeds, reverse = self._found(self._probabilities(means), rng)
        return found.certificate(seeds, self.alpha, reverse.n_components)

    def optimum_bound(self, means: FloatArray, rng: np.random.Generator) -> float:
        """Return an upper bound on the spread of any seeds; it holds with probability `beta`.

        It is the bound that the search computes to certify its seeds, and at most the weight of all nodes.
        """
        return min(self._found(self._probabilities(means), rng)[0].optimum, self._most)

    def _found(
        self, probabilities: FloatArray, rng: np.random.Generator
    ) -> tuple[Found, IntArray, ReverseGraph]:
        """Return the result of the search, its seeds as node numbers, and the sampled graph."""
        choosing, validating = (int(key) for key in np.random.default_rng(rng).integers(0, 2**62, 2))
        reverse = self._reverse_graph(probabilities)
        lowest = reverse.representatives(self.candidates)
        allowed = lowest >= 0
        k = min(self.k, int(allowed.sum()))
        largest = first_of_largest(np.where(allowed, reverse.masses, -1.0), k)
        by_themselves = float(reverse.masses[largest].sum())
        floor = by_themselves or self._reached(probabilities)
        if not reverse.is_joined or k == reverse.n_components or floor == 0.0:
            # No edges join components, all components are chosen, or no node of positive weight can be
            # reached.
            found = Found(largest, 1.0, by_themselves, 0.0, 0, 0, by_themselves, by_themselves)
        else:
            # With fewer components to choose from, the ratio is higher.
            log_choices, ratio = log_binomial(int(allowed.sum()), k), greedy_ratio(self.k)
            plan = self._plan(reverse, log_choices, floor, ratio, (choosing, validating))
            if self.backend is None:
                found = self._search(plan, k, allowed)
            else:
                found = self._cluster.until_done(
                    lambda: self._search(self._on_cluster(plan, probabilities), k, allowed)
                )
        return found, self._filled(lowest[found.chosen]), reverse

    def _on_cluster(self, plan: Plan, probabilities: FloatArray) -> RemotePlan:
        """Return the plan with its sets on the workers of the cluster."""
        options = {"node_weights": self.node_weights, "sampler": self._sampler, "model": self.model}
        call = Call(self._cluster, self.graph, probabilities, options)
        return RemotePlan(**vars(plan), call=call)

    def _search(self, plan: Plan, k: int, allowed: BoolArray) -> Found:
        """Return `k` of the allowed components."""
        forced = self._sampler == "sentinels"
        may_stop = forced or (self._sampler == "auto" and not plan.reverse.omits_single_nodes)
        # The greedy choice may lose a quarter of the difference between greedy's ratio and `alpha` on each
        # sample.
        least_share = self.alpha + 0.75 * self.epsilon
        place = partial(place_sentinels, k=k, allowed=allowed, always=forced)
        return find(
            plan,
            lambda sets, log_term: choose_some(sets, k, allowed, log_term, least_share),
            place if may_stop else None,
        )

    def _reverse_graph(self, probabilities: FloatArray) -> ReverseGraph:
        """Return the graph from which the reverse-reachable sets are sampled."""
        return sampled_graph(
            self.graph,
            probabilities,
            node_weights=self.node_weights,
            sampler=self._sampler,
            model=self.model,
        )
