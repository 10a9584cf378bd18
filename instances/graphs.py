"""Graphs for influence maximization: readers of edge lists, and models of edge probabilities."""

from __future__ import annotations

import gzip
import os
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.validation import real, shown, vector
from oracles import DirectedGraph
from oracles.influence.graph import require_memory

#: Pairs of a line number and the fields of the line.
Rows = Sequence[tuple[int, list[str]]]
_DIGITS = 18


def rows_of(text: str) -> Rows:
    """Return the lines of a text, without empty lines and comments, which begin with ``#``.

    A byte order mark at the beginning is ignored.

    Parameters
    ----------
    text : str
        The content of a file.

    Examples
    --------
    >>> from instances.graphs import rows_of
    >>> rows_of("# friends" + chr(10) + "anna bob 0.5" + chr(10))
    [(2, ['anna', 'bob', '0.5'])]
    """
    # Not `splitlines`, which also splits at form feeds and similar characters, even within comments.
    rows = [(number, line.split()) for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1)]
    return [(number, fields) for number, fields in rows if fields and not fields[0].startswith("#")]


def n_columns(rows: Rows, where: str, content: str) -> int:
    """Return the number of columns, which must be 2 or 3 and the same in all lines.

    Parameters
    ----------
    rows : sequence of tuple
        The lines, as `rows_of` returns them.
    where, content : str
        The name of the file and the required content of a line, for error messages.

    Raises
    ------
    ValueError
        If there are no lines, or lines have different or invalid numbers of columns.

    Examples
    --------
    >>> from instances.graphs import n_columns
    >>> n_columns([(1, ["anna", "bob"])], "friends.txt", "two names")
    2
    """
    if not rows:
        raise ValueError(f"{where} must hold at least one edge, got none")
    columns = len(rows[0][1])
    for number, fields in rows:
        if len(fields) not in (2, 3) or len(fields) != columns:
            raise ValueError(f"{where}, line {number}: must hold {content}, got {shown(fields[:5])}")
    return columns


def is_id(text: str) -> bool:
    """Return whether a text is an integer in ``[0, 10**18)`` in ASCII decimal digits.

    Parameters
    ----------
    text : str
        A field of a line.

    Examples
    --------
    >>> from instances.graphs import is_id
    >>> is_id("07"), is_id("-1")
    (True, False)
    """
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS


def is_number(text: str) -> bool:
    """Return whether a text is an integer in ``[0, 10**18)`` without leading zeros, as Python prints it.

    The texts 01 and 1 are different names of nodes.

    Parameters
    ----------
    text : str
        A field of a line.

    Examples
    --------
    >>> from instances.graphs import is_number
    >>> is_number("7"), is_number("07")
    (True, False)
    """
    return is_id(text) and str(int(text)) == text


# The first bytes of gzip files, and the number of bytes to read at once.
_GZIP = b"\x1f\x8b"
# The first bytes of the "Unicode text" of spreadsheets.
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 2**24
# Lines as lists of texts and then as numbers need 20 times their length. The arrays of a graph need 64 bytes
# per node.
_BYTES_A_BYTE = 20
_BYTES_A_NODE = 64


def read_edge_list(
    path: str | os.PathLike[str], *, directed: bool = True, header: bool | None = None
) -> DirectedGraph:
    """Read a graph from a text file, which may be gzipped.

    Every line has two node ids and optionally the probability of the edge, separated by blanks. Empty lines
    and lines that begin with ``#`` are skipped (the format of SNAP). Lines from a node to itself are skipped,
    because cascades do not use them. Repeated lines are parallel edges.

    Parameters
    ----------
    path : path-like
        The file to read.
    directed : bool
        If True, a line is one arc. If False, it is two arcs, one in each direction, next to each other.
    header : bool, optional
        Whether the first line has the number of nodes and the number of lines. If True, ids are node numbers.
        If False, nodes are numbered in increasing order of their ids, which become their labels. If omitted,
        the first line is taken for a header if its second number is the number of lines below and its first
        number is larger than every id in them. A warning then says so, because the line could be an edge.

    Returns
    -------
    DirectedGraph
        The graph, with its arcs in the order of the file, and with probabilities if the file has them.

    Raises
    ------
    ValueError
        If the file is incomplete or not text; if a line has the wrong number of columns, an id that is not an
        integer in ``[0, 10**18)``, or a probability outside [0, 1]; or if the unpacked text or the number of
        nodes does not fit into memory.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from instances import read_edge_list
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.txt"
    ...     _ = file.write_text("# FromNodeId ToNodeId" + chr(10) + "7 9" + chr(10) + "9 30" + chr(10))
    ...     graph = read_edge_list(file)
    >>> graph, graph.label(2)
    (DirectedGraph(n_nodes=3, n_arcs=2), 30)
    """
    file = Path(path)
    rows = rows_of(text_in(file, bytes_of(file)))
    n_nodes = None
    if _guessed_header(file, rows) if header is None else header:
        n_nodes = size_of(file, rows)
        rows = rows[1:]
    columns = n_columns(rows, str(file), "2 ids (and a probability)")
    ids = np.stack([_ids(file, rows, column) for column in (0, 1)], axis=1)
    chances = _chances(file, rows) if columns == 3 else None
    return _graph(file, ids, n_nodes, chances, directed)


