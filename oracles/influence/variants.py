"""Influence maximisation with budgets, and in waves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import eager_kernel
from cmab.feedback import Feedback
from cmab.parameters import described
from cmab.selection import heap_drop, heap_sink, heap_up
from cmab.validation import arm_indices, frozen, integer, real, vector
from oracles.influence.certificate import BUDGET_RATIO, Certificate, greedy_ratio, upper_bound
from oracles.influence.cover import take
from oracles.influence.graph import DirectedGraph, as_directed_graph
from oracles.influence.maximization import InfluenceMaximization, InfluenceOracle, Options
from oracles.influence.search import OPTIONS, USUAL, Found, Search, find
from oracles.influence.sets import ReverseGraph, SetCollection
from oracles.influence.spread import node_worths

if TYPE_CHECKING:
    import networkx as nx


@eager_kernel
def cover_within(index, gains, costs, budget):
    """Choose nodes greedily by gain per cost, ties to the lowest, until no affordable node has a gain.

    Costs and budget are integers below 2^53, so the remaining budget is exact. Free nodes come first. Return
    the nodes and the number of sets they cover; `gains` becomes the remaining gains.
    """
    # No set is covered at first, so the gain of a node is the number of sets that contain it.
    n = gains.shape[0]
    heap, keys = np.arange(n), np.zeros(n)
    for v in range(n):
        if gains[v] > 0:
            keys[v] = gains[v] / costs[v]  # Khuller et al. 1999, modified greedy; infinite for free nodes
    heap_up(heap, keys, n)
    chosen, size, covered, held = np.empty(n, np.int64), 0, 0, n
    covered_sets = np.zeros(index.ends.shape[0] - 1, np.bool_)
    while held > 0 and keys[0] > 0.0:
        best = heap[0]
        if gains[best] == 0 or costs[best] > budget:  # the budget only decreases
            held = heap_drop(heap, keys, held)
            continue
        rate = gains[best] / costs[best]
        if rate < keys[0]:  # the key of an earlier step is an upper bound (CELF)
            keys[0] = rate
            heap_sink(heap, keys, 0, held)
            continue
        held = heap_drop(heap, keys, held)
        chosen[size] = best
        size += 1
        budget -= costs[best]
        covered += take(index, best, gains, covered_sets)
    return chosen[:size], covered


# Costs are integer multiples of this fraction of the budget, rounded down.
_UNITS = 2.0**50


class BudgetedInfluence(InfluenceOracle):
    """The seeds of total cost at most `budget` with the largest expected spread.

    The oracle compares the greedy choice by gain per cost with the best single seed, and returns the better
    of the two. It uses the reverse-reachable sets and bounds of `InfluenceMaximization`. ``alpha`` is
    ``0.405 - epsilon`` (Tang et al. 2021) and ``beta`` is ``1 - delta``. Arms are those of
    `InfluenceMaximization`; super arms differ in size.

    Costs are rounded down to integer multiples of 2^-50 times the budget. So three nodes of cost 0.1 fit into
    a budget of 0.3, and so do all seeds, in any order, if their costs fit the budget when both are written as
    decimals. The costs of the seeds can exceed the budget by at most 2^-50 times the budget for each seed.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    costs : array_like, shape (n_nodes,)
        The cost of each node as a seed, positive.
    delta : float, optional
        The probability that the guarantee of a call fails. The default is one over the number of arms, but at
        most 1/2.
    epsilon : float, optional
        The accuracy, in (0, 0.405); 0.1 by default.
    budget : float
        The largest total cost of the seeds. It must be enough for at least one node.
    node_weights : array_like, optional
        The weight of each node if it is active, nonnegative; 1 by default.
    search : Search
        As in `InfluenceMaximization`, but only `max_rr_sets` and `quality` are supported.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import BudgetedInfluence, DirectedGraph
    >>> graph = DirectedGraph.from_edges([0, 0, 0, 4, 5], [1, 2, 3, 3, 1])
    >>> oracle = BudgetedInfluence(graph, costs=[0.9, 0.1, 0.1, 0.1, 0.1, 0.1], budget=0.3)
    >>> sorted(oracle.solve(np.ones(5), np.random.default_rng(0)).tolist())
    [2, 4, 5]

    References
    ----------
    S. Khuller, A. Moss, J. Naor: The Budgeted Maximum Coverage Problem, IPL 70 (1999), section 2.
    J. Tang, X. Tang, A. Lim, K. Han, C. Li, J. Yuan: Revisiting Modified Greedy Algorithm for Monotone
    Submodular Maximization with a Knapsack Constraint, SIGMETRICS 2021.
    """

    has_membership = True
    _size: ClassVar[str] = "budget"
    _fixed: ClassVar[Mapping[str, Any]] = dict.fromkeys({*OPTIONS} - {"max_rr_sets", "quality"})

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        costs: ArrayLike,
        *,
        delta: float | None = None,
        epsilon: float | None = None,
        budget: float,
        node_weights: ArrayLike | None = None,
        search: Search = USUAL,
    ) -> None:
        prices = vector("costs", costs, low=0.0)
        if not (prices > 0.0).all():
            raise ValueError(f"costs must be positive, got {prices.min()}")
        self.budget = real("budget", budget, float(prices.min(initial=np.inf)))
        self._parts = np.floor(np.minimum(prices / self.budget, 2.0) * _UNITS)
        affordable = np.flatnonzero(self._parts <= _UNITS)
        super().__init__(graph, _most_within(self._parts), node_weights=node_weights, candidates=affordable)
        self.costs = frozen(vector("costs", costs, self.graph.n_nodes))
        self._promise(BUDGET_RATIO, epsilon, delta, search)

    def _restricted(self, available: BoolArray) -> Self:
        restricted = super()._restricted(available)
        restricted.k = _most_within(self._parts[restricted.candidates])
        return restricted

    @property
    def _fewest(self) -> int:
        return 1

    def is_feasible(self, super_arm: IntArray) -> bool:
        super_arm = self._check_entries(super_arm)
        return bool(sum(self._parts[super_arm].tolist()) <= _UNITS)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return node numbers in the order of the greedy choice."""
        return self.solve_certified(means, rng).seeds

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> Certificate:
        """Return seeds with their certified ratio, their estimated spread and the effort of the search."""
        probabilities = self._probabilities(means)
        choosing, validating = (int(key) for key in np.random.default_rng(rng).integers(0, 2**62, 2))
        # Keep sets of one node. If their probability were computed exactly, greedy would have no bound for
        # budgets.
        reverse = ReverseGraph.of(self.graph, probabilities, node_weights=self.node_weights, sampler="skips")
        cheapest = self._cheapest(reverse)
        costs = np.where(cheapest >= 0, self._parts[cheapest], np.inf)
        n = reverse.n_components
        floor = float(reverse.masses[cheapest >= 0].max()) or self._reached(probabilities)
        if floor == 0.0:
            # No node of positive weight can be reached.
            anything = _spent(np.empty(0, np.int64), costs, reverse.masses)
            nothing = Found(anything, 1.0, 0.0, 0.0, 0, 0, 0.0, 0.0)
            return nothing.certificate(cheapest[nothing.chosen], self.alpha, n)
        size = min(self.k, n)
        log_choices = size * (1.0 + float(np.log(n / size)))  # (e n / k)^k is at least C(n, k)
        plan = self._plan(reverse, log_choices, floor, BUDGET_RATIO, (choosing, validating))
        found = find(plan, lambda sets, log_term: self._choose(sets, costs, log_term))
        return found.certificate(cheapest[found.chosen], self.alpha, n)

    def _cheapest(self, reverse: ReverseGraph) -> IntArray:
        """Return the cheapest affordable node of each component, or -1."""
        nodes = np.flatnonzero(self.candidates)
        best_last = nodes[np.lexsort((-nodes, -self._parts[nodes]))]
        cheapest = np.full(reverse.n_components, -1)
        cheapest[reverse.component[best_last]] = best_last
        return cheapest

    def _choose(self, sets: SetCollection, costs: FloatArray, log_term: float) -> tuple[IntArray, int, float]:
        index = sets.index()
        degrees = np.diff(index.offsets)
        left = degrees.copy()
        chosen, covered = cover_within(index, left, costs, _UNITS)
        bound = min(_knapsack(degrees, costs), covered + _knapsack(left, costs))
        single = int(np.argmax(np.where(np.isfinite(costs), degrees, -1)))
        # The greedy choice alone has no ratio: one node may cover more than all nodes that greedy chooses.
        if degrees[single] > covered:
            chosen, covered = np.array([single]), int(degrees[single])
        chosen = _spent(chosen, costs, sets.graph.masses)
        bound = min(bound, float(sets.n_sets))
        return chosen, covered, upper_bound(bound, sets.n_sets, sets.graph.total_weight, log_term)


