"""Conversion of files of edges to graph stores, the stores, and the command ``cmab graph``."""

import bz2
import gzip
import pickle
import shutil

import networkx as nx
import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from cmab.cli import main
from oracles import DirectedGraph, InfluenceMaximization
from oracles import _networks as graphs
from oracles.stores import StoredGraph, convert_graph

ARRAYS = ("tails", "heads", "in_tails", "out_heads", "in_degrees", "out_degrees")


def arcs(n=60, m=400, seed=0):
    graph = nx.gnm_random_graph(n, m, seed=seed, directed=True)
    return np.array(graph.edges), np.random.default_rng(seed).random(m).round(6)


def write(file, ends, chances=None, mark="\t", first="", pack=open):
    columns = [*ends.T.tolist()] + ([] if chances is None else [chances.tolist()])
    lines = [mark.join(map(str, row)) for row in zip(*columns, strict=True)]
    with pack(file, "wb") as stream:
        stream.write((first + "\n".join(lines) + "\n").encode())
    return file


def assert_same(stored, graph):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(stored, name), getattr(graph, name))
    for name in ("in_arcs", "out_arcs"):
        for mine, theirs in zip(getattr(stored, name), getattr(graph, name), strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("mark", ["\t", ",", ";", "|", " "])
def test_a_store_is_the_graph_of_its_file(tmp_path, mark):
    ends, chances = arcs()
    file = write(tmp_path / "g", ends, chances, mark, first="\ufeff# a comment\n\n% another\nfrom,to,p\n")
    stored = StoredGraph(convert_graph(file, tmp_path / "store"))
    graph = DirectedGraph.from_edges(*ends.T, n_nodes=60, probabilities=chances)
    assert_same(stored, graph)
    np.testing.assert_array_equal(stored.probabilities, chances)
    assert stored.tails.dtype == np.int32 and not (tmp_path / "store.partial").exists()
    # Every oracle takes the store, with the same answer.
    oracles = [InfluenceMaximization(given, k=3) for given in (stored, graph)]
    first, second = (oracle.solve_certified(chances, np.random.default_rng(1)) for oracle in oracles)
    np.testing.assert_array_equal(first.seeds, second.seeds)
    assert (first.ratio, first.edges_examined) == (second.ratio, second.edges_examined)


def test_compressed_text_parquet_and_undirected_edges(tmp_path):
    import pyarrow
    from pyarrow import parquet

    ends, chances = arcs()
    ends, chances = ends[ends[:, 0] < ends[:, 1]], chances[ends[:, 0] < ends[:, 1]]
    table = pyarrow.table({"a": ends[:, 0], "b": ends[:, 1], "p": chances})
    parquet.write_table(table, tmp_path / "g.parquet", row_group_size=17)
    write(tmp_path / "g.gz", ends, chances, pack=gzip.open)
    write(tmp_path / "g.bz2", ends, chances, pack=bz2.open)
    both = np.stack([ends, ends[:, ::-1]], axis=1).reshape(-1, 2)
    for name in ("g.parquet", "g.gz", "g.bz2"):
        stored = StoredGraph(convert_graph(tmp_path / name, tmp_path / f"{name}.s", directed=False))
        assert_same(stored, DirectedGraph.from_edges(*both.T))
        np.testing.assert_array_equal(stored.probabilities, np.repeat(chances, 2))


def test_relabelled_nodes_keep_their_ids(tmp_path):
    ends, _ = arcs()
    names = np.sort(np.random.default_rng(3).choice(2**62, 60, replace=False)) - 2**61
    stored = StoredGraph(convert_graph(write(tmp_path / "g", names[ends]), tmp_path / "s"))
    used = np.unique(ends)
    assert_same(stored, DirectedGraph.from_edges(*np.searchsorted(used, ends).T))
    assert [stored.label(node) for node in range(stored.n_nodes)] == names[used].tolist()
    assert stored.arc_labels[0] == tuple(names[ends[0]].tolist())


@pytest.mark.parametrize("gap", [1, 3, 10**9], ids=str)
def test_ids_with_gaps_are_labels(tmp_path, gap):
    ends = arcs(m=3000)[0]
    stored = StoredGraph(convert_graph(write(tmp_path / "g", gap * ends), tmp_path / "s"))
    assert_same(stored, DirectedGraph.from_edges(*ends.T))
    assert [stored.label(node) for node in (0, 59)] == [0, 59 * gap]
    assert (tmp_path / "s" / "labels.npy").exists() == (gap > 1)


def test_repeated_arcs_stay_and_self_loops_do_not(tmp_path):
    rows = np.array([[0, 1], [1, 2], [2, 2], [0, 1], [2, 0], [1, 2], [0, 1]])
    stored = StoredGraph(convert_graph(write(tmp_path / "g", rows, np.arange(7) / 10), tmp_path / "a"))
    assert_same(stored, DirectedGraph.from_edges(*rows[[0, 1, 3, 4, 5, 6]].T))
    assert stored.probabilities.tolist() == [0.0, 0.1, 0.3, 0.4, 0.5, 0.6]


WRONG = [
    ("0 1\n1 x\n", {}, "must hold two ids .* 'x'"),
    ("0 1\n1\n", {}, "must hold two ids .* Expected 2 columns, got 1"),
    ("0 1\n1 2 0.5\n", {}, "must hold two ids .* Expected 2 columns, got 3"),
    ("0 1 2 3\n", {}, "must hold two ids .* 4 columns"),
    ("0,1\n1,\n", {}, "must hold two ids"),
    ("0 1 0.5\n1 2 1.5\n", {}, r"probabilities must be .*1.5"),
    ("0 1 0.5\n1 2 nan\n", {}, r"probabilities must be .*nan"),
    ("# c\n3 3\n", {}, "must hold at least one edge between two nodes"),
    ("0 1\n1 99999999999999999999\n", {}, "must hold two ids"),
    ("a b\n", {}, "must hold at least one edge"),
    ("", {}, "must hold at least one edge, got none"),
    ("0 1\n", {"directed": 1}, "directed must be"),
]


@pytest.mark.parametrize(("text", "options", "wanted"), WRONG)
def test_a_wrong_source_is_rejected_and_leaves_nothing(tmp_path, text, options, wanted):
    (tmp_path / "g").write_text(text)
    with pytest.raises(ValueError, match=wanted):
        convert_graph(tmp_path / "g", tmp_path / "s", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["g"]


def test_incomplete_files_are_rejected(tmp_path):
    import pyarrow
    from pyarrow import parquet

    packed = gzip.compress(b"".join(b"%d %d\n" % (i, i + 1) for i in range(5000)))
    (tmp_path / "g.gz").write_bytes(packed[: len(packed) // 2])
    parquet.write_table(pyarrow.table({"a": [0, 1, None], "b": [1, 2, 3]}), tmp_path / "g.parquet")
    parquet.write_table(pyarrow.table({"a": ["x"], "b": [1]}), tmp_path / "h.parquet")
    (tmp_path / "i.parquet").write_bytes((tmp_path / "g.parquet").read_bytes()[:-9])
    for name in ("g.gz", "g.parquet", "h.parquet", "i.parquet", "none", "."):
        with pytest.raises(ValueError, match=r"must (have|hold|be a file)"):
            convert_graph(tmp_path / name, tmp_path / "s")
    assert not (tmp_path / "s").exists() and not (tmp_path / "s.partial").exists()


def test_arc_numbers_with_64_bits(tmp_path, monkeypatch):
    """As stores of more than 2^31 arcs have them."""
    file = write(tmp_path / "g", arcs()[0])
    short = StoredGraph(convert_graph(file, tmp_path / "short"))
    monkeypatch.setattr(graphs, "_LONG", 10)
    long = StoredGraph(convert_graph(file, tmp_path / "long"))
    assert (short.in_arcs[1].dtype, long.in_arcs[1].dtype) == (np.int32, np.int64)
    assert_same(long, DirectedGraph.from_edges(*arcs()[0].T))


@pytest.mark.parametrize("name", ["tails", "in_offsets", "out_heads"])
@pytest.mark.parametrize("is_there", [False, True], ids=["missing", "truncated"])
def test_damaged_stores_are_rejected(tmp_path, name, is_there):
    folder = convert_graph(write(tmp_path / "g", arcs()[0]), tmp_path / "bad")
    file = folder / f"{name}.npy"
    whole = file.read_bytes()
    file.unlink()
    if is_there:
        file.write_bytes(whole[:-9])
    with pytest.raises(ValueError, match=r"path must be a graph store, got .*; make the store again"):
        StoredGraph(folder)


def test_copies_open_the_same_store_again(tmp_path):
    file = write(tmp_path / "g", arcs()[0])
    stored = StoredGraph(convert_graph(file, tmp_path / "s"))
    sent = pickle.dumps(stored)
    assert len(sent) < 1000
    assert_same(pickle.loads(sent), stored)
    stored.tails[0] = 59  # a private copy of the page
    assert_same(pickle.loads(sent), DirectedGraph.from_edges(*arcs()[0].T))
    shutil.rmtree(tmp_path / "s")
    convert_graph(write(file, arcs(m=399)[0]), tmp_path / "s")
    with pytest.raises(ValueError, match="must be the store that was sent"):
        pickle.loads(sent)


def test_the_command(tmp_path, capsys):
    (tmp_path / "g.csv").write_text("5,9\n9,9\n")
    out = str(tmp_path / "s")
    assert main(["graph", "convert", str(tmp_path / "g.csv"), out, "--undirected"]) == 0
    assert capsys.readouterr().out == f"{out}: StoredGraph(n_nodes=2, n_arcs=2)\n"
