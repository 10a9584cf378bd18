"""The base class of the influence oracles: graph, reward, labels and reports.

Influence maximisation under the independent-cascade model.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.campaign.posterior import Network
from cmab.compiled import call_kernel
from cmab.feedback import Feedback
from cmab.guarantees import Smoothness
from cmab.parameters import described
from cmab.validation import arm_indices, frozen, integer, real, shown, vector
from oracles._graph_means import GraphOracle, KeptGraph
from oracles.influence.certificate import Certificate, Schedule, greedy_ratio, log_binomial
from oracles.influence.cluster import Call, Cluster, RemotePlan, RemoteSets, check_client, until_done
from oracles.influence.cover import choose_some, first_of_largest
from oracles.influence.graph import DirectedGraph, as_directed_graph, in_degree_groups, threshold_weights
from oracles.influence.search import (
    OPTIONS,
    USUAL,
    Found,
    Plan,
    Search,
    UncertifiedOnce,
    find,
    hits_per_unit,
    sets_until,
)
from oracles.influence.sentinels import place_sentinels, sampled_graph
from oracles.influence.sets import MODELS, Model, ReverseGraph, SetCollection
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


class InfluenceOracle(GraphOracle):
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
        self.graph, self._source = as_directed_graph(graph), KeptGraph(graph)
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

    #: The options of `Search` that this class does not accept, and the values that it uses instead.
    _fixed: ClassVar[Mapping[str, Any]] = {}

    def _promise(self, ratio: float, epsilon: float | None, delta: float | None, search: Search) -> None:
        """Set `alpha`, `beta` and `quality` of an oracle that certifies its answers."""
        if not isinstance(search, Search):
            raise ValueError(f"search must be a Search, got {shown(search)}")
        for name in self._fixed:
            if (given := getattr(search, name)) != getattr(Search, name):
                raise ValueError(f"search.{name} must be left out for {type(self).__name__}, got {given!r}")
        self.max_rr_sets, self.first_rr_sets = search.max_rr_sets, search.first_rr_sets
        unasked = search.first_rr_sets is None and search.max_rr_sets is None
        self.quality = search.quality_if(unasked)
        self._is_quality_given = search.quality is not None
        self._hits_per_unit = hits_per_unit(self.quality)
        self.epsilon = real("epsilon", _EPSILON if epsilon is None else epsilon, 0.0, ratio, inside=True)
        self.delta = real("delta", 1 / max(2, self.n_arms) if delta is None else delta, 0.0, 1.0, inside=True)
        self.alpha, self.beta = ratio - self.epsilon, 1.0 - self.delta
        _ = self._uncertified  # create it now, so that copies by `_restricted` share it

    @property
    def search(self) -> Search:
        """The options of the search; options with their default value are omitted."""
        kept = {name: self.__dict__[name] for name in OPTIONS if name in self.__dict__}
        kept |= {name: getattr(Search, name) for name in self._fixed}
        if "quality" in kept and not self._is_quality_given:
            kept["quality"] = None
        return Search(**kept)

    @cached_property
    def _uncertified(self) -> UncertifiedOnce:
        """The warning that an answer is not certified; a cached property is not a parameter of the oracle."""
        return UncertifiedOnce()

    def _reached(self, probabilities: FloatArray) -> float:
        """Return a lower bound on the spread of the best candidate, from single paths with few edges.

        Used if all candidates have weight 0. The result is 0 if no candidate reaches a node of positive
        weight.
        """
        worths, tails, heads = node_worths(self.graph, self.node_weights), self.graph.tails, self.graph.heads
        reach = self.candidates.astype(np.float64)
        while True:
            # Under both models, all edges of a path are live with the product of their probabilities.
            further = reach.copy()
            np.maximum.at(further, heads, reach[tails] * probabilities)
            worth = float((further * worths).max())
            if worth > 0.0 or np.array_equal(further, reach):
                return worth
            reach = further

    def _least_hits(self, log_choices: float) -> float:
        """Return how many of the choosing sets the seeds must cover to reach the requested `quality`."""
        # The sample sizes of Tang et al. 2018, section 4, contain the term ln C(n, k) + ln(6 / delta).
        return self._hits_per_unit * (log_choices + math.log(1.0 / self.delta))

    def __repr__(self) -> str:
        candidates = None if self.candidates.all() else int(self.candidates.sum())
        # Omit the arguments that equal their defaults.
        usual = {"delta": 1 / max(2, self.n_arms), "epsilon": _EPSILON, "search": USUAL}
        hidden = {name: None for name, value in usual.items() if getattr(self, name, None) == value}
        return described(self, **({"search": self.search, "candidates": candidates} | hidden))

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

        The value is exact if the reachable uncertain edges have at most 65,536 outcomes (16 edges of
        independent cascades). Otherwise it is the mean of 2,000 simulated cascades with fixed random numbers;
        `spread` also returns its standard error.
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
        is_threshold = self.model == "lt"
        exactly = exact_threshold_spread if is_threshold else exact_spread
        exact = exactly(self.graph, probabilities, super_arm, node_weights=self.node_weights)
        if exact is not None:
            return exact, 0.0
        simulated = threshold_spread if is_threshold else estimated_spread
        return simulated(self.graph, probabilities, super_arm, cascades, node_weights=self.node_weights)

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
        _, reached = call_kernel(reachable, offsets, arms, self.graph.heads, usable, super_arm)
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
            unknown. With `carried`, all steps must be given and agree with it.
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
        >>> oracle.feedback_of([0], joined={"bob": 1, "cy": 1, "dan": 2}).arms  # who told dan is not known
        array([0, 1])
        >>> oracle.feedback_of([0], joined=["bob", "dan"]).problem.n_hidden  # all outcomes follow
        0
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

        It is the bound that the search computes to certify its seeds, and at most the weight of all nodes.
        """
        return min(self._found(self._probabilities(means), rng)[0].optimum, self._most)

    def _found(
        self, probabilities: FloatArray, rng: np.random.Generator
    ) -> tuple[Found, IntArray, ReverseGraph]:
        """Return the result of the search, its seeds as node numbers, and the sampled graph."""
        started = time.perf_counter()
        choosing, validating = (int(key) for key in np.random.default_rng(rng).integers(0, 2**62, 2))
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
                from oracles.influence.cluster import choose_remotely

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
