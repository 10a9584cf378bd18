"""Networks from files of many formats."""

from __future__ import annotations

import io
import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.campaign.files import alike_in_words
from cmab.run.tables import number
from instances.graphs import bytes_of, is_number, text_in
from instances.networks._chances import column_of, numbers_in, others_told, shares
from instances.networks._delimited import delimited
from instances.networks._edge_table import EdgeTable
from instances.networks._written import form_of, written
from oracles import DirectedGraph

# The encoding of spreadsheets in western Europe and America, unless they save UTF-8.
_WINDOWS = "cp1252"
# The first bytes of workbooks, and the number of ties that are shown.
_ZIPPED, _SHOWN = b"PK\x03\x04", 3


@dataclass(frozen=True)
class Network:
    """A graph from a file, and notes on how the file was read.

    Parameters
    ----------
    graph : DirectedGraph
        The graph, with arcs in the order of the file, and with probabilities if the file has them or has
        weights.
    directed : bool
        Whether a tie of the file is one arc. If False, it is two arcs, one in each direction.
    told : tuple of str
        One line each about the format, the directions, the columns and the omitted ties.

    Examples
    --------
    >>> from instances import Network
    >>> from oracles import DirectedGraph
    >>> Network(DirectedGraph.from_edges([0], [1]), directed=True)
    Network(graph=DirectedGraph(n_nodes=2, n_arcs=1), directed=True, told=())
    """

    graph: DirectedGraph
    directed: bool
    told: tuple[str, ...] = field(default=(), kw_only=True)


def read_network(
    path: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    probability_column: str | None = None,
    weight_column: str | None = None,
    from_column: str | None = None,
    to_column: str | None = None,
    ties_only: bool = False,
    header: bool | None = None,
) -> Network:
    """Read a network with names of nodes from a file, which may be gzipped, and report how it was read.

    The formats are edge lists and CSV, workbooks (``.xlsx``), square matrices, GraphML, GML, GEXF, Pajek,
    Matrix Market, node-link JSON, and those that networkx writes: edge lists with data in braces, adjacency
    lists (``.adjlist``) and graph6. Edge lists and CSV may be separated by commas, semicolons, tabs, bars or
    blanks, may have a header and may have names in quotes. The encoding is UTF-8, UTF-16, Windows-1252, which
    is reported, or that which XML states.

    The edges of the file are called ties. Comments, which begin with ``#`` or ``%``, and ties from a node to
    itself are left out. After the first line, a line with only one name is a node without ties. In a file
    with a column of dates, as forms export it, a cell may have several names, and names that differ only in
    capitals are one.

    Parameters
    ----------
    path : path-like
        The file to read.
    directed : bool, optional
        If True, a tie goes one way, from its first name to its second. If False, a tie is two arcs, one in
        each direction. If omitted, the file decides; if it does not say, ties go one way.
    probability_column : str, optional
        The column (or key of the data of edges) with probabilities in [0, 1]. Columns without names are
        called 3, 4 and so on. If both this and `weight_column` are omitted, a column with a name such as
        probability or weight is used. Otherwise the only column of numbers is used; columns called id,
        index, key or line do not count.
    weight_column : str, optional
        The column with weights of 0 or more. The probability of an arc is then its weight over the sum of the
        weights into the same head (weighted cascade). By default, a column that is not called probability is
        also read as weights if it has numbers above 1, or only the numbers 0 and 1.
    from_column, to_column : str, optional
        The columns with the two names of a tie. By default, the header tells, or else these are the first two
        columns that may have names: columns of dates and running numbers do not count.
    ties_only : bool
        Whether to use no column of numbers.
    header : bool, optional
        Whether the first line has the names of the columns. If omitted, this is detected.

    Returns
    -------
    Network
        The graph, the direction of ties, and the notes in `told`.

    Raises
    ------
    ValueError
        If the file has none of these formats, or if a value is not valid; the message names the line and the
        column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from instances import read_network
    >>> lines = ["from,to,probability", '"Meyer, Anna",Bob,0.3', "Bob,Zoé,0.2"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "friends.csv"
    ...     _ = file.write_text(chr(10).join(lines), encoding="utf-8")
    ...     network = read_network(file)
    >>> network.graph, network.graph.label(0), network.graph.probabilities
    (DirectedGraph(n_nodes=3, n_arcs=2), 'Meyer, Anna', array([0.3, 0.2]))
    >>> print(*network.told, sep=chr(10))
    friends.csv is an edge list separated by commas, with the header from, to, probability
    ties go one way, from the first name to the second, because the header has a column 'from'
    3 names and 2 ties; the first ties: Meyer, Anna and Bob; Bob and Zoé
    column probability has the probabilities (0.2 to 0.3)
    """
    file = Path(path)
    table, as_windows = _table(file, header, (from_column, to_column))
    n_nodes, labels, ends = _numbered(table)
    column, kind = (None, "") if ties_only else column_of(table, probability_column, weight_column)
    numbers, is_chance = (None, True) if column is None else numbers_in(table, column, kind)
    one_way, way = _directions(table, ends, directed)
    told = [f"{file.name} is {_with_article(table.form)}", *table.notes, way]
    told += _shape_told(table, n_nodes)
    proper = ends[:, 0] != ends[:, 1]
    if not proper.all():
        told.append(f"ties from a node to itself are left out: {int((~proper).sum()):,}")
    ends, numbers = ends[proper], None if numbers is None else numbers[proper]
    told += _repeats_told(np.where(one_way[proper][:, None], ends, np.sort(ends, axis=1)))
    if without := n_nodes - len(np.unique(ends)):
        told.append(f"{without:,} {'name has' if without == 1 else 'names have'} no tie")
    if as_windows:
        told.append("the file is not UTF-8 and was read as Windows-1252; check the names with accents")
    count = np.where(one_way[proper], 1, 2)
    arcs = np.repeat(np.arange(len(ends)), count)
    is_back = np.diff(arcs, prepend=-1) == 0  # the second arc of a tie
    ends = np.where(is_back[:, None], ends[arcs][:, ::-1], ends[arcs])
    numbers = None if numbers is None else numbers[arcs]
    if numbers is not None and column is not None:
        told.append(_column_told(column, numbers, is_chance))
        numbers = numbers if is_chance else shares(numbers, ends[:, 1], n_nodes)
    told += others_told(table, column)
    try:
        graph = DirectedGraph.from_edges(
            ends[:, 0], ends[:, 1], n_nodes=n_nodes, labels=labels, probabilities=numbers
        )
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return Network(graph, bool(one_way.all()), told=tuple(told))