def _most_within(parts: FloatArray) -> int:
    """Return the number of cheapest nodes that the budget allows, at least one."""
    rising = np.sort(parts)
    # Sums of integers are exact below 2^53, which is beyond the budget.
    return max(1, int((np.cumsum(rising) <= _UNITS).sum()))


def _spent(chosen: IntArray, costs: FloatArray, masses: FloatArray) -> IntArray:
    """Return `chosen` and affordable further components, in order of mass per cost."""
    rates = np.full(len(costs), np.inf)
    np.divide(masses, costs, out=rates, where=costs > 0.0)
    left, free = _UNITS - float(costs[chosen].sum()), np.ones(len(costs), np.bool_)
    free[chosen] = False
    while (free & (costs <= left)).any():
        others = np.flatnonzero(free & (costs <= left))
        others = others[np.argsort(-rates[others], kind="stable")]
        bought = others[np.cumsum(costs[others]) <= left]
        left -= float(costs[bought].sum())
        free[bought] = False
        chosen = np.concatenate((chosen, bought))
    return chosen


def _knapsack(gains: IntArray, costs: FloatArray) -> float:
    """Return the value of the fractional knapsack, an upper bound for all seeds within the budget."""
    rates = np.full(len(gains), np.inf)
    np.divide(gains, costs, out=rates, where=costs > 0.0)
    # Dantzig's bound: the gains in order of gain per cost, and a part of the first one that does not fit.
    order = np.argsort(-rates, kind="stable")
    spent = np.cumsum(costs[order])
    whole = int(np.searchsorted(spent, _UNITS, side="right"))
    value = float(gains[order[:whole]].sum())
    if whole < len(order) and np.isfinite(costs[order[whole]]):
        rest = _UNITS - (float(spent[whole - 1]) if whole else 0.0)
        value += float(gains[order[whole]]) * rest / float(costs[order[whole]])
    return value


