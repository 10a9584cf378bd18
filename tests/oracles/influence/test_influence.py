"""The influence oracle against enumeration, slow references and its own certificate."""

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from instances import weighted_cascade
from oracles import (
    BudgetedInfluence,
    DegreeHeuristic,
    DirectedGraph,
    InfluenceMaximization,
    MonteCarloGreedy,
)
from oracles.influence.certificate import log_binomial, lower_bound, upper_bound
from oracles.influence.graph import as_directed_graph
from oracles.influence.search import Search
from oracles.influence.sets import ReverseGraph, SetCollection
from oracles.influence.spread import estimated_spread, exact_spread


def random_graph(rng, n=6, arcs=9):
    pairs = [(u, v) for u in range(n) for v in range(n) if u != v]
    chosen = [pairs[i] for i in rng.choice(len(pairs), arcs)]  # with parallel arcs
    tails, heads = zip(*chosen, strict=True)
    return DirectedGraph.from_edges(tails, heads, n_nodes=n)


def random_means(rng, arcs, uncertain):
    """Probabilities with many zeros and ones."""
    means = rng.choice([0.0, 1.0], arcs)
    means[rng.permutation(arcs)[:uncertain]] = rng.random(uncertain)
    return means


def reference_spread(graph, means, seeds):
    """Expected spread by networkx descendants over all live-edge graphs."""
    total = 0.0
    for live in range(1 << graph.n_arcs):
        bits = [(live >> i) & 1 == 1 for i in range(graph.n_arcs)]
        chance = math.prod(p if bit else 1 - p for p, bit in zip(means, bits, strict=True))
        if chance > 0:
            world = nx.DiGraph()
            world.add_nodes_from(range(graph.n_nodes))
            edges = zip(graph.tails.tolist(), graph.heads.tolist(), bits, strict=True)
            world.add_edges_from((u, v) for u, v, bit in edges if bit)
            total += chance * len(set(seeds).union(*(nx.descendants(world, s) for s in seeds)))
    return total


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_arcs_and_probabilities_are_in_the_order_of_networkx(kind):
    rng = np.random.default_rng(0)
    graph = kind(nx.relabel_nodes(nx.gnp_random_graph(9, 0.4, seed=1), lambda node: (7 * node) % 9))
    for *_, data in graph.edges(data=True):
        data["p"] = float(rng.random())
    ours, copies = as_directed_graph(graph, "p"), 1 if graph.is_directed() else 2
    theirs = [edge[:2] for edge in graph.edges]
    found = [(ours.label(u), ours.label(v)) for u, v in zip(ours.tails, ours.heads, strict=True)]
    assert found[::copies] == theirs and found[copies - 1 :: copies] in (theirs, [e[::-1] for e in theirs])
    assert ours.probabilities[::copies].tolist() == [p for *_, p in graph.edges(data="p")]
    graph.edges[list(graph.edges)[3]]["p"] = 1.5
    with pytest.raises(ValueError, match=r"must have a probability in \[0, 1\] as 'p', got 1.5"):
        as_directed_graph(graph, "p")


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_enumeration_against_live_edge_graphs(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, n=5, arcs=6)
    means = random_means(rng, 6, 4)
    seeds = rng.choice(5, 2, replace=False)
    assert exact_spread(graph, means, seeds) == pytest.approx(reference_spread(graph, means, seeds))


def test_sets_do_not_depend_on_how_they_are_drawn():
    """In one go or grown step by step; and validation, which stores nothing, counts the same sets."""
    from oracles.influence.search import count_hits

    rng = np.random.default_rng(3)
    graph = random_graph(rng, n=30, arcs=90)
    reverse = ReverseGraph.of(graph, rng.random(90) * 0.4)
    whole, grown = SetCollection(reverse, 5), SetCollection(reverse, 5)
    whole.grow(3000)
    for size in (1, 10, 700, 3000):
        grown.grow(size)
    parallel = SetCollection(reverse, 5, threads=3)
    parallel.grow(3000)
    assert np.array_equal(whole.ends, parallel.ends)
    assert np.array_equal(whole.pool[: whole.ends[-1]], parallel.pool[: whole.ends[-1]])
    assert np.array_equal(whole.ends, grown.ends)
    assert np.array_equal(whole.pool[: whole.ends[-1]], grown.pool[: grown.ends[-1]])
    assert whole.edges_examined == grown.edges_examined
    owner = np.repeat(np.arange(3000), np.diff(whole.ends))
    for node in range(0, 30, 7):
        hits, examined = count_hits(reverse, 5, 0, 3000, reverse.owners(np.array([node])))
        assert hits == len(np.unique(owner[whole.pool[: whole.ends[-1]] == node]))
        assert examined <= whole.edges_examined