def _table(file: Path, header: bool | None, asked: tuple[str | None, str | None]) -> tuple[EdgeTable, bool]:
    """Return the edges, and whether the text was read as Windows-1252."""
    data, as_windows = bytes_of(file), False
    if data.startswith(_ZIPPED):
        data = _text_of_sheet(file, data)
    try:
        text = text_in(file, data)
    except ValueError:
        try:
            text, as_windows = data.decode(_WINDOWS), b"\0" not in data
        except UnicodeDecodeError:
            as_windows = False
        if not as_windows:
            raise
    form = form_of(file, text)
    if (header is not None or asked != (None, None)) and form is not None:
        raise ValueError(
            f"options of columns have no effect on {file}, which is {_with_article(form)}; leave them out"
        )
    table = delimited(file, text, header, asked) if form is None else written(file, data, text, form)
    for row, ends in enumerate(table.ends):
        if "" in ends:
            raise ValueError(f"{file}, {table.places[row]}, column {ends.index('') + 1}: must name a node")
    if not table.ends and not table.nodes:
        raise ValueError(f"{file} must hold at least one edge, got none")
    return table, as_windows and form not in ("GraphML", "GEXF")  # XML states its encoding


def _text_of_sheet(file: Path, data: bytes) -> bytes:
    """Return the first sheet of a workbook as text with commas."""
    try:
        import pandas as pd

        sheet = pd.read_excel(io.BytesIO(data), header=None, dtype=str)
    except ImportError:
        raise ValueError(
            f"{file} is a workbook, which needs pandas and openpyxl: pip install 'cmab[excel]'; or save it as"
            " CSV (UTF-8)"
        ) from None
    except Exception as error:  # other archives, and damaged workbooks, raise many types of exceptions
        raise ValueError(f"{file} must be a workbook (.xlsx) or text, got {error}; save it as CSV") from None
    return bytes(sheet.to_csv(index=False, header=False).encode())


