"""Small tables that people upload: lists of names, costs and reports."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from instances.campaigns.names import clean, short
from instances.networks._delimited import STATED

#: The largest number of lines of a table.
MOST_LINES = 100_000
_SEPARATORS = "\t;,|"
_LONGEST_CELL = 1_000
_NAME_HEADERS = {"name", "names", "person", "people", "who", "item", "items", "label", "id"}


class Line(NamedTuple):
    """A line of a table: its number in the file, from 1, and its cells."""

    number: int
    cells: list[str]


def decoded(data: bytes) -> str:
    """Return the text of a file in UTF-8, UTF-16 with a byte order mark, or Windows-1252.

    Raises
    ------
    ValueError
        If the file is not a text.
    """
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    encodings = ["utf-16"] if is_wide else ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise ValueError("the table must be a text file, such as CSV, got other data; save it as CSV (UTF-8)")


def lines_of(text: str, *, comment: str = "#") -> list[Line]:
    r"""Return the lines of a table with cells between commas, semicolons, tabs or bars.

    A first line such as ``sep=;`` states the separator. Empty lines and lines that begin with `comment` are
    left out. If `comment` is empty, only empty lines are.

    Raises
    ------
    ValueError
        If the table is empty or too long, or a quote does not end.

    Examples
    --------
    >>> from instances.campaigns.sheets import lines_of
    >>> lines_of('name;cost\n"Meyer, Anna"; 2')
    [Line(number=1, cells=['name', 'cost']), Line(number=2, cells=['Meyer, Anna', '2'])]
    """
    first = next((line for line in text.splitlines() if line.strip() and line[:1] != "#"), "")
    stated = STATED.match(text)  # spreadsheets write the separator as the first line
    separator = stated[1] if stated else max(_SEPARATORS, key=first.count)
    found = list(_cells(text, separator, comment))[1 if stated else 0 :]
    if not found:
        raise ValueError("the table must have at least one line, got none")
    return found


def _cells(text: str, separator: str, comment: str) -> Iterator[Line]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True
    )
    last = 0
    try:
        for row in reader:
            number, last = last + 1, reader.line_num
            if last > MOST_LINES:
                raise ValueError(f"the table must have at most {MOST_LINES:,} lines; split it")
            cells = [clean(cell) for cell in row]
            if any(cells) and not (comment and cells[0].startswith(comment)):
                for cell in cells:
                    if len(cell) > _LONGEST_CELL:
                        raise ValueError(
                            f"line {number}: a cell must have at most {_LONGEST_CELL:,} characters, got"
                            f" {short(cell)}"
                        )
                yield Line(number, cells)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}; check the quotes") from None


def column(header: list[str], names: set[str]) -> int | None:
    """Return the position of the column with one of these names, or None."""
    return next((at for at, name in enumerate(header) if name.casefold() in names), None)


def names_in(text: str) -> list[str]:
    """Return the names in the first column, or in the column ``name``.

    Raises
    ------
    ValueError
        If there is no name, or a name is repeated or empty; the message has the line.
    """
    lines = lines_of(text)
    at = column(lines[0].cells, _NAME_HEADERS)
    found: dict[str, int] = {}
    for number, cells in lines[0 if at is None else 1 :]:
        name = cells[at or 0] if len(cells) > (at or 0) else ""
        if not name:
            raise ValueError(f"line {number}: a name must not be empty")
        if name in found:
            raise ValueError(f"line {number}: {name} must be listed once, but line {found[name]} has it, too")
        found[name] = number
    if not found:
        raise ValueError("the list must have at least one name, got none")
    return list(found)


def costs_in(text: str) -> dict[str, float]:
    """Return the cost of each name, from the columns ``name`` and ``cost``, or from the first two.

    Raises
    ------
    ValueError
        If a cost is missing, not positive or not a number; the message has the line.
    """
    lines = lines_of(text)
    name_at, cost_at = (
        column(lines[0].cells, _NAME_HEADERS),
        column(lines[0].cells, {"cost", "costs", "price"}),
    )
    has_header = cost_at is not None
    name_at, cost_at = name_at or 0, 1 if cost_at is None else cost_at
    found: dict[str, float] = {}
    for number, cells in lines[1 if has_header else 0 :]:
        try:
            cost = number_in(cells[cost_at])
        except (IndexError, ValueError):
            raise ValueError(f"line {number}: the cost must be a number, got {cells}") from None
        if not 0.0 < cost < float("inf"):
            raise ValueError(f"line {number}: the cost must be positive, got {cells[cost_at]}")
        if cells[name_at] in found:
            raise ValueError(f"line {number}: {cells[name_at]} must be listed once")
        found[cells[name_at]] = cost
    return found


def number_in(text: str) -> float:
    """Return the number that a text means; a decimal comma is allowed.

    Raises
    ------
    ValueError
        If the text is not a number.
    """
    return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
