"""Flows with capacities and lower bounds: networkx, enumeration on odd networks, refusals."""

from itertools import product

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from oracles import CapacitatedFlow, DirectedGraph

RNG = np.random.default_rng


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
    costs = np.array([price for *_, price in graph.edges(data="price")])
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
    costs = np.array([cost for *_, cost in graph.edges(data="weight")], float)
    assert oracle.expected_reward(oracle.solve(costs, 0), costs) == nx.network_simplex(graph)[0]


def odd_graph(rng, m=7):
    """Return a directed multigraph of 5 nodes, one of them isolated, with loops and parallel arcs."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(5))
    graph.add_edges_from([(0, 1), (0, 1), (1, 1), (1, 3)])
    graph.add_edges_from(rng.integers(0, 4, (m - 4, 2)).tolist())
    return graph


def costs_of(rng, m):
    yield rng.random(m)
    yield rng.choice([0.0, 0.5], m)
    yield np.zeros(m)
    yield rng.random(m) * 1e308
    yield rng.random(m) * 1e-308
    yield rng.choice([1e-300, 1.0, 1e300], m)


def balances(graph, units, demand):
    net = dict.fromkeys(graph, 0)
    for (u, v, _), amount in zip(graph.edges, units, strict=True):
        net[u] -= amount
        net[v] += amount
    return all(net[node] == demand.get(node, 0) for node in graph)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("scale", [1, 2**40])
def test_capacitated_flows_by_enumeration(seed, scale):
    """A flow of multiples of `scale` is optimal if all bounds and demands are multiples of it."""
    rng = RNG(seed)
    graph = odd_graph(rng)
    m = graph.number_of_edges()
    capacity = rng.integers(0, 3, m)
    lower = np.minimum(capacity, rng.integers(0, 2, m) * (rng.random(m) < 0.3))
    demand = {0: -int(rng.integers(0, 4))}
    demand[3] = -demand[0]
    flows = [
        units
        for units in product(*(range(low, high + 1) for low, high in zip(lower, capacity, strict=True)))
        if balances(graph, units, demand)
    ]
    given = graph, {node: units * scale for node, units in demand.items()}
    options = {"capacity": capacity * scale, "lower": lower * scale}
    if not flows:
        with pytest.raises(ValueError, match="demand must be satisfiable"):
            CapacitatedFlow(*given, **options)
        return
    table = np.array(flows, float)
    for sense, least in (("min", np.min), ("max", np.max)):
        oracle = CapacitatedFlow(*given, **options, sense=sense)
        for costs in (*costs_of(rng, m), rng.normal(size=m), -np.ones(m), rng.normal(size=m) * 1e300):
            shares = costs / max(np.abs(costs).max(), 1e-320)
            answer = oracle.solve(costs, 0)
            units = oracle.units(answer)
            assert oracle.is_feasible(answer)
            assert balances(graph, units.tolist(), given[1])
            assert units @ shares / scale == pytest.approx(least(table @ shares), abs=1e-9)


ARC = nx.DiGraph([(0, 1)])
test_bad_input_is_refused = refused(
    (lambda: CapacitatedFlow(nx.Graph([(0, 1)]), {}), "graph must be directed"),
    (lambda: CapacitatedFlow(ARC, {0: -1}), "demand must sum to 0"),
    (lambda: CapacitatedFlow(ARC, {0: -1.5, 1: 1.5}), "demand of 0"),
    (lambda: CapacitatedFlow(ARC, {0: -2, 1: 2}).units(np.array([0, 1])), "super_arm must be feasible"),
    (lambda: CapacitatedFlow(ARC, {0: -2, 1: 2}).super_arm_of([3]), "units must be at most"),
)