def test_greedy_cover_against_a_slow_one():
    from oracles.influence.cover import count_covered, cover

    rng = np.random.default_rng(4)
    for _ in range(50):
        n, k = 9, int(rng.integers(1, 5))
        members = [rng.choice(n, rng.integers(1, 4), replace=False) for _ in range(30)]
        sets = SetCollection(
            ReverseGraph.of(DirectedGraph.from_edges([0], [1], n_nodes=n), np.ones(1), contract=False), 0
        )
        sets.ends = np.cumsum([0, *map(len, members)])
        sets.pool = np.concatenate(members).astype(np.int32)
        index = sets.index()
        chosen, covered, bound, gain = cover(index, k, np.ones(n, bool), np.empty(0, int))
        left = [set(m.tolist()) for m in members]
        expected = []
        while len(expected) < k and left:
            gains = [sum(v in s for s in left) for v in range(n)]
            expected.append(int(np.argmax(gains)))
            left = [s for s in left if expected[-1] not in s]
        assert chosen.tolist() == expected
        assert covered == 30 - len(left)
        assert gain == max(sum(v in s for s in left) for v in range(n))
        seen = np.zeros(30, bool)
        assert covered == count_covered(index.offsets, index.sets, chosen, seen)
        assert not seen.any()
        best = max(
            sum(any(v in s for v in family) for s in map(set, (m.tolist() for m in members)))
            for family in combinations(range(n), k)
        )
        assert best <= bound <= 30


@pytest.mark.slow
def test_bounds_hold_as_often_as_they_say():
    """Binomial counts against their mean: 20,000 trials at failure rate 0.05, at most 0.06 observed.

    Above 0.0575 has probability below 1e-6 at the nominal rate.
    """
    rng = np.random.default_rng(6)
    for share in (0.002, 0.05, 0.5, 0.95):
        hits = rng.binomial(1000, share, 20_000)
        log_term = math.log(1 / 0.05)
        lower = np.array([lower_bound(int(h), 1000, 1.0, log_term) for h in hits])
        upper = np.array([upper_bound(int(h), 1000, 1.0, log_term) for h in hits])
        assert (lower > share).mean() < 0.0575
        assert (upper < share).mean() < 0.0575


def test_certain_and_impossible_edges_are_exact():
    path = DirectedGraph.from_edges([0, 1, 2, 4], [1, 2, 0, 5], n_nodes=7)
    oracle = InfluenceMaximization(path, k=2)
    none = oracle.solve_certified(np.zeros(4), np.random.default_rng(0))
    assert (none.seeds.tolist(), none.ratio, none.spread, none.rr_sets) == ([0, 1], 1.0, 2.0, 0)
    every = oracle.solve_certified(np.ones(4), np.random.default_rng(0))
    assert every.seeds.tolist() == [0, 4]
    assert oracle.expected_reward(every.seeds, np.ones(4)) == 5.0
    cycles = DirectedGraph.from_edges([0, 1, 2, 3], [1, 0, 3, 2], n_nodes=5)
    whole = InfluenceMaximization(cycles, k=4).solve_certified(np.ones(4), np.random.default_rng(0))
    assert (whole.seeds.tolist(), whole.spread, whole.n_components) == ([0, 2, 4, 1], 5.0, 3)


def test_estimated_spread_agrees_with_enumeration():
    """30 comparisons at 5.5 standard errors: 1e-6 in all. And more probable edges never lower it."""
    rng = np.random.default_rng(8)
    for _ in range(30):
        graph = random_graph(rng)
        means = rng.random(graph.n_arcs)
        seeds = rng.choice(graph.n_nodes, 2, replace=False)
        mean, error = estimated_spread(graph, means, seeds, 4000)
        assert abs(mean - exact_spread(graph, means, seeds)) <= 5.5 * error + 1e-9
        raised = np.minimum(1.0, means + 0.1 * rng.random(graph.n_arcs))
        assert estimated_spread(graph, raised, seeds, 4000)[0] >= mean
        assert estimated_spread(graph, means, seeds, 4000, threads=2) == (mean, error)


def reference_degrees(graph, means, k, rule):
    """Degree heuristics from their definitions, edge by edge."""
    arcs = list(zip(graph.tails.tolist(), graph.heads.tolist(), means.tolist(), strict=True))
    seeds = []
    for _ in range(k):
        scores = {}
        for v in set(range(graph.n_nodes)) - set(seeds):
            degree = sum(p for u, w, p in arcs if u == v and (rule == "degree" or w not in seeds))
            missed = math.prod(1 - p for u, w, p in arcs if w == v and u in seeds)
            scores[v] = (1 + degree) * missed if rule == "discount" else degree
        seeds.append(min(scores, key=lambda v: (-scores[v], v)))
    return seeds


