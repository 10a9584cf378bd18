"""Path oracles: networkx, enumeration of all simple paths, hard cases."""

import networkx as nx
import numpy as np
import pytest

from oracles import MostReliablePath, ShortestPath

RNG = np.random.default_rng(0)


def random_graphs(directed, count=40):
    for seed in range(count):
        graph = nx.gnp_random_graph(7, 0.45, seed=seed, directed=directed)
        if nx.has_path(graph, 0, 6):
            yield graph


@pytest.mark.parametrize("directed", [False, True])
def test_dijkstra_against_networkx(directed):
    """On random weights, on few distinct ones, and with zeros."""
    for graph in random_graphs(directed):
        oracle = ShortestPath(graph, 0, 6)
        for costs in (
            RNG.random(oracle.n_arms),
            RNG.choice([0.0, 1.0], oracle.n_arms),
            np.zeros(oracle.n_arms),
        ):
            nx.set_edge_attributes(graph, dict(zip(graph.edges, costs, strict=True)), "cost")
            path = oracle.solve(costs, RNG)
            assert oracle.is_feasible(path)
            assert costs[path].sum() == pytest.approx(nx.dijkstra_path_length(graph, 0, 6, "cost"))


def test_a_path_through_given_edges_of_a_cyclic_graph_is_refused():
    oracle = ShortestPath(nx.cycle_graph(5), 0, 2)
    assert oracle.solve_constrained(np.ones(5), [], [0], RNG) is not None
    assert oracle.solve_constrained(np.ones(5), [], [0, 1], RNG) is None
    with pytest.raises(TypeError, match="include"):
        oracle.solve_constrained(np.ones(5), [0], [], RNG)


@pytest.mark.parametrize("make", [ShortestPath, MostReliablePath])
@pytest.mark.parametrize(
    ("graph", "source", "target", "message"),
    [
        (nx.path_graph(3), 0, 7, "target must be a node"),
        (nx.path_graph(3), "a", 1, "source must be a node"),
        (nx.path_graph(3), 1, 1, "must differ"),
        (nx.Graph([(0, 1), (2, 3)]), 0, 3, "path"),
        (nx.DiGraph([(1, 0)]), 0, 1, "path"),
    ],
)
def test_bad_terminals_are_refused(make, graph, source, target, message):
    with pytest.raises(ValueError, match=message):
        make(graph, source, target)