class AdaptiveInfluence:
    """A campaign of several waves of seeds, where each wave is chosen after the cascade of the one before.

    `ask` chooses the best `k` inactive seeds for the inactive part of the graph. `tell` records the nodes
    that are active when their cascade has ended. Under independent cascades nothing else is needed: the edges
    out of active nodes have been tried, and all other edges are as before, so the remaining problem is
    influence maximisation among inactive nodes.

    Guarantee: the expected spread of all waves is at least `alpha` times that of the best policy that knows
    the means and uses as many waves of `k` seeds. That policy also observes each wave before it chooses the
    next, so its spread is at least that of the best ``waves * k`` seeds chosen at once. With ``k=1`` and many
    waves, `alpha` is close to 1 - 1/e.

    Parameters
    ----------
    graph : networkx graph or DirectedGraph
        The network, in which nodes activate each other along edges.
    k : int
        The number of seeds in each wave.
    waves : int
        The number of waves. There must be at least ``waves * k`` candidates.
    **options
        `delta`, `epsilon`, `node_weights`, `candidates` and `search` as in `InfluenceMaximization`. `delta`
        is the probability that the guarantee of some wave fails.

    Attributes
    ----------
    active : BoolArray, shape (n_nodes,)
        The nodes that are active.
    seeds : IntArray
        The seeds of the waves reported so far, in order.
    left : int
        The number of waves that remain.
    alpha : float
        The ratio described above.

    Raises
    ------
    ValueError
        If a number is out of range or the graph is invalid. In `ask`, if no wave is left or the means are not
        probabilities. In `tell`, if it does not follow `ask` or a node is not in the graph.

    Examples
    --------
    >>> import numpy as np
    >>> from instances import IndependentCascade
    >>> from oracles import AdaptiveInfluence, DirectedGraph
    >>> graph = DirectedGraph.from_edges([0, 0, 3, 4], [1, 2, 4, 5])
    >>> campaign = AdaptiveInfluence(graph, k=1, waves=2)
    >>> world = IndependentCascade(graph, [1.0, 1.0, 1.0, 0.0])
    >>> means, rng = np.full(4, 0.5), np.random.default_rng(0)
    >>> while campaign.left:
    ...     now = campaign.ask(means, rng).seeds
    ...     # The same generator again is the same world: the cascade of all seeds so far.
    ...     campaign.tell(world.play(np.append(campaign.seeds, now), np.random.default_rng(7)))
    >>> campaign.seeds, int(campaign.active.sum())
    (array([0, 3]), 5)

    References
    ----------
    D. Golovin, A. Krause: Adaptive Submodularity: Theory and Applications in Active Learning and Stochastic
    Optimization, JAIR 42 (2011), Theorem 5.2 and section 8 (full-adoption feedback); numbers from memory.
    K. Han, K. Huang, X. Xiao, J. Tang, A. Sun, X. Tang: Efficient Algorithms for Adaptive Influence
    Maximization, PVLDB 11 (2018), for waves of several seeds.
    """

    def __init__(
        self,
        graph: nx.Graph[Any] | DirectedGraph,
        k: int,
        *,
        waves: int,
        **options: Unpack[Options],
    ) -> None:
        graph = as_directed_graph(graph)
        self.waves = integer("waves", waves, 1)
        whole = InfluenceMaximization(graph, k, model="ic", backend=None, **options)
        self.k = whole.k
        integer("waves", waves, 1, int(whole.candidates.sum()) // self.k)
        self.graph, self.candidates, self.delta = graph, whole.candidates, whole.delta
        self.epsilon, self.node_weights = whole.epsilon, whole.node_weights
        self._options: dict[str, Any] = {"epsilon": whole.epsilon, "search": whole.search}
        # Golovin and Krause 2011, Theorem 5.2, with a finite number of waves. In expectation, each wave
        # closes ratio / waves of the gap to the best policy. A wave whose guarantee fails, which has
        # probability at most delta / waves, closes nothing.
        each = (greedy_ratio(self.k) - self.epsilon) * (1.0 - self.delta / self.waves)
        self.alpha = 1.0 - (1.0 - each / self.waves) ** self.waves
        self.active: BoolArray = np.zeros(graph.n_nodes, np.bool_)
        self.seeds: IntArray = np.empty(0, np.int64)
        self.left = self.waves
        self._asked: IntArray | None = None

    def __repr__(self) -> str:
        return described(self)

    def ask(self, means: ArrayLike, rng: np.random.Generator) -> Certificate:
        """Return the seeds of the next wave; the certificate is about the weight that they add.

        There are fewer than `k` seeds (possibly 0) if fewer inactive candidates remain. A second `ask` before
        `tell` chooses again.

        Parameters
        ----------
        means : array_like, shape (n_arcs,)
            The current estimate of the probability of each edge.
        rng : numpy.random.Generator
            Source of all randomness.
        """
        if self.left == 0:
            raise ValueError(f"ask must come at most once for each of {self.waves} waves, got one more call")
        free = np.flatnonzero(self.candidates & ~self.active)
        size = min(self.k, len(free))
        worths = np.where(self.active, 0.0, node_worths(self.graph, self.node_weights))
        if size == 0 or not worths.any():
            # No node can be gained, so any seeds are optimal.
            self._asked = free[:size]
            return Certificate(self._asked, 1.0, True, 0.0, 0.0, 0, 0, 0)
        oracle = InfluenceMaximization(
            self.graph,
            size,
            candidates=free,
            node_weights=worths if self.active.any() else self.node_weights,
            delta=self.delta / self.waves,
            **self._options,
        )
        # The arcs out of active nodes have been tried; the arcs into active nodes cannot activate anybody.
        touched = self.active[self.graph.tails] | self.active[self.graph.heads]
        probabilities = np.where(touched, 0.0, vector("means", means, self.graph.n_arcs, 0.0, 1.0))
        answer = oracle.solve_certified(probabilities, rng)
        self._asked = answer.seeds
        return answer

    def tell(self, reached: ArrayLike | Feedback) -> None:
        """Record the nodes that are active after the cascade of the seeds of the last `ask`.

        Parameters
        ----------
        reached : array_like of int, or Feedback
            The active nodes; seeds and nodes that were active before may be omitted. Alternatively, the
            feedback by edges for the cascade of this wave's seeds or of all seeds so far.
        """
        if self._asked is None:
            raise ValueError("tell must follow a call of ask, got no open wave")
        if isinstance(reached, Feedback):
            reached = np.unique(self.graph.heads[reached.arms[reached.outcomes > 0.0]])
        nodes = arm_indices("reached", reached, self.graph.n_nodes)
        self.seeds = np.append(self.seeds, self._asked)
        self.active[self._asked] = True
        self.active[nodes] = True
        self.left, self._asked = self.left - 1, None
