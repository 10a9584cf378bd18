"""Graph stores: a folder with a header in JSON and one file for each array, which a graph maps."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.compiled import kernel
from cmab.validation import check_flag, integer, shown
from oracles._networks import numbers_below, order_by
from oracles.influence.graph import DirectedGraph, require_memory


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


class Block(NamedTuple):
    """Some edges of a source.

    Attributes
    ----------
    tails, heads : IntArray
        The ids of the ends of each edge.
    probabilities : FloatArray or None
        The probability of each edge, not yet checked.
    end : int
        The position in the source after this block: a byte of the text, or the number of a group of rows.
    rows : int
        The number of the last line (row) of this block, counted from 1.
    """

    tails: IntArray
    heads: IntArray
    probabilities: FloatArray | None
    end: int
    rows: int


class Source(Protocol):
    """A file of edges that is read in blocks; the lines of a block can be read again for an error."""

    row_word: str

    def blocks(self, start: int, rows: int) -> Iterator[Block]:
        """Yield the blocks from position `start` on, before which there are `rows` lines or rows."""

    def row_of(self, start: int, rows: int, edge: int) -> int:
        """Return the line (row) of an edge, counted from 0 in the block at `start`."""

    def share(self) -> float:
        """Return the share of the file that has been read."""


def require_pyarrow() -> Any:
    """Return pyarrow, or raise ``ImportError`` with the name of the extra."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "reading files of edges needs pyarrow; install it with `pip install cmab[graphs]`"
        ) from None
    return pyarrow


def as_numbers(columns: list[Any]) -> tuple[IntArray, IntArray, FloatArray | None] | None:
    """Return columns of pyarrow as arrays, or None if an entry is missing."""
    if any(column.null_count for column in columns):
        return None
    arrays = [np.asarray(column.to_numpy()) for column in columns]
    return arrays[0], arrays[1], arrays[2] if len(arrays) == 3 else None


HEADER = "store.json"
FORMAT, VERSION = "cmab graph", 1
#: The type of each array. The arcs are in the order of the source. The arrays ``in_*`` and ``out_*`` have the
#: arcs into and out of each node. The numbers of arcs have 64 bits if there are more than 2^31 arcs.
TYPES = {
    "tails": "<i4",
    "heads": "<i4",
    "probabilities": "<f8",
    "labels": "<i8",
    "in_offsets": "<i8",
    "in_arms": "<i4",
    "in_tails": "<i4",
    "out_offsets": "<i8",
    "out_arms": "<i4",
    "out_heads": "<i4",
}
_OPTIONAL = ("probabilities", "labels")
_CHUNK = 2**22


@dataclass(frozen=True)
class Header:
    """The content of a store.

    Attributes
    ----------
    n_nodes, n_arcs : int
        The numbers of nodes and arcs.
    hashes : mapping
        The SHA-256 of each array, by its name.
    source : mapping
        The file from which the store was made, and the options of the conversion.
    """

    n_nodes: int
    n_arcs: int
    hashes: Mapping[str, str]
    source: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """The hash of the numbers of nodes and arcs and of all arrays."""
        text = json.dumps([self.n_nodes, self.n_arcs, sorted(self.hashes.items())])
        return hashlib.sha256(text.encode()).hexdigest()

    def length(self, name: str) -> int:
        """Return the number of entries of an array."""
        if name.endswith("offsets"):
            return self.n_nodes + 1
        return self.n_nodes if name == "labels" else self.n_arcs

    def write(self, folder: Path) -> None:
        """Write the header to a folder that has all arrays."""
        fields = {
            "format": FORMAT,
            "version": VERSION,
            "n_nodes": self.n_nodes,
            "n_arcs": self.n_arcs,
            "hashes": dict(self.hashes),
            "digest": self.digest,
            "source": dict(self.source),
        }
        (folder / HEADER).write_text(json.dumps(fields, indent=1), encoding="utf-8")


def type_of(name: str, length: int) -> np.dtype[Any]:
    """Return the type of an array of a store, given the number of arcs for ``in_arms`` and ``out_arms``."""
    return np.dtype(numbers_below(length) if name.endswith("_arms") else TYPES[name])


def array_file(folder: Path, name: str) -> Path:
    """Return the file of an array."""
    return folder / f"{name}.bin"


