"""A network of anybody's, from a file of nearly any form."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.edges import is_number
from cmab.results.tables import shown
from instances.graphs import bytes_of, text_in
from instances.networks._chances import column_of, numbers_in, others_told, shares
from instances.networks._delimited import delimited
from instances.networks._edge_table import EdgeTable
from instances.networks._written import form_of, written
from oracles import DirectedGraph

# What spreadsheets in western Europe and America write where they are not asked for UTF-8.
_WINDOWS = "cp1252"


@dataclass(frozen=True)
class Network:
    """A graph that was read, and how.

    Parameters
    ----------
    graph : DirectedGraph
        The arcs, in the order of the file, with probabilities if the file has any or has weights.
    directed : bool
        Whether a tie of the file goes one way; otherwise it is two arcs.
    told : tuple of str
        A line on each thing that was found out: form, directions, column, what was left out.

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
    header: bool | None = None,
) -> Network:
    """Read a network with names from a file, gzipped or not, and say how it was understood.

    Takes edge lists and CSV (commas, semicolons, tabs, bars or blanks; with a header or without; names in
    quotes; UTF-8, UTF-16 with a byte order mark, or Windows-1252, which is told), GraphML, GML, GEXF, Pajek,
    node-link JSON, and what networkx writes: edge lists with data in braces, adjacency lists (``.adjlist``)
    and graph6.
    Lines that begin with ``#`` are skipped, and so are ties from a node to itself. A line behind the
    first with one name and nothing else is a node without ties.

    Parameters
    ----------
    path : path-like
        The file.
    directed : bool, optional
        Whether a tie goes one way, from its first name to its second; otherwise it is two arcs. If left
        out, what the file says, and where it says nothing, one way.
    probability_column : str, optional
        The column, or the data of edges, with probabilities in [0, 1]. If left out, one called probability,
        weight or the like, or the only one of numbers that is not called id, index, key or line; columns
        without names are called 3, 4 and so on.
    weight_column : str, optional
        The same for weights of 0 or more. The probability of an arc is its weight over the sum of those into
        its head (weighted cascade); so it is without being asked for where a column that is not called
        probability has numbers above 1, or nothing but 0 and 1.
    header : bool, optional
        Whether the first line names columns; if left out, that is found out.

    Returns
    -------
    Network
        The graph, and `told`.

    Raises
    ------
    ValueError
        If the file is no such thing; the message names line and column.

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
    friends.csv is a list of edges parted by commas, with a header: from, to, probability
    ties go one way, from the first name to the second: its header says from
    probabilities are column probability (0.2 to 0.3)
    """
    file = Path(path)
    table, as_windows = _table(file, header)
    n_nodes, labels, ends = _numbered(table)
    column, kind = column_of(table, probability_column, weight_column)
    numbers, is_chance = (None, True) if column is None else numbers_in(table, column, kind)
    goes_one_way, way = _directions(table, ends, directed)
    told = [f"{file.name} is {_with_article(table.form)}", way]
    proper = ends[:, 0] != ends[:, 1]
    if not proper.all():
        told.append(f"ties from a node to itself are left out: {int((~proper).sum()):,}")
    ends, numbers = ends[proper], None if numbers is None else numbers[proper]
    told += _repeats_told(ends if goes_one_way else np.sort(ends, axis=1))
    if without := n_nodes - len(np.unique(ends)):
        told.append(f"{without:,} {'name has' if without == 1 else 'names have'} no tie")
    if as_windows:
        told.append("it is no UTF-8, and was read as Windows-1252: look whether names with accents are right")
    if not goes_one_way:
        ends = np.stack([ends, ends[:, ::-1]], axis=1).reshape(-1, 2)
        numbers = None if numbers is None else np.repeat(numbers, 2)
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
    return Network(graph, goes_one_way, told=tuple(told))


def _table(file: Path, header: bool | None) -> tuple[EdgeTable, bool]:
    """Return the edges, and whether the text is taken for one of Windows."""
    data, as_windows = bytes_of(file), False
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
    if header is not None and form is not None:
        raise ValueError(f"header has no effect on {file}, which is {_with_article(form)}; leave it out")
    table = delimited(file, text, header) if form is None else written(file, text, form)
    for row, ends in enumerate(table.ends):
        if "" in ends:
            raise ValueError(f"{file}, {table.places[row]}, column {ends.index('') + 1}: must name a node")
    if not table.ends and not table.nodes:
        raise ValueError(f"{file} must hold at least one edge, got none")
    return table, as_windows


def _repeats_told(ends: IntArray) -> list[str]:
    """Return a line on ties that stand in the file again: each may carry something, as any other."""
    repeats = len(ends) - len(np.unique(ends, axis=0))
    if not repeats:
        return []
    more = "tie stands" if repeats == 1 else "ties stand"
    return [f"{repeats:,} {more} there again, and each counts as one more chance"]


def _with_article(form: str) -> str:
    return f"an {form}" if form == "adjacency list" else form


def _numbered(table: EdgeTable) -> tuple[int, list[Hashable] | None, IntArray]:
    """Return the number of nodes, their names if these are not their numbers, and the ends of edges.

    Integers are numbered in increasing order, as `read_edge_list` does, and names as they come.
    """
    ends = table.ends
    if table.n_nodes is not None:  # ids are node numbers
        return table.n_nodes, None, np.array([(int(str(u)), int(str(v))) for u, v in ends], np.int64)
    names = list(dict.fromkeys([*table.nodes, *(name for pair in ends for name in pair)]))
    if all(is_number(str(name)) for name in names):  # 01 and 1 are two names
        ends = [(int(str(u)), int(str(v))) for u, v in ends]
        names = [*sorted({int(str(name)) for name in names})]
    if names == list(range(len(names))):
        return len(names), None, np.array(ends, np.int64).reshape(-1, 2)
    number = {name: at for at, name in enumerate(names)}
    numbered = [(number[u], number[v]) for u, v in ends]
    return len(names), names, np.array(numbered, np.int64).reshape(-1, 2)


def _directions(table: EdgeTable, ends: IntArray, asked: bool | None) -> tuple[bool, str]:
    """Return whether ties go one way, and why."""
    if asked is None and table.mixed:
        raise ValueError(
            f"{table.file}: directed must be given (--directed, or --undirected), for {table.mixed}: "
            "all ties of a network go one way, or all go both"
        )
    pairs = set(map(tuple, ends.tolist()))
    is_doubled = len(pairs) > 0 and all((v, u) in pairs for u, v in pairs)
    if asked is not True and is_doubled and table.directed is None:
        return True, "ties go both ways: the file has each of them in both directions"
    one_way, both = "ties go one way, from the first name to the second", "ties go both ways"
    if asked is not None:
        return asked, f"{one_way if asked else both}, as asked for"
    if table.directed is not None:
        return table.directed, f"{one_way if table.directed else both}: {table.why}"
    return True, f"{one_way}, because the file says nothing else (both ways: --undirected, directed=False)"


def _column_told(column: str, numbers: FloatArray, is_chance: bool) -> str:
    span = " to ".join(
        shown(float(end)) for end in (numbers.min(initial=np.inf), numbers.max(initial=-np.inf))
    )
    if is_chance:
        return f"probabilities are column {column} ({span})"
    return (
        f"column {column} ({span}) is taken for weights: the probability of a tie is its share of all "
        "weights into its head"
    )
