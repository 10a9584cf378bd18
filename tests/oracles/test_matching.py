"""Matchings: enumeration, networkx, two methods that must agree, graphs that cannot be used."""

from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from oracles import Matching
from oracles import matchings as _assignment
from oracles.matchings import TwoSides
from tests.oracles.test_scales import misses, of_all_sizes

RNG = np.random.default_rng(0)


def random_graph(seed, bipartite=False):
    if bipartite:
        graph = nx.bipartite.random_graph(4, 4, 0.6, seed=seed)
    else:
        graph = nx.gnp_random_graph(6, 0.6, seed=seed)
    return graph if graph.number_of_edges() else nx.path_graph(4)


test_bad_input_is_refused = refused(
    (nx.DiGraph([(0, 1)]), {}, "undirected"),
    (nx.empty_graph(3), {}, "must have an edge"),
    (nx.Graph([(0, 0), (0, 1)]), {}, "self-loops"),
    (nx.path_graph(3), {"perfect": True}, "perfect matching"),
    (nx.Graph([(0, 1), (2, 3), (3, 4)]), {"perfect": True}, "perfect matching"),
    (nx.cycle_graph(3), {"method": "assignment"}, "bipartite"),
    by=lambda graph, arguments: Matching(graph, **arguments),
)


@pytest.mark.parametrize("perfect", [False, True])
@pytest.mark.parametrize("sense", ["max", "min"])
def test_the_sparse_assignment_is_as_good_as_the_best(monkeypatch, perfect, sense):
    """Of every size of means, in exact arithmetic, parallel edges and lonely nodes included."""
    monkeypatch.setattr(_assignment, "_LARGE", 0)
    monkeypatch.setattr(_assignment, "_SPARSE", 0)
    graph = nx.MultiGraph([(0, "a"), (0, "b"), (1, "b"), (1, "c"), (2, "a"), (2, "c"), (0, "a"), ("c", 2)])
    if not perfect:
        graph.add_nodes_from([3, 4, "d"])
    oracle, rng = Matching(graph, perfect, method="assignment", sense=sense), np.random.default_rng(4)
    used = []
    monkeypatch.setattr(
        TwoSides, "_sparse", lambda *a, sparse=TwoSides._sparse: used.append(a) or sparse(*a), raising=True
    )
    subsets = chain.from_iterable(combinations(range(8), size) for size in range(4))
    family = [arms for arms in subsets if oracle.is_feasible(np.array(arms, np.int64))]
    for asked, means in enumerate(of_all_sizes(8, rng), 1):
        assert not misses(oracle, family, means * rng.choice([-1.0, 1.0], 8))
        assert len(used) == asked


@pytest.mark.slow
@pytest.mark.parametrize("perfect", [False, True])
def test_blossoms_of_a_large_graph(perfect):
    """400 nodes with many odd cycles, against networkx."""
    graph = nx.random_regular_graph(5, 400, seed=7)
    means = np.random.default_rng(7).random(1000)
    for edge, mean in zip(graph.edges, means, strict=True):
        graph.edges[edge]["weight"] = mean
    found = Matching(graph, perfect, method="blossom").solve(means, RNG)
    pairs = nx.max_weight_matching(graph, maxcardinality=perfect)
    assert means[found].sum() == pytest.approx(sum(graph.edges[pair]["weight"] for pair in pairs), rel=1e-12)


def test_sizes_and_perfect_matchings_against_networkx():
    """The largest matching and whether it is perfect, on 300 sparse and dense random graphs."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        graph = nx.gnp_random_graph(int(rng.integers(2, 25)), rng.uniform(0.03, 0.4), seed=seed)
        if not graph.number_of_edges():
            continue
        largest = len(nx.max_weight_matching(graph, maxcardinality=True))
        assert Matching(graph, method="blossom").max_size == largest
        if 2 * largest == len(graph):
            assert Matching(graph, True).max_size == largest
        else:
            with pytest.raises(ValueError, match="graph must have a perfect matching"):
                Matching(graph, True)
        if nx.is_bipartite(graph):
            assert Matching(graph, method="assignment").max_size == largest
        else:
            with pytest.raises(ValueError, match="graph must be bipartite for method='assignment'"):
                Matching(graph, method="assignment")
