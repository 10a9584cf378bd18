"""Minimum cuts and Steiner trees: enumeration, networkx, rustworkx, integer programs, refusals."""

import networkx as nx
import numpy as np
import pulp
import pytest
import rustworkx
from refusals import refused

from oracles import MinimumCut, PuLPOracle, SteinerTree

RNG = np.random.default_rng


@pytest.mark.parametrize("directed", [False, True])
def test_cuts_against_networkx(directed):
    """Of random and of few distinct costs, sparse and dense."""
    for seed in range(12):
        rng, graph = RNG(seed), nx.gnp_random_graph(40, 0.1 + 0.03 * seed, seed=seed, directed=directed)
        if not nx.has_path(graph, 0, 39):
            continue
        oracle, m = MinimumCut(graph, 0, 39), graph.number_of_edges()
        for costs in (rng.random(m), rng.integers(0, 3, m).astype(float)):
            nx.set_edge_attributes(graph, dict(zip(graph.edges, costs.tolist(), strict=True)), "capacity")
            answer = oracle.solve(costs, rng)
            assert oracle.is_feasible(answer)
            assert costs[answer].sum() == pytest.approx(nx.minimum_cut_value(graph, 0, 39))


def connecting_program(graph, terminals):
    """Trees by flows: a unit goes from the first terminal to each other one, over edges that are chosen."""
    problem, edges = pulp.LpProblem("steiner", pulp.LpMinimize), list(graph.edges)
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(len(edges))]
    for target in terminals[1:]:
        net = {node: [] for node in graph}
        for i, (u, v) in enumerate(edges):
            there, back = (problem.add_variable(f"{way}_{target}_{i}", lowBound=0) for way in ("f", "g"))
            problem += there + back <= x[i]
            net[u] += [-1.0 * there, 1.0 * back]
            net[v] += [1.0 * there, -1.0 * back]
        for node, terms in net.items():
            problem += pulp.lpSum(terms) == (node == target) - (node == terminals[0])
    return PuLPOracle(problem, x)


@pytest.mark.slow
def test_trees_against_programs_and_libraries():
    """The cheapest is the integer program's; nearly the cheapest is as near as those of two libraries."""
    for seed in range(6):
        rng, graph = RNG(seed), nx.connected_watts_strogatz_graph(14, 4, 0.3, seed=seed)
        terminals, m = rng.permutation(14)[: 3 + seed % 4].tolist(), graph.number_of_edges()
        costs = rng.random(m)
        exact, near = (SteinerTree(graph, terminals, method=method) for method in ("exact", "approximate"))
        best, close = (costs[oracle.solve(costs, rng)].sum() for oracle in (exact, near))
        program = connecting_program(graph, terminals)
        assert best == pytest.approx(costs[program.solve(costs, rng)].sum())
        assert best - 1e-12 <= close <= near.alpha * best
        nx.set_edge_attributes(graph, dict(zip(graph.edges, costs.tolist(), strict=True)), "weight")
        theirs = nx.algorithms.approximation.steiner_tree(graph, terminals, method="mehlhorn").size("weight")
        other = rustworkx.PyGraph()
        other.add_nodes_from(range(14))
        other.add_edges_from([(u, v, w) for u, v, w in graph.edges(data="weight")])
        rust = sum(rustworkx.steiner_tree(other, terminals, float).edges())
        assert max(theirs, rust) <= near.alpha * best
        assert close <= near.alpha * min(theirs, rust)
        chosen = graph.edge_subgraph(exact.labels(exact.solve(costs, rng)))
        assert nx.is_tree(chosen)
        assert {node for node in chosen if chosen.degree(node) == 1} <= set(terminals)


def test_two_terminals_and_all():
    """A shortest path, and a spanning tree."""
    graph, rng = nx.grid_2d_graph(5, 5), RNG(0)
    costs = rng.random(graph.number_of_edges())
    nx.set_edge_attributes(graph, dict(zip(graph.edges, costs.tolist(), strict=True)), "w")
    for method in ("exact", "approximate"):
        oracle = SteinerTree(graph, [(0, 0), (4, 4)], method=method)
        assert oracle.is_exact
        length = nx.shortest_path_length(graph, (0, 0), (4, 4), weight="w")
        assert costs[oracle.solve(costs, rng)].sum() == pytest.approx(length)
    oracle = SteinerTree(graph, list(graph), method="approximate")
    tree = nx.minimum_spanning_tree(graph, "w").size("w")
    assert costs[oracle.solve(costs, rng)].sum() == pytest.approx(tree)


test_bad_input_is_refused = refused(
    (lambda: MinimumCut(nx.path_graph(3), 0, 0), "must differ"),
    (lambda: MinimumCut(nx.path_graph(3), [], 0), "source must be a node of graph"),
    (lambda: MinimumCut(nx.DiGraph([(1, 0)]), 0, 1), "graph must have a path from 0 to 1"),
    (lambda: MinimumCut(nx.empty_graph(2), 0, 1), "graph must have a path from 0 to 1"),
    (lambda: SteinerTree(nx.DiGraph([(1, 0)]), [0, 1]), "undirected"),
    (lambda: SteinerTree(nx.path_graph(3), [0]), "at least two"),
    (lambda: SteinerTree(nx.path_graph(3), [0, 0]), "distinct nodes"),
    (lambda: SteinerTree(nx.path_graph(3), 0), "list of nodes"),
    (lambda: SteinerTree(nx.path_graph(3), [0, 9]), "terminals must be a node of graph, got 9"),
    (lambda: SteinerTree(nx.Graph([(0, 1), (2, 3)]), [0, 2]), "terminals must be connected"),
    (lambda: SteinerTree(nx.path_graph(3), [0, 1], gap=1.0), "gap"),
    (lambda: SteinerTree(nx.path_graph(3), [0, 1], time_limit=-1.0), "time_limit"),
    (lambda: SteinerTree(nx.path_graph(3), [0, 1]).solve(np.array([0.5, np.nan]), 0), "means"),
    (lambda: SteinerTree(nx.path_graph(3), [0, 1], method="best"), "method"),
    (
        lambda: SteinerTree(nx.path_graph(3), [0, 1, 2], method="approximate").solve(-np.ones(2), 0),
        "means",
    ),
)
