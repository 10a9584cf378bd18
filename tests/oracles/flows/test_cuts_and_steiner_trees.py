"""Minimum cuts and Steiner trees: enumeration, networkx, rustworkx, integer programs, refusals."""

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from oracles import MinimumCut, SteinerTree

RNG = np.random.default_rng


@pytest.mark.parametrize("directed", [False, True])
def test_cuts_against_networkx(directed):
    """Of random and of few distinct costs, sparse and dense."""
    for seed in range(12):
        rng, graph = RNG(seed), nx.gnp_random_graph(40, 0.1 + 0.03 * seed, seed=seed, directed=directed)
        if not nx.has_path(graph, 0, 39):
            continue
        oracle, m = MinimumCut(graph, 0, 39), graph.number_of_edges()
        for costs in (rng.random(m), rng.integers(0, 3, m).astype(float)):
            nx.set_edge_attributes(graph, dict(zip(graph.edges, costs.tolist(), strict=True)), "capacity")
            answer = oracle.solve(costs, rng)
            assert oracle.is_feasible(answer)
            assert costs[answer].sum() == pytest.approx(nx.minimum_cut_value(graph, 0, 39))


test_bad_input_is_refused = refused(
    (lambda: MinimumCut(nx.path_graph(3), 0, 0), "must differ"),
    (lambda: MinimumCut(nx.DiGraph([(1, 0)]), 0, 1), "graph must have a path from 0 to 1"),
    (lambda: MinimumCut(nx.empty_graph(2), 0, 1), "graph must have a path from 0 to 1"),
    (lambda: SteinerTree(nx.DiGraph([(1, 0)]), [0, 1]), "undirected"),
    (lambda: SteinerTree(nx.path_graph(3), [0]), "at least two"),
    (lambda: SteinerTree(nx.path_graph(3), [0, 0]), "distinct nodes"),
    (lambda: SteinerTree(nx.path_graph(3), 0), "list of nodes"),
    (lambda: SteinerTree(nx.path_graph(3), [0, 9]), "terminals must be a node of graph, got 9"),
    (
        lambda: SteinerTree(nx.path_graph(3), [0, 1, 2], method="approximate").solve(-np.ones(2), 0),
        "means",
    ),
)