def bytes_of(file: Path) -> bytes:
    """Return the content of a file, unpacked."""
    if file.exists() and not (file.is_file() or file.is_dir()):  # a pipe would also wait for its writer
        raise ValueError(
            f"{file} must be a file that can be read more than once, got a pipe or a device; save its content"
            " as a file"
        )
    try:
        with file.open("rb") as raw:
            is_zipped = raw.read(2) == _GZIP
            raw.seek(0)
            return _bounded(file, gzip.GzipFile(fileobj=raw) if is_zipped else raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{file} must be a complete gzip file, got {error}") from None


def text_in(file: Path, data: bytes) -> str:
    """Return the text of bytes in UTF-8, or in UTF-16 if they begin with a byte order mark."""
    try:
        text = data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{file} must be text in UTF-8, got {error}; save a spreadsheet as CSV in UTF-8, and unpack an"
            " archive, unless gzip made it"
        ) from None
    return text if "\n" in text else text.replace("\r", "\n")  # the line ends of old Macintosh files


def _bounded(file: Path, stream: BinaryIO | gzip.GzipFile) -> bytes:
    """Read a whole stream, but stop if its text would not fit into memory: few bytes may unpack to many."""
    chunks: list[bytes] = []
    while chunk := stream.read(_CHUNK):
        chunks.append(chunk)
        _require(file, _BYTES_A_BYTE * _CHUNK * len(chunks), "its text")
    return b"".join(chunks)


def _require(file: Path, n_bytes: int, what: str) -> None:
    try:
        require_memory(n_bytes, what)
    except MemoryError as error:
        raise ValueError(f"{file} must fit into memory: {error}") from None


def _guessed_header(file: Path, rows: Rows) -> bool:
    is_header = begins_with_sizes(rows)
    if is_header:
        warnings.warn(
            f"{file}: the first line, {' '.join(rows[0][1])}, is taken for the numbers of nodes and lines,"
            " not for an edge; pass header=True to confirm this, or header=False if it is an edge",
            UserWarning,
            stacklevel=3,
        )
    return is_header


def begins_with_sizes(rows: Rows) -> bool:
    """Return whether the first line can be the number of nodes and the number of lines below it."""
    fields = rows[0][1] if rows else []
    if len(fields) != 2 or fields[1] != str(len(rows) - 1) or not is_id(fields[0]):
        return False
    below = [field for _, fields in rows[1:] for field in fields[:2]]
    return all(is_id(field) and int(field) < int(fields[0]) for field in below)


def size_of(file: Path, rows: Rows) -> int:
    """Return the number of nodes that the first line gives, or raise ``ValueError`` if it is wrong."""
    try:
        n_nodes, n_lines = (int(field) for field in rows[0][1])
    except (IndexError, ValueError):
        got = shown(rows[0][1][:5]) if rows else "nothing"
        raise ValueError(f"{file} must begin with the numbers of nodes and lines, got {got}") from None
    _require(file, _BYTES_A_NODE * n_nodes, f"a graph of {n_nodes} nodes")
    if n_lines != len(rows) - 1:
        raise ValueError(f"{file} must have {n_lines} edge lines by its first line, got {len(rows) - 1}")
    return n_nodes


def _ids(file: Path, rows: Rows, column: int) -> IntArray:
    for number, fields in rows:
        text = fields[column]
        if not is_id(text):
            raise ValueError(
                f"{file}, line {number}: node ids must be integers in [0, 10**18), got {shown(text)}"
            )
    return np.array([int(fields[column]) for _, fields in rows], np.int64)


def _chances(file: Path, rows: Rows) -> FloatArray:
    chances = np.empty(len(rows))
    for at, (number, fields) in enumerate(rows):
        try:
            chances[at] = float(fields[2])
        except ValueError:
            chances[at] = np.nan
        if not 0.0 <= chances[at] <= 1.0:
            raise ValueError(
                f"{file}, line {number}: a probability must be in [0, 1], got {shown(fields[2])}"
            )
    return chances


