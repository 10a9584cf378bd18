"""Networks from files of many formats, with names of nodes, and probabilities or weights of ties."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.campaign.files import alike_in_words
from cmab.run.tables import number, numbers_of
from cmab.validation import shown
from instances.networks.columns import EdgeTable, delimited
from instances.networks.formats import form_of, written
from instances.networks.sheets import BOOK, Preview, has_text, is_number, listed, number_of, refuse, sheet_of
from oracles import DirectedGraph

# The encoding of spreadsheets in western Europe and America, unless they save UTF-8.
_WINDOWS = "cp1252"
# The first bytes of workbooks, of gzip files, and of the "Unicode text" of spreadsheets.
_WORKBOOK, _GZIP, _UTF16 = b"PK\x03\x04", b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")
# The first characters of files that are not read.
_OTHERS = {
    r"%PDF": "a PDF",
    r"\{\\rtf": "a text document (RTF)",
    r"<(!doctype|html|table)": "a page of the web (HTML)",
    r"\{|\[\s*[\[{]": "in JSON",
    r"dl\b.*\bn\s*=": "in the format of UCINET (DL)",
    r"\*node data": "in the format of NetDraw (VNA)",
    r"(strict\s+)?(di)?graph\b[^\[]*\{": "in the format of Graphviz (DOT)",
}
# The number of ties that are shown, and the longest address of Python in a message.
_SHOWN, _LONGEST = 3, 60
# Names of columns that are used by default. Columns of the first kind have probabilities. Columns of the
# second kind have probabilities if their numbers allow it, otherwise weights.
_PROBABILITIES = ("p", "prob", "probs", "probability", "probabilities", "chance", "activation_probability")
_WEIGHTS = ("weight", "weights", "w", "strength", "value", "count", "counts")
# Columns of numbers that only identify edges; the last two are index columns that pandas wrote.
_IDS = {"id", "edgeid", "index", "edgeindex", "idx", "key", "edgekey", "line", "lineno", "linenumber"}
_IDS |= {"row", "rowid", "rownumber", "1", "unnamed0"}


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
    preview : Preview, optional
        The columns and the first rows of a table, and the columns with the names of ties.

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
    preview: Preview | None = field(default=None, kw_only=True, repr=False)


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
    default_directed: bool = True,
) -> Network:
    """Read a network with names of nodes from a file, which may be gzipped, and report how it was read.

    The formats are edge lists and CSV, workbooks (``.xlsx``), square matrices, GraphML, GML, GEXF, Pajek,
    Matrix Market, and edge lists of networkx with data in braces and its adjacency lists (``.adjlist``).
    Edge lists and CSV may be separated by commas, semicolons, tabs, bars or blanks, may have a header and may
    have names in quotes. A colon may separate a name from a list with commas. The encoding is UTF-8, UTF-16,
    Windows-1252, which is reported, or that which XML states.

    The edges of the file are called ties. Comments, which begin with ``#`` or ``%``, and ties from a node to
    itself are left out. After the first line, a line with only one name is a node without ties. In edge lists
    and CSV, names that differ only in capitals are one, a cell may have several names, as in exports of
    forms, empty cells below a name repeat it if each name is in one line only, as in merged cells, and other
    lines with an empty name are left out.

    Parameters
    ----------
    path : path-like
        The file to read.
    directed : bool, optional
        If True, a tie goes one way, from its first name to its second. If False, a tie is two arcs, one in
        each direction. If omitted, the file decides, or else `default_directed`.
    probability_column : str, optional
        The column (or key of the data of edges) with probabilities in [0, 1]. Columns without names are
        called 3, 4 and so on. If both this and `weight_column` are omitted, a column with a name such as
        probability or weight is used. Otherwise the only column of numbers is used; columns called id,
        index, key or line do not count. If several columns have numbers, weights are not used.
    weight_column : str, optional
        The column with weights of 0 or more. The probability of an arc is then its weight over the sum of the
        weights into the same head (weighted cascade). By default, a column that is not called probability is
        also read as weights if it has numbers above 1, or only the numbers 0 and 1.
    from_column, to_column : str, optional
        The columns with the two names of a tie. By default, the header tells, or else these are two columns
        that share names, or the first two that may have names. Columns of dates, numbers and addresses of
        mail do not count if others remain.
    ties_only : bool
        Whether to use no column of numbers.
    header : bool, optional
        Whether the first line has the names of the columns. If omitted, this is detected.
    default_directed : bool
        Whether ties go one way if `directed` is omitted and the file does not say it.

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
    friends.csv is a list of ties separated by commas, with the titles from, to, probability
    ties go one way, from the first name to the second, because a title is 'from'
    3 names and 2 ties; the first ties: Meyer, Anna and Bob; Bob and Zoé
    column probability has the probabilities (0.2 to 0.3)
    """
    file = Path(path)
    table = _table(file, header, (from_column, to_column))
    n_nodes, labels, ends = _numbered(table)
    column, kind = (None, "") if ties_only else _column_of(table, probability_column, weight_column)
    numbers, is_chance = (None, True) if column is None else _numbers_in(table, column, kind)
    one_way, way = _directions(table, ends, directed, default_directed)
    told = [f"{file.name} is {table.form}", *table.notes, way]
    told += _shape_told(table, n_nodes)
    proper = ends[:, 0] != ends[:, 1]
    if not proper.all():
        told.append(f"ties from a name to itself are left out: {int((~proper).sum()):,}")
    ends, one_way, numbers = ends[proper], one_way[proper], None if numbers is None else numbers[proper]
    if repeats := len(ends) - len(np.unique(np.where(one_way[:, None], ends, np.sort(ends)), axis=0)):
        more = "tie is a repetition" if repeats == 1 else "ties are repetitions"
        told.append(f"{repeats:,} {more}, and each counts as an additional tie")
    if alone := np.setdiff1d(np.arange(n_nodes), ends).tolist():
        names = listed(alone if labels is None else [labels[node] for node in alone])
        told.append(f"{len(alone):,} {'name has' if len(alone) == 1 else 'names have'} no tie: {names}")
    arcs = np.repeat(np.arange(len(ends)), np.where(one_way, 1, 2))
    is_back = np.diff(arcs, prepend=-1) == 0  # the second arc of a tie
    ends = np.where(is_back[:, None], ends[arcs][:, ::-1], ends[arcs])
    if numbers is not None and column is not None:
        numbers = numbers[arcs]
        told.append(_column_told(column, numbers, is_chance))
        numbers = numbers if is_chance else _shares(numbers, ends[:, 1], n_nodes)
    if rest := [name for name in table.columns if name != column]:
        told.append(f"columns that are not used: {listed(rest)}")
    try:
        graph = DirectedGraph.from_edges(
            ends[:, 0], ends[:, 1], n_nodes=n_nodes, labels=labels, probabilities=numbers
        )
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return Network(graph, bool(one_way.all()), told=tuple(told), preview=table.preview)


# Bytes and text


class Text(NamedTuple):
    """The bytes and the text of a file, the separator of its cells if it is known, and notes."""

    data: bytes
    text: str
    delimiter: str | None = None
    notes: tuple[str, ...] = ()


def _table(file: Path, header: bool | None, asked: tuple[str | None, str | None]) -> EdgeTable:
    """Return the edges, with notes on the encoding."""
    data, text, delimiter, notes = text_of(file)
    form = form_of(file, text)
    if (header is not None or asked != (None, None)) and form is not None:
        raise ValueError(
            f"options of columns have no effect on {file}, which is in the format {form}; leave them out"
        )
    columns = header, asked, delimiter
    table = written(file, data, text, form) if form else delimited(file, text, *columns)
    if not table.ends and not table.nodes:
        raise ValueError(f"{file} must have a tie of two names, got none")
    if form not in ("GraphML", "GEXF"):  # XML states its encoding
        table.notes.extend(notes)
    return table


def first_rows(path: str | os.PathLike[str], header: bool | None = None) -> Preview | None:
    """Return the titles and the first rows of a table; None for other formats and damaged files."""
    file = Path(path)
    with suppress(ValueError):
        _, text, delimiter, _ = text_of(file)
        if form_of(file, text) is None:
            return sheet_of(file, text, header=header, delimiter=delimiter).preview()
    return None


def text_of(file: Path) -> Text:
    """Return the text of a file, which may be a workbook."""
    data = _bytes_of(file)
    if data.startswith(_WORKBOOK):
        return _text_of_sheet(file, data)
    if not data.strip():
        raise ValueError(f"{file} must not be empty")
    try:
        found = Text(data, _text_in(data))
    except UnicodeDecodeError:
        try:
            note = "the file is not UTF-8 and was read as Windows-1252; check the names with accents"
            found = Text(data, data.replace(b"\0", b"\x81").decode(_WINDOWS), None, (note,))
        except UnicodeDecodeError:
            raise ValueError(
                f"{file} must be text in UTF-8 or a workbook (.xlsx), got other data; save a spreadsheet as"
                " CSV in UTF-8, and unpack an archive, unless gzip made it"
            ) from None
    for start, what in _OTHERS.items():
        if re.match(start, found.text[:1000].lstrip(), re.IGNORECASE):
            raise ValueError(f"{file} is {what}, which is not read; save it as CSV or GraphML")
    return found


def _bytes_of(file: Path) -> bytes:
    data = file.read_bytes()
    try:
        return gzip.decompress(data) if data.startswith(_GZIP) else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{file} must be a complete gzip file, got {error}") from None


def _text_in(data: bytes) -> str:
    """Return the text of bytes in UTF-8, or in UTF-16 if they begin with a byte order mark."""
    encoding = "utf-16" if data.startswith(_UTF16) else "utf-8-sig"
    if b"\0" in data[:2] and encoding != "utf-16":  # UTF-16 without a byte order mark
        encoding = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be"
    text = data.decode(encoding)
    return text if "\n" in text else text.replace("\r", "\n")  # the line ends of old Macintosh files


def _text_of_sheet(file: Path, data: bytes) -> Text:
    """Return the first sheet of a workbook as text."""
    try:
        import pandas as pd

        sheets = pd.read_excel(io.BytesIO(data), sheet_name=None, header=None, dtype=str, na_filter=False)
    except ImportError:
        python = sys.executable if len(sys.executable) < _LONGEST else "python"
        raise ValueError(
            f"{file} is a workbook, which needs packages: {python} -m pip install pandas openpyxl; or save"
            " it as CSV (UTF-8)"
        ) from None
    except Exception:  # other archives, and damaged workbooks, raise many types of exceptions
        raise ValueError(f"{file} must be a whole workbook (.xlsx) or text; save it as CSV (UTF-8)") from None
    names = [name for name, sheet in sheets.items() if sheet.size]
    if not names:
        raise ValueError(f"{file} must not be empty")
    first, others = names[0], names[1:]
    sheet = sheets[first].replace(r"^(\d+-\d+-\d+) 00:00:00$", r"\1", regex=True)  # days have no time
    notes = (f"only the sheet {first} is read, without {', '.join(others)}",) if others else ()
    return Text(data, sheet.to_csv(index=False, header=False, sep=BOOK), BOOK, notes)


def _shape_told(table: EdgeTable, n_nodes: int) -> list[str]:
    """Return lines on the first ties, the numbers of names and ties, and names that look alike."""
    ties = "; ".join(f"{u} and {v}" for u, v in table.ends[:_SHOWN])
    n_ties = len(table.ends)
    told = [f"{n_nodes:,} names and {n_ties:,} {'tie' if n_ties == 1 else 'ties'}; the first ties: {ties}"]
    if table.n_nodes is not None:
        return told
    names = dict.fromkeys([*table.nodes, *(name for pair in table.ends for name in pair)])
    return told + alike_in_words(names)


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


def _directions(table: EdgeTable, ends: IntArray, asked: bool | None, default: bool) -> tuple[BoolArray, str]:
    """Return which ties go one way, and a line that gives the reason."""
    pairs = set(map(tuple, ends.tolist()))
    is_doubled = len(pairs) > 0 and all((v, u) in pairs for u, v in pairs)
    all_ties = np.ones(len(ends), bool)
    if asked is not True and is_doubled and table.one_way is None:
        return all_ties, "ties go both ways, because the file has each of them in both directions"
    one_way, both = "ties go one way, from the first name to the second", "ties go both ways"
    if asked is not None:
        return all_ties & asked, f"{one_way if asked else both}, as requested"
    if table.one_way is None:
        return all_ties & default, f"{one_way if default else both}, because the file gives no direction"
    flags = all_ties & np.array(table.one_way, bool)
    if flags.any() and not flags.all():
        count = f"{int(flags.sum()):,} of {len(ends):,}"
        return flags, f"{count} ties go one way, the others both ways, as the file states"
    return flags, f"{one_way if flags.all() else both}, because {table.why}"


def _column_told(column: str, numbers: FloatArray, is_chance: bool) -> str:
    span = " to ".join(
        number(float(end)) for end in (numbers.min(initial=np.inf), numbers.max(initial=-np.inf))
    )
    if is_chance:
        return f"column {column} has the probabilities ({span})"
    return (
        f"column {column} ({span}) has weights: the probability of a tie is its weight over the sum of the "
        "weights of ties to the same name"
    )


# The column of numbers, and the conversion of numbers to probabilities


def _column_of(table: EdgeTable, probability: str | None, weight: str | None) -> tuple[str | None, str]:
    """Return the used column and its kind: "probability", "weight" or "either".

    Raises
    ------
    ValueError
        If a requested column does not exist, or if several columns are possible.
    """
    if probability is not None and weight is not None:
        raise ValueError("probability_column and weight_column must not both be given")
    asked = probability if weight is None else weight
    if asked is not None:
        if asked not in table.columns:
            known = listed([*table.columns]) or "only the two names"
            raise ValueError(f"{table.file} must have a column {asked!r}, got {known}")
        return asked, "probability" if weight is None else "weight"
    for names, kind in ((_PROBABILITIES, "probability"), (_WEIGHTS, "either")):
        for name in table.columns:
            if name.strip().lower().replace(" ", "_") in names:
                return name, kind
    # If exactly one other column has numbers, use it.
    numeric = [
        name
        for name, values in table.columns.items()
        if re.sub(r"[\W_]+", "", name.lower()) not in _IDS and _has_numbers(values)
    ]
    if len(numeric) > 1:
        table.notes.append(f"several columns have numbers, which are not used as weights: {listed(numeric)}")
    return (numeric[0] if len(numeric) == 1 else None), "either"


def _has_numbers(values: Sequence[object]) -> bool:
    """Return whether there are numbers, and besides them only empty cells, which are fewer."""
    given = [value for value in values if value not in ("", None)]
    return 2 * len(given) > len(values) and not has_text(given)


def _numbers_in(table: EdgeTable, column: str, kind: str) -> tuple[FloatArray, bool]:
    """Return the numbers of a column, and whether they are probabilities.

    Raises
    ------
    ValueError
        If a cell is not a number of this kind; the message names the line and the column.
    """
    cells = table.columns[column]
    if all(isinstance(cell, str) for cell in cells):
        try:  # if commas separate columns, they are rarely decimal commas
            numbers = np.array(numbers_of([str(cell) for cell in cells], grouped="by commas" in table.form))
        except ValueError as error:
            raise ValueError(f"{table.file}, column {column}: {error}") from None
    else:
        numbers = np.array([number_of(cell) for cell in cells])
    is_chance = (numbers >= 0.0) & (numbers <= 1.0)
    if kind == "probability":
        rule = "a probability must be in [0, 1], or end with % (for weights, use --weight-column)"
        _require(table, column, is_chance, rule)
        return numbers, True
    _require(table, column, (numbers >= 0.0) & np.isfinite(numbers), "a weight must be a number, 0 or more")
    # If all numbers are 1, or 0 and 1, they say whether there is a tie, not that ties are certain.
    is_plain = bool(np.isin(numbers, (0.0, 1.0)).all())
    return numbers, kind == "either" and bool(is_chance.all()) and not is_plain


def _require(table: EdgeTable, column: str, is_good: BoolArray, requirement: str) -> None:
    cells = [(table.places[row], table.columns[column][row]) for row in np.flatnonzero(~is_good).tolist()]
    refuse([f"{table.file}, {at}, column {column}: {requirement}, got {shown(cell)}" for at, cell in cells])


def _shares(weights: FloatArray, heads: IntArray, n_nodes: int) -> FloatArray:
    """Return each weight over the sum of the weights into the same head.

    With equal weights this is the weighted cascade, Kempe, Kleinberg and Tardos (2003), section 4:
    p(u, v) = c(u, v) / d(v), where c(u, v) counts parallel edges, which are integer weights here.
    """
    sums = np.bincount(heads, weights, minlength=n_nodes)[heads]
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0.0)
