"""Covers: enumeration, networkx, greedy against the program, and what cannot be used."""

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from oracles import SetCover, VertexCover

RNG = np.random.default_rng


def test_loops_parallels_and_names():
    graph = nx.MultiGraph([("a", "a"), ("b", "c"), ("b", "c")])
    graph.add_node("alone")
    for method in ("program", "greedy"):
        oracle = VertexCover(graph, method=method)
        assert oracle.labels(oracle.solve(np.array([0.9, 0.5, 0.2, 0.0]), RNG(0))) in (
            ["a", "c"],
            ["a", "c", "alone"],
        )
        assert oracle.is_feasible([0, 1])
        assert not oracle.is_feasible([1, 2])


def test_constraints():
    oracle = SetCover([(0, 1), (1, 2), (2, 0), (0, 1, 2)], method="greedy")
    costs = np.array([0.2, 0.3, 0.4, 0.6])
    assert oracle.solve_constrained(costs, [2], [3], 0).tolist() == [0, 2]
    assert oracle.solve_constrained(costs, [], [0, 1, 3], 0) is None
    assert oracle.solve_within(costs, np.array([True, False, True, True]), 0).tolist() in ([3], [0, 2])


test_bad_input_is_refused = refused(
    (lambda: SetCover([]), "sets must contain at least one element"),
    (lambda: SetCover([[], []]), "sets must contain at least one element"),
    (lambda: SetCover([1, 2]), "list of elements"),
    (lambda: SetCover([[1]], method="best"), "method"),
    (lambda: VertexCover(nx.DiGraph([(0, 1)])), "undirected"),
    (lambda: VertexCover(nx.empty_graph(3)), "must have an edge"),
    (lambda: SetCover([[1]], method="greedy").solve(np.array([-1.0]), 0), "means"),
)


@pytest.mark.slow
def test_large_covers():
    """Within the ratio of the program's answer, for a thousand nodes and for 300 sets."""
    graph, rng = nx.gnm_random_graph(1000, 1500, seed=3), RNG(3)
    sets = [np.flatnonzero(rng.random(100) < 0.1).tolist() for _ in range(300)]
    for make in (
        lambda method: VertexCover(graph, method=method),
        lambda method: SetCover(sets, method=method),
    ):
        exact, greedy = make("program"), make("greedy")
        costs = rng.random(exact.n_arms)
        one, two = costs[exact.solve(costs, rng)].sum(), costs[greedy.solve(costs, rng)].sum()
        assert one - 1e-9 <= two <= greedy.alpha * one
