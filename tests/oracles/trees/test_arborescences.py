"""Arborescences and branchings: enumeration, networkx, constraints, and what cannot be used."""

import networkx as nx
import numpy as np
import pytest
from refusals import refused

from oracles import Arborescence

RNG = np.random.default_rng


def graphs(count, n=4, p=0.3):
    """Random graphs with a parallel arc and a self-loop, all of whose nodes are reached from node 0."""
    for seed in range(count):
        graph = nx.MultiDiGraph(nx.gnp_random_graph(n, p, seed=seed, directed=True))
        graph.add_edges_from([(0, 1), (2, 2)])
        nx.add_path(graph, RNG(seed).permutation(np.arange(1, n)).tolist())
        graph.add_edge(0, int(RNG(seed).permutation(np.arange(1, n))[0]))
        yield graph


@pytest.mark.parametrize("n", [15, 40])
def test_against_networkx(n):
    """With real and with few distinct costs, so that cycles lie within cycles."""
    for seed in range(8):
        rng = RNG(seed)
        graph = nx.gnp_random_graph(n, 5.0 / n, seed=seed, directed=True)
        graph.add_edges_from((0, node) for node in range(1, n))
        graph.remove_edges_from(list(graph.in_edges(0)))
        m = graph.number_of_edges()
        for costs in (rng.random(m), rng.integers(0, 4, m).astype(float)):
            costs[[edge[0] == 0 for edge in graph.edges]] += 1.0
            nx.set_edge_attributes(graph, dict(zip(graph.edges, costs.tolist(), strict=True)), "weight")
            theirs = nx.minimum_spanning_arborescence(graph).size("weight")
            oracle = Arborescence(graph, 0, sense="min")
            answer = oracle.solve(costs, rng)
            assert oracle.is_feasible(answer)
            assert costs[answer].sum() == pytest.approx(theirs)
            wide = costs - 1.0
            nx.set_edge_attributes(graph, dict(zip(graph.edges, wide.tolist(), strict=True)), "weight")
            theirs = nx.maximum_branching(graph).size("weight")
            assert wide[Arborescence(graph).solve(wide, rng)].sum() == pytest.approx(theirs)


test_bad_input_is_refused = refused(
    (lambda: Arborescence(nx.path_graph(3), 0), "graph must be directed"),
    (lambda: Arborescence(nx.empty_graph(3, nx.DiGraph)), "have an arc"),
    (lambda: Arborescence(nx.DiGraph([(0, 1), (2, 1)]), 0), "root must reach every node of graph, got 0"),
    (lambda: Arborescence(nx.DiGraph([(0, 1)]), 7), "root must be a node of graph, got 7"),
    (lambda: Arborescence(nx.DiGraph([(0, 1)]), [0]), "root must be a node of graph"),
    (lambda: Arborescence(7, 0), "networkx graph"),
)
