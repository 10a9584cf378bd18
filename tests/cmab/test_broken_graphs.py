"""Graphs of arcs that are none, and files of every kind, are used or refused by name, and nothing crashes."""

import gzip

import networkx as nx
import numpy as np
import pytest
from cases import pages
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from instances import read_network
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


# Files of every kind -------------------------------------------------------------------------------------


# The folder of a test is shared by its examples, each of which writes its file anew.
FILES = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
FIELDS = st.one_of(
    st.integers(-2, 12).map(str),
    st.floats(allow_nan=True, width=32).map(str),
    st.sampled_from(["1e400", "0x1", "99999999999999999999", "1_0", "--", "#", "a", "\u00b2", "\u0663", "0"]),
)
LINES = st.lists(st.lists(FIELDS, max_size=4).map(" ".join), max_size=6).map("\n".join)


def read(file, **options):
    """Return whether the file is a graph; it must be one or be refused by name."""
    try:
        graph = read_network(file, **options).graph
    except ValueError as error:
        assert str(file) in str(error)
        return False
    assert graph.heads.max(initial=-1) < graph.n_nodes
    assert graph.probabilities is None or ((graph.probabilities >= 0) & (graph.probabilities <= 1)).all()
    return True


@pytest.mark.slow
@FILES
@given(LINES, st.booleans(), st.sampled_from([None, True, False]))
@example("0 1 0.5\n1 2 0.25", True, None)
@example("3 1\n0 2", True, True)
def test_lines(tmp_path, text, directed, header):
    file = tmp_path / "graph.txt"
    file.write_text(text, encoding="utf-8")
    assert read(file, directed=directed, header=header) or text != "0 1 0.5\n1 2 0.25"


@FILES
@given(st.binary(max_size=40), st.booleans(), st.integers(0, 60))
def test_bytes_and_torn_gzip(tmp_path, data, zipped, cut):
    file = tmp_path / "graph.gz"
    file.write_bytes(gzip.compress(data)[:cut] if zipped else data)
    read(file)
