"""Coverage: greedy against enumeration and an exact integer program, rewards by the formula, bad graphs."""

from itertools import combinations

import networkx as nx
import numpy as np
import pulp
import pytest
from cases import pages
from refusals import refused

from cmab import CUCB, simulate
from instances import Coverage
from oracles import MaxCoverage

RNG = np.random.default_rng(0)


def random_graph(seed, left=6, right=8, density=0.35):
    graph = nx.bipartite.random_graph(left, right, density, seed=seed)
    graph.add_edge(0, left)
    return graph


def value(graph, oracle, chosen, p):
    """Return sum_v (1 - prod (1 - p_uv)), written out."""
    probability = dict(zip(oracle.edges, p, strict=True))
    names = [oracle.left[entry] for entry in chosen]
    return sum(1 - np.prod([1 - probability.get((u, v), 0.0) for u in names]) for v in oracle.right)


def plain_greedy(oracle, p):
    chosen = []
    for _ in range(oracle.k):
        worth = [
            -np.inf if u in chosen else oracle.expected_reward(np.array([*chosen, u]), p)
            for u in range(oracle.n_choices)
        ]
        chosen.append(int(np.argmax(np.round(worth, 12))))
    return sorted(chosen)


def test_lazy_greedy_is_greedy_and_greedy_is_good():
    for seed in range(60):
        graph = random_graph(seed)
        oracle = MaxCoverage(graph, k=1 + seed % 4)
        p = RNG.choice([0.0, 0.5, 1.0], oracle.n_arms) if seed % 3 == 0 else RNG.random(oracle.n_arms)
        chosen = oracle.solve(p, RNG)
        assert chosen.tolist() == plain_greedy(oracle, p)
        best = max(value(graph, oracle, other, p) for other in combinations(range(6), oracle.k))
        assert oracle.expected_reward(chosen, p) == pytest.approx(value(graph, oracle, chosen, p))
        assert value(graph, oracle, chosen, p) >= (1 - 1 / np.e) * best - 1e-12


def test_certain_edges_against_an_integer_program():
    """Deterministic coverage, solved exactly: greedy reaches 1 - 1/e of it."""
    for seed in range(3):
        graph = random_graph(seed, 12, 30, 0.15)
        oracle = MaxCoverage(graph, k=4)
        problem = pulp.LpProblem("cover", pulp.LpMaximize)
        take = {u: problem.add_variable(f"u{u}", cat="Binary") for u in oracle.left}
        reach = {v: problem.add_variable(f"v{v}", cat="Binary") for v in oracle.right}
        problem += pulp.lpSum(take.values()) <= 4
        for v in oracle.right:
            problem += reach[v] <= pulp.lpSum(take[u] for u in graph[v])
        problem.setObjective(pulp.lpSum(reach.values()))
        problem.solve(pulp.HiGHS(msg=False, threads=1))
        best = sum(variable.value() for variable in reach.values())
        ones = np.ones(oracle.n_arms)
        assert oracle.expected_reward(oracle.solve(ones, RNG), ones) >= (1 - 1 / np.e) * best - 1e-9


def test_optimum_by_enumeration():
    environment = Coverage(pages(), 2, probability="p")
    values = [environment.expected_reward(np.array(pair)) for pair in combinations(range(4), 2)]
    assert environment.optimum == max(values)
    assert environment.optimum_is_exact


@pytest.mark.slow
def test_cucb_counts_the_arms_of_a_node_alike_and_learns():
    graph = random_graph(5)
    truth = np.random.default_rng(3).uniform(0.05, 0.9, graph.number_of_edges())
    environment = Coverage(graph, 2, probability=truth)
    oracle = MaxCoverage(graph, 2)
    result = simulate(CUCB(oracle), environment, 4000, checkpoints=[3000, 4000], rng=0)
    first = np.unique(oracle.clusters, return_index=True)[1]  # the arms of a node are triggered together
    counters = result.states[0].counters
    assert np.array_equal(counters, counters[first][oracle.clusters])
    assert result.reward_per_round[0, 1] > 0.95 * environment.optimum


def parallel():
    return nx.MultiGraph(nx.bipartite.complete_bipartite_graph(2, 2))


def one_sided():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, 0, "bipartite")
    return graph


test_bad_graphs_are_refused = refused(
    (nx.path_graph(3), {"k": 1}, "bipartite=0"),
    (one_sided(), {"k": 1}, "two sides"),
    (parallel(), {"k": 1}, "parallel"),
    (pages(), {"k": 0}, "k must"),
    (pages(), {"k": 5}, "k must"),
    (pages(), {"k": 1, "node_weight": "price"}, "price"),
    by=lambda graph, arguments: MaxCoverage(graph, **arguments),
)


@pytest.mark.parametrize("probability", ["chance", [0.5], np.full(7, 1.5)])
def test_bad_probabilities_are_refused(probability):
    with pytest.raises(ValueError, match=r"chance|probability"):
        Coverage(pages(), 1, probability=probability)


def test_an_infeasible_choice_is_refused():
    with pytest.raises(ValueError, match="feasible"):
        Coverage(pages(), 2, probability="p").play(np.array([0]), RNG)
