"""Graphs for influence maximization: the bytes of files, and models of edge probabilities."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cmab.arrays import FloatArray
from cmab.validation import real, shown, vector
from oracles import DirectedGraph
from oracles.influence.graph import require_memory

#: Pairs of a line number and the fields of the line.
Rows = Sequence[tuple[int, list[str]]]
_DIGITS = 18


def _is_id(text: str) -> bool:
    """Return whether a text is an integer in ``[0, 10**18)`` in ASCII decimal digits."""
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
    return _is_id(text) and str(int(text)) == text


# The first bytes of gzip files, and the number of bytes to read at once.
_GZIP = b"\x1f\x8b"
# The first bytes of the "Unicode text" of spreadsheets.
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 2**24
# Lines as lists of texts and then as numbers need 20 times their length. The arrays of a graph need 64 bytes
# per node.
_BYTES_A_BYTE = 20
_BYTES_A_NODE = 64


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
    encoding = "utf-16" if data.startswith(_UTF16) else "utf-8-sig"
    if b"\0" in data[:2] and encoding != "utf-16":  # UTF-16 without a byte order mark
        encoding = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    try:
        text = data.decode(encoding)
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


def begins_with_sizes(rows: Rows) -> bool:
    """Return whether the first line can be the number of nodes and the number of lines below it."""
    fields = rows[0][1] if len(rows) > 1 else []
    if len(fields) != 2 or fields[1] != str(len(rows) - 1) or not _is_id(fields[0]):
        return False
    below = [field for _, fields in rows[1:] for field in fields[:2]]
    return all(_is_id(field) and int(field) < int(fields[0]) for field in below)


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
