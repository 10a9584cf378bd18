"""Flows with capacities and lower bounds: linear programs, the flows of capacity one, refusals."""

import networkx as nx
import numpy as np
import pytest
from refusals import refused
from scipy.optimize import linprog

from oracles import CapacitatedFlow, DirectedGraph, MinCostFlow

RNG = np.random.default_rng


def networks(count):
    """Random multigraphs with bounds, demands, and costs of every sign and size; most are satisfiable."""
    for seed in range(count):
        rng = RNG(seed)
        n = int(rng.integers(3, 12))
        graph = nx.MultiDiGraph(nx.gnp_random_graph(n, rng.uniform(0.2, 0.6), seed=seed, directed=True))
        graph.add_edges_from([(0, 1), (0, 1), (1, 1)])
        m = graph.number_of_edges()
        capacity = rng.integers(0, 7, m)
        lower = np.minimum(capacity, rng.integers(0, 3, m) * (rng.random(m) < 0.3))
        demand = rng.integers(-3, 4, n)
        demand[-1] -= demand.sum()
        kinds = rng.normal(size=m), rng.integers(-3, 4, m).astype(float), rng.random(m) * 1e300
        yield graph, demand, capacity, lower, kinds[seed % 3]


@pytest.mark.slow
def test_values_against_linear_programs():
    solved = refusals = 0
    for graph, demand, capacity, lower, costs in networks(300):
        matrix = np.zeros((len(graph), len(costs)))
        for i, (u, v, _) in enumerate(graph.edges):
            matrix[u, i] -= 1.0
            matrix[v, i] += 1.0
        scaled = costs / np.abs(costs).max()
        bounds = np.column_stack([lower, capacity])
        for sense, sign in (("min", 1.0), ("max", -1.0)):
            program = linprog(sign * scaled, A_eq=matrix, b_eq=demand, bounds=bounds)
            given = graph, dict(enumerate(demand.tolist()))
            options = {"capacity": capacity, "lower": lower, "sense": sense}
            if program.status == 2:
                refusals += 1
                with pytest.raises(ValueError, match="demand must be satisfiable"):
                    CapacitatedFlow(*given, **options)
                continue
            solved += 1
            oracle = CapacitatedFlow(*given, **options)
            answer = oracle.solve(costs, 0)
            assert oracle.is_feasible(answer)
            assert oracle.expected_reward(answer, scaled) == pytest.approx(sign * program.fun, abs=1e-8)
            units = oracle.units(answer)
            assert oracle.super_arm_of(units).tolist() == answer.tolist()
            assert units @ scaled == pytest.approx(sign * program.fun, abs=1e-8)
            assert oracle.triggered_arms(answer).tolist() == np.flatnonzero(units).tolist()
            uses = [u != v for (u, v, _), _ in oracle.labels(answer)]
            if any(uses):
                assert not oracle.is_feasible(np.delete(answer, uses.index(True)))
    assert min(solved, refusals) > 100


def test_capacity_one_is_the_flow_of_sets():
    for seed in range(20):
        rng, graph = RNG(seed), nx.gnp_random_graph(12, 0.4, seed=seed, directed=True)
        demand = {0: -2, 11: 2}
        try:
            sets = MinCostFlow(graph, demand)
        except ValueError:
            continue
        units = CapacitatedFlow(graph, demand, capacity=1)
        costs = rng.random(sets.n_arms)
        assert units.n_choices == sets.n_arms
        assert units.solve(costs, rng).tolist() == sets.solve(costs, rng).tolist()


def test_attributes_mappings_and_arrays_give_the_same_problem():
    graph = nx.DiGraph()
    graph.add_edge("a", "b", capacity=2, lower=1, price=3.0)
    graph.add_edge("b", "c", price=1.0)
    graph.add_edge("a", "c", capacity=9, price=2.0)
    nx.set_node_attributes(graph, {"a": -4, "c": 4}, "demand")
    plain = DirectedGraph.from_edges([0, 1, 0], [1, 2, 2], labels=["a", "b", "c"])
    by_name = CapacitatedFlow(graph)
    order = [list(graph.edges).index(edge) for edge in [("a", "b"), ("b", "c"), ("a", "c")]]
    by_array = CapacitatedFlow(plain, {"a": -4, "c": 4}, capacity=[2, 5, 9], lower=[1, 0, 0])
    assert by_name.capacity[order].tolist() == [2, 5, 9]
    costs = by_name.means_of("price")
    assert by_name.labels(by_name.solve(costs, 0))[0] == (("a", "b"), 1)
    first = by_name.expected_reward(by_name.solve(costs, 0), costs)
    assert first == by_array.expected_reward(by_array.solve(costs[order], 0), costs[order]) == 10.0


def test_a_large_network_against_networkx():
    """Capacities that sum to millions, of which sets of arcs would need one arm each."""
    rng, graph = RNG(0), nx.DiGraph()
    nx.add_cycle(graph, range(60), capacity=10_000, weight=50)
    for u, v in rng.integers(0, 60, (300, 2)).tolist():
        if u != v:
            graph.add_edge(u, v, capacity=int(rng.integers(1, 900)), weight=int(rng.integers(1, 100)))
    for u, v in (rng.permutation(60)[:20].reshape(10, 2)).tolist():
        graph.nodes[u]["demand"], graph.nodes[v]["demand"] = -400, 400
    oracle = CapacitatedFlow(graph)
    costs = oracle.means_of("weight")
    assert oracle.expected_reward(oracle.solve(costs, 0), costs) == nx.network_simplex(graph)[0]


ARC = nx.DiGraph([(0, 1)])
test_bad_input_is_refused = refused(
    (lambda: CapacitatedFlow(nx.Graph([(0, 1)]), {}), "graph must be directed"),
    (lambda: CapacitatedFlow(ARC, {0: -1}), "demand must sum to 0"),
    (lambda: CapacitatedFlow(ARC, {0: -1.5, 1: 1.5}), "demand of 0"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 2: 1}), "demand must be a node of graph"),
    (lambda: CapacitatedFlow(ARC, {0: -2, 1: 2}, capacity=1), "demand must be satisfiable"),
    (lambda: CapacitatedFlow(ARC, {0: 1, 1: -1}), "demand must be satisfiable"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 1: 1}, capacity=[1.5]), "capacity must contain integers"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 1: 1}, capacity=-1), "capacity"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 1: 1}, capacity="room"), "capacity must be the name"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 1: 1}, lower="least"), "lower must be the name"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 1: 1}, capacity=10**18), "capacity"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 1: 1}, capacity=[np.nan]), "capacity"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 1: 1}, capacity=1, lower=2), "lower must be at most capacity"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 1: 1}, sense="best"), "sense"),
    (lambda: CapacitatedFlow(ARC, {0: -1, 1: 1}).solve(np.array([np.nan]), 0), "means"),
    (lambda: CapacitatedFlow(ARC, {0: -2, 1: 2}).units(np.array([0, 1])), "super_arm must be feasible"),
    (lambda: CapacitatedFlow(ARC, {0: -2, 1: 2}).super_arm_of([3]), "units must be at most"),
)
