"""Influence maximisation with seed costs and a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from cmab.arrays import ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled.forms import call_kernel
from cmab.validation import frozen, real, vector
from oracles.diffusion.directed_graph import DirectedGraph
from oracles.diffusion.reverse_sets import ReverseGraph, SetCollection
from oracles.influence.base import InfluenceOracle
from oracles.influence.certificate import BUDGET_RATIO, GREEDY_RATIO, Certificate, Schedule, upper_bound
from oracles.influence.options import OPTIONS, USUAL, Search
from oracles.influence.search import Found, Plan, find

if TYPE_CHECKING:
    import networkx as nx

_PATIENCE = 64
# Costs are integer multiples of this fraction of the budget, rounded down.
_PARTS = 2.0**50


class BudgetedInfluence(InfluenceOracle):
    """The seeds of total cost at most `budget` with the largest expected spread.

    The oracle compares the greedy choice by gain per cost with the best single seed, and returns the better
    of the two. It uses the reverse-reachable sets and bounds of `InfluenceMaximization`. ``alpha`` is
    ``0.405 - epsilon`` (Tang et al. 2021) and ``beta`` is ``1 - delta``. A call first tries to certify
    ``1 - 1/e - epsilon``. The bound on the optimum (a fractional knapsack of gains) allows this ratio unless
    a few nodes use up the budget. At 64 times the initial number of sets, the call reduces its goal to
    ``alpha``. Arms are those of `InfluenceMaximization`; super arms differ in size.

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
        self._parts = np.floor(np.minimum(prices / self.budget, 2.0) * _PARTS)
        affordable = np.flatnonzero(self._parts <= _PARTS)
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
        return bool(sum(self._parts[super_arm].tolist()) <= _PARTS)

    def solve(self, means: FloatArray, rng: np.random.Generator) -> IntArray:
        """Return node numbers in the order of the greedy choice."""
        return self.solve_certified(means, rng).seeds

    def solve_certified(self, means: FloatArray, rng: np.random.Generator) -> Certificate:
        """Return seeds with their certified ratio, their estimated spread and the effort of the search."""
        probabilities = self._probabilities(means)
        choosing, validating = (int(key) for key in rng.integers(0, 2**62, 2))
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
        schedule = Schedule.of(
            reverse.total_weight,
            log_choices,
            floor,
            self.epsilon,
            self.delta,
            None,
            greedy=BUDGET_RATIO,
        )
        plan = Plan(
            reverse,
            schedule,
            self.alpha,
            (choosing, validating),
            self.max_rr_sets,
            first_ratio=GREEDY_RATIO - self.epsilon,
            patient_sets=_PATIENCE * schedule.first,
            least_hits=self._least_hits(log_choices),
        )
        found = find(plan, lambda sets, log_term, _: self._choose(sets, costs, log_term))
        answer = found.certificate(cheapest[found.chosen], self.alpha, n)
        return self._uncertified.see(answer, self.alpha, type(self).__name__)

    def _cheapest(self, reverse: ReverseGraph) -> IntArray:
        """Return the cheapest affordable node of each component, or -1."""
        nodes = np.flatnonzero(self.candidates)
        best_last = nodes[np.lexsort((-nodes, -self._parts[nodes]))]
        cheapest = np.full(reverse.n_components, -1)
        cheapest[reverse.component[best_last]] = best_last
        return cheapest

    def _choose(self, sets: SetCollection, costs: FloatArray, log_term: float) -> tuple[IntArray, int, float]:
        from oracles.diffusion._kernels_cover import Index, cover_within

        index = Index(sets.ends, sets.pool, *sets.index())
        degrees = np.diff(index.offsets)
        chosen, covered, left = call_kernel(cover_within, index, costs, _PARTS)
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
    return max(1, int((np.cumsum(rising) <= _PARTS).sum()))


def _spent(chosen: IntArray, costs: FloatArray, masses: FloatArray) -> IntArray:
    """Return `chosen` and affordable further components, in order of mass per cost."""
    rates = np.full(len(costs), np.inf)
    np.divide(masses, costs, out=rates, where=costs > 0.0)
    left, free = _PARTS - float(costs[chosen].sum()), np.ones(len(costs), np.bool_)
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
    whole = int(np.searchsorted(spent, _PARTS, side="right"))
    value = float(gains[order[:whole]].sum())
    if whole < len(order) and np.isfinite(costs[order[whole]]):
        rest = _PARTS - (float(spent[whole - 1]) if whole else 0.0)
        value += float(gains[order[whole]]) * rest / float(costs[order[whole]])
    return value
