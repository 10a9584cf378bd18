"""The base class of environments of influence: the graph, expected rewards and the best seeds."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, FloatArray, IntArray
from cmab.description import described
from cmab.environment import Environment, round_key
from cmab.feedback import Feedback
from cmab.validation import frozen, integer, one_of, shown, vector
from instances.graphs import weighted_cascade
from oracles import DirectedGraph
from oracles.diffusion._memory import require_memory
from oracles.diffusion.directed_graph import as_directed_graph
from oracles.diffusion.reverse_sets import Model, ReverseGraph, SetCollection
from oracles.diffusion.spread import MOST_CASCADES, MOST_OUTCOMES, triggering_probabilities
from oracles.influence._choosing import choose_some
from oracles.influence.certificate import estimate

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


class SpreadingInfluence(Environment):
    """Seeds activate nodes along the arcs of a graph; the reward is the number of active nodes.

    A subclass sets `model` and `shows` and defines `_draws`, `_exact`, `_n_outcomes` and `_estimated`.

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

    @abstractmethod
    def _estimated(self, seeds: IntArray, cascades: int, key: int, threads: int) -> tuple[float, float]:
        """Return the mean and the standard error of the rewards of independent cascades."""

    def spread(
        self, super_arm: IntArray, cascades: int, rng: np.random.Generator, *, threads: int = 1
    ) -> tuple[float, float]:
        """Return the mean reward of independent cascades, without feedback, and its standard error.

        The result does not depend on the number of threads; each thread runs blocks of 1,024 cascades.
        """
        super_arm = self._check_super_arm(super_arm)
        cascades, threads = integer("cascades", cascades, 2, MOST_CASCADES), integer("threads", threads, 1)
        return self._estimated(super_arm, cascades, round_key(rng), threads)

    def play(self, super_arm: IntArray, rng: np.random.Generator) -> Feedback:
        """Run one cascade; the arms of the feedback are in order of activation of their tails."""
        super_arm = self._check_super_arm(super_arm)
        from oracles.diffusion import _kernels_node_feedback as kernels

        graph = self.graph
        offsets, arms = graph.out_arcs
        # "none" runs like "node"; the feedback is removed below.
        shows = {"edge": kernels.COINS, "credit": kernels.CREDITED}.get(self.feedback, kernels.ALONE)
        rows, coins = kernels.Rows(offsets, arms, graph.out_heads), kernels.Coins(*self._coins)
        _, observed, outcomes = out = kernels.Shown(
            np.empty(graph.n_nodes, np.int64), np.empty(self.n_arms, np.int64), np.empty(self.n_arms)
        )
        once = self.model == "lt"
        size, seen = kernels.cascade_with_node_feedback(
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
        return triggering_probabilities(self.graph, np.array(self.means), super_arm)

    @cached_property
    def _coins(self) -> tuple[AnyArray, FloatArray, FloatArray]:
        return self._draws()

    def pull(self, arms: IntArray, rng: np.random.Generator) -> FloatArray:
        arms = self._check_arms(arms)
        return (rng.random(len(arms)) < self.means[arms]).astype(np.float64)

    def pull_many(
        self, arms: IntArray, pulls: IntArray, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray]:
        """Return binomial numbers of successes as sums and as sums of squares, which are equal."""
        arms, pulls = self._check_pulls(arms, pulls)
        successes = rng.binomial(pulls, self.means[arms]).astype(np.float64)
        return successes, successes

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
        from oracles.diffusion._kernels_cover import count_covered

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
        return sets.graph, *sets.index(), sets.n_sets

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
        outcomes = max(_LEAST_OUTCOMES, min(self._n_outcomes(), MOST_OUTCOMES))
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
    def best_seeds(self) -> IntArray:
        """The best known k seeds, with the value `optimum`.

        Raises
        ------
        ValueError
            If the environment was made without `k`.
        """
        if self.k is None:
            raise ValueError("k must be given when the environment is created, got None")
        return self._best[0]

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
