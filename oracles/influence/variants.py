"""Influence maximisation with intervals of probabilities, budgets, waves and logs of cascades."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import numpy as np

from cmab.arrays import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from cmab.compiled import call_kernel, eager_kernel
from cmab.feedback import Feedback
from cmab.offline.warm_start import OfflineChoice, recommended
from cmab.parameters import described
from cmab.seeding import Seed
from cmab.selection import heap_drop, heap_sink, heap_up
from cmab.validation import arm_indices, frozen, integer, listed, real, shown, vector
from oracles.influence.certificate import (
    BUDGET_RATIO,
    GREEDY_RATIO,
    Certificate,
    Schedule,
    greedy_ratio,
    upper_bound,
)
from oracles.influence.cover import take
from oracles.influence.graph import DirectedGraph, as_directed_graph
from oracles.influence.maximization import InfluenceMaximization, InfluenceOracle, Options
from oracles.influence.search import (
    OPTIONS,
    USUAL,
    Found,
    Plan,
    Search,
    count_hits,
    find,
    secured_by,
)
from oracles.influence.sets import ReverseGraph, SetCollection
from oracles.influence.spread import node_worths
from oracles.influence.triggering import TriggeringInfluence

if TYPE_CHECKING:
    import networkx as nx


# Two searches and one count can fail.
_PARTS = 3
_LEAST_SETS = 1024


@dataclass(frozen=True, eq=False)
class RobustCertificate:
    """Seeds and their guarantee for all edge probabilities in given intervals.

    Parameters
    ----------
    seeds : IntArray, shape (k,)
        The seeds as node numbers, in the order of the greedy choice.
    ratio : float
        The certified ratio, `lowest` over `optimum`. With probability at least ``1 - delta``, the spread of
        the seeds is at least `ratio` times the optimum under **all** probabilities in the intervals at once.
    lowest : float
        A lower bound on the spread of the seeds, under all of these probabilities.
    optimum : float
        An upper bound on the spread of any seeds, under all of these probabilities.
    chosen_at : {"lows", "highs"}
        The interval ends for which the seeds are the greedy choice.

    Examples
    --------
    >>> import numpy as np
    >>> from oracles import DirectedGraph, InfluenceMaximization, robust_seeds
    >>> oracle = InfluenceMaximization(DirectedGraph.from_edges([0, 0, 3], [1, 2, 2]), k=1)
    >>> answer = robust_seeds(oracle, [0.4, 0.4, 0.0], [0.5, 0.5, 1.0], np.random.default_rng(0))
    >>> answer.seeds, 0.8 < answer.ratio < 0.9, answer.chosen_at
    (array([0]), True, 'lows')
    """

    seeds: IntArray
    ratio: float
    lowest: float
    optimum: float
    chosen_at: str


def robust_seeds(
    oracle: InfluenceOracle, lows: ArrayLike, highs: ArrayLike, rng: np.random.Generator
) -> RobustCertificate:
    """Return seeds with a ratio that is certified for all edge probabilities in given intervals.

    The spread increases with each probability. So the spread of given seeds is lowest at the lower ends, and
    the optimum is highest at the upper ends. LUGreedy computes the greedy choices for both ends and returns
    the choice with the larger spread at the lower ends. The ratio is a lower bound on this spread over an
    upper bound on the optimum at the upper ends. Both bounds come from samples that are independent of the
    choice. As the intervals shrink, the ratio approaches that of `InfluenceMaximization`. If the ratio is low
    because the intervals are wide, no choice of seeds can help; more observations are needed.

    Parameters
    ----------
    oracle : InfluenceMaximization
        The oracle that gives the graph, `k` and the other options. `TriggeringInfluence` is rejected, because
        its spread may not increase with the means.
    lows, highs : array_like, shape (n_arms,)
        The ends of the interval of each edge, for example confidence bounds, in [0, 1].
    rng : numpy.random.Generator
        The source of all randomness.

    Returns
    -------
    RobustCertificate
        The certificate. Given that the intervals hold, it fails with probability at most `oracle.delta`.

    Raises
    ------
    TypeError
        If the oracle is not an `InfluenceMaximization` of a known diffusion model.
    ValueError
        If an end is not a probability, or if a lower end exceeds the upper end.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.bounds.kl import kl_bounds
    >>> from oracles import DirectedGraph, InfluenceMaximization, robust_seeds
    >>> oracle = InfluenceMaximization(DirectedGraph.from_edges([0, 0, 3], [1, 2, 2]), k=1)
    >>> means, counts = np.array([0.5, 0.4, 0.1]), np.array([200, 200, 200])
    >>> lows, highs = kl_bounds(means, counts, rate=np.log(2 * 3 / 0.05))
    >>> round(robust_seeds(oracle, lows, highs, np.random.default_rng(0)).ratio, 1)
    0.8

    References
    ----------
    W. Chen, T. Lin, Z. Tan, M. Zhao, X. Zhou: Robust Influence Maximization, KDD 2016, Algorithm 1 (LUGreedy)
    and the ratio of the two spreads after it; its samples and bounds are OPIM-C's here.
    """
    if not isinstance(oracle, InfluenceMaximization) or isinstance(oracle, TriggeringInfluence):
        raise TypeError(f"oracle must be an InfluenceMaximization of a known model, got {shown(oracle)}")
    part = copy(oracle)
    part.delta = oracle.delta / _PARTS
    ends = (vector(name, end, oracle.n_arms, 0.0, 1.0) for name, end in (("lows", lows), ("highs", highs)))
    least, most = (part._probabilities(end) for end in ends)
    if (least > most).any():
        arm = int(np.argmax(least > most))
        raise ValueError(f"lows must be at most highs, got {least[arm]} and {most[arm]} for arm {arm}")
    low, at_lows, below = part._found(least, rng)
    high, at_highs, _ = part._found(most, rng)
    n_sets = max(_LEAST_SETS, low.rr_sets)
    spread, secured = _counted(below, at_highs, n_sets, int(rng.integers(0, 2**62)), part)
    if low.spread >= spread:
        seeds, lowest, chosen_at = at_lows, low.secured, "lows"
    else:
        seeds, lowest, chosen_at = at_highs, secured, "highs"
    ratio = min(1.0, lowest / high.optimum) if high.optimum > 0.0 else 1.0
    return RobustCertificate(seeds, ratio, lowest, high.optimum, chosen_at)


def _counted(
    reverse: ReverseGraph, seeds: IntArray, n_sets: int, key: int, oracle: InfluenceMaximization
) -> tuple[float, float]:
    """Return an estimate of the seeds' spread, and a lower bound with the oracle's confidence."""
    components = np.unique(reverse.component[seeds]).astype(np.int64)
    if not reverse.is_joined:
        exactly = float(reverse.masses[components].sum())
        return exactly, exactly
    hits, _ = count_hits(reverse, key, 0, n_sets, reverse.owners(components), oracle.search.threads)
    spread = reverse.total_weight * hits / n_sets + float(reverse.certain[components].sum())
    return spread, secured_by(reverse, components, hits, n_sets, math.log(1.0 / oracle.delta))


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


_PATIENCE = 64
# Costs are integer multiples of this fraction of the budget, rounded down.
_UNITS = 2.0**50


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
        chosen, covered = call_kernel(cover_within, index, left, costs, _UNITS)
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


Rounds = Sequence[Collection[Hashable]]
# The largest number of cells (round, node) that are processed at once.
_CELLS = 2**22


def clcb_cascades(
    oracle: InfluenceOracle, seeds: Rounds, active: Rounds, *, delta: float = 0.05, rng: Seed = 0
) -> OfflineChoice:
    """Return the best seeds for lower confidence bounds on the edges, computed from a log of cascades.

    The log contains the seeds and the people active one step later. It does not contain the edges
    that carried the message. Whether a person is a seed must be independent over people and rounds: in each
    round, each person u is a seed with a fixed probability q_u, which need not be known, as if an
    advertisement reached people at random. The probability of the edge (u, v) is then
    ``(1 - P(v stays out) / P(v stays out | u is not a seed)) / q_u``. The bound replaces each of the three
    probabilities by the end of its confidence interval that gives the lowest value. If the seeds of the log
    were chosen jointly, the bounds may be wrong, and the log cannot show this.

    All bounds hold simultaneously with probability at least ``1 - delta``. A bound is 0 if the tail of the
    edge was a seed in no round or in all rounds, or if its head was active in all rounds. The bounds need
    long logs: in the example below, 20,000 rounds give a bound of 0.61 for an edge of probability 0.8.

    Parameters
    ----------
    oracle : InfluenceOracle
        The oracle with the network, under independent cascades. There may be at most one edge from one person
        to another.
    seeds : sequence of collections
        The names of the seeds of each round; node numbers if the network has no names.
    active : sequence of collections
        The names of the people active after one step. Seeds are always active and may be omitted.
    delta : float
        The error probability, in (0, 1).
    rng : int, numpy.random.Generator or None
        The source of randomness of the oracle.

    Returns
    -------
    OfflineChoice
        ``super_arm`` has the seeds and ``bounds`` the lower bounds of all edges. ``reward_bound`` is the
        spread of the seeds at these bounds, exact or the mean of 2,000 cascades as in
        `InfluenceOracle.expected_reward`.

    Raises
    ------
    ValueError
        If `oracle` has another model or parallel edges, if the lists are empty or differ in length, if a name
        is unknown, if no seed can have reached an active person, or if `delta` is out of range.

    Examples
    --------
    >>> import networkx as nx
    >>> import numpy as np
    >>> from oracles import InfluenceMaximization, clcb_cascades
    >>> friends = nx.DiGraph([("ann", "bob"), ("dan", "bob"), ("dan", "eve")])
    >>> rng, seeds, active = np.random.default_rng(0), [], []
    >>> for _ in range(20_000):
    ...     seeds.append([name for name in ("ann", "dan") if rng.random() < 0.5])
    ...     chances = {"ann": [("bob", 0.8)], "dan": [("bob", 0.1), ("eve", 0.1)]}
    ...     active.append({v for u in seeds[-1] for v, p in chances[u] if rng.random() < p})
    >>> oracle = InfluenceMaximization(friends, k=1)
    >>> choice = clcb_cascades(oracle, seeds, active)
    >>> oracle.labels(choice.super_arm), choice.bounds.round(2), round(choice.reward_bound, 2)
    (['ann'], array([0.61, 0.  , 0.03]), 1.61)

    References
    ----------
    X. Liu et al.: Offline Learning for Combinatorial Multi-armed Bandits, ICML 2025, appendix C, Algorithm 3
    (line 4 with the rounds in which u was not a seed, as in its radius) and Theorem 5. W. Chen, X. Sun,
    J. Zhang, Z. Zhang: Network Inference and Influence Maximization from Samples, ICML 2021 (identity).
    """
    given: object = oracle
    if not isinstance(given, InfluenceOracle) or oracle.model != "ic" or not oracle._people_tell_coins:
        raise ValueError(f"oracle must be an influence oracle for independent cascades, got {shown(oracle)}")
    graph, names = oracle.graph, ("seeds", "active")
    arcs = graph.tails.astype(np.int64) * graph.n_nodes + graph.heads
    if len(np.unique(arcs)) < graph.n_arcs:
        raise ValueError("oracle must not have parallel edges, because the log cannot distinguish them")
    real("delta", delta, 0.0, 1.0, inside=True)
    rounds = [listed(name, log, "rounds") for name, log in zip(names, (seeds, active), strict=True)]
    n = len(rounds[0])
    if not n == len(rounds[1]) > 0:
        raise ValueError(
            f"seeds and active must have the same number of rounds, at least 1, got {n} and {len(rounds[1])}"
        )
    told = [_numbers(graph, name, log) for name, log in zip(names, rounds, strict=True)]
    bounds = _bounds(graph, n, *_counts(graph, *told), float(delta))
    return recommended(oracle, bounds, bounds, delta, rng)


def _numbers(graph: DirectedGraph, what: str, log: list[Collection[Hashable]]) -> list[list[int]]:
    """Return the node numbers of each round."""
    known, found = graph.node_numbers, []
    for t, names in enumerate(log):
        try:
            # Reject a string, which would otherwise be read as the names of its letters.
            if isinstance(names, str | bytes):
                raise TypeError
            found.append([known[name] for name in names])
        except (KeyError, TypeError):
            raise ValueError(
                f"{what} must hold names of the network, got {shown(names)} in round {t}"
            ) from None
    return found


def _counts(
    graph: DirectedGraph, seeds: list[list[int]], active: list[list[int]]
) -> tuple[IntArray, IntArray, IntArray]:
    """Return how often each node was a seed and inactive, and each arc "neither".

    An arc is "neither" in a round if its tail is not a seed and its head is not active.
    """
    n, size = len(seeds), max(1, _CELLS // graph.n_nodes)
    seeded, reached = np.zeros((2, graph.n_nodes), np.int64)
    both = np.zeros(graph.n_arcs, np.int64)
    for start in range(0, n, size):
        is_seed = _table(graph.n_nodes, seeds[start : start + size])
        is_active = is_seed | _table(graph.n_nodes, active[start : start + size])
        row, arc = _tried(graph, is_seed)
        heads = graph.heads[arc]
        is_reachable = is_seed.copy()
        is_reachable[row, heads] = True
        strays = np.argwhere(is_active & ~is_reachable)
        if len(strays):
            t, node = strays[0]
            raise ValueError(
                f"active must be people whom a seed can reach, got {graph.label(int(node))!r}"
                f" in round {start + t}"
            )
        seeded += is_seed.sum(axis=0)
        reached += is_active.sum(axis=0)
        np.add.at(both, arc[is_active[row, heads]], 1)
    return seeded, n - reached, n - seeded[graph.tails] - reached[graph.heads] + both


def _table(n_nodes: int, rounds: list[list[int]]) -> BoolArray:
    """Return a table of the nodes in each round."""
    table = np.zeros((len(rounds), n_nodes), np.bool_)
    lengths = [len(nodes) for nodes in rounds]
    table[np.repeat(np.arange(len(rounds)), lengths), [node for nodes in rounds for node in nodes]] = True
    return table


def _tried(graph: DirectedGraph, is_seed: BoolArray) -> tuple[IntArray, AnyArray]:
    """Return all pairs of a round and an arc out of a seed of that round."""
    offsets, arcs = graph.out_arcs
    row, tails = np.nonzero(is_seed)
    degrees = offsets[tails + 1] - offsets[tails]
    ends = np.cumsum(degrees)
    # The arcs out of a seed are numbered i = 0, 1, ... from the place where its arcs begin.
    places = np.repeat(offsets[tails] - ends + degrees, degrees) + np.arange(degrees.sum())
    return np.repeat(row, degrees), arcs[places]


def _bounds(
    graph: DirectedGraph, n: int, seeded: IntArray, inactive: IntArray, neither: IntArray, delta: float
) -> FloatArray:
    """Return a lower confidence bound on the probability of each arc."""
    log_term = math.log(12.0 * n * max(graph.n_arcs, 1) / delta)
    unseeded = (n - seeded)[graph.tails]
    shares, stays = seeded / n, inactive / n
    # Algorithm 3, line 4, but divided by the number of rounds in which the tail was not a seed.
    stays_without = neither / np.maximum(unseeded, 1)
    # Lines 5 and 6.
    most = np.minimum(shares + _radius(shares, n, log_term), 1.0)[graph.tails]
    above = np.minimum(stays + _radius(stays, n, log_term), 1.0)[graph.heads]
    below = np.maximum(stays_without - _radius(stays_without, unseeded, log_term), 0.0)
    with np.errstate(divide="ignore"):
        # Line 7. If `below` is 0, the log does not bound the probability.
        bounds: FloatArray = np.clip((1.0 - above / below) / most, 0.0, 1.0)
    return bounds


def _radius(share: FloatArray, count: IntArray | int, log_term: float) -> FloatArray:
    """Return the radius of line 5, which is infinite for a count of 0."""
    with np.errstate(divide="ignore"):
        per_round = log_term / np.asarray(count, np.float64)
    # Avoid 0 times infinity for a count of 0.
    spread = np.sqrt(6.0 * share * (1.0 - share) * np.where(np.isfinite(per_round), per_round, 0.0))
    radius: FloatArray = spread + 9.0 * per_round
    return radius
