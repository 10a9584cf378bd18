"""Disjoint paths and min-cost flows: enumeration, networkx, linear programs, constraints, refusals."""

import networkx as nx
import numpy as np
import pytest
from cases import DEPOTS, LOADS
from refusals import refused
from scipy.optimize import linprog

from oracles import DisjointPaths, MinCostFlow

RNG = np.random.default_rng


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
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2, k=1, disjoint="arcs"), "disjoint"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2, k=1, sense="max"), "sense must be 'min'"),
    (lambda: DisjointPaths(nx.path_graph(3), 0, 2, k=1).paths([0]), "super_arm must be feasible"),
    (lambda: MinCostFlow(nx.path_graph(3), {}), "directed"),
    (lambda: MinCostFlow(DEPOTS, {"x": 1}), "sum to 0"),
    (lambda: MinCostFlow(DEPOTS, {"x": 0.5, "y": -0.5}), "demand of 'x' must be an integer"),
    (lambda: MinCostFlow(DEPOTS, {"x": -3, "t": 3}), "satisfiable with arcs of capacity 1"),
    (lambda: MinCostFlow(DEPOTS, {"x": -(2**70), "t": 2**70}), "demand of 'x' must be an integer in"),
    (lambda: MinCostFlow(DEPOTS, LOADS, sense="max"), "sense must be 'min'"),
)
