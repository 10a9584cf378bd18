"""Edge lists and CSV: find the delimiter, the header and the columns, and report them."""

from __future__ import annotations

import ast
import csv
import io
import math
import re
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from cmab.validation import shown
from instances.graphs import begins_with_sizes, size_of
from instances.networks._edge_table import EdgeTable, number_of

# In the order in which they are tried: names contain commas and blanks more often than tabs and semicolons.
_DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "blanks"}
# Number of lines from which the delimiter is found.
_SHOWN = 50
# Largest number of columns of a header that a message lists.
_SHOWN_CELLS = 10
# Names of the two columns of ends; the names of the first line say the direction of an edge.
_ONE_WAY = {"from": "to", "tail": "head", "sender": "receiver", "follower": "followed", "src": "dst"}
# Single letters are excluded, because many small files have nodes with such names.
_ENDS = _ONE_WAY | {"source": "target", "start": "end", "node1": "node2", "name1": "name2", "id1": "id2"}
_ENDS |= {"person1": "person2", "persona": "personb", "namea": "nameb", "friend1": "friend2"}
_DIRECTED = {"directed": True, "undirected": False}
# Data in braces that networkx writes after the two ends of an edge. Other braces belong to names.
_DATA = re.compile(r"^[^{\n]*[\s,;|]\{.*\}\s*$", re.MULTILINE)
#: The first line in which spreadsheets state the separator.
STATED = re.compile(r"sep=([\t;,|])\s*$", re.MULTILINE | re.IGNORECASE)


class _Row(NamedTuple):
    line: int
    fields: list[str]
    data: dict[str, object]


def delimited(file: Path, text: str, header: bool | None) -> EdgeTable:
    """Return the edges of a text with two names per line, and possibly further columns."""
    if STATED.match(text):
        text = f"#{text}"  # the line that states the separator is no edge
    delimiter = _delimiter(file, text)
    rows = list(_rows(file, text, delimiter))
    if not rows:
        raise ValueError(f"{file} must hold at least one edge, got none")
    sizes = [(row.line, row.fields) for row in rows]
    if header is None and begins_with_sizes(sizes):
        n_nodes, has_header, rows = size_of(file, sizes), False, rows[1:]
    else:
        n_nodes, has_header = None, _is_header(rows) if header is None else header
    names = _names(rows[0].fields, has_header)
    edges = rows[1:] if has_header else rows
    if not edges:
        raise ValueError(f"{file} must hold at least one edge, got a header and no more")
    first, second = _places_of_ends(names) if has_header else (0, 1)
    edges = [_widened(row, len(names), first) for row in edges]
    for row in edges:
        _check(file, row, names, delimiter)
    alone = [row for row in edges if _is_alone(row, first)]
    edges = [row for row in edges if not _is_alone(row, first)] if alone else edges
    columns: dict[str, list[object]] = {
        name: [_number_in(row.fields[at], delimiter) for row in edges]
        for at, name in enumerate(names)
        if at not in (first, second)
    }
    # Remove the empty columns that spreadsheets may write after the last column.
    columns = {name: cells for name, cells in columns.items() if not name.isdecimal() or any(cells)}
    for key in dict.fromkeys(key for row in edges for key in row.data):
        columns[key] = [row.data.get(key) for row in edges]
    directed, why = _direction(text, columns, names[first] if has_header else "")
    # List the cells: an edge with a faulty number looks like a header and would otherwise be lost unnoticed.
    what = f"with the header {', '.join(names[:_SHOWN_CELLS])}" if has_header else "without a header"
    if n_nodes is not None:
        what = "after a line with the numbers of nodes and edges"
    ends: list[tuple[Hashable, Hashable]] = [(row.fields[first], row.fields[second]) for row in edges]
    return EdgeTable(
        file=file,
        form=f"an edge list separated by {_DELIMITERS[delimiter]}, {what}",
        n_nodes=n_nodes,
        ends=ends,
        places=[f"line {row.line}" for row in edges],
        columns=columns,
        nodes=[row.fields[first] for row in alone],
        directed=directed,
        why=why,
        mixed=_mixed(columns),
    )


def _delimiter(file: Path, text: str) -> str:
    """Return the delimiter that splits all of the first lines into the same number of columns, at least two.

    Lines with a single cell are nodes without ties and do not count, if they are less than half of the lines.
    """
    is_possible = {}
    for delimiter in _DELIMITERS:
        try:
            # Rows are read from the whole text, because its first lines may end within quotes.
            widths = [len(row.fields) for row in islice(_rows(file, text, delimiter), _SHOWN)]
        except ValueError:
            widths = []
        if widths and widths[0] >= 2:
            is_possible[delimiter] = len({*widths} - {1}) == 1 and 2 * widths.count(1) < len(widths)
    for delimiter, is_even in is_possible.items():
        if is_even:
            return delimiter
    # Some line is faulty. Reading it will raise an error that names it.
    return next(iter(is_possible), " ")


