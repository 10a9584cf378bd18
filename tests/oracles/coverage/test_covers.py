"""Covers: enumeration, networkx, greedy against the program, and what cannot be used."""

from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.approximation import min_weighted_vertex_cover
from refusals import refused

from oracles import SetCover, VertexCover

RNG = np.random.default_rng


def covers(oracle, sets, n_elements):
    """Every choice of sets that holds all elements, which `is_feasible` must know."""
    choices = chain.from_iterable(combinations(range(len(sets)), size) for size in range(len(sets) + 1))
    for arms in choices:
        is_one = set().union(*(sets[arm] for arm in arms)) == set(range(n_elements))
        assert oracle.is_feasible(np.array(arms, np.int64)) == is_one
        if is_one:
            yield list(arms)


def some_costs(n, rng):
    yield rng.random(n)
    yield rng.choice([0.0, 0.5, 1.0], n)
    yield np.ones(n)
    yield np.zeros(n)


def compare(exact, greedy, sets, n_elements, rng):
    family = list(covers(exact, sets, n_elements))
    for costs in some_costs(len(sets), rng):
        best = min(costs[arms].sum() for arms in family)
        one, two = exact.solve(costs, rng), greedy.solve(costs, rng)
        assert one.tolist() in family
        assert two.tolist() in family
        assert costs[one].sum() == pytest.approx(best, abs=1e-12)
        assert costs[two].sum() <= greedy.alpha * best + 1e-12
        for arm in two:  # none is there for nothing
            assert not exact.is_feasible(two[two != arm])


def test_sets_by_enumeration():
    rng = RNG(1)
    for _ in range(12):
        n, n_elements = int(rng.integers(1, 8)), int(rng.integers(1, 7))
        sets = [np.flatnonzero(rng.random(n_elements) < 0.5).tolist() for _ in range(n)]
        sets[0] = sorted(set(range(n_elements)) - set().union(*map(set, sets[1:])) | set(sets[0]))
        compare(SetCover(sets), SetCover(sets, method="greedy"), sets, n_elements, rng)


def test_nodes_by_enumeration_and_networkx():
    for seed in range(10):
        graph, rng = nx.gnp_random_graph(7, 0.4, seed=seed), RNG(seed)
        if not graph.number_of_edges():
            continue
        sets = [[i for i, edge in enumerate(graph.edges) if node in edge] for node in graph]
        exact, greedy = VertexCover(graph), VertexCover(graph, method="greedy")
        compare(exact, greedy, sets, graph.number_of_edges(), rng)
        costs = rng.random(7)
        nx.set_node_attributes(graph, dict(enumerate(costs)), "weight")
        theirs = sum(costs[node] for node in min_weighted_vertex_cover(graph, "weight"))
        assert costs[exact.solve(costs, rng)].sum() <= theirs + 1e-12
        assert theirs <= 2 * costs[exact.solve(costs, rng)].sum() + 1e-12


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
