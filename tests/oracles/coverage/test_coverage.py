"""Coverage: greedy against enumeration and an exact integer program, rewards by the formula, bad graphs."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from cases import pages
from refusals import refused

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
    (pages(), {"k": 1, "node_weight": "price"}, "price"),
    by=lambda graph, arguments: MaxCoverage(graph, **arguments),
)
