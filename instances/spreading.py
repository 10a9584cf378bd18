"""Environments of influence: independent cascades, also with a deadline, and linear thresholds."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.environment import round_key
from cmab.feedback import Feedback
from cmab.parameters import described
from cmab.validation import frozen, integer, one_of, shown, vector
from instances.arms import BernoulliOutcomes
from instances.graphs import weighted_cascade
from oracles import DirectedGraph
from oracles.influence import spread
from oracles.influence.certificate import estimate
from oracles.influence.cover import choose_some, count_covered
from oracles.influence.deadlines import Delays, TimedSets, timed_cascade
from oracles.influence.graph import as_directed_graph, require_memory, threshold_weights
from oracles.influence.sets import Model, ReverseGraph, SetCollection

if TYPE_CHECKING:
    import networkx as nx


Shown = Literal["edge", "node", "credit", "none"]

# Keys of two independent pools, and limits: entries of a pool, outcomes to enumerate.
_JUDGING, _CHOOSING = 0x1A11, 0x2B22
_MOST_ENTRIES = 2**25
_MOST_ENUMERATED = 2**22
# Number of outcomes of ties whose enumeration takes as long as the overhead of a call for one seed set.
_LEAST_OUTCOMES = 64
_MOST_REMEMBERED = 1024
_BYTES_OF_ARC, _BYTES_OF_NODE = 56, 40
# Attributes that can be computed again from the others, so workers do not receive them.
_DERIVED = ("_coins", "_judging", "_rows")


class SpreadingInfluence(BernoulliOutcomes):
    """Seeds activate nodes along the arcs of a graph; the reward is the number of active nodes.

    A subclass sets `model` and `shows` and defines `_draws`, `_exact` and `_n_outcomes`.

    Examples
    --------
    >>> from instances import IndependentCascade, LinearThreshold, SpreadingInfluence
    >>> issubclass(IndependentCascade, SpreadingInfluence), LinearThreshold.shows
    (True, ('edge', 'node', 'none'))
    """

    model: ClassVar[Model]
    shows: ClassVar[tuple[Shown, ...]]

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        named: str,
        *,
        values: str | ArrayLike,
        k: int | None,
        feedback: Shown,
        n_rr_sets: int,
    ) -> None:
        is_weighted = isinstance(values, str) and values == "weighted_cascade"
        attribute = values if isinstance(values, str) and not is_weighted else None
        self.graph = as_directed_graph(graph, attribute)
        self.n_arms, self.n_choices = self.graph.n_arcs, self.graph.n_nodes
        needed = _BYTES_OF_ARC * self.n_arms + _BYTES_OF_NODE * self.graph.n_nodes
        require_memory(needed, f"a cascade on {self.graph!r}")
        if attribute is not None and self.graph.probabilities is None:
            raise ValueError(f"{named} must be an array, because {shown(graph)} has none, got {attribute!r}")
        given: Any = self.graph.probabilities if attribute is not None else values
        if is_weighted:
            given = weighted_cascade(self.graph)
        elif isinstance(values, int | float | np.number):  # the same value for all arcs
            given = np.full(self.n_arms, values)
        self.means = frozen(vector(named, given, self.n_arms, 0.0, 1.0))
        self.k = None if k is None else integer("k", k, 1, self.graph.n_nodes)
        self.feedback = one_of("feedback", feedback, self.shows)
        self.n_rr_sets = integer("n_rr_sets", n_rr_sets, 2)

    def __repr__(self) -> str:
        return described(self, means=self.means)

    @abstractmethod
    def _draws(self) -> tuple[AnyArray, FloatArray, FloatArray]:
        """Return (owners, lows, highs), in the order of `out_arcs`.

        An arc is live if the random number of its owner in the round is in ``[low, high)``. If `lows` is
        empty, all lows are 0.
        """

    @abstractmethod
    def _exact(self, seeds: IntArray) -> float | None:
        """Return the expected reward if it can be enumerated, otherwise None."""

    @abstractmethod
    def _n_outcomes(self) -> int:
        """Return an upper bound on the number of outcomes that the expected reward of any seeds sums over."""

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Run one cascade; the arms of the feedback are in order of activation of their tails."""
        super_arm = self._check_super_arm(super_arm)
        graph = self.graph
        offsets, arms = graph.out_arcs
        # "none" runs like "node"; the feedback is removed below.
        shows = {"edge": spread.COINS, "credit": spread.CREDITED}.get(self.feedback, spread.ALONE)
        rows, coins = spread.Rows(offsets, arms, graph.out_heads), spread.Coins(*self._coins)
        _, observed, outcomes = out = spread.Shown(
            np.empty(graph.n_nodes, np.int64), np.empty(self.n_arms, np.int64), np.empty(self.n_arms)
        )
        once = self.model == "lt"
        size, seen = spread.cascade_with_node_feedback(
            rows, coins, super_arm, round_key(rng), shows, once, out
        )
        if self.feedback == "none":
            seen = 0
        return Feedback.unchecked(observed[:seen].copy(), outcomes[:seen].copy(), float(size))

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        """Return the probability that the tail of each edge becomes active, by enumeration of outcomes.

        The result is None if there are more than 65,536 outcomes, or if not all edges out of an active node
        are observed (`feedback` other than ``"edge"``, or the linear-threshold model).
        """
        # In the other cases, whether an edge is observed also depends on other edges.
        super_arm = self._check_super_arm(super_arm)
        if self.feedback != "edge" or self.model != "ic":
            return None
        return spread.triggering_probabilities(self.graph, np.array(self.means), super_arm)

    @cached_property
    def _coins(self) -> tuple[AnyArray, FloatArray, FloatArray]:
        return self._draws()

    def expected_reward(self, super_arm: IntArray) -> float:
        """Return the expected number of active nodes.

        The result is exact if it is a sum over at most 65,536 outcomes (16 uncertain edges within reach, for
        independent cascades). Otherwise it is estimated from a pool of reverse-reachable sets, sampled once
        with a fixed key; `standard_error` returns its error.
        """
        super_arm = self._check_super_arm(super_arm)
        return self._value(super_arm)[0]

    def standard_error(self, super_arm: IntArray) -> float:
        """Return the standard error of `expected_reward`, 0 if that is exact."""
        super_arm = self._check_super_arm(super_arm)
        return self._value(super_arm)[1]

    def _value(self, seeds: IntArray) -> tuple[float, float]:
        """Return the expected reward and its standard error, cached because policies repeat seeds."""
        name = np.sort(seeds).tobytes()
        value = self._values.get(name)  # only one access, because another thread may empty the cache
        if value is None:
            value = self._computed(seeds)
            if len(self._values) >= _MOST_REMEMBERED:
                self._values.clear()
            self._values[name] = value
        return value

    def _computed(self, seeds: IntArray) -> tuple[float, float]:
        exact = self._exact(seeds)
        if exact is not None:
            return exact, 0.0
        reverse, offsets, sets, n_sets = self._judging
        components = np.unique(reverse.component[seeds]).astype(np.int64)
        # Each call has its own scratch array, because threads share this object. Untouched zero pages are
        # free.
        hits = count_covered(offsets, sets, components, np.zeros(n_sets, np.bool_))
        value, error = estimate(hits, n_sets, reverse.total_weight)
        # Sets of one node are not sampled; `certain` has their share of the value.
        return value + float(reverse.certain[components].sum()), error

    @cached_property
    def _values(self) -> dict[bytes, tuple[float, float]]:
        return {}

    @cached_property
    def _judging(self) -> tuple[ReverseGraph, IntArray, AnyArray, int]:
        """The pool as an inverted index from components to the sets that contain them."""
        sets = self._drawn(_JUDGING)
        index = sets.index()
        return sets.graph, index.offsets, index.sets, sets.n_sets

    def _reverse(self) -> ReverseGraph:
        return ReverseGraph.of(self.graph, self.means, model=self.model)

    def _drawn(self, key: int) -> SetCollection:
        reverse, n_sets = self._reverse(), self.n_rr_sets
        while True:
            sets = SetCollection(reverse, key)
            try:
                sets.grow(n_sets, _MOST_ENTRIES)
            except MemoryError:
                # With fewer sets the optimum is less precise, but the run can continue.
                if n_sets == 1:
                    raise
                n_sets //= 2
            else:
                return sets

    @cached_property
    def _best(self) -> tuple[IntArray, bool]:
        """The best known k seeds, and whether they are proven to be the best."""
        k, n = self.k, self.graph.n_nodes
        assert k is not None
        outcomes = max(_LEAST_OUTCOMES, min(self._n_outcomes(), spread.MOST_OUTCOMES))
        if comb(n, k) * outcomes <= _MOST_ENUMERATED:
            families = [np.array(seeds, np.int64) for seeds in combinations(range(n), k)]
            values = [self._exact(seeds) for seeds in families]
            known = [value for value in values if value is not None]
            if len(known) == len(values):
                return families[int(np.argmax(known))], True
        # Choose on a sample independent of the judging one: greedy seeds look too good on their own sample.
        sets = self._drawn(_CHOOSING)
        allowed = np.ones(sets.graph.n_components, np.bool_)
        chosen, _, _ = choose_some(sets, min(k, len(allowed)), allowed, 0.0)
        seeds = sets.graph.representatives()[chosen]
        others = np.setdiff1d(np.arange(n), seeds)
        return np.concatenate((seeds, others[: k - len(seeds)])), False

    @property
    def optimum(self) -> float:  # type: ignore[override]
        """Expected reward of the best k seeds; ``nan`` without `k`.

        The value is exact (`optimum_is_exact`) if all seed sets can be enumerated. Otherwise it is the value
        of a greedy choice on a large pool of reverse-reachable sets. Up to the error of the pool, it is a
        lower bound on the optimum, and the optimum is at most 1/(1 - 1/e) times as large.
        """
        return float("nan") if self.k is None else self.expected_reward(self._best[0])

    @property
    def optimum_is_exact(self) -> bool:
        """Whether `optimum` is exact; False without `k`."""
        return self.k is not None and self._best[1]

    def __getstate__(self) -> dict[str, Any]:
        # The pool is sampled again, with equal sets, when it is needed.
        return {name: value for name, value in self.__dict__.items() if name not in _DERIVED}


