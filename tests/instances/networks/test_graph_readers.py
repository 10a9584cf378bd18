"""Readers of edge lists, arrays of graphs and probability models: what they read, and what they refuse."""

import gzip
import pickle
import sys

import networkx as nx
import numpy as np
import pytest
from places import DATA

from instances import constant_probabilities, read_network, trivalency, uniform_probabilities
from instances import weighted_cascade as cascade
from oracles import DirectedGraph
from oracles.influence.graph import as_directed_graph


def arcs(graph):
    return list(zip(graph.tails.tolist(), graph.heads.tolist(), strict=True))


def write(path, text):
    path.write_bytes(text.encode())
    return path


def test_snap_form(tmp_path):
    text = "# Directed graph\n# From\tTo\n\n10\t7\r\n7\t300\n10\t7\n7\t7\n"
    graph = read_network(write(tmp_path / "g", text)).graph
    assert [(graph.label(u), graph.label(v)) for u, v in arcs(graph)] == [(10, 7), (7, 300), (10, 7)]
    assert (graph.n_nodes, graph.probabilities) == (3, None)  # without the tie of 7 to itself


@pytest.mark.parametrize(
    ("text", "n_nodes"),
    [("0 1\n1 2\n", 3), ("7 9\n9 30\n", 3), ("3 2\n0 3\n3 1\n", 4), ("5 2\n0 3\n3 1\n", 5)],
)
def test_a_first_line_with_both_numbers_is_no_tie(tmp_path, text, n_nodes):
    """If its second number is the number of lines below and its first is larger than every id in them."""
    network = read_network(write(tmp_path / "g", text))
    assert network.graph.n_nodes == n_nodes
    assert ("the numbers of nodes and edges" in network.told[0]) is (n_nodes == 5)


EVERY = "a".join(map(chr, range(sys.maxunicode + 1)))
BREAKS = {line[-1] for line in EVERY.splitlines(keepends=True)[:-1]}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_comment_ends_with_its_line(tmp_path, line_end):
    """Whatever else Python takes for the end of a line: else its rest would be edges."""
    assert len(BREAKS) >= 9
    for char in BREAKS - {"\n", "\r"}:
        text = f"# see{char}5 6{line_end}0 1{line_end}"
        assert arcs(read_network(write(tmp_path / "g", text)).graph) == [(0, 1)], repr(char)


@pytest.mark.parametrize("cut", [5, 30, -3])
def test_truncated_gzip(tmp_path, cut):
    text = "".join(f"{i} {i * 7919 % 1000}\n" for i in range(1, 500))
    file = tmp_path / "cut.gz"
    file.write_bytes(gzip.compress(text.encode())[:cut])
    with pytest.raises(ValueError, match=r"cut\.gz must be a complete gzip file"):
        read_network(file)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (nx.DiGraph, [("b", "a"), ("b", "c"), ("a", "b")]),
        (nx.MultiDiGraph, [("b", "a"), ("b", "a"), ("b", "c"), ("a", "b")]),
        (nx.Graph, [("b", "a"), ("a", "b"), ("b", "c"), ("c", "b")]),
    ],
)
def test_networkx_graphs(kind, expected):
    given = kind([("b", "a"), ("b", "a"), ("b", "c"), ("a", "b")])
    graph = as_directed_graph(given)
    assert [(graph.label(u), graph.label(v)) for u, v in arcs(graph)] == expected


def test_out_arcs_come_in_order_and_survive_pickling():
    graph = DirectedGraph.from_edges([2, 0, 2, 1], [0, 1, 1, 2], n_nodes=4)
    offsets, order = graph.out_arcs
    assert [order[offsets[v] : offsets[v + 1]].tolist() for v in range(4)] == [[1], [3], [0, 2], []]
    again = pickle.loads(pickle.dumps(graph))
    assert "out_arcs" not in vars(again)
    assert np.array_equal(again.out_arcs[1], order)


def test_probability_models():
    graph = DirectedGraph.from_edges([0, 1, 1, 2], [2, 2, 2, 0])
    assert np.allclose(cascade(graph), [1 / 3, 1 / 3, 1 / 3, 1])
    assert constant_probabilities(graph, 0.3).tolist() == [0.3] * 4
    large = DirectedGraph.from_edges(np.zeros(9000, int), np.arange(1, 9001))
    drawn = trivalency(large, np.random.default_rng(0))
    assert {0.1, 0.01, 0.001} == set(drawn.tolist())
    # 9,000 draws: a share is off by 0.025 with probability below 1e-6 (five standard errors of 0.005).
    assert all(abs((drawn == p).mean() - 1 / 3) < 0.025 for p in (0.1, 0.01, 0.001))
    spread = uniform_probabilities(large, np.random.default_rng(0), low=0.2, high=0.4)
    assert 0.2 <= spread.min() < spread.max() < 0.4
    with pytest.raises(ValueError, match="probability"):
        constant_probabilities(graph, 1.5)
    with pytest.raises(ValueError, match="high"):
        uniform_probabilities(graph, np.random.default_rng(0), low=0.5, high=0.4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "directed", "nodes", "arcs_read"),
    [("nethept_imm", True, 15_229, 62_752), ("nethept_chen", False, 15_233, 2 * (58_891 - 39))],
)
def test_shared_graphs(name, directed, nodes, arcs_read):
    file = DATA / f"{name}.txt.gz"
    if not file.exists():
        pytest.skip(f"{file} is not here")
    graph = read_network(file, directed=directed).graph
    assert (graph.n_nodes, graph.n_arcs) == (nodes, arcs_read)