def _rows(file: Path, text: str, delimiter: str) -> Iterator[_Row]:
    """Yield the cells of lines that are not comments, and the data in braces that networkx writes."""
    is_blank = delimiter == " "
    lines = (re.sub(r"[ \t]+", " ", line.strip()) for line in text.split("\n")) if is_blank else None
    source = io.StringIO(text, newline="") if lines is None else lines
    if "{" in text and _DATA.search(text):
        yield from _rows_with_data(file, text, delimiter)
        return
    reader = csv.reader(source, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for fields in reader:
            cells = [cell.strip() for cell in fields]
            if any(cells) and not cells[0].startswith("#"):
                yield _Row(reader.line_num, cells, {})
    except csv.Error as error:
        raise ValueError(f"{file}, line {reader.line_num}: must be columns, got {error}") from None


def _rows_with_data(file: Path, text: str, delimiter: str) -> Iterator[_Row]:
    for number, line in enumerate(text.split("\n"), 1):
        bare, brace, rest = line.strip().partition("{")
        if not bare or bare.startswith("#"):
            continue
        data: dict[str, object] = {}
        if brace:
            try:
                found = ast.literal_eval(brace + rest)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                found = None
            if not isinstance(found, dict):
                raise ValueError(
                    f"{file}, line {number}: the text in braces must be the data of an edge, as networkx"
                    f" writes it, got {shown(brace + rest)}; do not use braces in names"
                )
            data = {str(key): value for key, value in found.items()}
        bare = bare.rstrip().removesuffix(delimiter)
        fields = bare.split() if delimiter == " " else bare.split(delimiter)
        yield _Row(number, [field.strip() for field in fields], data)


def _is_header(rows: Sequence[_Row]) -> bool:
    """Return whether the first line is a header: it has known words, or text above a column of numbers."""
    first = rows[0].fields
    below = [row.fields for row in rows[1 : _SHOWN + 1] if len(row.fields) > 1]
    words = [_word(cell) for cell in first]
    if not {_ENDS[word] for word in words if word in _ENDS}.isdisjoint(words):
        return True
    return any(
        math.isnan(number_of(cell)) and all(not math.isnan(number_of(row[at])) for row in below)
        for at, cell in enumerate(first)
        if cell and below and all(at < len(row) for row in below)
    )


def _word(cell: str) -> str:
    """Return the distinctive part of a column's name: ``From_Node_ID`` gives ``from``."""
    return re.sub(r"(node|user|person)?(id|name|label)?$", "", re.sub(r"[\W_]+", "", cell.lower())) or (
        re.sub(r"[\W_]+", "", cell.lower())
    )


def _names(first: Sequence[str], has_header: bool) -> list[str]:
    if not has_header:
        return [f"{at + 1}" for at in range(len(first))]
    # A column without a name, or with the name of an earlier column, is named by its number.
    place = {name: at for at, name in reversed([*enumerate(first)])}
    return [
        name if name and place[name] == at else f"{name} {at + 1}".lstrip() for at, name in enumerate(first)
    ]


def _widened(row: _Row, width: int, first: int) -> _Row:
    """Return a row with one cell as a row of full width with one name."""
    if len(row.fields) > 1 or width < 2:
        return row
    return row._replace(fields=[row.fields[0] if at == first else "" for at in range(width)])


def _is_alone(row: _Row, first: int) -> bool:
    """Return whether a line has only one name: a node without ties."""
    return not row.data and [cell for cell in row.fields if cell] == [row.fields[first]]


def _number_in(cell: str, delimiter: str) -> str:
    """Return a cell without thousands separators: if commas separate columns, they are not decimal commas."""
    is_grouped = delimiter == "," and re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d*)?", cell)
    return cell.replace(",", "") if is_grouped else cell


def _check(file: Path, row: _Row, names: Sequence[str], delimiter: str) -> None:
    if len(row.fields) != len(names) or len(names) < 2:
        raise ValueError(
            f"{file}, line {row.line}: must have {max(2, len(names))} columns (two names, then the columns "
            f"of the first line) separated by {_DELIMITERS[delimiter]}, got {shown(row.fields[:5])}"
        )


def _places_of_ends(names: Sequence[str]) -> tuple[int, int]:
    words = [_word(name) for name in names]
    for at, word in enumerate(words):
        if word in _ENDS and _ENDS[word] in words:
            return at, words.index(_ENDS[word])
    return 0, 1


def _direction(text: str, columns: dict[str, list[object]], first: str) -> tuple[bool | None, str]:
    """Return the direction that the file gives, by a comment (SNAP), a column (Gephi) or its header."""
    comments = [line.lower() for line in text.split("\n", 9)[:9] if line.startswith("#")]
    for word, is_directed in _DIRECTED.items():
        if any(re.search(rf"\b{word}\b", line) for line in comments):
            return is_directed, "a comment in the first lines states it"
    for name, values in columns.items():
        kinds = {str(value).lower() for value in values}
        if _word(name) == "type" and len(kinds) == 1 and kinds <= set(_DIRECTED):
            return _DIRECTED[kinds.pop()], f"the column {name!r} states it"
    if _word(first) in _ONE_WAY:
        return True, f"the header has a column {first!r}"
    return None, ""


def _mixed(columns: dict[str, list[object]]) -> str:
    """Return a description of a column of Gephi's in which edges have different directions."""
    for name, values in columns.items():
        kinds = {str(value).lower(): str(value) or "nothing" for value in values}
        if _word(name) == "type" and len(kinds) > 1 and not kinds.keys().isdisjoint(_DIRECTED):
            return f"column {name} has {', '.join([*kinds.values()][:_SHOWN_CELLS])}"
    return ""
