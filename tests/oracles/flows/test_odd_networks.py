"""Flows and cuts on odd networks: loops, parallel arcs, separate parts, bounds of 0, numbers of all sizes."""

from itertools import product

import networkx as nx
import numpy as np
import pytest

from oracles import CapacitatedFlow

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
