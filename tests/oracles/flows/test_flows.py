"""Disjoint paths and min-cost flows: enumeration, networkx, linear programs, constraints, refusals."""

import networkx as nx
import numpy as np
import pytest
from cases import DEPOTS, LOADS, ROADS, disjoint_paths, flows, paths
from refusals import refused
from scipy.optimize import linprog

from oracles import DisjointPaths, MinCostFlow, ShortestPath

RNG = np.random.default_rng


def some_costs(n, rng, is_signed=False):
    yield rng.normal(size=n) if is_signed else rng.random(n)
    yield rng.choice([0.0, 0.5, 1.0], n)
    yield np.zeros(n)
    yield rng.random(n) * 1e308


def random_graphs(count, kind, n=5):
    for seed in range(count):
        rng = RNG(seed)
        graph = nx.gnp_random_graph(n, 0.6, seed=seed, directed=kind != "undirected")
        if kind == "acyclic":
            graph = nx.DiGraph((u, v) for u, v in graph.edges if u < v)
        graph = (nx.MultiGraph if kind == "undirected" else nx.MultiDiGraph)(graph)
        graph.add_edges_from([(0, 1), (0, n - 1), (1, n - 1)])
        while graph.number_of_edges() > 11:
            graph.remove_edges_from([list(graph.edges)[rng.integers(graph.number_of_edges() - 3)]])
        yield graph


@pytest.mark.parametrize("disjoint", ["edges", "nodes"])
@pytest.mark.parametrize("kind", ["undirected", "directed", "acyclic"])
def test_paths_by_enumeration(kind, disjoint):
    """Values, membership, ties and zeros, and constraints."""
    tried = 0
    for seed, graph in enumerate(random_graphs(8, kind)):
        rng, family = RNG(seed), disjoint_paths(graph, (0, 4), 2, disjoint == "nodes")
        if not family:
            with pytest.raises(ValueError, match="must have k=2 paths"):
                DisjointPaths(graph, 0, 4, disjoint=disjoint)
            continue
        tried += 1
        for sense in ("min", "max")[: 1 + (kind == "acyclic")]:
            oracle = DisjointPaths(graph, 0, 4, disjoint=disjoint, sense=sense)
            better = min if sense == "min" else max
            assert max(map(len, family)) <= oracle.max_size
            for costs in some_costs(oracle.n_arms, rng, kind == "acyclic"):
                scale = max(1.0, np.abs(costs).max())
                answer = oracle.solve(costs, rng)
                assert tuple(answer) in family
                worth = [(costs / scale)[list(arms)].sum() for arms in family]
                assert (costs / scale)[answer].sum() == pytest.approx(better(worth), abs=1e-12)
                arms = rng.permutation(oracle.n_arms)[:3]
                include, exclude = np.split(arms, [rng.integers(0, 3) if kind == "acyclic" else 0])
                left = [one for one in family if set(include) <= set(one) and not set(exclude) & set(one)]
                found = oracle.solve_constrained(costs, include, exclude, rng)
                assert (found is None) == (not left)
                if left:
                    assert tuple(found) in left
                    best = better((costs / scale)[list(one)].sum() for one in left)
                    assert (costs / scale)[found].sum() == pytest.approx(best, abs=1e-12)
        for arms in [*family, *(rng.permutation(oracle.n_arms)[: rng.integers(0, 8)] for _ in range(60))]:
            chosen = tuple(sorted(int(arm) for arm in arms))
            assert oracle.is_feasible(np.array(arms, np.int64)) == (chosen in family)
            if chosen in family:
                check_paths(oracle, graph, oracle.paths(list(arms)))
    assert tried > 2


def check_paths(oracle, graph, found):
    """As many paths as wanted, each from end to end."""
    assert len(found) == oracle.k
    number = {edge: i for i, edge in enumerate(graph.edges)}
    for path in found:
        assert tuple(number[edge] for edge in path) in paths(graph, 0, 4)


def test_one_path_is_the_shortest_path():
    oracle, one = ShortestPath(ROADS, 0, 3), DisjointPaths(ROADS, 0, 3, k=1)
    for seed in range(20):
        costs = RNG(seed).random(7)
        assert sorted(oracle.solve(costs, 0)) == one.solve(costs, 0).tolist()
        assert one.paths(one.solve(costs, 0)) == [oracle.labels(oracle.solve(costs, 0))]


def balance(graph, nodes):
    """The matrix of arrivals less departures."""
    matrix = np.zeros((len(nodes), graph.number_of_edges()))
    for i, (u, v) in enumerate(graph.edges):
        matrix[nodes[v], i] += 1.0
        matrix[nodes[u], i] -= 1.0
    return matrix


