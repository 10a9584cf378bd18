"""Graph stores: folders of arrays that are mapped into memory, and their conversion from files of edges."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.validation import check_flag, integer, shown, vector
from oracles._networks import order_by
from oracles.influence.graph import DirectedGraph, require_memory

# The bytes of text that are read at once.
_BLOCK = 2**24
# With more ids than this per arc, most ids are not used, and a table of all ids would be too long.
_MOST_GAPS, _FEW_IDS = 8, 10**6


class StoredGraph(DirectedGraph):
    """A directed graph whose arrays are mapped from a store; every class that takes a graph takes it.

    A store is a folder with an ``.npy`` file of numpy for each array. Opening it reads only their headers.
    The operating system reads the pages of the arrays when they are used, and drops them when memory is
    short. A copy in another process, for example in a worker, opens the same store again, so only the path is
    sent.

    Parameters
    ----------
    path : path-like
        The folder that `convert_graph` or ``cmab graph convert`` made.

    Attributes
    ----------
    path : Path
        The folder of the store.

    Raises
    ------
    ValueError
        If the folder is not a complete store.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oracles.stores import StoredGraph, convert_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.txt"
    ...     _ = file.write_text("0 1" + chr(10) + "0 2" + chr(10) + "1 2" + chr(10))
    ...     graph = StoredGraph(convert_graph(file, Path(folder) / "graph"))
    >>> graph, graph.in_degrees
    (StoredGraph(n_nodes=3, n_arcs=3), array([0, 1, 2]))
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"path must be the folder of a graph store, got {shown(path)}")
        self.path, self._labels = Path(path).resolve(), None
        try:
            self.tails, self.heads = self._mapped("tails"), self._mapped("heads")
            # These are cached properties of the base class, which would compute them in memory.
            self.__dict__.update(
                in_arcs=(self._mapped("in_offsets"), self._mapped("in_arms")),
                in_tails=self._mapped("in_tails"),
                out_arcs=(self._mapped("out_offsets"), self._mapped("out_arms")),
                out_heads=self._mapped("out_heads"),
            )
            self.probabilities, self._names = (
                self._mapped(name) if (self.path / f"{name}.npy").exists() else None
                for name in ("probabilities", "labels")
            )
        except (OSError, ValueError) as error:
            raise ValueError(
                f"path must be a graph store, got {self.path}: {error}; make the store again with"
                " `cmab graph convert`"
            ) from None
        self.n_nodes, self.n_arcs = len(self.in_arcs[0]) - 1, len(self.tails)
        if self.probabilities is not None:
            self.probabilities.setflags(write=False)

    def _mapped(self, name: str) -> AnyArray:
        """Return an array; writing to it changes a private copy of the page and never the file."""
        # A plain array, not `np.memmap`: kernels are compiled for plain writable arrays only.
        return np.asarray(np.load(self.path / f"{name}.npy", mmap_mode="c"))

    def __repr__(self) -> str:
        return f"StoredGraph(n_nodes={self.n_nodes}, n_arcs={self.n_arcs})"

    def label(self, node: int) -> Hashable:
        """Return the name of a node, given its number in ``range(n_nodes)``: its id in the source."""
        number = integer("node", node, 0, self.n_nodes - 1)
        return number if self._names is None else int(self._names[number])

    def _all_labels(self) -> Sequence[Hashable] | None:
        return None if self._names is None else self._names.tolist()

    @property
    def in_degrees(self) -> IntArray:
        """The number of arcs into each node, including parallel arcs."""
        return np.diff(self.in_arcs[0])

    @property
    def out_degrees(self) -> IntArray:
        """The number of arcs out of each node, including parallel arcs."""
        return np.diff(self.out_arcs[0])

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "size": (self.n_nodes, self.n_arcs)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        StoredGraph.__init__(self, state["path"])
        if (self.n_nodes, self.n_arcs) != state["size"]:
            raise ValueError(f"{self.path} must be the store that was sent, got {self!r}")


