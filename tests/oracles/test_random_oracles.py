"""Every family of oracles on random graphs and weights, against another program or enumeration."""

from itertools import chain, combinations, pairwise

import networkx as nx
import numpy as np
import pulp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from oracles import (
    BudgetedInfluence,
    DegreeHeuristic,
    DirectedGraph,
    GraphicMatroid,
    InfluenceMaximization,
    LaminarMatroid,
    LinearMatroid,
    Matching,
    MaxCoverage,
    MonteCarloGreedy,
    MostReliablePath,
    PartitionMatroid,
    PuLPOracle,
    ShortestPath,
    TopK,
    TransversalMatroid,
    UniformMatroid,
)

QUICK = settings(deadline=None, max_examples=40)
FEW = settings(deadline=None, max_examples=12)
SEEDS = st.integers(0, 2**32 - 1)
SENSES = st.sampled_from(["max", "min"])
RNG = np.random.default_rng


def means_of(seed, n, low=0.0, high=1.0):
    """Return weights with ties, zeros and ends of the range in every other example."""
    rng = RNG(seed)
    return rng.choice(np.linspace(low, high, 4), n) if seed % 2 else rng.uniform(low, high, n)


def random_graph(seed, n, p, directed=False):
    graph = nx.gnp_random_graph(n, p, seed=seed, directed=directed)
    assume(graph.number_of_edges() > 0)
    return graph


def weighted(graph, means):
    """Return a copy whose edges carry the means, in the order of the edges."""
    copy = graph.copy()
    nx.set_edge_attributes(copy, dict(zip(graph.edges, means.tolist(), strict=True)), "w")
    return copy


def best(family, means, sense):
    """Return the value of the best set by enumeration."""
    values = [means[list(arms)].sum() for arms in family]
    return max(values) if sense == "max" else min(values)


def solved(oracle, means):
    """Return the answer and its value, with what every answer must be."""
    before = means.copy()
    answer = oracle.solve(means, RNG(0))
    assert np.array_equal(means, before)
    assert oracle.is_feasible(answer)
    assert len(set(answer.tolist())) == len(answer)
    return answer, oracle.expected_reward(answer, means)


@QUICK
@given(SEEDS, st.integers(1, 12), st.data(), SENSES)
def test_top_k_and_uniform_matroids(seed, n, data, sense):
    k, means = data.draw(st.integers(1, n)), means_of(seed, n, -1.0, 1.0)
    ordered = np.sort(means)[::-1] if sense == "max" else np.sort(means)
    for oracle in (TopK(n, k, sense=sense), UniformMatroid(n, k, sense=sense)):
        assert solved(oracle, means)[1] == pytest.approx(ordered[:k].sum())


@QUICK
@given(SEEDS, st.integers(3, 9), st.floats(0.2, 0.9))
def test_shortest_paths_are_those_of_networkx(seed, n, p):
    graph = random_graph(seed, n, p, directed=True)
    assume(nx.has_path(graph, 0, n - 1))
    means = means_of(seed, graph.number_of_edges())
    answer, value = solved(ShortestPath(graph, 0, n - 1), means)
    assert value == pytest.approx(nx.shortest_path_length(weighted(graph, means), 0, n - 1, weight="w"))
    edges = [list(graph.edges)[arm] for arm in answer]
    assert [u for u, _ in edges[1:]] == [v for _, v in edges[:-1]]


@QUICK
@given(SEEDS, st.integers(3, 7), st.floats(0.2, 0.9))
def test_most_reliable_paths_by_enumeration(seed, n, p):
    graph = random_graph(seed, n, p, directed=True)
    assume(nx.has_path(graph, 0, n - 1))
    means = means_of(seed, graph.number_of_edges())
    chances = dict(zip(graph.edges, means, strict=True))
    products = [
        np.prod([chances[edge] for edge in pairwise(path)]) for path in nx.all_simple_paths(graph, 0, n - 1)
    ]
    assert solved(MostReliablePath(graph, 0, n - 1), means)[1] == pytest.approx(max(products))


@FEW
@given(SEEDS, st.integers(2, 8), st.floats(0.2, 0.9))
def test_matchings_are_those_of_networkx(seed, n, p):
    graph = random_graph(seed, n, p)
    means = means_of(seed, graph.number_of_edges())
    mates = nx.max_weight_matching(weighted(graph, means), weight="w")
    chances = {frozenset(edge): mean for edge, mean in zip(graph.edges, means, strict=True)}
    known = sum(chances[frozenset(pair)] for pair in mates)
    for method in ("blossom", "pulp"):
        assert solved(Matching(graph, method=method), means)[1] == pytest.approx(known)


@FEW
@given(SEEDS, st.integers(1, 5), st.integers(1, 5))
def test_both_ways_of_assignment_are_those_of_scipy(seed, rows, columns):
    graph = nx.complete_bipartite_graph(rows, columns)
    means = means_of(seed, rows * columns)
    costs = means.reshape(rows, columns)
    known = costs[linear_sum_assignment(costs, maximize=True)].sum()
    for method in ("assignment", "pulp"):
        assert solved(Matching(graph, method=method), means)[1] == pytest.approx(known)


@QUICK
@given(SEEDS, st.integers(2, 9), st.floats(0.2, 0.9), SENSES)
def test_spanning_forests_are_those_of_networkx(seed, n, p, sense):
    graph = random_graph(seed, n, p)
    means = means_of(seed, graph.number_of_edges(), -1.0, 1.0)
    span = nx.maximum_spanning_edges if sense == "max" else nx.minimum_spanning_edges
    known = sum(d["w"] for *_, d in span(weighted(graph, means), weight="w", data=True))
    assert solved(GraphicMatroid(graph, sense), means)[1] == pytest.approx(known)


