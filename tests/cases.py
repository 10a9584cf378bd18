"""Tables: a row enrols a class in every common check.

Every ``make`` is called afresh by each test. Small instances: the checks enumerate and play thousands of
rounds. ``slow`` names the checks, or the tests of `rows`, that take a row more than half a second.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain, combinations, permutations, product
from typing import Any

import networkx as nx
import numpy as np
import pulp
import pytest
from models import LeastSquares

import cmab
from cmab import (
    C2UCB,
    CTS,
    CUCB,
    ESCB,
    ETCG,
    FTPL,
    KLCUCB,
    MNLUCB,
    PBMUCB,
    AdaptiveCTS,
    BayesUCB,
    Clairvoyant,
    CombLinTS,
    DiscountedCUCB,
    Environment,
    EpsilonGreedy,
    ForcedExploration,
    GaussianCTS,
    GLRRestart,
    Greedy,
    HierarchicalCTS,
    LogisticTS,
    ModelPolicy,
    Oracle,
    PrimalDualCUCB,
    RandomPolicy,
    RarelySwitchingCUCB,
    SlidingWindow,
)
from cmab.bounds.radii import LogRadius
from cmab.exploration.lucb import KLLUCB, LilLUCB, LilUCB
from cmab.exploration.phases import Halving
from cmab.exploration.rejects import SuccessiveRejects
from cmab.exploration.ugape import GapE, UGapEcV
from cmab.explorer import AnyExplorer
from cmab.policies.ucb import LLR
from cmab.policy import AnyPolicy
from instances import (
    BernoulliArms,
    BetaArms,
    CascadeModel,
    Coverage,
    DeadlineCascade,
    EmpiricalArms,
    GaussianArms,
    IndependentCascade,
    LinearSemiBandit,
    LinearThreshold,
    MultinomialLogit,
    PiecewiseStationary,
    ResourceSemiBandit,
    SemiBandit,
)
from instances.arena.linear import ShrunkCoins
from instances.arena.problems import Sleeping
from oracles import (
    Assortment,
    AtLeastOne,
    BruteForce,
    BudgetedInfluence,
    CapacitatedFlow,
    CostAwareCascade,
    DeadlineInfluence,
    DegreeHeuristic,
    DirectedGraph,
    DisjointPaths,
    GeneralizedAssignment,
    GraphicMatroid,
    InfluenceMaximization,
    Knapsack,
    LaminarMatroid,
    LevelAllocation,
    LinearMatroid,
    Matching,
    Matroid,
    MaxCoverage,
    MinCostFlow,
    MinimumCut,
    MonteCarloGreedy,
    MostReliablePath,
    MultidimensionalKnapsack,
    PartitionMatroid,
    PuLPOracle,
    RankedTopK,
    SetCover,
    ShortestPath,
    Slate,
    SteinerTree,
    SubmodularOracle,
    TopK,
    TransversalMatroid,
    TriggeringInfluence,
    TriggeringModel,
    UniformMatroid,
    VertexCover,
)
from oracles.influence.search import USUAL


class Together(TriggeringModel):
    """A node listens to every arc at least as good as a threshold of its own: coins that fall together."""

    def live_arcs(self, graph, means, rng):
        """Return the live arcs of one world."""
        return rng.random(graph.n_nodes)[graph.heads] < means


@dataclass(frozen=True)
class OracleCase:
    """An oracle on a small problem, with all its super arms (None: too many) and the range of its means.

    Fewer trials where a reward is simulated in Python.
    """

    name: str
    make: Callable[[], Oracle]
    super_arms: Callable[[], Iterable[Any]] | None = None
    low: float = 0.0
    high: float = 1.0
    trials: int = 50
    slow: str = ""


class Coins(TriggeringModel):
    """Independent cascades, said as a triggering model."""

    def live_arcs(self, graph, means, rng):
        """Return the live arcs of a world."""
        return rng.random(graph.n_arcs) < means


def any_hit(means, chosen):
    """The chance that one of each three neighbours succeeds, summed over both triples: submodular."""
    missed = np.ones(6)
    missed[chosen] = 1.0 - np.clip(means[chosen], 0.0, 1.0)
    return 2.0 - missed[:3].prod() - missed[3:].prod()


def best_server(means, chosen):
    """The worth of two clients, each served by the best of the chosen facilities (three of them)."""
    return means.reshape(3, 2)[chosen].max(axis=0, initial=0.0).sum()


def their_pairs(chosen):
    """The arms of the chosen facilities: one for each client."""
    return (2 * chosen[:, None] + np.arange(2)).ravel()


class UpToK(TopK):
    """The sets of at most k arms, the best of which, where means are not negative, has k."""

    has_membership = True
    _uniform_size = None

    def is_feasible(self, super_arm):
        """Return whether there are at most k."""
        return len(super_arm) <= self.k


@dataclass(frozen=True)
class InfluenceCase:
    """A way to certified seeds, for a graph, k and options that all of `InfluenceMaximization` share.

    Of several ways for one model, each is the reference of the others.
    """

    name: str
    make: Callable[..., Any]
    model: str = "ic"


def _within_a_budget(graph, k, *, candidates=None, **options):
    """Return the budgeted oracle whose costs allow k candidates, cheap decimals that sum to the budget."""
    costs = np.full(graph.n_nodes, 0.1)
    if candidates is not None:
        costs[np.setdiff1d(np.arange(graph.n_nodes), candidates)] = 0.2 * k
    return BudgetedInfluence(graph, costs, budget=k / 10, **options)


INFLUENCE = [
    *(
        InfluenceCase(
            sampler,
            lambda graph, k, sampler=sampler, search=USUAL, **options: InfluenceMaximization(
                graph, k, search=replace(search, sampler=sampler), **options
            ),
        )
        for sampler in ("auto", "coins", "skips", "pairs", "sentinels")
    ),
    InfluenceCase("budget", _within_a_budget),
    InfluenceCase(
        "deadline",  # that gives nodes time enough for a way through all of them
        lambda graph, k, **options: DeadlineInfluence(graph, k, deadline=graph.n_nodes, **options),
    ),
    InfluenceCase(
        "triggering",
        lambda graph, k, **options: TriggeringInfluence(graph, triggering=Coins(), k=k, **options),
    ),
    InfluenceCase(
        "threshold", lambda graph, k, **options: InfluenceMaximization(graph, k, model="lt", **options), "lt"
    ),
]


@dataclass(frozen=True)
class PolicyCase:
    """A policy, made for any oracle, or for those of a family in some senses."""

    name: str
    make: Callable[[Oracle], AnyPolicy]
    family: Callable[..., Oracle] = TopK
    senses: tuple[str, ...] = ("max", "min")
    slow: str = ""


@dataclass(frozen=True)
class ExplorerCase:
    """An explorer of four arms of which the first (or two) are far better, and the error it promises."""

    name: str
    make: Callable[[], AnyExplorer]
    delta: float | None = None
    slow: str = ""


@dataclass(frozen=True)
class EnvironmentCase:
    """An environment and some of its super arms."""

    name: str
    make: Callable[[], Environment]
    super_arms: tuple[tuple[int, ...], ...]
    slow: str = ""


MEANS = np.array([0.9, 0.75, 0.6, 0.3, 0.1])
# Two cycles that share a node, a parallel arc, a path into the cycle, a node without arcs.
NETWORK = DirectedGraph.from_edges([0, 1, 2, 2, 3, 4, 0, 5], [1, 2, 0, 3, 4, 2, 1, 0], n_nodes=7)

# A square with a diagonal, a doubled side, a loop, and an edge that every spanning tree needs.
STREETS = nx.MultiGraph([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (0, 1), (1, 1), (3, 4)])
COLUMNS = np.array([[1, 0, 1, 2, 0, 1], [0, 1, 1, 0, 0, 2], [0, 0, 0, 0, 0, 0]])


def subsets(n: int, least: int = 0) -> list[tuple[int, ...]]:
    """Return all sets of ``range(n)`` of at least `least` entries."""
    return list(chain.from_iterable(combinations(range(n), size) for size in range(least, n + 1)))


def bases(n_arms: int, is_independent: Callable[[tuple[int, ...]], bool]) -> list[tuple[int, ...]]:
    """Return the largest independent subsets of ``range(n_arms)``, by enumeration."""
    independent = [arms for arms in subsets(n_arms) if is_independent(arms)]
    return [arms for arms in independent if len(arms) == len(independent[-1])]


def is_forest(edges: tuple[int, ...]) -> bool:
    """Return whether these edges of `STREETS` close no cycle."""
    chosen = nx.MultiGraph([list(STREETS.edges)[edge] for edge in edges])
    return not edges or nx.is_forest(chosen)


def has_rank(arms: tuple[int, ...]) -> bool:
    """Return whether these columns of `COLUMNS` are independent."""
    return not arms or np.linalg.matrix_rank(COLUMNS[:, arms]) == len(arms)


def can_represent(arms: tuple[int, ...]) -> bool:
    """Return whether the arms can be given different sets of [0, 1, 2], [2, 3], [1, 3, 4]."""
    sets = ({0, 1, 2}, {2, 3}, {1, 3, 4})
    return any(all(map(set.__contains__, order, arms)) for order in permutations(sets, len(arms)))


# A triangle with a tail: degree constraints alone would allow half of each of its sides.
FRIENDS = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
TASKS = nx.complete_bipartite_graph(2, 3)


def edge_sets(graph: nx.Graph, perfect: bool = False) -> list[tuple[int, ...]]:
    """Return the sets of edges with at most (exactly) one at each node, by enumeration."""
    edges = list(graph.edges)

    def fits(arms: tuple[int, ...]) -> bool:
        degrees = [sum(node in edges[arm] for arm in arms) for node in graph]
        return all(d == 1 for d in degrees) if perfect else max(degrees) <= 1

    return [arms for arms in subsets(len(edges)) if fits(arms)]


def lists_of_four() -> Iterable[tuple[int, ...]]:
    """Return all lists of four arms, the empty list included."""
    return chain.from_iterable(permutations(range(4), size) for size in range(5))


def levels() -> LevelAllocation:
    """Return three lines with levels, of which one is too expensive and one costs nothing."""
    return LevelAllocation({"a": [1, 2, 9], "b": [0.0, 2.0], "c": [3]}, budget=4)


def level_sets() -> list[tuple[int, ...]]:
    """Return the sets of at most one level of each line that cost at most 4, by enumeration."""
    choices = product([None, 0, 1, 2], [None, 3, 4], [None, 5])
    sets = (tuple(arm for arm in arms if arm is not None) for arms in choices)
    return [arms for arms in sets if sum((1, 2, 9, 0, 2, 3)[arm] for arm in arms) <= 4]


def slates(
    n: int, k: int, fits: Callable[[tuple[int, ...]], bool] = lambda items: True
) -> list[tuple[int, ...]]:
    """Return the slates of n items at up to k positions, by enumeration."""
    lists = chain.from_iterable(permutations(range(n), length) for length in range(1, k + 1))
    return [tuple(item * k + place for place, item in enumerate(items)) for items in lists if fits(items)]


# Four parts in four sets; the edges at each of `FRIENDS`.
PARTS = [(0, 1), (1, 2, 3), (2,), (0, 3)]
ENDS = [[i for i, edge in enumerate(FRIENDS.edges) if node in edge] for node in FRIENDS]


def covering(sets: list[Any], n_elements: int) -> list[tuple[int, ...]]:
    """Return the choices of sets that hold all elements, by enumeration."""
    whole = set(range(n_elements))
    return [arms for arms in subsets(len(sets)) if set().union(*(sets[arm] for arm in arms)) == whole]


def knapsack() -> PuLPOracle:
    """Weights 3, 2, 2, 1 and capacity 5."""
    problem = pulp.LpProblem("knapsack", pulp.LpMaximize)
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(4)]
    problem += 3 * x[0] + 2 * x[1] + 2 * x[2] + x[3] <= 5
    return PuLPOracle(problem, x)


def knapsack_sets() -> list[tuple[int, ...]]:
    """Return all that fit."""
    return [arms for arms in subsets(4) if sum((3, 2, 2, 1)[arm] for arm in arms) <= 5]


# Parallel roads, a cycle, a dead end; and an acyclic plan with a chord.
ROADS = nx.MultiGraph([(0, 1), (1, 2), (2, 3), (0, 2), (1, 3), (0, 1), (3, 4)])
TERMINALS = ["a", "d", "e"]
TOWN = nx.relabel_nodes(ROADS, dict(enumerate("abcde")))
PLAN = nx.DiGraph([(0, 1), (1, 3), (0, 2), (2, 3), (1, 2), (3, 4), (2, 4)])


def paths(graph: nx.Graph, source: int, target: int) -> list[tuple[int, ...]]:
    """Return the simple paths between two nodes, as positions in ``graph.edges``, by enumeration."""
    number = {edge: i for i, edge in enumerate(graph.edges)}
    number |= (
        {(edge[1], edge[0], *edge[2:]): i for edge, i in number.items()} if not graph.is_directed() else {}
    )
    return [tuple(number[edge] for edge in path) for path in nx.all_simple_edge_paths(graph, source, target)]


def disjoint_paths(graph: nx.Graph, ends: tuple[int, int], k: int, nodes: bool) -> list[tuple[int, ...]]:
    """Return the sets of edges of k paths without common edges (nodes), none of them needless."""
    singles, edges = paths(graph, *ends), list(graph.edges)

    def between(path: tuple[int, ...]) -> set[Any]:
        return {node for arm in path for node in edges[arm][:2]} - set(ends) if nodes else set(path)

    unions = {
        frozenset(chain.from_iterable(some))
        for some in combinations(singles, k)
        if len(set(chain.from_iterable(some))) == sum(map(len, some))
        and len(set().union(*map(between, some))) == sum(len(between(path)) for path in some)
    }
    return [tuple(sorted(one)) for one in unions if not any(other < one for other in unions)]


def sufficing(graph: nx.Graph, suffices: Callable[[nx.Graph], bool]) -> list[tuple[int, ...]]:
    """Return the sets of edges that are enough, by enumeration."""
    edges = list(graph.edges)

    def only(arms: tuple[int, ...]) -> nx.Graph:
        chosen = graph.__class__()
        chosen.add_nodes_from(graph)
        chosen.add_edges_from(edges[arm] for arm in arms)
        return chosen

    return [arms for arms in subsets(len(edges)) if suffices(only(arms))]


def cuts(graph: nx.Graph, source: int, target: int) -> list[tuple[int, ...]]:
    """Return the sets of edges without which there is no path."""
    rest = sufficing(graph, lambda chosen: not nx.has_path(chosen, source, target))
    everything = range(graph.number_of_edges())
    return [tuple(arm for arm in everything if arm not in arms) for arms in rest]


def networks(graph: nx.Graph, terminals: Iterable[Any]) -> list[tuple[int, ...]]:
    """Return the sets of edges that connect the terminals."""
    first, *others = terminals
    return sufficing(graph, lambda chosen: all(nx.has_path(chosen, first, node) for node in others))


# Two vans, two shops, a detour; a way back that makes a cycle.
DEPOTS = nx.DiGraph([("x", "h"), ("y", "h"), ("y", "s"), ("h", "s"), ("h", "t"), ("x", "s"), ("s", "y")])
LOADS = {"x": -1, "y": -1, "s": 1, "t": 1}


PIPES = nx.DiGraph([("a", "b"), ("a", "c"), ("b", "c"), ("c", "b")])


def capacitated() -> CapacitatedFlow:
    return CapacitatedFlow(PIPES, {"a": -2, "c": 2}, capacity=2, lower=[0, 0, 0, 0])


def capacitated_flows() -> list[tuple[int, ...]]:
    """All flows of two units, of which each arc has up to two; entry ``2 i + u - 1`` is u units on arc i."""
    found = []
    for ab, ac, bc, cb in product(range(3), repeat=4):
        if ab + ac == 2 and ab + cb == bc:
            found.append(tuple(2 * i + u - 1 for i, u in enumerate((ab, ac, bc, cb)) if u))
    return found


def flows(graph: nx.DiGraph, demand: dict[Any, int]) -> list[tuple[int, ...]]:
    """Return the sets of arcs without a cycle at which demands are met, by enumeration."""
    edges = list(graph.edges)

    def meets(arms: tuple[int, ...]) -> bool:
        chosen = graph.edge_subgraph([edges[arm] for arm in arms])
        return nx.is_directed_acyclic_graph(chosen) and all(
            demand.get(node, 0) == (chosen.in_degree(node) - chosen.out_degree(node) if node in chosen else 0)
            for node in graph
        )

    return [arms for arms in subsets(len(edges), 1) if meets(arms)]


# Three jobs and two agents of five hours.
HOURS = np.array([[3, 4, 2], [5, 2, 3]])


def assignments(hours: np.ndarray, capacities: list[float], complete: bool = False) -> list[tuple[int, ...]]:
    """Return the sets of pairs in which jobs have one agent at most (exactly) and agents have the time."""
    agents, jobs = hours.shape
    found = []
    for who in product(range(0 if complete else -1, agents), repeat=jobs):
        pairs = sorted(agent * jobs + job for job, agent in enumerate(who) if agent >= 0)
        loads = [sum(hours[i, job] for job, agent in enumerate(who) if agent == i) for i in range(agents)]
        if all(load <= room for load, room in zip(loads, capacities, strict=True)):
            found.append(tuple(pairs))
    return found


def pages() -> nx.Graph:
    """Four pages, one of them without readers, and five readers of different worth."""
    graph = nx.Graph()
    graph.add_nodes_from("abcd", bipartite=0)
    graph.add_nodes_from(((reader, {"worth": 1.0 + reader}) for reader in range(5)), bipartite=1)
    readers = {"a": (0, 1, 2), "b": (2, 3), "d": (0, 4)}
    graph.add_edges_from(((page, r) for page, read in readers.items() for r in read), p=0.4)
    return graph


def affordable():
    """Seeds of `NETWORK` within the budget of the case below."""
    costs = np.array([1.0, 2.0, 2.0, 1.0, 0.5, 1.5, 3.0])
    families = (np.array(seeds, np.int64) for seeds in subsets(7))
    return [seeds for seeds in families if costs[seeds].sum() <= 3.0]


ORACLES = [
    OracleCase("coverage", lambda: MaxCoverage(pages(), k=2), lambda: combinations(range(4), 2)),
    OracleCase(
        "coverage_weights",
        lambda: MaxCoverage(pages(), 1, node_weight="worth"),
        lambda: combinations(range(4), 1),
    ),
    OracleCase("coverage_all", lambda: MaxCoverage(pages(), k=4), lambda: [range(4)]),
    OracleCase("shortest_path", lambda: ShortestPath(ROADS, 0, 3), lambda: paths(ROADS, 0, 3)),
    OracleCase("acyclic_path", lambda: ShortestPath(PLAN, 0, 4), lambda: paths(PLAN, 0, 4), -1.0, 1.0),
    OracleCase(
        "longest", lambda: ShortestPath(PLAN, 0, 4, sense="max"), lambda: paths(PLAN, 0, 4), -1.0, 1.0
    ),
    OracleCase(
        "disjoint_paths",
        lambda: DisjointPaths(ROADS, 0, 3, disjoint="nodes"),
        lambda: disjoint_paths(ROADS, (0, 3), 2, True),
    ),
    OracleCase(
        "disjoint_longest",
        lambda: DisjointPaths(PLAN, 0, 4, sense="max"),
        lambda: disjoint_paths(PLAN, (0, 4), 2, False),
        -1.0,
        1.0,
    ),
    OracleCase("min_cost_flow", lambda: MinCostFlow(DEPOTS, LOADS), lambda: flows(DEPOTS, LOADS)),
    OracleCase("capacitated_flow", capacitated, capacitated_flows, -1.0, 1.0),
    OracleCase("minimum_cut", lambda: MinimumCut(PLAN, 0, 4), lambda: cuts(PLAN, 0, 4), -1.0, 1.0),
    OracleCase(
        "steiner_tree", lambda: SteinerTree(TOWN, TERMINALS), lambda: networks(TOWN, TERMINALS), -1.0, 1.0
    ),
    OracleCase(
        "steiner_tree_nearly",
        lambda: SteinerTree(TOWN, TERMINALS, method="approximate"),
        lambda: networks(TOWN, TERMINALS),
    ),
    OracleCase("reliable_path", lambda: MostReliablePath(ROADS, 0, 3), lambda: paths(ROADS, 0, 3)),
    OracleCase("matching_blossom", lambda: Matching(FRIENDS), lambda: edge_sets(FRIENDS), -1.0, 1.0),
    OracleCase("matching", lambda: Matching(FRIENDS, method="pulp"), lambda: edge_sets(FRIENDS), -1.0, 1.0),
    OracleCase("matching_min", lambda: Matching(FRIENDS, sense="min"), lambda: edge_sets(FRIENDS), -1.0, 1.0),
    OracleCase(
        "matching_perfect", lambda: Matching(FRIENDS, True), lambda: edge_sets(FRIENDS, True), -1.0, 1.0
    ),
    OracleCase("assignment", lambda: Matching(TASKS, method="assignment"), lambda: edge_sets(TASKS)),
    OracleCase("knapsack", knapsack, knapsack_sets, -1.0, 1.0),
    OracleCase("knapsack_of_one_row", lambda: Knapsack([3, 2, 2, 1], 5), knapsack_sets, -1.0, 1.0),
    OracleCase(
        "knapsack_of_two_rows",
        lambda: MultidimensionalKnapsack([[3, 2, 2, 1], [1, 1, 1, 1]], [5, 2]),
        lambda: [arms for arms in knapsack_sets() if len(arms) <= 2],
        -1.0,
        1.0,
    ),
    OracleCase(
        "generalized_assignment",
        lambda: GeneralizedAssignment(HOURS, [5, 5]),
        lambda: assignments(HOURS, [5, 5]),
        -1.0,
        1.0,
    ),
    OracleCase(
        "brute_force", lambda: BruteForce(5, [(0, 1), (2,), (4, 2, 3)]), lambda: [(0, 1), (2,), (2, 3, 4)]
    ),
    OracleCase(
        "brute_force_reward",
        lambda: BruteForce(
            4, [(0, 1), (2,)], reward=lambda means, arms: 1 - np.prod(1 - means[arms]), monotone=True
        ),
        lambda: [(0, 1), (2,)],
    ),
    OracleCase("knapsack_core", lambda: Knapsack([3e9, 2e9, 2e9, 1e9], 5e9), knapsack_sets, -1.0, 1.0),
    OracleCase(
        "knapsack_best", lambda: Knapsack([0.3, 0.2, 0.2, 0.1], 0.5, time_limit=0), knapsack_sets, -1.0, 1.0
    ),
    OracleCase("set_cover_program", lambda: SetCover(PARTS), lambda: covering(PARTS, 4), -1.0, 1.0),
    OracleCase(
        "vertex_cover_limit",
        lambda: VertexCover(FRIENDS, node_limit=1000, on_limit="best"),
        lambda: covering(ENDS, 4),
        -1.0,
        1.0,
    ),
    OracleCase("set_cover", lambda: SetCover(PARTS, method="greedy"), lambda: covering(PARTS, 4)),
    OracleCase("vertex_cover", lambda: VertexCover(FRIENDS), lambda: covering(ENDS, 4), -1.0, 1.0),
    OracleCase(
        "vertex_cover_greedy", lambda: VertexCover(FRIENDS, method="greedy"), lambda: covering(ENDS, 4)
    ),
    OracleCase("graphic_matroid", lambda: GraphicMatroid(STREETS), lambda: bases(8, is_forest)),
    OracleCase(
        "graphic_matroid_min", lambda: GraphicMatroid(STREETS, "min"), lambda: bases(8, is_forest), -1.0, 1.0
    ),
    OracleCase(
        "influence",
        lambda: InfluenceMaximization(NETWORK, k=2, epsilon=0.3),
        lambda: combinations(range(7), 2),
        slow="ties",
    ),
    OracleCase(
        "influence_deadline",
        lambda: DeadlineInfluence(NETWORK, k=2, deadline=2.0, meeting=0.7, epsilon=0.3),
        lambda: combinations(range(7), 2),
    ),
    OracleCase(
        "influence_weighted",
        lambda: InfluenceMaximization(
            NETWORK, k=2, epsilon=0.3, node_weights=[0, 1, 1, 3, 0, 1, 2], candidates=[0, 1, 4, 5, 6]
        ),
        lambda: combinations([0, 1, 4, 5, 6], 2),
        slow="ties",
    ),
    OracleCase(
        "influence_threshold",
        lambda: InfluenceMaximization(NETWORK, k=2, epsilon=0.3, model="lt"),
        lambda: combinations(range(7), 2),
        high=0.5,
    ),
    OracleCase(
        "influence_budget",
        lambda: BudgetedInfluence(NETWORK, [1.0, 2.0, 2.0, 1.0, 0.5, 1.5, 3.0], budget=3.0, epsilon=0.1),
        affordable,
    ),
    OracleCase("degree_discount", lambda: DegreeHeuristic(NETWORK, k=2), lambda: combinations(range(7), 2)),
    OracleCase(
        "monte_carlo_greedy",
        lambda: MonteCarloGreedy(NETWORK, k=2, cascades=50),
        lambda: combinations(range(7), 2),
    ),
    OracleCase(
        "laminar_matroid",
        lambda: LaminarMatroid(6, [((0, 1, 2), 2), ((2,), 0), ((0, 1, 2, 3), 2)]),
        lambda: bases(6, lambda arms: 2 not in arms and len({0, 1, 2, 3} & set(arms)) <= 2),
    ),
    OracleCase("linear_matroid", lambda: LinearMatroid(COLUMNS), lambda: bases(6, has_rank), -1.0, 1.0),
    OracleCase(
        "matroid",
        lambda: Matroid(6, lambda arms: len(arms) <= 2 and len(set(arms // 2)) == len(arms)),
        lambda: bases(6, lambda arms: len(arms) <= 2 and len({arm // 2 for arm in arms}) == len(arms)),
    ),
    OracleCase(
        "partition_matroid",
        lambda: PartitionMatroid(list("abacba"), {"a": 2, "b": 1, "c": 0}),
        lambda: bases(
            6, lambda arms: 3 not in arms and not {1, 4} <= set(arms) and not {0, 2, 5} <= set(arms)
        ),
    ),
    OracleCase(
        "submodular_size",
        lambda: SubmodularOracle(6, 2, reward=best_server, n_choices=3, triggers=their_pairs),
        lambda: combinations(range(3), 2),
    ),
    OracleCase(
        "submodular_matroid",
        lambda: SubmodularOracle(6, PartitionMatroid(list("aabbcc")), reward=any_hit),
        lambda: [(i, j, k) for i in (0, 1) for j in (2, 3) for k in (4, 5)],
    ),
    OracleCase(
        "submodular_knapsack",
        lambda: SubmodularOracle(6, Knapsack([3, 2, 2, 1, 4, 0], 5), reward=any_hit),
        lambda: [arms for arms in subsets(6) if sum((3, 2, 2, 1, 4, 0)[arm] for arm in arms) <= 5],
    ),
    OracleCase("top_k", lambda: TopK(6, k=2), lambda: combinations(range(6), 2)),
    OracleCase(
        "assortment",
        lambda: Assortment([1.0, 3.0, 0.0, 2.0, 3.0], k=3),
        lambda: chain.from_iterable(combinations(range(5), size) for size in (1, 2, 3)),
    ),
    OracleCase("ranked", lambda: RankedTopK(5, k=3), lambda: permutations(range(5), 3)),
    OracleCase(
        "ranked_all", lambda: RankedTopK(5, k=2, reward="conjunctive"), lambda: permutations(range(5), 2)
    ),
    OracleCase("at_least_one", lambda: AtLeastOne(Knapsack([3, 2, 2, 1], 5)), knapsack_sets),
    OracleCase("cost_aware_cascade", lambda: CostAwareCascade([0.1, 0.3, 0.6, 0.0]), lists_of_four),
    OracleCase("level_allocation", levels, level_sets, -1.0, 1.0),
    OracleCase("slate", lambda: Slate(4, 3), lambda: slates(4, 3)),
    OracleCase(
        "slate_quotas",
        lambda: Slate(4, 3, groups=["a", "a", "a", "b"], quotas={"a": 1}),
        lambda: slates(4, 3, lambda items: sum(item < 3 for item in items) <= 1),
    ),
    OracleCase("top_all", lambda: TopK(4, k=4), lambda: [range(4)]),
    OracleCase("bottom_k", lambda: TopK(6, k=3, sense="min"), lambda: combinations(range(6), 3), -2.0, 2.0),
    OracleCase(
        "transversal_matroid",
        lambda: TransversalMatroid(5, [[0, 1, 2], [2, 3], [1, 3, 4]]),
        lambda: bases(5, can_represent),
    ),
    OracleCase(
        "triggering",
        lambda: TriggeringInfluence(
            DirectedGraph.from_edges([0, 1, 2, 2], [1, 2, 0, 3]), triggering=Together(), k=1, epsilon=0.3
        ),
        lambda: combinations(range(4), 1),
        trials=20,
        slow="smoothness guarantee determinism layout batch buffer monotonicity growth",
    ),
    OracleCase(
        "uniform_matroid", lambda: UniformMatroid(5, 2, sense="min"), lambda: combinations(range(5), 2)
    ),
    OracleCase("uniform_matroid_of_none", lambda: UniformMatroid(3, 0), lambda: [()]),
]


def _grid_means(oracle: Oracle) -> HierarchicalCTS:
    """Return the exploiting form, on a small grid."""
    return HierarchicalCTS(oracle, means=[0.2, 0.5, 0.8], weights=[1.0, 8.0], estimate="mean")


# Rules for linear oracles (most of them with `solve_root`), for those with all sets of k arms, and for those
# whose super arms list base arms.
JOINT = {"escb", "primaldualcucb"}
POLICIES = [
    PolicyCase("adaptivects", AdaptiveCTS),
    PolicyCase("adaptivects_groups", lambda oracle: AdaptiveCTS(oracle, np.arange(oracle.n_arms) % 3)),
    PolicyCase("bayesucb", BayesUCB, slow="runs"),
    PolicyCase("c2ucb", lambda oracle: C2UCB(oracle, np.eye(oracle.n_arms), radius=0.5), slow="runs"),
    PolicyCase("clairvoyant", lambda oracle: Clairvoyant(oracle, np.linspace(0.8, 0.2, oracle.n_arms))),
    PolicyCase("comblints", lambda oracle: CombLinTS(oracle, np.eye(oracle.n_arms)), slow="runs"),
    PolicyCase("cts", CTS),
    PolicyCase(
        "cts_prior", lambda oracle: CTS(oracle, np.linspace(0.2, 0.8, oracle.n_arms), prior_weight=0.5)
    ),
    PolicyCase("cts_shared", lambda oracle: CTS(oracle, coupling="shared")),
    PolicyCase("cucb", CUCB),
    PolicyCase("cucb_tight", lambda oracle: CUCB(oracle, radius=LogRadius.tight())),
    PolicyCase(
        "cucb_prior", lambda oracle: CUCB(oracle, radius_factor=0.1, prior_mean=0.1, prior_weight=10.0)
    ),
    PolicyCase("epsilon_greedy", EpsilonGreedy),
    PolicyCase("epsilon_decaying", lambda oracle: EpsilonGreedy(oracle, epsilon=20.0, decay=True)),
    PolicyCase("escb", ESCB, slow="runs growth memory learning determinism"),
    PolicyCase(
        "explored", lambda oracle: ForcedExploration(Greedy(oracle, prior_mean=0.3, prior_weight=5.0))
    ),
    PolicyCase(
        "explored_last", lambda oracle: ForcedExploration(CTS(oracle), c=1.0, form="last"), slow="runs"
    ),
    PolicyCase("ftpl", FTPL, slow="runs"),
    PolicyCase("gaussiancts", GaussianCTS),
    PolicyCase(
        "gaussiancts_independent",
        # Without bounds where the oracle takes any means; some take probabilities only.
        lambda oracle: GaussianCTS(
            oracle, coupling="independent", sigma=0.3, support=None if oracle.is_linear else (0.0, 1.0)
        ),
    ),
    PolicyCase("discounted", lambda oracle: DiscountedCUCB(oracle, discount=0.9)),
    PolicyCase("greedy", Greedy),
    PolicyCase("greedy_prior", lambda oracle: Greedy(oracle, prior_mean=0.5, prior_weight=1.0)),
    PolicyCase("hierarchicalcts", lambda oracle: HierarchicalCTS(oracle, np.arange(oracle.n_arms) % 3)),
    PolicyCase("hierarchicalcts_means", _grid_means),
    PolicyCase("klcucb", KLCUCB),
    PolicyCase("llr", LLR),
    PolicyCase(
        "logisticts", lambda oracle: LogisticTS(oracle, np.eye(oracle.n_arms), prior_mean=-1.0), slow="runs"
    ),
    PolicyCase(
        "modelpolicy",
        lambda oracle: ModelPolicy(oracle, LeastSquares(), np.eye(oracle.n_arms), members=3),
        slow="runs",
    ),
    PolicyCase("mnl_ucb", lambda oracle: MNLUCB(oracle, log_factor=0.5), slow="runs"),
    PolicyCase("pbm_ucb", lambda oracle: PBMUCB(oracle, 0.9), slow="runs"),
    PolicyCase(
        "primaldualcucb", lambda oracle: PrimalDualCUCB(oracle, [9e3, 1e6], horizon=5000), slow="runs"
    ),
    PolicyCase("random", RandomPolicy),
    PolicyCase("rarely_switching", RarelySwitchingCUCB),
    PolicyCase(
        "restarting", lambda oracle: GLRRestart(CUCB(oracle), 0.5, every=2, is_proven=False), slow="runs"
    ),
    PolicyCase("windowed", lambda oracle: SlidingWindow(CUCB(oracle), window=7), slow="runs"),
]


# Rules whose sets grow: on the way they play smaller ones than an oracle answers with.
GROWING = [PolicyCase("etcg", lambda oracle: ETCG(oracle, 60), UpToK, ("max",))]

ENVIRONMENTS = [
    EnvironmentCase("beta", lambda: SemiBandit(BetaArms(MEANS, 1 - MEANS), TopK(5, k=2)), ((0, 1), (2, 4))),
    EnvironmentCase(
        "empirical", lambda: EmpiricalArms([[0.0, 1.0, 0.3], [0.6], [0.1, 0.9]]), ((0, 1), (0, 2))
    ),
    EnvironmentCase(
        "piecewise",
        lambda: PiecewiseStationary(
            [SemiBandit(BernoulliArms(p), TopK(5, k=2)) for p in (MEANS, MEANS[::-1])], [3], period=7
        ),
        ((0, 1), (2, 4)),
    ),
    EnvironmentCase("coverage", lambda: Coverage(pages(), 2, probability="p"), ((0, 1), (1, 2), (1, 3))),
    EnvironmentCase(
        "coverage_weights", lambda: Coverage(pages(), 1, probability="p", node_weight="worth"), ((0,), (2,))
    ),
    EnvironmentCase(
        "cascade",
        lambda: IndependentCascade(NETWORK, [0.5, 0.3, 0.2, 0.7, 0.0, 1.0, 0.1, 0.4], k=2),
        ((5, 3), (2, 6), (0, 1)),
    ),
    EnvironmentCase(
        "cascade_of_nodes",
        lambda: IndependentCascade(NETWORK, [0.5, 0.3, 0.2, 0.7, 0.0, 1.0, 0.1, 0.4], k=2, feedback="node"),
        ((5, 3), (2, 6), (0, 1)),
    ),
    EnvironmentCase(
        "cascade_deadline",
        lambda: DeadlineCascade(
            NETWORK, [0.5, 0.3, 0.2, 0.7, 0.0, 1.0, 0.1, 0.4], deadline=1.5, rates=1.0, k=2, n_rr_sets=2**17
        ),
        ((5, 3), (2, 6), (0, 1)),
    ),
    EnvironmentCase(
        "threshold",
        lambda: LinearThreshold(NETWORK, [0.5, 0.3, 0.2, 0.7, 1.0, 0.4, 0.4, 0.5], k=2),
        ((5, 3), (2, 6), (0, 1)),
    ),
    EnvironmentCase(
        "threshold_of_nodes",
        lambda: LinearThreshold(NETWORK, [0.5, 0.3, 0.2, 0.7, 1.0, 0.4, 0.4, 0.5], k=2, feedback="node"),
        ((5, 3), (2, 6), (0, 1)),
    ),
    EnvironmentCase(
        "shrunk_coins",
        lambda: SemiBandit(ShrunkCoins(MEANS, spread=[0, 0.1, 0.5, 1, 1], scale=0.4), TopK(5, k=2)),
        ((0, 1), (2, 4)),
    ),
    EnvironmentCase(
        "coupled_coins", lambda: SemiBandit(ShrunkCoins(MEANS, coupling=0.6), TopK(5, k=2)), ((0, 1), (2, 4))
    ),
    EnvironmentCase("bernoulli", lambda: SemiBandit(BernoulliArms(MEANS), TopK(5, k=2)), ((0, 1), (2, 4))),
    EnvironmentCase(
        "resources",
        lambda: ResourceSemiBandit(
            BernoulliArms(MEANS),
            TopK(5, k=2),
            uses=[BernoulliArms(MEANS[::-1]), BetaArms(1 + MEANS, 2 - MEANS)],
            allowance=[0.6, 0.8],
        ),
        ((0, 1), (2, 4)),
    ),
    EnvironmentCase("gaussian", lambda: SemiBandit(GaussianArms(MEANS, 0.5), TopK(5, k=2)), ((0, 1), (2, 4))),
    EnvironmentCase(
        "sleeping",
        lambda: Sleeping(MEANS, Knapsack([1] * 5, 2), np.full(5, 0.6)),
        ((0, 1), (2, 4)),
    ),
    EnvironmentCase(
        "linear_semi_bandit", lambda: LinearSemiBandit([0.6, 0.8], TopK(5, k=2)), ((0, 1), (2, 4))
    ),
    EnvironmentCase("cascade_model", lambda: CascadeModel(MEANS, RankedTopK(5, k=3)), ((0, 1, 2), (4, 3, 0))),
    EnvironmentCase(
        "cascade_of_links",
        lambda: CascadeModel(MEANS, RankedTopK(5, k=3, reward="conjunctive")),
        ((2, 1, 0), (4, 3, 0)),
    ),
    EnvironmentCase(
        "multinomial_logit",
        lambda: MultinomialLogit(MEANS, Assortment([1.0, 3.0, 0.0, 2.0, 3.0], k=3)),
        ((0, 1, 2), (3,), (1, 4)),
    ),
    EnvironmentCase("arms_alone", lambda: BernoulliArms(MEANS), ((0, 3), (1,))),
]

EXPLORERS = [
    ExplorerCase("lucb1", lambda: cmab.LUCB1(4, 2, delta=0.1), 0.1),
    ExplorerCase("kl_lucb", lambda: KLLUCB(4, 2, delta=0.1), 0.1),
    ExplorerCase("bernstein_lucb", lambda: cmab.BernsteinLUCB(4, 2, delta=0.1), 0.1, slow="papers"),
    ExplorerCase("lil_lucb", lambda: LilLUCB(4, 1, delta=0.1), 0.1),
    ExplorerCase("lucb_plus_plus", lambda: cmab.LUCBPlusPlus(4, 1, delta=0.1, mode="heuristic"), 0.1),
    ExplorerCase("lil_rand_lucb", lambda: cmab.LilRandLUCB(4, 1, delta=0.1), 0.1),
    ExplorerCase("lil_ucb", lambda: LilUCB(4, delta=0.1), 0.1),
    ExplorerCase("lil_ucb_heuristic", lambda: LilUCB(4, delta=0.1, mode="heuristic"), 0.1),
    ExplorerCase("lil_clucb", lambda: cmab.LilCLUCB(TopK(4, 2), delta=0.1), 0.1),
    ExplorerCase(
        "clucb", lambda: cmab.CLUCB(PartitionMatroid([0, 0, 1, 1], 1), delta=0.1), 0.1, slow="places"
    ),
    ExplorerCase("clucb_top_k", lambda: cmab.CLUCB(TopK(4, 2), delta=0.1), 0.1, slow="places"),
    ExplorerCase(
        "clucb_batches", lambda: cmab.CLUCB(TopK(4, 2), delta=0.1, growth=0.2), 0.1, slow="errors places"
    ),
    ExplorerCase("ugapec", lambda: cmab.UGapEc(4, 2, delta=0.1, epsilon=0.1), 0.1),
    ExplorerCase("ugapec_v", lambda: UGapEcV(4, 2, delta=0.1, epsilon=0.3), 0.1, slow="places"),
    ExplorerCase("ugapec_bandits", lambda: cmab.UGapEc((2, 2), 1, delta=0.1, epsilon=0.1), 0.1),
    ExplorerCase("mixture", lambda: cmab.BestKGLR(4, 2, delta=0.1), 0.1),
    ExplorerCase(
        "mixture_coins", lambda: cmab.BestKGLR(4, 2, delta=0.1, family="bernoulli", epsilon=0.05), 0.1
    ),
    ExplorerCase("halving", lambda: Halving(4, 1, epsilon=0.3, delta=0.1), 0.1),
    ExplorerCase("adaptive_top_k", lambda: cmab.AdaptiveTopK(4, 2, epsilon=0.2, delta=0.1), 0.1),
    ExplorerCase("uniform_allocation", lambda: cmab.UniformAllocation(4, 2, budget=200)),
    ExplorerCase(
        "adaptive_top_k_budget", lambda: cmab.AdaptiveTopK(4, 2, delta=0.01, budget=300, pulls_factor=0.1)
    ),
    ExplorerCase("successive_rejects", lambda: SuccessiveRejects(4, budget=200)),
    ExplorerCase("sar", lambda: cmab.SAR(4, 2, budget=200)),
    ExplorerCase("ugapeb", lambda: cmab.UGapEb(4, 1, budget=200, a=2.0), slow="places"),
    ExplorerCase("ugapeb_bandits", lambda: cmab.UGapEb((2, 2), 1, budget=200, a=2.0), slow="places"),
    ExplorerCase("gape", lambda: GapE((2, 2), budget=200, a=2.0)),
    ExplorerCase("ucbe", lambda: cmab.UCBE(4, budget=200, a=2.0)),
    ExplorerCase("opt_mai", lambda: cmab.OptMAI(4, 2, budget=300)),
    ExplorerCase("csar", lambda: cmab.CSAR(TopK(4, 2), budget=200)),
]


def rows(cases: Iterable[Any], test: str = "") -> list[Any]:
    """Return rows as parameters with names, those marked slow that are slow in a test of this word."""
    return [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] if test in case.slow.split() else [])
        for case in cases
    ]


class PlainBandit(SemiBandit):
    """The same rounds, through Python only."""

    def kernel(self):
        return None


def assert_same_state(one, other):
    """Assert that two states of a policy hold the same numbers, part by part."""
    assert type(one) is type(other)
    if is_dataclass(one):
        for field in fields(one):
            assert_same_state(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, list):
        assert len(one) == len(other)
        for part, its in zip(one, other, strict=True):
            assert_same_state(part, its)
    else:
        assert np.array_equal(one, other)
