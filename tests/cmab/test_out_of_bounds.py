"""What is handed to a public method is used, or refused by name: nothing is read or written out of bounds."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from cases import pages
from places import ENVIRONMENT, SUPPORT

from oracles import DirectedGraph, MaxCoverage

TABLES = ["ORACLES", "ENVIRONMENTS", "POLICIES", "GROWING", "EXPLORERS"]


def faults(stride):
    """Return what `fuzzing` has to say about the tables, by every so many calls."""
    command = [sys.executable, str(SUPPORT / "fuzzing.py"), *TABLES, str(stride)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, check=False, env=ENVIRONMENT)
    *found, count = done.stdout.splitlines() or [""]
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(count.removesuffix(" calls")) > 30_000 / stride
    return found


@pytest.mark.slow
def test_bad_arguments():
    """Of all rows and methods; each argument of each method has more values than the stride."""
    assert faults(29) == []


@pytest.mark.slow
def test_all_bad_arguments():
    assert faults(1) == []


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