def read_header(folder: Path) -> Header:
    """Return the header of a store; raise ``ValueError`` if the folder is not a complete store."""
    remedy = "make the store again with `cmab graph convert`"
    if not (folder / HEADER).is_file():
        raise ValueError(f"path must be a graph store (a folder with {HEADER}), got {folder}; {remedy}")
    try:
        fields = json.loads((folder / HEADER).read_text(encoding="utf-8"))
        made_by, version = fields["format"], fields["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder / HEADER} must be the header of a graph store, got {error!r}") from None
    if made_by != FORMAT or version != VERSION:
        raise ValueError(
            f"{folder} must be a graph store of version {VERSION}, got {shown(made_by)} of version"
            f" {shown(version)}; {remedy}, or use the version of cmab that made it"
        )
    try:
        header = Header(
            int(fields["n_nodes"]), int(fields["n_arcs"]), dict(fields["hashes"]), dict(fields["source"])
        )
        damaged = header.digest != fields["digest"] or not set(TYPES) - set(_OPTIONAL) <= set(header.hashes)
    except (ValueError, KeyError, TypeError):
        damaged = True
    if damaged:
        raise ValueError(f"{folder / HEADER} must agree with its own hash, got a changed header; {remedy}")
    for name in header.hashes:
        wanted = header.length(name) * type_of(name, header.n_arcs).itemsize
        file = array_file(folder, name)
        found = file.stat().st_size if file.is_file() else None
        if found != wanted:
            got = "no file" if found is None else f"{found} bytes"
            raise ValueError(f"{file} must have {wanted} bytes, got {got}; {remedy}")
    return header


