"""What oracles of influence have in common: the graph, the reward, the names."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.description import described
from cmab.feedback import Feedback
from cmab.guards import unguarded
from cmab.oracle import Oracle
from cmab.smoothness import Smoothness
from cmab.validation import arm_indices, frozen, integer, real, shown, vector
from oracles.diffusion.directed_graph import DirectedGraph, as_directed_graph
from oracles.diffusion.groups import in_degree_groups
from oracles.diffusion.reverse_sets import MODELS, Model
from oracles.diffusion.spread import (
    MOST_CASCADES,
    estimated_spread,
    exact_spread,
    node_worths,
    threshold_spread,
    triggering_probabilities,
)
from oracles.influence._uncertified import UncertifiedOnce
from oracles.influence.options import OPTIONS, USUAL, Search, hits_per_unit

if TYPE_CHECKING:
    import networkx as nx

_CASCADES, _EPSILON = 2000, 0.1
_ROUNDING = 1e-9


class InfluenceOracle(Oracle):
    """A family of k seeds whose reward is their expected spread under independent cascades.

    A subclass sets `alpha` and `beta` and defines `solve`.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        Who can activate whom.
    k : int
        Number of seeds, in ``[1, number of candidates]``.
    node_weights : array_like, optional
        What each node is worth when active, not negative; 1 each if left out. Candidates may be worth
        nothing: seeds of one group that are to reach another.
    candidates : array_like of int, optional
        Nodes that may be seeds; all of them if left out.
    model : {"ic", "lt"}
        Independent cascade, or linear threshold: then means are weights, and those of the edges into a node
        must sum to at most 1.

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

    #: Whether it is known which coins reports of people tell.
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
            raise ValueError("node_weights must be positive for at least one node, got none")
        with np.errstate(over="ignore"):
            total = 0.0 if self.node_weights is None else float(self.node_weights.sum())
        if self.node_weights is not None and not np.isfinite(total):
            raise ValueError(f"node_weights must have a finite sum, got {self.node_weights.max()} among them")
        self.k = integer("k", k, 1, int(self.candidates.sum()))
        if model not in MODELS:
            raise ValueError(f"model must be one of {MODELS}, got {shown(model)}")
        self.model: Model = model
        # For the regret bounds. Under linear thresholds, edges out of a node are not seen together.
        self.clusters = None if model == "lt" else self.graph.tails.astype(np.int64)

    #: The options of `Search` that this class does not take, with what they are for it.
    _fixed: ClassVar[Mapping[str, Any]] = {}

    def _promise(self, ratio: float, epsilon: float | None, delta: float | None, search: Search) -> None:
        """Set what `alpha` and `beta` are made of, for oracles that certify their answers, and `quality`."""
        if not isinstance(search, Search):
            raise ValueError(f"search must be a Search, got {shown(search)}")
        for name in self._fixed:
            if (given := getattr(search, name)) != getattr(Search, name):
                raise ValueError(f"search.{name} must be left out for {type(self).__name__}, got {given!r}")
        self.max_rr_sets, self.first_rr_sets = search.max_rr_sets, search.first_rr_sets
        unasked = epsilon is None and search.first_rr_sets is None and search.max_rr_sets is None
        self.quality = search.quality_if(unasked)
        self._hits_per_unit = hits_per_unit(self.quality)
        self.epsilon = real("epsilon", _EPSILON if epsilon is None else epsilon, 0.0, ratio, inside=True)
        self.delta = real("delta", 1 / max(2, self.n_arms) if delta is None else delta, 0.0, 1.0, inside=True)
        self.alpha, self.beta = ratio - self.epsilon, 1.0 - self.delta
        _ = self._uncertified  # made now, so that what `_restricted` copies is the same object

    @property
    def search(self) -> Search:
        """The options of the search, where those that are as usual are left out."""
        kept = {name: self.__dict__[name] for name in OPTIONS if name in self.__dict__}
        kept |= {name: getattr(Search, name) for name in self._fixed}
        unasked = self.__dict__.get("epsilon") == _EPSILON and not (
            kept.get("first_rr_sets") or kept.get("max_rr_sets")
        )
        if kept.get("quality") == USUAL.quality_if(unasked):
            kept["quality"] = None
        return Search(**kept)

    @cached_property
    def _uncertified(self) -> UncertifiedOnce:
        """The warning that answers are not certified; a cached property is no parameter of the oracle."""
        return UncertifiedOnce()

    def _reached(self, probabilities: FloatArray) -> float:
        """Return what the best candidate is worth at least, by somebody of worth whom few arcs lead to.

        For candidates that are worth nothing themselves; 0 where none of them reaches anybody of worth.
        """
        worths, tails, heads = node_worths(self.graph, self.node_weights), self.graph.tails, self.graph.heads
        reach = self.candidates.astype(np.float64)
        while True:
            # One path is live with the product of its probabilities, under both models.
            further = reach.copy()
            np.maximum.at(further, heads, reach[tails] * probabilities)
            worth = float((further * worths).max())
            if worth > 0.0 or np.array_equal(further, reach):
                return worth
            reach = further

    def _least_hits(self, log_choices: float) -> float:
        """Return how many of the sets that chose them seeds must meet, for the `quality` that is wanted."""
        # As sample sizes in theory: Tang et al. 2018, section 4, have ln C(n, k) + ln(6 / delta).
        return self._hits_per_unit * (log_choices + math.log(1.0 / self.delta))

    def __repr__(self) -> str:
        candidates = None if self.candidates.all() else int(self.candidates.sum())
        # What is as if it were left out says nothing.
        usual = {"delta": 1 / max(2, self.n_arms), "epsilon": _EPSILON, "search": USUAL}
        hidden = {name: None for name, value in usual.items() if getattr(self, name, None) == value}
        return described(self, **({"search": self.search, "candidates": candidates} | hidden))

    @property
    def n_choices(self) -> int:
        return self.graph.n_nodes

    @property
    def max_size(self) -> int:
        """Number of arms: a cascade may trigger all of them."""
        return self.n_arms

    @property
    def arm_groups(self) -> IntArray:
        """Arcs by the in-degree of their heads: see `in_degree_groups`."""
        return in_degree_groups(self.graph)

    def solve_within(self, means: FloatArray, available: BoolArray, rng: np.random.Generator) -> IntArray:
        """Return what `solve` gives where the candidates are those that are available.

        Raises
        ------
        ValueError
            If fewer than k candidates are available.
        """
        return self._restricted(available).solve(means, rng)

    def _restricted(self, available: BoolArray) -> Self:
        """Return this oracle with the candidates that are available."""
        free = self.candidates & available
        if free.sum() < self._fewest:
            raise self._none_within(available)
        restricted = object.__new__(type(self))
        restricted.__dict__.update(self.__dict__, candidates=free)
        return restricted

    @property
    def _fewest(self) -> int:
        """How many candidates a super arm needs."""
        return self.k

    def expected_reward(self, super_arm: IntArray, means: FloatArray) -> float:
        """Return the expected number (or weight) of active nodes, seeds included.

        Exact for independent cascades while at most 16 uncertain edges can be reached; otherwise the mean of
        2,000 cascades with fixed coins, whose standard error `spread` gives.
        """
        return unguarded(self.spread)(super_arm, means)[0]

    def spread(
        self, super_arm: IntArray, means: FloatArray, *, cascades: int = _CASCADES
    ) -> tuple[float, float]:
        """Return the expected number (or weight) of active nodes, and its standard error or 0 (exact)."""
        probabilities = self._probabilities(means)
        cascades = integer("cascades", cascades, 2, MOST_CASCADES)
        if self.model == "lt":
            return threshold_spread(
                self.graph, probabilities, super_arm, cascades, node_weights=self.node_weights
            )
        exact = exact_spread(self.graph, probabilities, super_arm, node_weights=self.node_weights)
        if exact is not None:
            return exact, 0.0
        return estimated_spread(
            self.graph, probabilities, super_arm, cascades, node_weights=self.node_weights
        )

    def _probabilities(self, means: FloatArray) -> FloatArray:
        """Return `means`, refused unless they are probabilities that the model allows."""
        probabilities = self._check_means(means, 0.0, 1.0)
        if self.model == "lt":
            sums = np.bincount(self.graph.heads, probabilities, self.graph.n_nodes)
            if sums.max() > 1.0 + _ROUNDING:
                node = int(sums.argmax())
                raise ValueError(
                    "means of the edges into a node must sum to at most 1 for linear thresholds,"
                    f" got {sums[node]} at node {self.graph.label(node)!r}"
                )
        return probabilities

    def is_feasible(self, super_arm: IntArray) -> bool:
        return len(super_arm) == self.k and bool(self.candidates[super_arm].all())

    def triggered_arms(self, super_arm: IntArray) -> IntArray:
        """Return the edges out of every node that can be reached from the seeds."""
        from oracles.diffusion._kernels_cascade import reachable

        offsets, arms = self.graph.out_arcs
        usable = np.ones(self.n_arms, np.bool_)
        _, reached = reachable(offsets, arms, self.graph.heads, usable, super_arm)
        return np.flatnonzero(reached[self.graph.tails])

    def _explains(self, super_arm: IntArray, arms: IntArray) -> bool:
        """Return whether `arms` alone lead from the seeds to all their tails.

        It takes time in the size of a report, not of the graph, and whole reports of a cascade pass.
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

        By enumeration of outcomes; None where they are more than 65,536, and for linear thresholds: which
        edges a round shows is up to the environment, and `LinearThreshold` leaves out those that try a head
        later than others.
        """
        probabilities = self._probabilities(means)
        if self.model == "lt":
            return None
        return triggering_probabilities(self.graph, probabilities, super_arm)

    def smoothness(self) -> Smoothness | None:
        """Return ``|E| W x``, W being what all nodes are worth.

        The constant modulated by triggering is W for cascades. None is given for linear thresholds: how often
        an edge is shown is not known there.
        """
        # Chen et al. 2016, Lemma 6, where every node is worth 1.
        total = self.graph.n_nodes if self.node_weights is None else float(self.node_weights.sum())
        found = Smoothness.influence(self.n_arms, total)
        return replace(found, modulated=None) if self.model == "lt" else found

    def labels(self, super_arm: IntArray) -> list[Hashable]:
        return [self.graph.label(node) for node in super_arm]

    def arm_labels(self) -> list[Hashable]:
        """Return each edge as the names of its two people, with a number besides if it is parallel to others.

        Each edge of an undirected graph is two: from one to the other, and back.
        """
        return self.graph.arc_labels

    def feedback_of(
        self,
        super_arm: IntArray,
        *,
        joined: Collection[Hashable] | Mapping[Hashable, int] | None = None,
        carried: Collection[Hashable] | None = None,
        unseen: Collection[Hashable] = (),
        **others: Any,
    ) -> Feedback:
        """Return the feedback of a cascade that was seen from its people.

        With `carried`, all edges out of everybody who joined were tried, and these are the ones that carried
        the message. Without it `joined` says in which step each person joined, and the coins that this tells
        for certain are learned from: those of edges that were alone in trying their head in a step, as
        `IndependentCascade` shows them for ``feedback="node"``.

        Parameters
        ----------
        super_arm : IntArray, shape (size,)
            The seeds. They joined in step 0, whether or not `joined` has them.
        joined : collection or mapping
            Names of the people who joined, or the step of each, which `carried` must agree with.
        carried : collection, optional
            Names of all edges that carried the message, whether or not their head had joined already. If only
            the edge that told each person first is known, leave `carried` out and give steps. Otherwise the
            other edges between people who joined count as failures, and their estimated means are too low.
        unseen : collection
            Names of people of whom nothing is known, but that they may have joined; with `carried`, of people
            out of whom nobody looked at the edges.
        **others
            Anything else is refused.

        Raises
        ------
        ValueError
            If a name is unknown, somebody joined whom nobody can have told, or not in that step, or steps are
            missing. Under linear thresholds, if `carried` is given. Under deadlines and triggering models, of
            which people do not tell the coins.

        Examples
        --------
        >>> import networkx as nx
        >>> from oracles import DegreeHeuristic
        >>> friends = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("bob", "dan"), ("cy", "dan")])
        >>> oracle = DegreeHeuristic(friends, k=1)
        >>> feedback = oracle.feedback_of([0], joined=["bob"], carried=[("ann", "bob")])
        >>> [oracle.arm_labels()[arm] for arm in feedback.arms], feedback.outcomes, feedback.reward
        ([('ann', 'bob'), ('ann', 'cy'), ('bob', 'dan')], array([1., 0., 0.]), 2.0)
        >>> oracle.feedback_of([0], joined={"bob": 1, "cy": 1, "dan": 2}).arms  # who told dan is not known
        array([0, 1])
        """
        from oracles.influence._reports import feedback_of_steps, feedback_of_ties

        if not self._people_tell_coins:
            return super().feedback_of(super_arm, joined=joined, carried=carried, unseen=unseen, **others)
        if others or joined is None:
            given = ", ".join(others) or "nothing"
            raise ValueError(f"a report must have joined, and may have carried and unseen, got {given}")
        if carried is not None:
            return feedback_of_ties(self, super_arm, joined, carried, unseen)
        return feedback_of_steps(self, super_arm, joined, unseen)

    def _filled(self, seeds: IntArray) -> IntArray:
        """Return `seeds`, filled up to k with the lowest other candidates."""
        free = self.candidates.copy()
        free[seeds] = False
        others = np.flatnonzero(free)
        return np.concatenate((seeds, others[: self.k - len(seeds)]))