def _graph(
    file: Path, ids: IntArray, n_nodes: int | None, chances: FloatArray | None, directed: bool
) -> DirectedGraph:
    labels = None
    if n_nodes is None:
        names, numbers = np.unique(ids, return_inverse=True)
        n_nodes, ids = len(names), numbers.reshape(ids.shape)
        labels = None if np.array_equal(names, np.arange(n_nodes)) else names.tolist()
    elif ids.max() >= n_nodes:
        raise ValueError(f"{file}: node ids must be in range({n_nodes}), got {ids.max()}")
    # A self-loop activates no other node.
    proper = ids[:, 0] != ids[:, 1]
    ids, chances = ids[proper], None if chances is None else chances[proper]
    if not directed:
        # An undirected edge becomes two arcs, next to each other.
        ids = np.stack([ids, ids[:, ::-1]], axis=1).reshape(-1, 2)
        chances = None if chances is None else np.repeat(chances, 2)
    try:
        return DirectedGraph.from_edges(
            ids[:, 0], ids[:, 1], n_nodes=n_nodes, labels=labels, probabilities=chances
        )
    except ValueError as error:  # more nodes or arcs than a graph can have
        raise ValueError(f"{file}: {error}") from None


def weighted_cascade(graph: DirectedGraph) -> FloatArray:
    """Return 1 over the in-degree of the head of each arc, counting parallel arcs (Kempe et al. 2003).

    Parameters
    ----------
    graph : DirectedGraph
        The graph.

    Examples
    --------
    >>> from instances import weighted_cascade
    >>> from oracles import DirectedGraph
    >>> weighted_cascade(DirectedGraph.from_edges([0, 1, 0], [2, 2, 1]))
    array([0.5, 0.5, 1. ])
    """
    _check_graph(graph)
    return 1.0 / graph.in_degrees[graph.heads]


def _check_graph(graph: object) -> None:
    if not isinstance(graph, DirectedGraph):
        raise TypeError(
            f"graph must be a DirectedGraph, got {shown(graph)}; use DirectedGraph(graph) for a networkx"
            " graph"
        )


def constant_probabilities(graph: DirectedGraph, probability: float) -> FloatArray:
    """Return the same probability for each arc.

    Parameters
    ----------
    graph : DirectedGraph
        The graph.
    probability : float
        The probability, in [0, 1].

    Examples
    --------
    >>> from instances import constant_probabilities
    >>> from oracles import DirectedGraph
    >>> constant_probabilities(DirectedGraph.from_edges([0, 1], [1, 2]), 0.01)
    array([0.01, 0.01])
    """
    _check_graph(graph)
    return np.full(graph.n_arcs, real("probability", probability, 0.0, 1.0))


def trivalency(
    graph: DirectedGraph, rng: np.random.Generator, *, values: Sequence[float] = (0.1, 0.01, 0.001)
) -> FloatArray:
    """Return a random entry of `values` for each arc, drawn uniformly (Chen, Wang and Wang 2010).

    Parameters
    ----------
    graph : DirectedGraph
        The graph.
    rng : numpy.random.Generator
        The random generator.
    values : sequence of float
        The possible probabilities, each in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from instances import trivalency
    >>> from oracles import DirectedGraph
    >>> trivalency(DirectedGraph.from_edges([0, 1], [1, 2]), np.random.default_rng(0))
    array([0.001, 0.01 ])
    """
    _check_graph(graph)
    chances = vector("values", values, low=0.0, high=1.0)
    if not len(chances):
        raise ValueError(f"values must have at least one probability, got {shown(values)}")
    return rng.choice(chances, graph.n_arcs)


def uniform_probabilities(
    graph: DirectedGraph, rng: np.random.Generator, *, low: float = 0.0, high: float = 0.1
) -> FloatArray:
    """Return a number drawn uniformly from ``[low, high)`` for each arc.

    Parameters
    ----------
    graph : DirectedGraph
        The graph.
    rng : numpy.random.Generator
        The random generator.
    low, high : float
        Ends of the interval, within [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from instances import uniform_probabilities
    >>> from oracles import DirectedGraph
    >>> uniform_probabilities(DirectedGraph.from_edges([0, 1], [1, 2]), np.random.default_rng(0)).round(3)
    array([0.064, 0.027])
    """
    _check_graph(graph)
    low = real("low", low, 0.0, 1.0)
    return rng.uniform(low, real("high", high, low, 1.0), graph.n_arcs)
