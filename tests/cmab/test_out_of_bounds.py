"""Graphs of arcs that are none are refused by name: nothing is read or written out of bounds."""

import networkx as nx
import numpy as np
import pytest
from cases import pages

from oracles import DirectedGraph, MaxCoverage


@pytest.mark.parametrize(
    ("tails", "heads", "n_nodes"),
    [
        ([0], [7], 3),
        ([7], [0], 3),
        ([-1], [0], 3),
        ([0, 1], [1], 3),
        ([0.0], [1.0], 3),
        ([2**40], [0], 2**41),
        (np.ma.masked_array([0], mask=[True]), [1], 2),
        ([[0]], [[1]], 3),
        ([0], [1], 0),
        ([0, [1]], [1, 2], 3),
        (None, None, 3),
        ([1], [1], 2),
    ],
)
def test_graphs_of_arcs_that_are_none(tails, heads, n_nodes):
    for make in (DirectedGraph, DirectedGraph.from_edges):
        with pytest.raises(ValueError, match=r"must|self-loops"):
            make(tails, heads, n_nodes=n_nodes)


def test_nodes_that_a_graph_has_not():
    graph = DirectedGraph([0, 1], [1, 2], n_nodes=3, labels=["a", "b", "c"])
    for node in (-1, 3, 1.0, None, 10**7):
        with pytest.raises(ValueError, match="node"):
            graph.label(node)
    assert graph.label(2) == "c"


def test_both_directions_of_an_edge_are_parallel_edges():
    graph = pages().to_directed()
    with pytest.raises(ValueError, match="both directions"):
        MaxCoverage(graph, 1)
    one_way = nx.DiGraph([edge for edge in graph.edges if graph.nodes[edge[0]]["bipartite"] == 0])
    one_way.add_nodes_from(graph.nodes(data=True))
    means = np.linspace(0.1, 0.9, one_way.number_of_edges())
    same = MaxCoverage(one_way, 1).expected_reward([0], means)
    assert same == pytest.approx(MaxCoverage(pages(), 1).expected_reward([0], means))