class IndependentCascade(SpreadingInfluence):
    """Influence spreads from seeds along the edges of a graph, each of which succeeds with its probability.

    Base arms are the directed edges as in `InfluenceMaximization`. A super arm is a list of seeds (node
    numbers). When a node becomes active, each of its out-edges succeeds or fails once, at random; the heads
    of successful edges become active in the next step. The reward is the number of active nodes, including
    seeds. The outcome of an edge depends only on the round and the edge, so all policies meet the same
    outcomes in a round. A round needs up to 56 bytes per edge and 40 bytes per node; the constructor raises
    `MemoryError` if less memory is free. The parameter `feedback` selects the observed outcomes:

    ``"edge"``
        The outcome of every out-edge of every active node, **also of edges to nodes that were active
        already**. This is the semi-bandit feedback of Chen et al. 2016, so their regret bounds hold for CUCB.
    ``"node"``
        The policy knows only which nodes became active, and in which step. If two or more edges tried to
        activate a node in the same step, their outcomes cannot be distinguished. The feedback has only the
        outcomes that are certain and unbiased: those of edges that were the **only** one to try to activate
        their head in that step, while the head was not yet active. Which outcomes are observed does not
        depend on the outcomes themselves, so confidence bounds and posteriors hold. Regret bounds do not
        carry over, because an edge that is never alone is never observed.
    ``"credit"``
        The policy knows the same as with ``"node"``, but every attempt is used. If the head stayed inactive,
        all edges that tried to activate it failed. If it became active, **one** of the edges that tried in
        that step, drawn uniformly, counts as a success and the others count as failures (Vaswani et al.
        2015). This is exact if only one edge tried. Otherwise it is biased, mostly downwards, and the bias
        grows with the probabilities.
    ``"none"``
        Only the reward (full bandit). Learners of arm means learn nothing from it.

    All out-edges of an active node are observed together only with ``"edge"``.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The graph of possible influence; each edge of an undirected graph is two arcs.
    probability : str, float or array_like, shape (n_arms,)
        Name of an edge attribute of a networkx graph, the probability of each arm, one probability for all,
        or ``"weighted_cascade"``: one over the in-degree of the head. If a `DirectedGraph` has probabilities,
        they are used by default.
    k : int, optional
        Number of seeds for `optimum`.
    feedback : {"edge", "node", "credit", "none"}
        The outcomes that are observed in addition to the reward.
    n_rr_sets : int
        Number of reverse-reachable sets from which expected rewards are estimated. There are fewer sets if
        they would have more than 2**25 nodes in total.

    Raises
    ------
    ValueError
        If the graph is not valid, if a probability is missing or outside [0, 1], or if `feedback` is unknown.
    MemoryError
        If less memory is free than a round needs.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from instances import IndependentCascade
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("ann", "bob", p=1.0)
    >>> graph.add_edge("bob", "cy", p=0.0)
    >>> environment = IndependentCascade(graph, probability="p", k=1)
    >>> environment.play(np.array([0]), np.random.default_rng(0))
    Feedback(arms=array([0, 1]), outcomes=array([1., 0.]), reward=2.0, pulls=None, squares=None)
    >>> environment.optimum
    2.0

    References
    ----------
    W. Chen, Y. Wang, Y. Yuan, Q. Wang: Combinatorial Multi-Armed Bandit and Its Extension to
    Probabilistically Triggered Arms, JMLR 17 (2016), section 4.3.
    S. Vaswani, L. Lakshmanan, M. Schmidt: Influence Maximization with Bandits, arXiv:1503.00024 (2015).
    """

    model = "ic"
    shows = ("edge", "node", "credit", "none")

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        probability: str | ArrayLike = "p",
        *,
        k: int | None = None,
        feedback: Literal["edge", "node", "credit", "none"] = "edge",
        n_rr_sets: int = 2**20,
    ) -> None:
        super().__init__(
            graph, "probability", values=probability, k=k, feedback=feedback, n_rr_sets=n_rr_sets
        )

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Run one cascade; the arms of the feedback are in order of activation of their tails."""
        seeds = self._check_super_arm(super_arm)
        if self.feedback != "edge":
            return super().play(seeds, rng)
        observed, outcomes = np.empty(self.n_arms, np.int64), np.empty(self.n_arms)
        size, seen = spread.cascade(
            self.graph.out_arcs[0], self._rows, seeds, round_key(rng), observed, outcomes
        )
        # Shrinking in place frees the rest of the memory without a copy.
        observed.resize(seen, refcheck=False)
        outcomes.resize(seen, refcheck=False)
        return Feedback.unchecked(observed, outcomes, float(size))

    @cached_property
    def _rows(self) -> AnyArray:
        return spread.arcs_in_rows(self.graph.out_arcs[1], self.graph.heads, self.means)

    def _draws(self) -> tuple[AnyArray, FloatArray, FloatArray]:
        """Return positions as owners, so that outcomes equal those of `cascade`."""
        return np.arange(self.n_arms), np.empty(0), self.means[self.graph.out_arcs[1]]

    def _exact(self, seeds: IntArray) -> float | None:
        return spread.exact_spread(self.graph, self.means, seeds)

    def _n_outcomes(self) -> int:
        # Two outcomes for each uncertain edge; shifts by more than 62 bits would overflow.
        return 1 << min(int(((self.means > 0.0) & (self.means < 1.0)).sum()), 62)


class LinearThreshold(SpreadingInfluence):
    """A node becomes active when the weights of its active in-neighbours exceed its random threshold.

    Thresholds are uniform on [0, 1], and new in every round. An equivalent process uses live edges (Kempe et
    al. 2003, Claim 2.6): every node keeps at most one of its in-edges, each with a probability equal to its
    weight, and influence follows the kept edges. Base arms are the directed edges as in
    ``InfluenceMaximization(model="lt")``. The outcome of an edge is 1 if it was kept, and its mean is its
    weight. At most one edge into a node has outcome 1. The kept edge of a node depends only on the round and
    the node, so all policies meet the same outcomes.

    The feedback contains only edges with unbiased outcomes: edges that tried to activate their head in
    the **first step in which any edge tried** (their tails became active in the step before). Nothing that
    happened before this step depends on the kept edge of the head. Edges that try later, or try an active
    head, are left out, because the kept edge is then partly known. For example, the edge back into a node
    that another edge activated was rarely the kept one. The parameter `feedback` selects the observed
    outcomes:

    ``"edge"``
        The outcome of each of these edges. An active node reveals the edge that activated it.
    ``"node"``
        The policy knows only which nodes became active, and in which step. The feedback has those of these
        edges that were the only one to try to activate their head in that step.
    ``"none"``
        Only the reward (full bandit).

    Estimated weights into a node may sum to more than 1, which the oracle rejects. A learner must scale them
    down first (see ``docs/how-to/influence.md``).

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The graph of possible influence; each edge of an undirected graph is two arcs.
    edge_weight : str, float or array_like, shape (n_arms,)
        Name of an edge attribute of a networkx graph, the weight of each arm, one weight for all, or
        ``"weighted_cascade"``, the usual choice: one over the in-degree of the head. If a `DirectedGraph` has
        probabilities, they are used by default.
    k : int, optional
        Number of seeds for `optimum`.
    feedback : {"edge", "node", "none"}
        The outcomes that are observed in addition to the reward.
    n_rr_sets : int
        Number of reverse-reachable sets from which expected rewards are estimated. There are fewer sets if
        they would have more than 2**25 nodes in total.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import LinearThreshold
    >>> from oracles import DirectedGraph
    >>> graph = DirectedGraph.from_edges([0, 1, 2], [2, 2, 3])
    >>> environment = LinearThreshold(graph, [0.25, 0.5, 1.0], k=1)
    >>> environment.expected_reward(np.array([0])), environment.optimum
    (1.5, 2.0)

    References
    ----------
    D. Kempe, J. Kleinberg, E. Tardos: Maximizing the Spread of Influence through a Social Network, KDD 2003.
    S. Li, F. Kong, K. Tang, Q. Li, W. Chen: Online Influence Maximization under Linear Threshold Model,
    NeurIPS 2020.
    """

    model = "lt"
    shows = ("edge", "node", "none")

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        edge_weight: str | ArrayLike = "weight",
        *,
        k: int | None = None,
        feedback: Literal["edge", "node", "none"] = "edge",
        n_rr_sets: int = 2**20,
    ) -> None:
        super().__init__(
            graph, "edge_weight", values=edge_weight, k=k, feedback=feedback, n_rr_sets=n_rr_sets
        )
        self.means = frozen(threshold_weights("edge_weight", self.means, self.graph))

    def _draws(self) -> tuple[AnyArray, FloatArray, FloatArray]:
        """Place the weights of the edges into a node side by side on [0, 1]."""
        # A uniform number per node selects the edge whose interval contains it, or no edge.
        lows, highs = spread.side_by_side(*self.graph.in_arcs, self.means)
        out = self.graph.out_arcs[1]
        return self.graph.out_heads, lows[out], highs[out]

    def _exact(self, seeds: IntArray) -> float | None:
        return spread.exact_threshold_spread(self.graph, self.means, seeds)

    def _n_outcomes(self) -> int:
        # A node keeps one of its in-edges or none: the product of (in-degree + 1) over all nodes.
        return 1 << min(int(np.ceil(np.log2(self.graph.in_degrees + 1.0).sum())), 62)


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

    def triggering_probabilities(self, super_arm: IntArray) -> FloatArray | None:
        """Return None, because the probabilities depend on delays, which are not enumerated."""
        return None

    def _reverse(self) -> ReverseGraph:
        return TimedSets.within(self.delays, self.graph, self.means)

    def _exact(self, seeds: IntArray) -> float | None:
        return None