def mapped(folder: Path, name: str, length: int) -> AnyArray:
    """Return an array of a store, mapped into memory.

    Pages are read from the disk when they are used, and the system may drop them again. Writing to the array
    changes a private copy of the page and never the file.
    """
    kind = type_of(name, length)
    if length == 0:  # an empty file cannot be mapped
        return np.empty(0, kind)
    # A plain array, not `np.memmap`: kernels are compiled for plain writable arrays only.
    with array_file(folder, name).open("rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), kind, length)


def hash_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_hashes(folder: Path, header: Header) -> None:
    """Raise ``ValueError`` if an array of the store differs from its hash."""
    for name, wanted in header.hashes.items():
        if hash_of(array_file(folder, name)) != wanted:
            raise ValueError(
                f"{array_file(folder, name)} must agree with its SHA-256 in {HEADER}, got a changed file;"
                " make the store again with `cmab graph convert`"
            )


class StoredGraph(DirectedGraph):
    """A directed graph whose arrays are mapped from a store; every class that takes a graph takes it.

    Opening a store reads only its header. The operating system reads the pages of the arrays when they are
    used, and drops them when memory is short. A copy in another process, for example in a worker, opens the
    same store again, so only the path is sent. The copy raises ``ValueError`` if the store has changed.

    Parameters
    ----------
    path : path-like
        The folder that `convert_graph` or ``cmab graph convert`` made.
    check : bool
        Whether to read all arrays once and compare them with their hashes.

    Attributes
    ----------
    path : Path
        The folder of the store.
    digest : str
        The hash of all arrays.

    Raises
    ------
    ValueError
        If the folder is not a complete store of this version, or if `check` finds a changed array.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oracles.stores import StoredGraph, convert_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.txt"
    ...     _ = file.write_text("0 1" + chr(10) + "0 2" + chr(10) + "1 2" + chr(10))
    ...     graph = StoredGraph(convert_graph(file, Path(folder) / "graph"), check=True)
    >>> graph, graph.in_degrees
    (StoredGraph(n_nodes=3, n_arcs=3), array([0, 1, 2]))
    """

    def __init__(self, path: str | os.PathLike[str], *, check: bool = False) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"path must be the folder of a graph store, got {shown(path)}")
        check_flag("check", check)
        self.path = Path(path).resolve()
        header = read_header(self.path)
        if check:
            check_hashes(self.path, header)
        self.digest, self.n_nodes, self.n_arcs = header.digest, header.n_nodes, header.n_arcs
        arrays = {name: mapped(self.path, name, header.length(name)) for name in header.hashes}
        self.tails, self.heads = arrays["tails"], arrays["heads"]
        self._names, self._labels = arrays.get("labels"), None
        self.probabilities = None
        if "probabilities" in arrays:
            self.probabilities = arrays["probabilities"].view()
            self.probabilities.setflags(write=False)
        # These are cached properties of the base class, which would compute them in memory.
        known = {
            "in_arcs": (arrays["in_offsets"], arrays["in_arms"]),
            "in_tails": arrays["in_tails"],
            "out_arcs": (arrays["out_offsets"], arrays["out_arms"]),
            "out_heads": arrays["out_heads"],
        }
        self.__dict__.update(known)

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
        return {"path": self.path, "digest": self.digest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        StoredGraph.__init__(self, state["path"])
        if self.digest != state["digest"]:
            raise ValueError(f"{self.path} must be the store that was sent, got a store with other arrays")


def open_graph(path: str | os.PathLike[str], *, check: bool = False) -> StoredGraph:
    """Return the graph of a store; every class that takes a graph takes it.

    Parameters
    ----------
    path : path-like
        The folder that `convert_graph` or ``cmab graph convert`` made.
    check : bool
        Whether to read all arrays once and compare them with their hashes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from oracles.stores import convert_graph, open_graph
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.txt"
    ...     _ = file.write_text("0 1" + chr(10))
    ...     open_graph(convert_graph(file, Path(folder) / "graph"))
    StoredGraph(n_nodes=2, n_arcs=1)
    """
    return StoredGraph(path, check=check)


#: Node numbers have 32 bits, and the number of nodes as well.
MOST = 2**31 - 2
#: Without `relabel`, more nodes than this per arc mean that most ids are not used.
_MOST_GAPS, _FEW_NODES = 8, 10**6


class Rules(NamedTuple):
    """The options of a conversion; see `convert_graph`."""

    directed: bool
    relabel: bool
    duplicates: str
    self_loops: str


def check_block(block: Block, rules: Rules, where: Callable[[int], str]) -> Block:
    """Return the edges to keep; raise ``ValueError`` for the first edge that is out of range.

    `where` returns the place of an edge in the source, given its number in the block.
    """
    tails, heads, chances = block.tails, block.heads, block.probabilities
    if not rules.relabel:
        for ids in (tails, heads):
            wrong = (ids < 0) | (ids > MOST)
            if wrong.any():
                edge = int(np.argmax(wrong))
                raise ValueError(
                    f"{where(edge)}: a node id must be an integer in [0, {MOST}], got {ids[edge]}; relabel"
                    " (`--relabel`) numbers the nodes of other ids"
                )
    if chances is not None:
        wrong = ~((chances >= 0.0) & (chances <= 1.0))
        if wrong.any():
            edge = int(np.argmax(wrong))
            raise ValueError(f"{where(edge)}: a probability must be in [0, 1], got {chances[edge]}")
    loops = tails == heads
    if not loops.any():
        return block
    if rules.self_loops == "error":
        edge = int(np.argmax(loops))
        raise ValueError(
            f"{where(edge)}: an edge must join two nodes, got a self-loop at {tails[edge]};"
            " self_loops='drop' (`--self-loops drop`) drops them"
        )
    kept = ~loops
    return block._replace(
        tails=tails[kept], heads=heads[kept], probabilities=None if chances is None else chances[kept]
    )


def check_gaps(n_nodes: int, n_arcs: int, file: Path) -> None:
    """Raise ``ValueError`` if most node numbers are not used, because each takes memory."""
    if n_nodes > _MOST_GAPS * n_arcs + _FEW_NODES:
        raise ValueError(
            f"{file}: node ids must be nearly consecutive, got {n_arcs} arcs with ids up to {n_nodes - 1};"
            " relabel (`--relabel`) numbers the nodes"
        )


class Copy(NamedTuple):
    """The arcs that were copied from a source: their number, the number of nodes, and places of blocks.

    A place has the number of the first arc of a block, and the position and the row before the block.
    """

    reader: Source
    n_arcs: int
    n_nodes: int
    places: list[tuple[int, int, int]]


def finish(folder: Path, copy: Copy, rules: Rules, file: Path, see: Callable[[str, float], None]) -> None:
    """Complete a store whose arcs have been copied."""
    _, m, n, _ = copy
    names = ["tails", "heads"]
    if array_file(folder, "probabilities").is_file():
        names.append("probabilities")
    if rules.relabel:
        n = _relabel(folder, m, file, see)
        names.append("labels")
    require_memory((8 + type_of("in_arms", m).itemsize) * m + 32 * n, f"the conversion of {m} arcs")
    kept = _order(folder, "in", "heads", "tails", m, n, see)
    if rules.duplicates != "keep":
        m = _without_repeats(folder, names, kept, m, n, _Lines(copy, rules, file))
        if m < len(kept[1]):
            _order(folder, "in", "heads", "tails", m, n, see)
    del kept
    _order(folder, "out", "tails", "heads", m, n, see)
    names += [f"{side}_{part}" for side in ("in", "out") for part in ("offsets", "arms")]
    names += ["in_tails", "out_heads"]
    hashes = {}
    for done, name in enumerate(names):
        see("hash", done / len(names))
        hashes[name] = hash_of(array_file(folder, name))
    see("hash", 1.0)
    Header(n, m, hashes, {"file": str(file), **rules._asdict()}).write(folder)


def _write(folder: Path, name: str, values: AnyArray) -> None:
    array = np.ascontiguousarray(values, type_of(name, len(values)))
    with _fresh(array_file(folder, name)).open("wb") as stream:
        stream.write(array.data)  # `tofile` would hide that the disk is full


def _fresh(file: Path) -> Path:
    """Remove a file, so that arrays that are mapped from it keep their content."""
    file.unlink(missing_ok=True)
    return file


def _order(
    folder: Path, side: str, by: str, other: str, m: int, n: int, see: Callable[[str, float], None]
) -> tuple[IntArray, AnyArray, AnyArray]:
    """Write the arcs in the order of one of their ends; return the offsets, arcs and other ends."""
    see(f"order {side}", 0.0)
    offsets, arms = order_by(mapped(folder, by, m), n)
    _write(folder, f"{side}_offsets", offsets)
    _write(folder, f"{side}_arms", arms)
    ends = mapped(folder, other, m)
    with _fresh(array_file(folder, f"{side}_{other}")).open("wb") as stream:
        for start in range(0, m, _CHUNK):
            stream.write(ends[arms[start : start + _CHUNK]].data)
            see(f"order {side}", min(1.0, (start + _CHUNK) / m))
    return offsets, arms, mapped(folder, f"{side}_{other}", m)


def _without_repeats(
    folder: Path,
    names: list[str],
    kept: tuple[IntArray, AnyArray, AnyArray],
    m: int,
    n: int,
    lines: _Lines,
) -> int:
    """Return the number of arcs without those that occurred before, which are dropped or rejected."""
    again = repeats(*kept, n)
    if not again.any():
        return m
    if lines.rules.duplicates == "error":
        arc = int(np.argmax(again))
        tails, heads = mapped(folder, "tails", m), mapped(folder, "heads", m)
        first = int(np.argmax((tails[:arc] == tails[arc]) & (heads[:arc] == heads[arc])))
        ends = f"{lines.id_of(folder, int(tails[arc]))} -> {lines.id_of(folder, int(heads[arc]))}"
        raise ValueError(
            f"{lines.of(arc)}: an arc must occur once, got {ends}, which {lines.short(first)} also has;"
            " duplicates='first' or 'keep' (`--duplicates first`) allows repeated arcs"
        )
    for name in names:
        if name != "labels":
            _write(folder, name, mapped(folder, name, m)[~again])
    return int(m - again.sum())


def _relabel(folder: Path, m: int, file: Path, see: Callable[[str, float], None]) -> int:
    """Replace 64-bit ids by node numbers in the order of the ids, and write the ids as labels."""
    # The ids stay mapped after their files are removed.
    wide = [np.memmap(array_file(folder, name), np.int64, "r") for name in ("tails", "heads")]
    labels: AnyArray = np.empty(0, np.int64)
    for start in range(0, m, _CHUNK):
        for ids in wide:
            labels = np.union1d(labels, ids[start : start + _CHUNK])
        see("labels", min(1.0, (start + _CHUNK) / m))
    if len(labels) > MOST:
        raise ValueError(f"{file} must have at most {MOST} nodes, got {len(labels)}")
    _write(folder, "labels", labels)
    for name, ids in zip(("tails", "heads"), wide, strict=True):
        with _fresh(array_file(folder, name)).open("wb") as stream:
            for start in range(0, m, _CHUNK):
                numbers = np.searchsorted(labels, ids[start : start + _CHUNK])
                stream.write(numbers.astype(np.int32).data)
                see("numbers", min(1.0, (start + _CHUNK) / m))
    return len(labels)


class _Lines:
    """The lines of the source that arcs come from."""

    def __init__(self, copy: Copy, rules: Rules, file: Path) -> None:
        self._copy, self._file, self.rules = copy, file, rules

    def of(self, arc: int) -> str:
        """Return the place of an arc in the source."""
        return f"{self._file}, {self.short(arc)}"

    def short(self, arc: int) -> str:
        """Return the line or row of an arc; with dropped self-loops, its number only."""
        if self.rules.self_loops == "drop":
            return f"arc {arc}"
        first, position, rows = next(place for place in reversed(self._copy.places) if place[0] <= arc)
        reader, each = self._copy.reader, 1 if self.rules.directed else 2
        return f"{reader.row_word} {reader.row_of(position, rows, (arc - first) // each)}"

    def id_of(self, folder: Path, node: int) -> int:
        """Return the id of a node in the source."""
        if not self.rules.relabel:
            return node
        return int(mapped(folder, "labels", array_file(folder, "labels").stat().st_size // 8)[node])
