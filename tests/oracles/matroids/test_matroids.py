"""Matroids against enumeration, against other algorithms, and against each other where they coincide."""

from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from oracles import (
    BruteForce,
    GraphicMatroid,
    LaminarMatroid,
    LinearMatroid,
    Matroid,
    PartitionMatroid,
    TransversalMatroid,
    UniformMatroid,
)

RNG = np.random.default_rng(0)


# A random matroid of each kind, and its independence by definition ---------------------------------------


def uniform(rng, sense="max"):
    n_arms = int(rng.integers(1, 8))
    k = int(rng.integers(0, n_arms + 1))
    return UniformMatroid(n_arms, k, sense=sense), lambda arms: len(arms) <= k


def partition(rng, sense="max"):
    classes = rng.integers(0, 3, rng.integers(1, 8)).tolist()
    capacities = {name: int(rng.integers(0, 4)) for name in classes}
    return (
        PartitionMatroid(classes, capacities, sense=sense),
        lambda arms: all(sum(classes[arm] == name for arm in arms) <= capacities[name] for name in classes),
    )


def laminar(rng, sense="max"):
    n_arms = int(rng.integers(1, 8))
    sets, parts = [], [rng.permutation(n_arms).tolist()]
    while parts:
        part = parts.pop()
        if rng.random() < 0.7:
            sets.append((part, int(rng.integers(0, len(part) + 1))))
        if len(part) > 1:
            cut = int(rng.integers(1, len(part)))
            parts += [part[:cut], part[cut:]]
    shuffled = [sets[i] for i in rng.permutation(len(sets))]
    return (
        LaminarMatroid(n_arms, shuffled, sense=sense),
        lambda arms: all(len(set(arms) & set(part)) <= capacity for part, capacity in sets),
    )


def graphic(rng, sense="max"):
    ends = rng.integers(0, 5, (rng.integers(1, 8), 2)).tolist()
    graph = nx.MultiGraph(ends) if rng.random() < 0.5 else nx.Graph(ends)
    edges = list(graph.edges)
    return (
        GraphicMatroid(graph, sense),
        lambda arms: not len(arms) or nx.is_forest(nx.MultiGraph([edges[arm][:2] for arm in arms])),
    )


def matching_size(members, arms):
    pairs = [(("arm", arm), ("set", s)) for s, each in enumerate(members) for arm in each if arm in set(arms)]
    return len(nx.bipartite.hopcroft_karp_matching(nx.Graph(pairs), {a for a, _ in pairs})) // 2


def transversal(rng, sense="max"):
    n_arms = int(rng.integers(1, 8))
    members = [np.flatnonzero(rng.random(n_arms) < 0.4) for _ in range(rng.integers(0, 5))]
    return (
        TransversalMatroid(n_arms, members, sense=sense),
        lambda arms: matching_size(members, arms) == len(arms),
    )


def linear(rng, sense="max"):
    matrix = rng.integers(-1, 2, (rng.integers(1, 5), rng.integers(1, 8)))
    return (
        LinearMatroid(matrix, sense=sense),
        lambda arms: not len(arms) or np.linalg.matrix_rank(matrix[:, list(arms)]) == len(arms),
    )


KINDS = [uniform, partition, laminar, graphic, transversal, linear]
of_each_kind = pytest.mark.parametrize("kind", KINDS)


def subsets(n_arms):
    return list(chain.from_iterable(combinations(range(n_arms), size) for size in range(n_arms + 1)))


def reference(oracle, is_independent):
    family = [arms for arms in subsets(oracle.n_arms) if is_independent(arms)]
    return BruteForce(oracle.n_arms, [a for a in family if len(a) == len(family[-1])], sense=oracle.sense)


def means_for(rng, n_arms):
    """Without ties, with many, with negative entries, all equal."""
    yield rng.normal(size=n_arms)
    yield rng.integers(-1, 2, n_arms).astype(float)
    yield np.full(n_arms, float(rng.integers(-1, 2)))


def sides(rng, n_arms):
    drawn = rng.choice(3, n_arms, p=(0.7, 0.15, 0.15))
    return np.flatnonzero(drawn == 1), np.flatnonzero(drawn == 2)


# Certificates --------------------------------------------------------------------------------------------


@of_each_kind
@pytest.mark.parametrize("sense", ["max", "min"])
def test_solve_is_the_first_of_the_best_bases(kind, sense):
    """As brute force over the bases; `BruteForce` too takes the lexicographically first of equals."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        oracle, is_independent = kind(rng, sense)
        truth = reference(oracle, is_independent)
        assert oracle.rank == oracle.max_size == truth.max_size
        for means in means_for(rng, oracle.n_arms):
            assert oracle.solve(means, RNG).tolist() == truth.solve(means, RNG).tolist()


@of_each_kind
def test_constraints_and_gaps_are_those_of_brute_force(kind):
    rng = np.random.default_rng(2)
    for _ in range(60):
        sense = ("max", "min")[rng.integers(2)]
        oracle, is_independent = kind(rng, sense)
        truth = reference(oracle, is_independent)
        for means in means_for(rng, oracle.n_arms):
            include, exclude = sides(rng, oracle.n_arms)
            found = oracle.solve_constrained(means, include, exclude, RNG)
            wanted = truth.solve_constrained(means, include, exclude, RNG)
            assert (found is None) == (wanted is None)
            if found is None:
                continue
            assert found.tolist() == wanted.tolist()
            best, gaps = oracle.gaps(means, include, exclude, RNG)
            assert best.tolist() == found.tolist()
            assert np.allclose(gaps, truth.gaps(means, include, exclude, RNG)[1], atol=1e-12)


@of_each_kind
def test_a_user_with_the_same_test_gets_the_same_answers(kind):
    """The efficient greedy and circuits against those that only ask for independence."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        oracle, is_independent = kind(rng)
        plain = Matroid(oracle.n_arms, lambda arms, test=is_independent: test(arms.tolist()))
        for means in means_for(rng, oracle.n_arms):
            best = plain.solve(means, RNG)
            assert oracle.solve(means, RNG).tolist() == best.tolist()
            np.testing.assert_array_equal(*(each.gaps(means, [], [], RNG)[1] for each in (oracle, plain)))