@pytest.mark.parametrize("is_acyclic", [False, True])
def test_flows_against_networkx_and_linear_programs(is_acyclic):
    tried = 0
    for seed in range(12):
        rng, graph = RNG(seed), nx.gnp_random_graph(25, 0.25, seed=seed, directed=True)
        if is_acyclic:
            graph.remove_edges_from([(u, v) for u, v in graph.edges if u > v])
        demand = {0: -2, 1: -1, 22: 1, 24: 2}
        costs = rng.integers(-9 if is_acyclic else 0, 10, graph.number_of_edges()).astype(float)
        for i, (u, v) in enumerate(graph.edges):
            graph.edges[u, v].update(weight=int(costs[i]), capacity=1)
        nx.set_node_attributes(graph, demand, "demand")
        try:
            theirs = nx.min_cost_flow_cost(graph)
        except nx.NetworkXUnfeasible:
            with pytest.raises(ValueError, match="demand must be satisfiable"):
                MinCostFlow(graph)
            continue
        tried += 1
        oracle = MinCostFlow(graph)
        assert costs[oracle.solve(costs, rng)].sum() == theirs
        nodes = {node: i for i, node in enumerate(graph)}
        sides = np.array([demand.get(node, 0) for node in graph])
        costs = rng.normal(size=oracle.n_arms) if is_acyclic else rng.random(oracle.n_arms)
        program = linprog(costs, A_eq=balance(graph, nodes), b_eq=sides, bounds=(0, 1))
        assert costs[oracle.solve(costs, rng)].sum() == pytest.approx(program.fun)
    assert tried > 3


def test_flows_by_enumeration():
    """With a cycle, which no super arm has, and with constraints where there is none."""
    plan = DEPOTS.copy()
    plan.remove_edge("s", "y")
    for graph in (DEPOTS, plan):
        oracle, family, rng = MinCostFlow(graph, LOADS), flows(graph, LOADS), RNG(0)
        for costs in some_costs(oracle.n_arms, rng, oracle.is_acyclic):
            answer, scale = oracle.solve(costs, rng), max(1.0, np.abs(costs).max())
            assert tuple(answer) in family
            best = min((costs / scale)[list(arms)].sum() for arms in family)
            assert (costs / scale)[answer].sum() == pytest.approx(best, abs=1e-12)
        assert oracle.solve_within(np.ones(oracle.n_arms), np.arange(oracle.n_arms) != 0, rng) is not None
    for arm in range(oracle.n_arms):
        left = [arms for arms in family if arm in arms]
        found = oracle.solve_constrained(np.ones(oracle.n_arms), [arm], [], rng)
        assert len(found) == min(map(len, left)) if left else found is None


def test_through_given_edges_of_a_cyclic_graph_is_refused():
    oracle = MinCostFlow(DEPOTS, LOADS)
    with pytest.raises(TypeError, match="include"):
        oracle.solve_constrained(np.ones(7), [0], [], 0)
    needed = list(DEPOTS.edges).index(("h", "t"))
    assert oracle.solve_constrained(np.ones(7), [], [needed], 0) is None
    with pytest.raises(ValueError, match="available"):
        oracle.solve_within(np.ones(7), np.arange(7) != needed, 0)


test_bad_input_is_refused = refused(
    (lambda: DisjointPaths(nx.path_graph(3), 0, 0), "must differ"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2, k=10**30), "k must be an integer of 64 bits"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 9), "target must be a node of graph, got 9"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2), "graph must have k=2 paths from 0 to 2"),
    (lambda: DisjointPaths(nx.empty_graph(3), 0, 2), "graph must have k=2 paths from 0 to 2"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2, k=0), "k must be"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2, k=1, disjoint="arcs"), "disjoint"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2, k=1, sense="max"), "sense must be 'min'"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2, k=1).solve(np.array([-1.0, 1.0]), 0), "means"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2, k=1).paths([0]), "super_arm must be feasible"),
    (lambda: MinCostFlow(nx.path_graph(3), {}), "directed"),
    (lambda: MinCostFlow(DEPOTS), "sum to 0 and not be 0"),
    (lambda: MinCostFlow(DEPOTS, {"x": 1}), "sum to 0"),
    (lambda: MinCostFlow(DEPOTS, {"x": 1, "q": -1}), "demand must be a node of graph"),
    (lambda: MinCostFlow(DEPOTS, {"x": 0.5, "y": -0.5}), "demand of 'x' must be an integer"),
    (lambda: MinCostFlow(DEPOTS, {"x": -3, "t": 3}), "satisfiable with arcs of capacity 1"),
    (lambda: MinCostFlow(DEPOTS, {"x": -(2**70), "t": 2**70}), "demand of 'x' must be an integer in"),
    (lambda: MinCostFlow(DEPOTS, 7), "demand must be a mapping"),
    (lambda: MinCostFlow(DEPOTS, LOADS, sense="max"), "sense must be 'min'"),
)