def convert_graph(
    source: str | os.PathLike[str], out: str | os.PathLike[str], *, directed: bool = True
) -> Path:
    """Convert a file of edges to a graph store, and return the folder of the store.

    The source is a text file or a Parquet file (``.parquet``). Each line or row has the ids of the tail and
    the head of an arc, and optionally its probability. In a text, a tab, comma, semicolon, vertical bar or
    blank separates the columns; a header and lines that begin with ``#`` or ``%`` may come first. The ending
    ``.gz``, ``.bz2`` or ``.zst`` says that the text is compressed.

    Ids are any 64-bit integers. Nodes are numbered in increasing order of the ids that occur, and the ids
    become their labels. Repeated lines are parallel arcs, so remove them before if an edge can act only once.
    Self-loops are left out, because a cascade never uses them.

    pyarrow reads the source in blocks, so the source may be larger than the memory. The conversion needs
    about 24 bytes of memory per arc, and 40 bytes of disk per arc (56 with probabilities), of which the store
    keeps 24 (32). Until the store is complete, its files are in the folder ``OUT.partial``, which an error
    removes.

    Parameters
    ----------
    source : path-like
        The file of edges.
    out : path-like
        The folder of the store; it must not exist.
    directed : bool
        If True, a line is one arc. If False, it is two arcs, one in each direction, next to each other.

    Raises
    ------
    ValueError
        If a line is broken or has a probability outside [0, 1], if there is no edge, or if `out` exists.
    OSError
        If the disk is full.
    ImportError
        If pyarrow is missing; the extra ``cmab[graphs]`` installs it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oracles.stores import StoredGraph, convert_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.csv"
    ...     _ = file.write_text("source,target,p" + chr(10) + "7,9,0.5" + chr(10) + "9,30,0.25" + chr(10))
    ...     graph = StoredGraph(convert_graph(file, Path(folder) / "graph"))
    ...     graph, graph.label(2), graph.probabilities.tolist()
    (StoredGraph(n_nodes=3, n_arcs=2), 30, [0.5, 0.25])
    """
    file, folder = Path(source), Path(out)
    check_flag("directed", directed)
    if not file.is_file():
        raise ValueError(f"source must be a file of edges, got {file}")
    if folder.exists():
        raise ValueError(f"out must be a folder that does not exist, got {folder}; remove it or name another")
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        _fill(partial, file, directed)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    partial.rename(folder)
    return folder


def _fill(folder: Path, file: Path, directed: bool) -> None:
    """Write the arrays of the graph of a file to a folder."""
    with ExitStack() as stack:
        streams = [stack.enter_context(TemporaryFile(dir=folder)) for _ in range(3)]
        for block in _blocks(file):
            is_kept = block[0] != block[1]
            tails, heads, *chances = (column[is_kept] for column in block)
            if not directed:
                both = ((tails, heads), (heads, tails), *((part, part) for part in chances))
                tails, heads, *chances = (np.column_stack(pair).ravel() for pair in both)
            for stream, values in zip(streams, (tails, heads, *chances), strict=False):
                stream.write(values.data)
        for stream in streams:
            stream.flush()
        if not streams[0].tell():
            raise ValueError(f"{file} must hold at least one edge between two nodes, got none")
        m = streams[0].tell() // 8
        require_memory(24 * m, f"the conversion of {m} arcs")
        labels, tails, heads = _numbered(*(np.memmap(stream, np.int64, "r") for stream in streams[:2]))
        n = integer("number of nodes", len(labels), 1, 2**31 - 2)
        if labels[0] != 0 or labels[-1] != n - 1:
            _save(folder, "labels", labels)
        if streams[2].tell():
            given = np.memmap(streams[2], np.float64, "r")
            _save(folder, "probabilities", vector("probabilities", given, m, 0.0, 1.0))
    _save(folder, "tails", tails)
    _save(folder, "heads", heads)
    for side, by, end, others in (("in", heads, "tails", tails), ("out", tails, "heads", heads)):
        offsets, arms = order_by(by, n)
        _save(folder, f"{side}_offsets", offsets)
        _save(folder, f"{side}_arms", arms)
        _save(folder, f"{side}_{end}", others[arms])


