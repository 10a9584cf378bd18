"""The conversion of a file of edges, in text or Parquet, to a graph store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.compiled import kernel
from cmab.validation import check_flag, one_of
from oracles._networks import order_by
from oracles.influence.graph import require_memory
from oracles.stores.graph_store import array_file, mapped, type_of, write_header

#: Node numbers have 32 bits, and the number of nodes as well.
MOST = 2**31 - 2
#: Without `relabel`, more nodes than this per arc mean that most ids are not used.
_MOST_GAPS, _FEW_NODES = 8, 10**6
# The bytes of text that are read at once, and the arcs that are written at once.
_BLOCK, _CHUNK = 2**24, 2**22

Duplicates = Literal["error", "keep", "first"]
Loops = Literal["error", "drop"]


class Edges(NamedTuple):
    """Some edges of a source: the ids of their ends, and their probabilities if the source has them."""

    tails: IntArray
    heads: IntArray
    probabilities: FloatArray | None


@kernel
def repeats(offsets, arms, others, n):
    """Return for each arc whether an arc of a lower number has the same ends.

    ``arms[offsets[v]:offsets[v + 1]]`` are the arcs into v in increasing order, and `others` are their tails.
    """
    seen, again = np.zeros(n, np.int32), np.zeros(arms.shape[0], np.bool_)
    for v in range(n):
        for i in range(offsets[v], offsets[v + 1]):
            again[arms[i]] = seen[others[i]] == v + 1
            seen[others[i]] = v + 1
    return again


def convert_graph(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    directed: bool = True,
    relabel: bool = False,
    duplicates: Duplicates = "error",
    self_loops: Loops = "error",
) -> Path:
    """Convert a file of edges to a graph store, and return the folder of the store.

    The source is a text file or a Parquet file (``.parquet``). Each line or row has the ids of the tail and
    the head of an arc, and optionally its probability. In a text, a tab, comma, semicolon, vertical bar or
    blank separates the columns; a header and lines that begin with ``#`` or ``%`` may come first. The ending
    ``.gz``, ``.bz2`` or ``.zst`` says that the text is compressed. pyarrow reads the source in blocks, so the
    source may be larger than the memory. The conversion then needs about 16 bytes of memory per arc, most of
    which the system can take back, and 32 bytes of disk per arc (40 with probabilities).

    Until the store is complete, its files are in the folder ``OUT.partial``, which an error removes.

    Parameters
    ----------
    source : path-like
        The file of edges.
    out : path-like
        The folder of the store; it must not exist.
    directed : bool
        If True, a line is one arc. If False, it is two arcs, one in each direction, next to each other.
    relabel : bool
        If False, ids are node numbers. If True, ids are any 64-bit integers; nodes are numbered in increasing
        order of their ids, which become their labels.
    duplicates : {"error", "keep", "first"}
        What to do with arcs that occur more than once: reject the source, keep parallel arcs, or keep the
        first of them.
    self_loops : {"error", "drop"}
        What to do with arcs from a node to itself: reject the source, or drop them.

    Raises
    ------
    ValueError
        If a line is broken, or has an id or a probability out of range; if arcs are repeated or a self-loop,
        unless an option allows them; or if `out` exists.
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
    ...     graph = StoredGraph(convert_graph(file, Path(folder) / "graph", relabel=True))
    ...     graph, graph.label(2), graph.probabilities.tolist()
    (StoredGraph(n_nodes=3, n_arcs=2), 30, [0.5, 0.25])
    """
    file, folder = Path(source), Path(out)
    check_flag("directed", directed)
    check_flag("relabel", relabel)
    one_of("duplicates", duplicates, ("error", "keep", "first"))
    one_of("self_loops", self_loops, ("error", "drop"))
    if not file.is_file():
        raise ValueError(f"source must be a file of edges, got {file}")
    if folder.exists():
        raise ValueError(f"out must be a folder that does not exist, got {folder}; remove it or name another")
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    options = {"directed": directed, "relabel": relabel, "duplicates": duplicates, "self_loops": self_loops}
    try:
        n, m = _copy(file, partial, directed, relabel, self_loops)
        n, m, names = _complete(partial, n, m, relabel, duplicates)
        write_header(partial, n, m, names, {"file": str(file), **options})
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    partial.rename(folder)
    return folder


def _blocks(file: Path) -> Iterator[Edges]:
    """Yield the edges of a file in blocks."""
    try:
        import pyarrow
        from pyarrow import csv, parquet
    except ImportError:
        raise ImportError(
            "reading files of edges needs pyarrow; install it with `pip install cmab[graphs]`"
        ) from None
    try:
        if file.suffix == ".parquet":
            batches: Any = parquet.ParquetFile(file).iter_batches()
        else:
            delimiter, columns, skipped = _form(file)
            kinds = [pyarrow.int64(), pyarrow.int64(), pyarrow.float64()][:columns]
            names = ["tail", "head", "probability"][:columns]
            batches = csv.open_csv(
                pyarrow.input_stream(file),
                csv.ReadOptions(use_threads=False, block_size=_BLOCK, skip_rows=skipped, column_names=names),
                csv.ParseOptions(delimiter=delimiter, quote_char=False),
                csv.ConvertOptions(column_types=dict(zip(names, kinds, strict=True)), null_values=[]),
            )
        for batch in batches:
            kinds = [column.type for column in batch.columns]
            is_good = len(kinds) in (2, 3) and all(map(pyarrow.types.is_integer, kinds[:2]))
            if not is_good or any(column.null_count for column in batch.columns):
                raise ValueError(
                    f"{file} must have two columns of integers, and optionally a column of probabilities, all"
                    f" without empty cells, got {', '.join(map(str, kinds))}"
                )
            tails, heads, *rest = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
            chances = rest[0].astype(np.float64) if rest else None
            yield Edges(tails.astype(np.int64), heads.astype(np.int64), chances)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise ValueError(
            f"{file} must hold two ids and optionally a probability in each line, got {error}"
        ) from None


def _form(file: Path) -> tuple[str, int, int]:
    """Return the delimiter of a text, its number of columns, and the lines before the first edge."""
    import pyarrow

    with pyarrow.input_stream(file) as stream:
        lines = stream.read(_BLOCK).decode("utf-8", "replace").removeprefix("\ufeff").split("\n")
    for number, line in enumerate(lines):
        if not line.strip() or line.lstrip()[0] in "#%":
            continue
        delimiter = next((mark for mark in "\t,;|" if mark in line), " ")
        fields = line.strip().split(delimiter)
        if len(fields) >= 2 and all(field.strip().lstrip("-").isdecimal() for field in fields[:2]):
            return delimiter, 3 if len(fields) == 3 else 2, number
    raise ValueError(f"{file} must hold at least one edge, got none")


def _copy(file: Path, folder: Path, directed: bool, relabel: bool, self_loops: Loops) -> tuple[int, int]:
    """Write the arcs of all blocks to a folder; return one more than the largest id, and their number."""
    # Before the labels are known, ids are kept in 64 bits.
    kind, m, n = np.int64 if relabel else np.int32, 0, 0
    with ExitStack() as stack:
        streams = [stack.enter_context(array_file(folder, name).open("wb")) for name in Edges._fields]
        for block in _blocks(file):
            tails, heads, chances = _checked(block, file, relabel, self_loops)
            ends = [tails, heads]
            if not directed:
                ends = [np.column_stack(pair).ravel() for pair in ((tails, heads), (heads, tails))]
                chances = None if chances is None else np.repeat(chances, 2)
            for stream, values in zip(streams, (*ends, chances), strict=True):
                if values is not None:
                    stream.write(
                        np.ascontiguousarray(values, kind if values.dtype == np.int64 else None).data
                    )
            m, n = m + len(ends[0]), max(n, *(int(part.max(initial=-1)) + 1 for part in ends))
    if m == 0:
        raise ValueError(f"{file} must hold at least one edge, got none")
    if not relabel and n > _MOST_GAPS * m + _FEW_NODES:
        raise ValueError(
            f"{file}: node ids must be nearly consecutive, got {m} arcs with ids up to {n - 1}; relabel"
            " (`--relabel`) numbers the nodes"
        )
    return n, m


def _checked(edges: Edges, file: Path, relabel: bool, self_loops: Loops) -> Edges:
    """Return the edges to keep; raise ``ValueError`` for the first edge that is out of range."""
    tails, heads, chances = edges
    if not relabel:
        for ids in (tails, heads):
            wrong = ids[(ids < 0) | (ids > MOST)]
            if len(wrong):
                raise ValueError(
                    f"{file}: a node id must be an integer in [0, {MOST}], got {wrong[0]}; relabel"
                    " (`--relabel`) numbers the nodes of other ids"
                )
    if chances is not None:
        is_wrong = ~((chances >= 0.0) & (chances <= 1.0))
        if is_wrong.any():
            edge = int(np.argmax(is_wrong))
            raise ValueError(
                f"{file}: a probability must be in [0, 1], got {chances[edge]} from {tails[edge]} to"
                f" {heads[edge]}"
            )
    kept = tails != heads
    if kept.all():
        return edges
    if self_loops == "error":
        raise ValueError(
            f"{file}: an edge must join two nodes, got a self-loop at {tails[np.argmin(kept)]};"
            " self_loops='drop' (`--self-loops drop`) drops them"
        )
    return Edges(tails[kept], heads[kept], None if chances is None else chances[kept])


def _complete(
    folder: Path, n: int, m: int, relabel: bool, duplicates: Duplicates
) -> tuple[int, int, list[str]]:
    """Write the other arrays; return the numbers of nodes and arcs, and the names of all arrays."""
    names = ["tails", "heads"]
    if array_file(folder, "probabilities").stat().st_size:
        names.append("probabilities")
    else:
        array_file(folder, "probabilities").unlink()
    if relabel:
        n = _relabel(folder, m)
    require_memory((8 + type_of("in_arms", m).itemsize) * m + 32 * n, f"the conversion of {m} arcs")
    into = _order(folder, "in", "heads", "tails", m, n)
    again = np.zeros(0, np.bool_) if duplicates == "keep" else repeats(*into, n)
    if again.any():
        if duplicates == "error":
            arc = int(np.argmax(again))
            ids = [mapped(folder, name, m)[arc] for name in ("tails", "heads")]
            if relabel:
                ids = mapped(folder, "labels", n)[ids].tolist()
            raise ValueError(
                f"source must have each arc once, got {ids[0]} -> {ids[1]} again; duplicates='first' or"
                " 'keep' (`--duplicates first`) allows repeated arcs"
            )
        for name in names:
            _write(folder, name, mapped(folder, name, m)[~again])
        m -= int(again.sum())
        _order(folder, "in", "heads", "tails", m, n)
    del into
    _order(folder, "out", "tails", "heads", m, n)
    names += [f"{side}_{part}" for side in ("in", "out") for part in ("offsets", "arms")]
    return n, m, [*names, "in_tails", "out_heads", *(["labels"] if relabel else [])]


def _write(folder: Path, name: str, values: AnyArray) -> None:
    array = np.ascontiguousarray(values, type_of(name, len(values)))
    with _fresh(array_file(folder, name)).open("wb") as stream:
        stream.write(array.data)  # `tofile` would hide that the disk is full


def _fresh(file: Path) -> Path:
    """Remove a file, so that arrays that are mapped from it keep their content."""
    file.unlink(missing_ok=True)
    return file


def _order(
    folder: Path, side: str, by: str, other: str, m: int, n: int
) -> tuple[IntArray, AnyArray, AnyArray]:
    """Write the arcs in the order of one of their ends; return the offsets, arcs and other ends."""
    offsets, arms = order_by(mapped(folder, by, m), n)
    _write(folder, f"{side}_offsets", offsets)
    _write(folder, f"{side}_arms", arms)
    ends = mapped(folder, other, m)
    with _fresh(array_file(folder, f"{side}_{other}")).open("wb") as stream:
        for start in range(0, m, _CHUNK):
            stream.write(ends[arms[start : start + _CHUNK]].data)
    return offsets, arms, mapped(folder, f"{side}_{other}", m)


def _relabel(folder: Path, m: int) -> int:
    """Replace 64-bit ids by node numbers in the order of the ids, and write the ids as labels."""
    # The ids stay mapped after their files are removed.
    wide = [np.memmap(array_file(folder, name), np.int64, "r") for name in ("tails", "heads")]
    labels: AnyArray = np.empty(0, np.int64)
    for start in range(0, m, _CHUNK):
        for ids in wide:
            labels = np.union1d(labels, ids[start : start + _CHUNK])
    if len(labels) > MOST:
        raise ValueError(f"source must have at most {MOST} nodes, got {len(labels)}")
    _write(folder, "labels", labels)
    for name, ids in zip(("tails", "heads"), wide, strict=True):
        with _fresh(array_file(folder, name)).open("wb") as stream:
            for start in range(0, m, _CHUNK):
                numbers = np.searchsorted(labels, ids[start : start + _CHUNK])
                stream.write(numbers.astype(np.int32).data)
    return len(labels)
