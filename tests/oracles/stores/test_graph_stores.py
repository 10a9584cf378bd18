"""Conversion of files of edges to graph stores."""

import bz2
import gzip
import json
import pickle
import shutil

import networkx as nx
import numpy as np
import pytest

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from oracles import DirectedGraph, InfluenceMaximization
from oracles import _networks as graphs
from oracles.stores import StoredGraph, convert_graph, open_graph
from oracles.stores import conversion as reading

ARRAYS = ("tails", "heads", "in_tails", "out_heads", "in_degrees", "out_degrees")


def arcs(n=60, m=400, seed=0):
    graph = nx.gnm_random_graph(n, m, seed=seed, directed=True)
    return np.array(graph.edges), np.random.default_rng(seed).random(m).round(6)


def write(file, ends, chances=None, mark="\t", first=""):
    columns = [*ends.T.tolist()] + ([] if chances is None else [chances.tolist()])
    lines = [mark.join(map(str, row)) for row in zip(*columns, strict=True)]
    file.write_text(first + "\n".join(lines) + "\n")
    return file


def assert_same(stored, graph):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(stored, name), getattr(graph, name))
    for name in ("in_arcs", "out_arcs"):
        for mine, theirs in zip(getattr(stored, name), getattr(graph, name), strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("mark", ["\t", ",", ";", "|", " ", "   "])
def test_a_store_is_the_graph_of_its_file(tmp_path, mark):
    ends, chances = arcs()
    file = write(tmp_path / "g", ends, chances, mark, first="# a comment\n\n% another\n")
    stored = open_graph(convert_graph(file, tmp_path / "store"), check=True)
    graph = DirectedGraph.from_edges(*ends.T, n_nodes=60, probabilities=chances)
    assert_same(stored, graph)
    np.testing.assert_array_equal(stored.probabilities, chances)
    assert stored.tails.dtype == np.int32 and not (tmp_path / "store.partial").exists()
    # Every oracle takes the store, with the same answer.
    oracles = [InfluenceMaximization(given, k=3) for given in (stored, graph)]
    first, second = (oracle.solve_certified(chances, np.random.default_rng(1)) for oracle in oracles)
    np.testing.assert_array_equal(first.seeds, second.seeds)
    assert (first.ratio, first.spread, first.edges_examined) == (
        second.ratio,
        second.spread,
        second.edges_examined,
    )
    oracle = oracles[0]
    np.testing.assert_array_equal(oracle.means_of("probability"), chances)


@pytest.mark.parametrize("pack", [gzip.open, bz2.open])
@pytest.mark.parametrize("end", ["\n", "\r\n", " \n"])
def test_compressed_text_and_any_line_ends(tmp_path, pack, end):
    ends, _ = arcs()
    with pack(tmp_path / "g", "wb") as stream:
        stream.write(("\ufeff" + end.join(f"{u}  {v}" for u, v in ends)).encode())
    assert_same(open_graph(convert_graph(tmp_path / "g", tmp_path / "s")), DirectedGraph.from_edges(*ends.T))


def test_parquet_headers_and_undirected_edges(tmp_path):
    import pyarrow
    from pyarrow import parquet

    ends, chances = arcs()
    ends, chances = ends[ends[:, 0] < ends[:, 1]], chances[ends[:, 0] < ends[:, 1]]
    table = pyarrow.table({"a": ends[:, 0], "b": ends[:, 1], "p": chances})
    parquet.write_table(table, tmp_path / "g.parquet", row_group_size=17)
    write(tmp_path / "g.csv", ends, chances, ",", first="from,to,chance\n")
    both = np.stack([ends, ends[:, ::-1]], axis=1).reshape(-1, 2)
    for name in ("g.parquet", "g.csv"):
        stored = open_graph(convert_graph(tmp_path / name, tmp_path / f"{name}.s", directed=False))
        assert_same(stored, DirectedGraph.from_edges(*both.T))
        np.testing.assert_array_equal(stored.probabilities, np.repeat(chances, 2))


def test_relabelled_nodes_keep_their_ids(tmp_path):
    ends, _ = arcs()
    names = np.sort(np.random.default_rng(3).choice(2**62, 60, replace=False)) - 2**61
    write(tmp_path / "g", names[ends])
    stored = open_graph(convert_graph(tmp_path / "g", tmp_path / "s", relabel=True))
    used = np.unique(ends)
    assert_same(stored, DirectedGraph.from_edges(*np.searchsorted(used, ends).T))
    assert [stored.label(node) for node in range(stored.n_nodes)] == names[used].tolist()
    assert stored.arc_labels[0] == tuple(names[ends[0]].tolist())


def test_repeated_arcs_and_self_loops(tmp_path):
    rows = np.array([[0, 1], [1, 2], [2, 2], [0, 1], [2, 0], [1, 2], [0, 1]])
    file = write(tmp_path / "g", rows, np.arange(7) / 10)
    dropped = rows[[0, 1, 3, 4, 5, 6]]
    kept = open_graph(convert_graph(file, tmp_path / "a", duplicates="keep", self_loops="drop"), check=True)
    assert_same(kept, DirectedGraph.from_edges(*dropped.T))
    once = open_graph(convert_graph(file, tmp_path / "b", duplicates="first", self_loops="drop"), check=True)
    assert_same(once, DirectedGraph.from_edges(*rows[[0, 1, 4]].T))
    assert once.probabilities.tolist() == [0.0, 0.1, 0.4]


WRONG = [
    ("0 1\n1 x\n", {}, r"line 2: must hold 2 ids, got \['1', 'x'\]"),
    ("0 1\n# c\n\n1\n", {}, r"line 4: must hold 2 ids, got \['1'\]"),
    ("0 1 0.5\n1 2\n", {}, r"line 2: must hold 2 ids and a probability"),
    ("0 1\n1 2 0.5\n", {}, r"line 2: must hold 2 ids, got"),
    ("0,1\n1,\n", {}, r"line 2: must hold 2 ids"),
    ("0 1 0.5\n1 2 p\n", {}, r"line 2: must hold 2 ids and a probability"),
    ("0 1 0.5\n\n1 2 1.5\n", {}, r"line 3: a probability must be in \[0, 1\], got 1.5"),
    ("0 1 0.5\n1 2 nan\n", {}, r"line 2: a probability must be in \[0, 1\], got nan"),
    ("# c\n0 1\n3 3\n", {}, r"line 3: an edge must join two nodes, got a self-loop at 3"),
    ("0 1\n1 2147483647\n", {}, r"line 2: a node id must be an integer in \[0, 2147483646\], got 2147483647"),
    ("0 1\n-1 2\n", {}, r"line 2: a node id must be an integer .*, got -1; relabel"),
    ("0 1\n1 99999999999999999999\n", {"relabel": True}, r"line 2: must hold 2 ids"),
    ("0 1\n1 2\n#\n0 1\n", {}, r"line 4: an arc must occur once, got 0 -> 1, which line 1 also has"),
    ("5 7\n9 5\n5 7\n", {"relabel": True}, r"line 3: an arc must occur once, got 5 -> 7, which line 1"),
    ("0 1\n1 0\n", {"directed": False}, r"line 2: an arc must occur once, got 1 -> 0, which line 1"),
    ("0 1\n1 900000000\n", {}, r"node ids must be nearly consecutive, got 2 arcs with ids up to 900000000"),
    ("a b\n", {}, r"must hold at least one edge"),
    ("# nothing\n", {}, r"must hold at least one edge, got none"),
    ("", {}, r"must hold at least one edge, got none"),
    ("0 1\x00\n", {}, r"must be text in UTF-8 or Parquet, got null bytes"),
]


@pytest.mark.parametrize(("text", "options", "wanted"), WRONG)
def test_a_broken_source_is_named_by_its_line(tmp_path, text, options, wanted):
    (tmp_path / "g").write_text(text)
    with pytest.raises(ValueError, match=wanted):
        convert_graph(tmp_path / "g", tmp_path / "s", **options)
    assert [path.name for path in tmp_path.iterdir()] == ["g"]


@pytest.mark.parametrize("column", [0, 1, 2])
def test_a_broken_line_far_inside_is_named(tmp_path, monkeypatch, column):
    monkeypatch.setattr(reading, "_BLOCK", 512)
    ends, chances = arcs()
    rng = np.random.default_rng(column)
    for _ in range(20):
        line = int(rng.integers(400))
        rows = [[str(u), str(v), str(p)] for (u, v), p in zip(ends.tolist(), chances, strict=True)]
        rows[line][column] = "oops"
        (tmp_path / "g").write_text("\n".join(map("\t".join, rows)))
        if line == 0:
            continue
        with pytest.raises(ValueError, match=f"line {line + 1}: "):
            convert_graph(tmp_path / "g", tmp_path / "s")


def test_parquet_errors_name_the_row(tmp_path):
    import pyarrow
    from pyarrow import parquet

    def stored(**columns):
        parquet.write_table(pyarrow.table(columns), tmp_path / "g", row_group_size=2)
        return convert_graph(tmp_path / "g", tmp_path / "s")

    with pytest.raises(ValueError, match=r"row 3: must hold 2 ids .* got an empty cell"):
        stored(a=[0, 1, None], b=[1, 2, 3])
    with pytest.raises(ValueError, match="row 4: a probability"):
        stored(a=[0, 1, 2, 3], b=[1, 2, 3, 4], p=[0.1, 0.2, 0.3, -0.5])
    with pytest.raises(ValueError, match=r"two columns of integers.* got string, int64"):
        stored(a=["x"], b=[1])
    with pytest.raises(ValueError, match="row 1: a node id must be below"):
        stored(a=pyarrow.array([2**63], pyarrow.uint64()), b=[1])
    (tmp_path / "g").write_bytes((tmp_path / "g").read_bytes()[:-9])
    with pytest.raises(ValueError, match="complete Parquet file"):
        convert_graph(tmp_path / "g", tmp_path / "s")


def test_a_truncated_gzip_file_leaves_nothing(tmp_path):
    packed = gzip.compress(b"".join(b"%d %d\n" % (i, i + 1) for i in range(5000)))
    (tmp_path / "g.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ValueError, match="complete gzip file"):
        convert_graph(tmp_path / "g.gz", tmp_path / "s")
    assert not (tmp_path / "s").exists() and not (tmp_path / "s.partial").exists()


class Stop(BaseException):
    """An interruption."""


def test_an_interrupted_conversion_leaves_nothing_and_starts_again(tmp_path):
    file = write(tmp_path / "g", arcs()[0])
    for last in ("read", "order in", "hash"):

        def see(step, share, last=last):
            if step == last:
                raise Stop

        with pytest.raises(Stop):
            convert_graph(file, tmp_path / "s", progress=see)
        assert list(tmp_path.iterdir()) == [file]
    other = arcs(seed=5)[0]
    write(file, other)
    assert_same(open_graph(convert_graph(file, tmp_path / "s")), DirectedGraph.from_edges(*other.T))


def test_arc_numbers_with_64_bits(tmp_path, monkeypatch):
    """As stores of more than 2^31 arcs have them."""
    file = write(tmp_path / "g", arcs()[0])
    short = open_graph(convert_graph(file, tmp_path / "short"))
    monkeypatch.setattr(graphs, "_LONG", 10)
    long = open_graph(convert_graph(file, tmp_path / "long"), check=True)
    assert (short.in_arcs[1].dtype, long.in_arcs[1].dtype) == (np.int32, np.int64)
    assert_same(long, DirectedGraph.from_edges(*arcs()[0].T))


def test_damaged_stores_are_rejected(tmp_path):
    good = convert_graph(write(tmp_path / "g", arcs()[0]), tmp_path / "good")

    def damaged(change, wanted, check=False):
        shutil.rmtree(tmp_path / "bad", ignore_errors=True)
        shutil.copytree(good, tmp_path / "bad")
        change(tmp_path / "bad")
        with pytest.raises(ValueError, match=wanted):
            open_graph(tmp_path / "bad", check=check)

    def edited(**fields):
        def change(folder):
            header = json.loads((folder / "store.json").read_text())
            (folder / "store.json").write_text(json.dumps(header | fields))

        return change

    damaged(edited(version=2), "graph store of version 1, got 'cmab graph' of version 2")
    damaged(edited(n_nodes=61), "must agree with its own hash")
    damaged(edited(hashes={}), "must agree with its own hash")
    damaged(lambda folder: (folder / "store.json").write_text("{"), "must be the header of a graph store")
    damaged(lambda folder: (folder / "heads.bin").unlink(), r"heads.bin must have 1600 bytes, got no file")
    damaged(lambda folder: (folder / "heads.bin").write_bytes(b"12"), "must have 1600 bytes, got 2 bytes")

    def flip(folder):
        data = bytearray((folder / "in_tails.bin").read_bytes())
        data[8] ^= 1
        (folder / "in_tails.bin").write_bytes(data)

    damaged(flip, "in_tails.bin must agree with its SHA-256", check=True)
    with pytest.raises(ValueError, match="path must be the folder"):
        open_graph(7)


def test_copies_open_the_same_store_again(tmp_path):
    file = write(tmp_path / "g", arcs()[0])
    stored = open_graph(convert_graph(file, tmp_path / "s"))
    sent = pickle.dumps(stored)
    assert len(sent) < 1000
    assert_same(pickle.loads(sent), stored)
    stored.tails[0] = 59  # a private copy of the page
    assert_same(pickle.loads(sent), DirectedGraph.from_edges(*arcs()[0].T))
    shutil.rmtree(tmp_path / "s")
    convert_graph(write(file, arcs(seed=9)[0]), tmp_path / "s")
    with pytest.raises(ValueError, match="must be the store that was sent"):
        pickle.loads(sent)
    assert isinstance(stored, StoredGraph)


def test_arguments_are_checked_before_anything_is_read(tmp_path):
    file = write(tmp_path / "g", arcs()[0])
    for wanted, call in [
        ("duplicates must be", lambda: convert_graph(file, tmp_path / "s", duplicates="drop")),
        ("self_loops must be", lambda: convert_graph(file, tmp_path / "s", self_loops="keep")),
        ("out must be a folder that does not exist", lambda: convert_graph(file, tmp_path)),
        ("which does not exist", lambda: convert_graph(tmp_path / "none", tmp_path / "s")),
        ("save the edges as a file", lambda: convert_graph(tmp_path, tmp_path / "s")),
    ]:
        with pytest.raises(ValueError, match=wanted):
            call()
