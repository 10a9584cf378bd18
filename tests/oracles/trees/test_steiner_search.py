"""Steiner trees: values and bounds against enumeration of nodes, limits, and every way to the optimum."""

from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest

from oracles import SolverError, SteinerTree
from oracles import steiner_trees as _steiner_search
from oracles import steiner_trees as _steiner_steps

RNG = np.random.default_rng


def optimum(graph, terminals):
    """The least weight of a spanning tree on the terminals and some other nodes."""
    others = [node for node in graph if node not in terminals]
    best = np.inf
    for chosen in chain.from_iterable(combinations(others, size) for size in range(len(others) + 1)):
        part = graph.subgraph([*terminals, *chosen])
        if nx.is_connected(part):
            best = min(best, nx.minimum_spanning_tree(part).size("weight"))
    return best


def instances(count, n=9):
    for seed in range(count):
        rng = RNG(seed)
        graph = nx.gnp_random_graph(n, rng.uniform(0.25, 0.7), seed=seed)
        nx.add_path(graph, rng.permutation(n).tolist())
        m = graph.number_of_edges()
        costs = [rng.random(m), rng.integers(1, 5, m).astype(float), rng.choice([0.0, 0.5], m), np.ones(m)]
        costs = costs[seed % 4]
        nx.set_edge_attributes(graph, dict(zip(graph.edges, costs.tolist(), strict=True)), "weight")
        yield graph, rng.permutation(n)[: rng.integers(2, 7)].tolist(), costs


@pytest.mark.slow
@pytest.mark.parametrize("way", ["usual", "cuts", "integers"])
def test_values_and_bounds_by_enumeration(monkeypatch, way):
    """300 graphs, by dynamic programming, by cuts, and by integer programs from the dual ascent alone."""
    if way != "usual":
        monkeypatch.setattr(_steiner_steps, "_FEW_STEPS", 0.0)
        monkeypatch.setattr(_steiner_steps, "_MOST_STEPS", 0.0)
    if way == "integers":
        monkeypatch.setattr(_steiner_steps, "_ROOTS", 1)
        monkeypatch.setattr(_steiner_search.Search, "exclude_by", lambda search, slack, root, bound: None)
    limits = {"gap": 0.1}, {"time_limit": 0.0}, {"method": "approximate"}
    limits += ({"time_limit": 60.0, "node_limit": 0, "on_limit": "best"},)
    for graph, terminals, costs in instances(300 if way == "usual" else 100):
        best = optimum(graph, terminals)
        oracle = SteinerTree(graph, terminals)
        answer = oracle.solve_certified(costs, 0)
        assert answer.certified
        assert answer.ratio == 1.0
        assert answer.value == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert costs[answer.super_arm].sum() == answer.value
        assert oracle.solve(costs, 0).tolist() == answer.super_arm.tolist()
        for options in limits:
            oracle = SteinerTree(graph, terminals, **options)
            answer = oracle.solve_certified(costs, 0)
            assert oracle.is_feasible(answer.super_arm)
            assert answer.bound <= best * (1 + 1e-9) + 1e-12
            assert best * (1 - 1e-9) <= answer.value <= oracle.alpha * best * (1 + 1e-9)
            assert answer.value == pytest.approx(costs[answer.super_arm].sum())
            assert oracle.solve(costs, 0).tolist() == answer.super_arm.tolist()
            if options.keys() == {"gap"}:
                assert answer.value - answer.bound <= 0.1 * answer.value + 1e-12


def test_larger_graphs_against_the_dynamic_program(monkeypatch):
    """Grids and hypercubes, where the bound of the dual ascent is below the optimum."""
    graphs = [nx.hypercube_graph(5), nx.grid_2d_graph(8, 8), nx.grid_2d_graph(5, 12)]
    for seed in range(12):
        rng, graph = RNG(seed), graphs[seed % 3]
        nodes = list(graph)
        terminals = [nodes[i] for i in rng.permutation(len(nodes))[:9]]
        m = graph.number_of_edges()
        costs = np.ones(m) if seed < 6 else rng.integers(5, 8, m).astype(float)
        with monkeypatch.context() as patch:
            patch.setattr(_steiner_steps, "_FEW_STEPS", 1e12)
            best = SteinerTree(graph, terminals).solve_certified(costs, 0).value
        with monkeypatch.context() as patch:
            patch.setattr(_steiner_steps, "_FEW_STEPS", 0.0)
            patch.setattr(_steiner_steps, "_MOST_STEPS", 0.0)
            assert SteinerTree(graph, terminals).solve_certified(costs, 0).value == best
        near = SteinerTree(graph, terminals, method="approximate").solve_certified(costs, 0)
        assert near.bound <= best <= near.value <= 1.1 * best


def test_a_limit_ends_the_search(monkeypatch):
    """Of half of a hypercube's nodes, whose optimum takes hours, with zero nodes of branch and bound."""
    monkeypatch.setattr(_steiner_steps, "_MOST_STEPS", 0.0)
    graph = nx.hypercube_graph(5)
    terminals = [node for node in graph if sum(node) % 2 == 0]
    costs = np.ones(graph.number_of_edges())
    with pytest.raises(SolverError, match="node_limit=0"):
        SteinerTree(graph, terminals, node_limit=0).solve(costs, 0)
    with pytest.raises(SolverError, match="on_limit='best'"):
        SteinerTree(graph, terminals, node_limit=0).solve_constrained(costs, [0], [], 0)
    oracle = SteinerTree(graph, terminals, node_limit=0, on_limit="best")
    assert oracle.certifies_calls
    answer = oracle.solve_certified(costs, 0)
    assert not answer.certified
    assert 1.0 < answer.ratio < 1.1
    assert oracle.is_feasible(answer.super_arm)
    assert SteinerTree(graph, terminals, time_limit=1e-9, on_limit="best").solve(costs, 0).size < 30