@pytest.mark.parametrize("rule", ["degree", "single", "discount"])
def test_degree_heuristics_against_their_definitions(rule):
    rng = np.random.default_rng(11)
    for _ in range(50):
        graph, means = random_graph(rng, n=9, arcs=25), rng.random(25)
        oracle = DegreeHeuristic(graph, 4, rule=rule)
        assert oracle.solve(means, rng).tolist() == reference_degrees(graph, means, 4, rule)
        assert math.isnan(oracle.alpha)
    with pytest.raises(ValueError, match="rule"):
        DegreeHeuristic(graph, 4, rule="best")


def test_lazy_greedy_is_greedy_on_the_same_coins():
    rng = np.random.default_rng(12)
    for trial in range(20):
        graph, means = random_graph(rng, n=9, arcs=25), rng.random(25) * 0.6
        found = MonteCarloGreedy(graph, 3, cascades=60).solve(means, np.random.default_rng(trial))
        key = int(np.random.default_rng(trial).integers(0, 2**62))
        seeds = []
        for _ in range(3):
            values = {
                v: estimated_spread(graph, means, np.array([*seeds, v]), 60, key=key)[0]
                for v in range(9)
                if v not in seeds
            }
            seeds.append(max(values, key=lambda v: (round(values[v], 9), -v)))
        value, expected = (
            estimated_spread(graph, means, np.array(s), 60, key=key)[0] for s in (found, seeds)
        )
        assert value == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_budgets_against_enumeration(weighted):
    """Seeds with costs: certified ratios against the best affordable seeds, failures at most 0.05 each.

    More than 20 failures in 100 have probability below 1e-7.
    """
    rng = np.random.default_rng(14)
    failures = 0
    for trial in range(100):
        graph, means = random_graph(rng, n=6, arcs=9), random_means(rng, 9, 6)
        costs, budget = rng.choice([0.5, 1.0, 2.0, 3.0], 6), 3.0
        weights = rng.random(6) if weighted else None
        oracle = BudgetedInfluence(
            graph, costs, budget=budget, epsilon=0.15, delta=0.05, node_weights=weights
        )
        answer = oracle.solve_certified(means, np.random.default_rng(trial))
        assert answer.certified
        assert oracle.is_feasible(answer.seeds)
        families = [np.array(s) for size in range(1, 7) for s in combinations(range(6), size)]
        best = max(oracle.expected_reward(s, means) for s in families if costs[s].sum() <= budget)
        failures += oracle.expected_reward(answer.seeds, means) < answer.ratio * best - 1e-9
    assert failures <= 20


def tailed(n=1000, arcs=4000):
    """Some nodes have many arcs out, most hardly any."""
    rng = np.random.default_rng(0)
    tails = np.minimum(rng.pareto(1.0, arcs) * 20, n - 1).astype(np.int64)
    graph = DirectedGraph.from_edges(tails, (tails + rng.integers(1, n, arcs)) % n, n_nodes=n)
    return graph, weighted_cascade(graph)


def test_seeds_meet_as_many_sets_as_their_quality_asks_for():
    """Sets that chose meet them more often than others, hardly twice as often here."""
    graph, means = tailed()
    oracle = InfluenceMaximization(graph, 20, search=Search(quality=2.0))
    answer = oracle.solve_certified(means, np.random.default_rng(0))
    met = answer.rr_sets / 1.25 * answer.spread / graph.n_nodes
    assert met >= 0.5 * 2.0 * 15.0 * log_binomial(graph.n_nodes, 20)
    assert answer.ratio > oracle.alpha + 0.05


def test_the_one_way_to_the_targets_is_found():
    """Over two arcs, of which the second has a small probability: the schedule needs some floor."""
    graph = DirectedGraph.from_edges([0, 1, 2, 3], [2, 3, 4, 4], n_nodes=5)
    options = {"node_weights": [0, 0, 0, 0, 5.0], "epsilon": 0.2}
    by_cost = BudgetedInfluence(graph, [1.0, 1.0, 9.0, 9.0, 9.0], budget=1.0, **options)
    for oracle in (InfluenceMaximization(graph, 1, candidates=[0, 1], **options), by_cost):
        means = np.array([0.9, 0.1, 0.01, 0.01])
        answer = oracle.solve_certified(means, np.random.default_rng(0))
        assert answer.seeds.tolist() == [0]
        assert answer.certified
        assert answer.spread == pytest.approx(0.045, rel=0.3)


PAIR = DirectedGraph.from_edges([0, 1], [2, 2])
test_bad_input_is_refused = refused(
    (lambda: BudgetedInfluence(PAIR, costs=[1.0], budget=1.0), "costs|candidates"),
    (lambda: InfluenceMaximization(PAIR, 1, model="lt").solve(np.ones(2), 0), "sum to at most 1"),
    (lambda: InfluenceMaximization(PAIR, 1, model="sir"), "model"),
)