def _blocks(file: Path) -> Iterator[tuple[AnyArray, ...]]:
    """Yield the tails, the heads and, if the file has them, the probabilities of its edges in blocks."""
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except ImportError:
        raise ImportError(
            "reading files of edges needs pyarrow; install it with `pip install cmab[graphs]`"
        ) from None
    kinds = {"f0": pyarrow.int64(), "f1": pyarrow.int64(), "f2": pyarrow.float64()}
    try:
        if file.suffix == ".parquet":
            batches: Any = parquet.ParquetFile(file).iter_batches()
        else:
            delimiter, skipped = _form(file)
            batches = csv.open_csv(
                pyarrow.input_stream(file),
                csv.ReadOptions(
                    use_threads=False, block_size=_BLOCK, skip_rows=skipped, autogenerate_column_names=True
                ),
                csv.ParseOptions(delimiter=delimiter, quote_char=False),
                csv.ConvertOptions(column_types=kinds, null_values=[]),
            )
        for batch in batches:
            if batch.num_columns not in (2, 3) or any(column.null_count for column in batch.columns):
                raise pyarrow.ArrowInvalid(f"{batch.num_columns} columns or empty cells")
            yield tuple(
                column.cast(kind).to_numpy(zero_copy_only=False)
                for column, kind in zip(batch.columns, kinds.values(), strict=False)
            )
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(
            f"{file} must hold two ids and optionally a probability in each line, got {error}"
        ) from None


def _form(file: Path) -> tuple[str, int]:
    """Return the delimiter of a text, and the number of lines before the first edge."""
    import pyarrow

    with pyarrow.input_stream(file) as stream:
        lines = stream.read(_BLOCK).decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    for number, line in enumerate(lines):
        if not line.strip() or line.lstrip()[0] in "#%":
            continue
        delimiter = next((mark for mark in "\t,;|" if mark in line), " ")
        fields = line.strip().split(delimiter)
        if len(fields) >= 2 and all(field.strip().lstrip("-").isdecimal() for field in fields[:2]):
            return delimiter, number
    raise ValueError(f"{file} must hold at least one edge, got none")


def _numbered(tails: AnyArray, heads: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return the different ids in increasing order, and the ends of the arcs as positions among them."""
    most = max(int(tails.max()), int(heads.max()))
    if min(tails.min(), heads.min()) < 0 or most > _MOST_GAPS * len(tails) + _FEW_IDS:
        labels = np.union1d(tails, heads)
        starts, ends = (np.searchsorted(labels, ids).astype(np.int32) for ids in (tails, heads))
        return labels, starts, ends
    is_used = np.zeros(most + 1, np.bool_)
    is_used[tails] = is_used[heads] = True
    number = np.cumsum(is_used, dtype=np.int32) - 1
    return np.flatnonzero(is_used), number[tails], number[heads]


def _save(folder: Path, name: str, values: AnyArray) -> None:
    array = np.ascontiguousarray(values)
    with (folder / f"{name}.npy").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(array))
        stream.write(array.data)  # `np.save` would hide that the disk is full


def graph(parser: argparse.ArgumentParser) -> Callable[[argparse.Namespace], Iterator[str]]:
    """Convert a file of edges to a graph store."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    converting = actions.add_parser("convert", help="convert edges as text, CSV or Parquet to a store")
    converting.add_argument("file", type=Path, metavar="FILE", help="file of edges")
    converting.add_argument("out", type=Path, metavar="OUT", help="folder of the store, which must not exist")
    converting.add_argument("--undirected", action="store_true", help="make two arcs of each edge")
    return _convert


def _convert(options: argparse.Namespace) -> Iterator[str]:
    convert_graph(options.file, options.out, directed=not options.undirected)
    yield f"{options.out}: {StoredGraph(options.out)}"
