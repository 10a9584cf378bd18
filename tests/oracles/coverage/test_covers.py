"""Covers with limits and without: enumeration, greedy, and branch and bound, refusals."""

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from oracles import SetCover, SolverError, VertexCover
from oracles.anytime import Clock
from oracles.covers import independent

RNG = np.random.default_rng


@pytest.mark.parametrize("density", [0.1, 0.5, 0.9])
def test_independent_sets_by_cliques_of_the_complement(density):
    """In steps of few nodes as well as at once, against networkx; an interrupted search has a valid bound."""
    rng = RNG(int(10 * density))
    for trial in range(20):
        n = int(rng.integers(1, 90 if density > 0.3 else 40))
        graph = nx.gnp_random_graph(n, density, seed=trial)
        weights = rng.integers(1, 20, n).astype(float) if trial % 2 else np.ones(n)
        other = nx.complement(graph)
        nx.set_node_attributes(other, {i: int(weights[i]) for i in range(n)}, "weight")
        best = nx.max_weight_clique(other, "weight")[1]
        joined = nx.to_numpy_array(graph) > 0
        apart = ~(joined | np.eye(n, dtype=bool))
        for most in (1, 10**9):
            found, bound, is_over = independent(
                lambda order, apart=apart: apart[np.ix_(order, order)],
                weights,
                np.zeros(n, bool),
                most,
                Clock(None),
            )
            assert not joined[np.ix_(found, found)].any()
            assert weights[found].sum() <= best <= bound + 1e-9
            assert not is_over or weights[found].sum() == best == bound
        assert is_over


def test_limits_end_a_search():
    """On a graph without an end in sight; the same number of nodes gives the same answer twice."""
    graph = nx.gnm_random_graph(300, 1500, seed=1)
    costs = 0.5 + 0.1 * RNG(0).random(300)
    quick = VertexCover(graph, time_limit=1e-4, on_limit="best")
    assert np.isnan(quick.alpha) and quick.certifies_calls
    answer = quick.solve_certified(costs, RNG(0))
    assert not answer.certified and 1.0 < answer.ratio < 2.0
    with pytest.raises(SolverError, match="time limit"):
        VertexCover(graph, time_limit=1e-4).solve(costs, RNG(0))
    greedy = VertexCover(graph, time_limit=0)
    assert np.array_equal(greedy.solve(costs, RNG(0)), VertexCover(graph, time_limit=0).solve(costs, RNG(1)))


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


test_bad_input_is_refused = refused(
    (lambda: SetCover([]), "sets must contain at least one element"),
    (lambda: SetCover([[], []]), "sets must contain at least one element"),
    (lambda: SetCover([1, 2]), "list of elements"),
    (lambda: VertexCover(nx.DiGraph([(0, 1)])), "undirected"),
    (lambda: VertexCover(nx.empty_graph(3)), "must have an edge"),
)