def bases(oracle):
    """Return all bases of a matroid, from independence alone."""
    n = oracle.n_arms
    sets = chain.from_iterable(combinations(range(n), size) for size in range(n + 1))
    independent = [arms for arms in sets if oracle.is_independent(np.array(arms, np.int64))]
    rank = max(map(len, independent))
    return [arms for arms in independent if len(arms) == rank]


def some_matroid(kind, rng, sense):
    """Return a random matroid of seven arms."""
    if kind == "partition":
        return PartitionMatroid(rng.integers(0, 3, 7).tolist(), int(rng.integers(0, 3)), sense=sense)
    if kind == "laminar":
        halves = [(0, 1, 2, 3), (0, 1), (4, 5, 6), (5, 6)]
        return LaminarMatroid(7, [(half, int(rng.integers(0, 4))) for half in halves], sense=sense)
    if kind == "transversal":
        slots = [np.flatnonzero(rng.random(7) < 0.4).tolist() for _ in range(3)]
        return TransversalMatroid(7, slots, sense=sense)
    return LinearMatroid(rng.integers(-1, 2, (3, 7)), sense=sense)


@QUICK
@given(SEEDS, st.sampled_from(["partition", "laminar", "transversal", "linear"]), SENSES)
def test_matroids_by_enumeration(seed, kind, sense):
    oracle, means = some_matroid(kind, RNG(seed), sense), means_of(seed, 7, -1.0, 1.0)
    assert solved(oracle, means)[1] == pytest.approx(best(bases(oracle), means, sense))


@QUICK
@given(SEEDS, st.integers(1, 6), st.integers(1, 6), st.data())
def test_coverage_keeps_its_ratio(seed, pages, readers, data):
    rng, k = RNG(seed), data.draw(st.integers(1, pages))
    graph = nx.Graph()
    graph.add_nodes_from((("page", i) for i in range(pages)), bipartite=0)
    graph.add_nodes_from((("reader", j) for j in range(readers)), bipartite=1)
    pairs = [(("page", i), ("reader", j)) for i in range(pages) for j in range(readers) if rng.random() < 0.5]
    assume(pairs)
    graph.add_edges_from(pairs)
    oracle = MaxCoverage(graph, k)
    means = means_of(seed, oracle.n_arms)
    _, value = solved(oracle, means)
    optimum = max(oracle.expected_reward(np.array(chosen), means) for chosen in combinations(range(pages), k))
    assert (1 - 1 / np.e) * optimum - 1e-12 <= value <= optimum + 1e-12


@QUICK
@given(SEEDS, st.integers(1, 7), st.floats(0.5, 8.0))
def test_a_knapsack_in_pulp_by_enumeration(seed, n, room):
    sizes, means = RNG(seed).uniform(0.5, 3.0, n), means_of(seed, n, -1.0, 1.0)
    problem = pulp.LpProblem("knapsack", pulp.LpMaximize)
    takes = [problem.add_variable(f"x{i}", cat="Binary") for i in range(n)]
    problem += pulp.lpSum(size * take for size, take in zip(sizes, takes, strict=True)) <= room
    sets = list(chain.from_iterable(combinations(range(n), size) for size in range(n + 1)))
    # A set that fills the room to the last 1e-6 may count either way for a solver.
    assume(all(abs(sizes[list(arms)].sum() - room) > 1e-5 for arms in sets))
    fits = [arms for arms in sets if sizes[list(arms)].sum() <= room]
    assert solved(PuLPOracle(problem, takes), means)[1] == pytest.approx(best(fits, means, "max"), abs=1e-6)


def some_network(seed, n=6):
    graph = nx.gnp_random_graph(n, 0.35, seed=seed, directed=True)
    assume(0 < graph.number_of_edges() <= 11)
    arcs = np.array(list(graph.edges))
    return DirectedGraph.from_edges(arcs[:, 0], arcs[:, 1], n_nodes=n)


@FEW
@given(SEEDS, st.integers(1, 3))
def test_influence_keeps_its_ratio(seed, k):
    """A certificate fails with probability at most 1 / arcs a call; here the estimates are exact sums."""
    network = some_network(seed)
    means = means_of(seed, network.n_arcs)
    oracle = InfluenceMaximization(network, k=k, epsilon=0.1, delta=1e-6)
    optimum = max(oracle.expected_reward(np.array(seeds), means) for seeds in combinations(range(6), k))
    _, value = solved(oracle, means)
    assert value >= (1 - 1 / np.e - 0.1) * optimum - 1e-9


@FEW
@given(SEEDS, st.integers(1, 3))
def test_influence_within_a_budget_and_by_heuristics(seed, k):
    network = some_network(seed)
    means, costs = means_of(seed, network.n_arcs), RNG(seed).uniform(0.5, 2.0, 6)
    oracle = BudgetedInfluence(network, costs, budget=2.0 * k)
    seeds, value = solved(oracle, means)
    assert costs[seeds].sum() <= 2.0 * k + 1e-9
    families = chain.from_iterable(combinations(range(6), size) for size in range(1, 7))
    within = [np.array(s) for s in families if costs[list(s)].sum() <= 2.0 * k]
    optimum = max((oracle.expected_reward(s, means) for s in within), default=0.0)
    assert value >= oracle.alpha * optimum - 1e-9
    for plain in (DegreeHeuristic(network, k=k), MonteCarloGreedy(network, k=k, cascades=20)):
        assert len(solved(plain, means)[0]) == k