# Other algorithms, on problems too large to enumerate ----------------------------------------------------


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("probability", [0.005, 0.05])
def test_spanning_forests_of_networkx(sense, probability):
    rng = np.random.default_rng(9)
    graph = nx.MultiGraph(nx.gnp_random_graph(200, probability, seed=1))
    graph.add_edges_from([(3, 3), (5, 6), (5, 6), (6, 5)])
    oracle = GraphicMatroid(graph, sense)
    means = rng.normal(size=oracle.n_arms)
    for edge, mean in zip(graph.edges, means, strict=True):
        graph.edges[edge]["weight"] = mean
    spanning = nx.maximum_spanning_edges if sense == "max" else nx.minimum_spanning_edges
    ours = oracle.labels(oracle.solve(means, RNG))
    assert {(*sorted(edge[:2]), edge[2]) for edge in spanning(graph, data=False)} == {
        (*sorted(edge[:2]), edge[2]) for edge in ours
    }
    assert oracle.rank == 200 - nx.number_connected_components(graph)


def test_optimal_bases_meet_the_rank_bounds():
    """A dual certificate: no basis can have more than rank(prefix) of the heaviest arms; greedy has."""
    rng = np.random.default_rng(11)
    matrix = rng.normal(size=(12, 6)) @ rng.integers(-1, 2, (6, 80))
    oracle = LinearMatroid(matrix)
    means = rng.normal(size=80)
    basis = oracle.solve(means, RNG)
    order = np.argsort(-means)
    for size in range(1, 81):
        assert np.isin(order[:size], basis).sum() == np.linalg.matrix_rank(matrix[:, order[:size]], tol=1e-9)


# Particulars ---------------------------------------------------------------------------------------------


def test_columns_count_by_direction():
    matrix = np.array([[1, 0, 1], [0, 1, 1]]) * np.array([1e-300, 1e300, 1e-12])
    oracle = LinearMatroid(matrix)
    assert oracle.rank == 2
    assert oracle.solve(np.array([0.1, 0.2, 0.3]), RNG).tolist() == [1, 2]
    assert LinearMatroid([[1, 1], [0, 1e-6]]).rank == 2
    assert LinearMatroid([[1, 1], [0, 1e-6]], tolerance=1e-5).rank == 1
    assert LinearMatroid(np.zeros((2, 3))).rank == 0


test_bad_input_is_named = refused(
    (lambda: UniformMatroid(3, 4), r"k must be an integer in \[0, 3\], got 4"),
    (lambda: UniformMatroid(0, 0), "n_arms must be"),
    (lambda: UniformMatroid(3, 1, sense="best"), "sense must be one of 'max', 'min', got 'best'"),
    (lambda: PartitionMatroid([], 1), "number of classes must be"),
    (lambda: PartitionMatroid(list("ab"), -1), r"capacities must be an integer in \[0, inf\), got -1"),
    (lambda: PartitionMatroid(list("ab"), {"a": 1, "b": -1}), r"capacities\['b'\] must be"),
    (lambda: PartitionMatroid(list("ab"), {"a": 1}), "difference in .*'b'"),
    (lambda: PartitionMatroid(list("a"), {"a": 1, "c": 1}), "difference in .*'c'"),
    (lambda: LaminarMatroid(4, [([0, 1], 1), ([1, 2], 1)]), "disjoint or nested"),
    (lambda: LaminarMatroid(4, [([0, 1], 1), ([2, 4], 1)]), r"sets\[1\]\[0\] must lie in range\(4\)"),
    (lambda: LaminarMatroid(4, [([0, 1], -1)]), r"sets\[0\]\[1\] must be an integer"),
    (lambda: LaminarMatroid(4, [([0, 0], 1)]), "must not repeat"),
    (lambda: TransversalMatroid(3, [[0], [3]]), r"sets\[1\] must lie in range\(3\)"),
    (lambda: TransversalMatroid(3, [["a"]]), "must hold integers"),
    (lambda: GraphicMatroid(nx.empty_graph(3)), "graph must have an edge"),
    (lambda: GraphicMatroid(nx.DiGraph([(0, 1)])), "graph must be undirected"),
    (lambda: LinearMatroid([1, 2]), r"matrix must be 2-D .* got shape \(2,\)"),
    (lambda: LinearMatroid([[np.nan, 1.0]]), "matrix must be finite"),
    (lambda: Matroid(3, lambda arms: len(arms) == 2), "must return True for the empty set"),
    (lambda: Matroid(3, None), "is_independent must be callable"),
    (lambda: UniformMatroid(3, 1).gaps(np.zeros(3), [0, 1], [], RNG), "must allow a super arm"),
)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_large_graphs_are_sorted_in_parts_with_the_same_answer(sense, monkeypatch):
    """Edges are given as an array, with parallel edges, loops and equal means."""
    monkeypatch.setattr("oracles.matroids._FEW_EDGES", 5)
    for _ in range(50):
        oracle = GraphicMatroid(RNG.integers(0, RNG.integers(2, 20), (RNG.integers(1, 150), 2)), sense)
        means = np.round(RNG.random(oracle.n_arms), 1)
        np.testing.assert_array_equal(oracle.solve(means, RNG), oracle._greedy(oracle._order(means)))