def _shape_told(table: EdgeTable, n_nodes: int) -> list[str]:
    """Return lines on the first ties, the numbers of names and ties, and names that look alike."""
    ties = "; ".join(f"{u} and {v}" for u, v in table.ends[:_SHOWN])
    n_ties = len(table.ends)
    told = [f"{n_nodes:,} names and {n_ties:,} {'tie' if n_ties == 1 else 'ties'}; the first ties: {ties}"]
    if table.n_nodes is not None:
        return told
    names = dict.fromkeys([*table.nodes, *(name for pair in table.ends for name in pair)])
    return told + alike_in_words(names)


def _repeats_told(ends: IntArray) -> list[str]:
    """Return a line about repeated ties, which are parallel edges."""
    repeats = len(ends) - len(np.unique(ends, axis=0))
    if not repeats:
        return []
    more = "tie is a repetition" if repeats == 1 else "ties are repetitions"
    return [f"{repeats:,} {more}, and each counts as an additional tie"]


def _with_article(form: str) -> str:
    return f"an {form}" if form == "adjacency list" else form


def _numbered(table: EdgeTable) -> tuple[int, list[Hashable] | None, IntArray]:
    """Return the number of nodes, their names unless these are 0, 1, 2 and so on, and the ends of edges.

    Integer names are numbered in increasing order, other names in order of appearance.
    """
    ends = table.ends
    if table.n_nodes is not None:  # ids are node numbers
        return table.n_nodes, None, np.array([(int(str(u)), int(str(v))) for u, v in ends], np.int64)
    names = list(dict.fromkeys([*table.nodes, *(name for pair in ends for name in pair)]))
    if all(is_number(str(name)) for name in names):  # so 01 and 1, which are different names, are excluded
        ends = [(int(str(u)), int(str(v))) for u, v in ends]
        names = [*sorted({int(str(name)) for name in names})]
    if names == list(range(len(names))):
        return len(names), None, np.array(ends, np.int64).reshape(-1, 2)
    number = {name: at for at, name in enumerate(names)}
    numbered = [(number[u], number[v]) for u, v in ends]
    return len(names), names, np.array(numbered, np.int64).reshape(-1, 2)


def _directions(table: EdgeTable, ends: IntArray, asked: bool | None) -> tuple[BoolArray, str]:
    """Return which ties go one way, and a line that gives the reason."""
    pairs = set(map(tuple, ends.tolist()))
    is_doubled = len(pairs) > 0 and all((v, u) in pairs for u, v in pairs)
    all_ties = np.ones(len(ends), bool)
    if asked is not True and is_doubled and table.directed is None and table.one_way is None:
        return all_ties, "ties go both ways, because the file has each of them in both directions"
    one_way, both = "ties go one way, from the first name to the second", "ties go both ways"
    if asked is not None:
        return all_ties & asked, f"{one_way if asked else both}, as requested"
    if table.one_way is not None:
        count = sum(table.one_way)
        way = f"{count:,} of {len(ends):,} ties go one way, the others both ways, as the file states"
        return np.array(table.one_way), f"{way} (--directed or --undirected changes this)"
    if table.directed is not None:
        return all_ties & table.directed, f"{one_way if table.directed else both}, because {table.why}"
    reason = "because the file gives no direction (both ways: --undirected, directed=False)"
    return all_ties, f"{one_way}, {reason}"


def _column_told(column: str, numbers: FloatArray, is_chance: bool) -> str:
    span = " to ".join(
        number(float(end)) for end in (numbers.min(initial=np.inf), numbers.max(initial=-np.inf))
    )
    if is_chance:
        return f"column {column} has the probabilities ({span})"
    return (
        f"column {column} ({span}) has weights: the probability of a tie is its weight over the sum of the "
        "weights into the same node"
    )
