"""Means from attributes of graphs, in the order of the base arms of every oracle."""

import networkx as nx
import numpy as np
import pytest

from oracles import (
    Arborescence,
    CapacitatedFlow,
    DirectedGraph,
    DisjointPaths,
    GraphicMatroid,
    InfluenceMaximization,
    Matching,
    MaxCoverage,
    MinCostFlow,
    MinimumCut,
    MostReliablePath,
    ShortestPath,
    SteinerTree,
    VertexCover,
)


def weighted(graph, seed=0):
    """Give each edge the weight 100 u + v of its sorted ends, which tells the edge."""
    for u, v, data in graph.edges(data=True):
        data["weight"] = 100.0 * min(u, v) + max(u, v)
    return graph


def turned_round():
    """A graph whose edges networkx reports with their ends in another order than they were added."""
    graph = nx.Graph()
    graph.add_nodes_from(range(5))
    graph.add_edges_from([(4, 0), (3, 1), (2, 0), (4, 3), (1, 0), (3, 2)])
    assert next(iter(graph.edges))[0] == 0
    return weighted(graph)


UNDIRECTED = (
    Matching,
    GraphicMatroid,
    lambda graph: SteinerTree(graph, [0, 3]),
    lambda graph: ShortestPath(graph, 0, 3),
    lambda graph: MostReliablePath(graph, 0, 3),
    lambda graph: DisjointPaths(graph, 0, 3, k=1),
    lambda graph: MinimumCut(graph, 0, 3),
    lambda graph: InfluenceMaximization(graph, k=1),
)


@pytest.mark.parametrize("make", UNDIRECTED)
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_weights_of_undirected_edges(make, kind):
    graph = kind(turned_round())
    oracle = make(graph)
    expected = [100.0 * min(label[:2]) + max(label[:2]) for label in oracle._arm_labels()]
    assert oracle.means_of("weight").tolist() == expected
    assert oracle.means_of(lambda u, v, data: data["weight"] + u + v).tolist() == [
        value + sum(label[:2]) for value, label in zip(expected, oracle._arm_labels(), strict=True)
    ]
    if kind is nx.Graph:
        named = {(v, u): 100.0 * min(u, v) + max(u, v) for u, v in graph.edges}
        assert oracle.means_of(named).tolist() == expected


DIRECTED = (
    lambda graph: ShortestPath(graph, 0, 3),
    lambda graph: MostReliablePath(graph, 0, 3),
    lambda graph: DisjointPaths(graph, 0, 3, k=1),
    lambda graph: MinimumCut(graph, 0, 3),
    lambda graph: Arborescence(graph, 0),
    lambda graph: MinCostFlow(graph, {0: -1, 3: 1}),
    lambda graph: CapacitatedFlow(graph, {0: -1, 3: 1}),
    lambda graph: InfluenceMaximization(graph, k=1),
)


@pytest.mark.parametrize("make", DIRECTED)
def test_a_directed_graph_of_arrays_is_taken_for_one_of_networkx(make):
    """The same answers, with arcs in the order of the arrays, which networkx does not keep."""
    arcs = [(2, 3), (0, 2), (1, 3), (0, 1), (2, 1)]
    theirs = nx.DiGraph(arcs)
    theirs = weighted(theirs)
    ours = DirectedGraph.from_edges(*zip(*arcs, strict=True), probabilities=[0.5, 0.25, 0.125, 1.0, 0.75])
    one, other = make(theirs), make(ours)
    assert other._arm_labels() == arcs
    place = [one._arm_labels().index(arc) for arc in arcs]
    assert other.means_of("probability").tolist() == [0.5, 0.25, 0.125, 1.0, 0.75]
    assert other.means_of(dict(zip(arcs, range(5), strict=True))).tolist() == [0, 1, 2, 3, 4]
    for seed in range(5):
        means = np.random.default_rng(seed).random(5)
        back = np.empty(5)
        back[place] = means
        answers = one.solve(back, 0), other.solve(means, 0)
        if isinstance(one, InfluenceMaximization):
            continue
        if one.n_choices == 5:
            assert sorted(np.argsort(place)[answers[0]]) == sorted(answers[1].tolist())
        assert one.expected_reward(answers[0], back) == pytest.approx(
            other.expected_reward(answers[1], means)
        )


def test_weights_of_nodes_and_of_pages():
    graph = nx.path_graph(["b", "a", "c"])
    nx.set_node_attributes(graph, {"a": 2.0, "b": 1.0, "c": 3.0}, "cost")
    cover = VertexCover(graph)
    assert cover.means_of("cost").tolist() == [1.0, 2.0, 3.0]
    assert cover.means_of({"a": 5, "b": 6, "c": 7}).tolist() == [6.0, 5.0, 7.0]
    assert cover.means_of(lambda node, data: data["cost"] * 2).tolist() == [2.0, 4.0, 6.0]
    pages = nx.Graph()
    pages.add_nodes_from("xy", bipartite=1)
    pages.add_nodes_from("AB", bipartite=0)
    pages.add_edge("x", "A", p=0.25)
    pages.add_edge("B", "y", p=0.5)
    oracle = MaxCoverage(pages, k=1)
    assert oracle._arm_labels() == [("A", "x"), ("B", "y")]
    assert oracle.means_of("p").tolist() == [0.25, 0.5]
