"""Readers of benchmark files: small files of every format, with optima that can be seen."""

import gzip
import lzma

import networkx as nx
import numpy as np
import pytest

from instances import read_benchmark

FILES = {
    # name: (text, kind, optimum, arguments of the oracle)
    "tree.stp": (
        "33D32945 STP File\nSECTION Comment\nName x\nEND\nSECTION Graph\nNodes 4\nEdges 4\nE 2 1 5\nE 2 3 1\n"
        "E 1 4 1\nE 4 2 2\nEND\nSECTION Terminals\nTerminals 2\nT 1\nT 3\nEND\nEOF\n",
        "steiner_tree",
        4.0,
        {},
    ),
    "road.gr": (
        "c x\np sp 3 3\na 1 2 5\na 2 3 2\na 1 3 9\n",
        "shortest_path",
        7.0,
        {"source": 1, "target": 3},
    ),
    "pipes.max": (
        "p max 4 5\nn 1 s\nn 4 t\na 1 2 3\na 1 3 2\na 2 3 9\na 2 4 1\na 3 4 4\n",
        "minimum_cut",
        5.0,
        {},
    ),
    "triangle.col": ("c x\np edge 3 3\ne 1 2\ne 2 3\ne 1 3\n", "graph", 2.0, {}),
    "vc7": ("3 2\n1 2\n3 2\n", "graph", 1.0, {}),
    "scp1.txt": ("3 3\n 2 3 4\n2\n1 2\n1\n1\n 2\n1 3\n", "set_cover", 2.0, {}),
    "assign3.txt": ("2\n1 5\n2 9\n", "assignment", 7.0, {}),
    "gap9": ("1\n2 2\n1 4\n3 9\n1 1\n1 1\n1 1\n", "generalized_assignment", 10.0, {}),
    "mknap7": ("1\n3 1 7\n4 3 2\n2 2 3\n4\n", "multidimensional_knapsack", 7.0, {}),
    "knapPI_1_3_5_1": ("3 4 7\n4 2\n3 2\n2 3\n1 0 1\n", "knapsack", 7.0, {}),
    "jooken_3": ("3\n0 4 2\n1 3 2\n2 2 3\n4\n", "knapsack", 7.0, {}),
}


@pytest.mark.parametrize("name", FILES)
def test_small_files_of_every_format(tmp_path, name):
    text, kind, optimum, options = FILES[name]
    for ending, packed in (("", text.encode()), (".xz", lzma.compress(text.encode())), (".gz", None)):
        file = tmp_path / (name + ending)
        file.write_bytes(gzip.compress(text.encode()) if packed is None else packed)
        problem = read_benchmark(file)
        assert problem.kind == kind
        oracle = problem.oracle(**options)
        means = problem.means if kind != "shortest_path" else problem.given_means
        answer = oracle.solve(means, np.random.default_rng(0))
        assert oracle.expected_reward(answer, means) == optimum
        assert problem.optimum in (None, optimum)


def test_minimum_cost_flows(tmp_path):
    text = "p min 3 3\nn 1 4\nn 3 -4\na 1 2 0 3 1\na 2 3 0 9 1\na 1 3 0 9 5\n"
    (tmp_path / "net.min").write_text(text)
    problem = read_benchmark(tmp_path / "net.min")
    oracle = problem.oracle()
    assert oracle.expected_reward(oracle.solve(problem.means, 0), problem.means) == 3 * 2 + 5


def test_parallel_edges_and_several_problems(tmp_path):
    (tmp_path / "tree.stp").write_text(
        "SECTION Graph\nE 1 2 5\nE 2 1 3\nEND\nSECTION Terminals\nT 1\nT 2\nEND\n"
    )
    problem = read_benchmark(tmp_path / "tree.stp")
    assert isinstance(problem.arguments["graph"], nx.MultiGraph)
    assert problem.means[problem.oracle().solve(problem.means, 0)].sum() == 3.0
    (tmp_path / "numbers").write_text("2 1 1 5 3 9 1 1 6 2 8")
    second = read_benchmark(tmp_path / "numbers", kind="generalized_assignment", index=1)
    assert second.name == "numbers[1]"
    assert second.means.tolist() == [6.0]


def written(tmp_path_factory, text):
    file = tmp_path_factory / "some_numbers"
    file.write_text(text)
    return file


def test_unknown_and_broken_files(tmp_path):
    for text, options, words in (
        ("1 2 3\n", {}, "kind must be one of"),
        ("1 2 3\n", {"kind": "tree"}, "kind must be one of"),
        ("3 2\n1 1 1\n", {"kind": "set_cover"}, "ends too early"),
        ("3 two\n", {"kind": "knapsack"}, "file of numbers"),
        ("p sat 3 4\n1 2 3\n", {}, "known format"),
        ("2\n1 5\n2 9\n", {"kind": "assignment", "index": 1}, "index"),
    ):
        with pytest.raises(ValueError, match=words):
            read_benchmark(written(tmp_path, text), **options)
