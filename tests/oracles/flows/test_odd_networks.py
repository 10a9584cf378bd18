"""Flows and cuts on odd networks: loops, parallel arcs, separate parts, bounds of 0, numbers of all sizes."""

from itertools import product

import networkx as nx
import numpy as np
import pytest

from oracles import CapacitatedFlow, DisjointPaths, MinCostFlow, MinimumCut

RNG = np.random.default_rng


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


@pytest.mark.parametrize("seed", range(30))
def test_flows_of_single_units_by_enumeration(seed):
    rng = RNG(seed)
    graph = odd_graph(rng, 9)
    m, units = graph.number_of_edges(), int(rng.integers(1, 3))
    demand = {0: -units, 3: units}
    flows = [bits for bits in product((0, 1), repeat=m) if balances(graph, bits, demand)]
    makers = [lambda: MinCostFlow(graph, demand)]
    if units == 2:
        makers.append(lambda: DisjointPaths(graph, 0, 3, k=2))
    for make in makers:
        if not flows:
            with pytest.raises(ValueError, match=r"demand must be satisfiable|k must|graph must"):
                make()
            continue
        oracle = make()
        for costs in costs_of(rng, m):
            shares = costs / max(costs.max(), 1e-320)
            chosen = oracle.solve(costs, 0)
            assert oracle.is_feasible(chosen)
            assert shares[chosen].sum() == pytest.approx((np.array(flows) @ shares).min(), abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("directed", [True, False])
def test_cuts_by_enumeration(seed, directed):
    rng = RNG(seed)
    graph = odd_graph(rng, 8) if directed else nx.MultiGraph(odd_graph(rng, 8).edges)
    graph.add_nodes_from(range(5))
    m = graph.number_of_edges()
    if not nx.has_path(graph, 0, 3):
        with pytest.raises(ValueError, match="graph must have a path"):
            MinimumCut(graph, 0, 3)
        return
    edges, cuts = list(graph.edges), []
    for bits in product((0, 1), repeat=m):
        rest = nx.MultiDiGraph() if directed else nx.MultiGraph()
        rest.add_nodes_from(range(5))
        rest.add_edges_from(edge[:2] for edge, bit in zip(edges, bits, strict=True) if not bit)
        if not nx.has_path(rest, 0, 3):
            cuts.append(bits)
    oracle = MinimumCut(graph, 0, 3)
    for costs in (*costs_of(rng, m), rng.normal(size=m), -rng.random(m), rng.normal(size=m) * 1e300):
        shares = costs / max(np.abs(costs).max(), 1e-320)
        chosen = oracle.solve(costs, 0)
        bits = tuple(int(arm in chosen.tolist()) for arm in range(m))
        assert bits in set(cuts)
        assert shares[chosen].sum() == pytest.approx((np.array(cuts) @ shares).min(), abs=1e-9)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_no_costs_are_refused(value):
    graph = odd_graph(RNG(0))
    for oracle in (
        CapacitatedFlow(graph, {0: -1, 3: 1}),
        MinCostFlow(graph, {0: -1, 3: 1}),
        MinimumCut(graph, 0, 3),
    ):
        means = np.ones(oracle.n_arms)
        means[2] = value
        with pytest.raises(ValueError, match="means must"):
            oracle.solve(means, 0)


def refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_bounds_and_demands_that_are_too_large_are_refused():
    graph = odd_graph(RNG(0))
    for wrong in (10**18, 2.0**60, np.nan, -1, 0.5, True):
        refused(lambda wrong=wrong: CapacitatedFlow(graph, {0: -1, 3: 1}, capacity=wrong), "capacity")
        refused(lambda wrong=wrong: CapacitatedFlow(graph, {0: -1, 3: 1}, lower=wrong), "lower")
    for wrong in (10**18, 0.5, np.nan):
        refused(lambda wrong=wrong: CapacitatedFlow(graph, {0: -wrong, 3: wrong}), "demand")
        refused(lambda wrong=wrong: MinCostFlow(graph, {0: -wrong, 3: wrong}), "demand")
    for make in (
        lambda: CapacitatedFlow(graph, {0: -1, 4: 1}),
        lambda: MinCostFlow(graph, {0: -1, 4: 1}),
    ):
        refused(make, "demand must be satisfiable")
    refused(lambda: MinimumCut(graph, 0, 4), "graph must have a path")
    refused(lambda: MinimumCut(graph, 0, 0), "target")
