"""Rows of results as text for a terminal and as CSV."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from cmab._streams import printable
from cmab.archive import write_bytes

# Significant digits of a number, largest number of decimals, and limit above which numbers get an exponent.
_DIGITS = 4
_MOST_PLACES = 6
_LONG = 1e9
# A spreadsheet takes text that begins with one of these for a formula, which may run programs.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "α": r"$\alpha$",
    "β": r"$\beta$",
}
#: Columns that hold p-values.
P_VALUES = ("p", "p (Holm)")
_NUMERIC = re.compile(r"[*\s]*[-−+<=]?\s*(\d|$)")
Row = Mapping[str, Any]


def columns(rows: Iterable[Row]) -> list[str]:
    """Return the names of all columns in order of appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def text(rows: Sequence[Row], *, grouped: bool = False, form: str = "plain") -> str:
    """Return the rows as an aligned table; numbers have four digits or more, missing values a dash.

    `form` is one of tabulate's formats, such as ``"github"`` for Markdown.
    """
    from tabulate import tabulate  # imported only if a table is printed

    names = columns(rows)
    cells = [[printable(cell) for cell in line] for line in [names, *cells_of(rows, grouped=grouped)]]
    if form == "github":  # tabulate does not escape these cells
        cells = [[cell.replace("|", r"\|") for cell in line] for line in cells]
    return tabulate(
        cells if form == "plain" else cells[1:],  # tabulate would widen the columns by their headings
        () if form == "plain" else cells[0],
        form,
        colalign=["left" if is_text(rows, name) else "right" for name in names],
        disable_numparse=True,
        preserve_whitespace=True,
    )


def latex(rows: Sequence[Row], *, caption: str = "", bold: Sequence[int] = ()) -> str:
    """Return the rows as a LaTeX table (package booktabs); `bold` has the numbers of the rows in bold."""
    names = columns(rows)
    places = "".join("l" if is_text(rows, name) else "r" for name in names)
    # LaTeX ignores the spaces that align cells in a terminal.
    lines = [[escaped(" ".join(cell.split())) for cell in line] for line in cells_of(rows, grouped=True)]
    for number in bold:
        lines[number] = [rf"\textbf{{{cell}}}" for cell in lines[number]]
    body = [" & ".join(line) + r" \\" for line in lines]
    head = " & ".join(map(escaped, names)) + r" \\"
    table = [rf"\begin{{tabular}}{{{places}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    table.append(r"\end{tabular}")
    if caption:
        table = [r"\begin{table}", r"\centering", rf"\caption{{{escaped(caption)}}}", *table, r"\end{table}"]
    return "\n".join(table)


def escaped(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    return "".join(_LATEX.get(letter, letter) for letter in printable(text))


def is_text(rows: Sequence[Row], name: str) -> bool:
    """Return whether a column has text and is left-aligned; missing numbers and intervals are not text."""
    values = [row.get(name) for row in rows]
    if not all(isinstance(value, str | None) for value in values):
        return False
    # The first column has names, also if the names look like numbers.
    return name == columns(rows)[0] or not all(map(_NUMERIC.match, filter(None, values)))


def cells_of(rows: Sequence[Row], *, grouped: bool = False) -> list[list[str]]:
    """Return the text of each cell; all numbers of a column have the same number of decimals."""
    names = columns(rows)
    places = {name: decimals([row.get(name) for row in rows]) for name in names}
    return [
        [
            p_value(row[name]) if name in P_VALUES else shown(row.get(name), places[name], grouped=grouped)
            for name in names
        ]
        for row in rows
    ]


def is_missing(value: object) -> bool:
    """Return whether a value is None or NaN."""
    return value is None or value != value  # NaN is not equal to itself


def p_value(value: float) -> str:
    """Return the text of a p-value, "< 0.001" if it is smaller than 0.001."""
    if is_missing(value):
        return "-"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def decimals(values: Sequence[object]) -> int | None:
    """Return the number of decimals of a column, or None if no number of decimals suits it.

    With it, the largest number has at least four digits, and the smallest one except 0 has at least two. The
    result is None if the numbers are too far apart, too large or too small.
    """
    sizes = [abs(value) for value in values if isinstance(value, float) and 0.0 < abs(value) < math.inf]
    if not sizes:
        return None
    most, least = (math.floor(math.log10(end(sizes))) for end in (max, min))
    places = max(0, _DIGITS - 1 - most)
    # Add one decimal if it gives the smallest number its second digit.
    places += 1 - least == places + 1
    is_readable = max(sizes) < _LONG and 1 - least <= places <= _MOST_PLACES
    return places if is_readable else None


def shown(value: object, places: int | None = None, *, grouped: bool = False) -> str:
    """Return the text of a cell: a number has `places` decimals, or four digits and no exponent.

    `grouped` puts commas between thousands.
    """
    comma = "," if grouped else ""
    if is_missing(value):
        return "-"
    if grouped and isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if places is not None:
        return f"{value:{comma}.{places}f}"
    return f"{value:{comma}.0f}" if 10.0 ** (_DIGITS - 1) <= abs(value) < _LONG else f"{value:.{_DIGITS}g}"


def frame_of(rows: Sequence[Row], instead: str, names: Sequence[str] | None = None) -> Any:
    """Return the rows as a ``pandas.DataFrame``; without pandas, the error message recommends `instead`.

    `names` are the columns, by default the columns of the rows.
    """
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ImportError(
            f"to_frame needs pandas: pip install 'cmab[frames]'. {instead} works without pandas"
        ) from None
    return pandas.DataFrame(rows, columns=columns(rows) if names is None else names)


def write_csv(path: str | os.PathLike[str], rows: Sequence[Row], names: Sequence[str] | None = None) -> None:
    """Write the rows with full precision and a header of `names`, by default the columns of the rows.

    Text that a spreadsheet would take for a formula gets an apostrophe before it, as in spreadsheets.
    """
    names = columns(rows) if names is None else names
    # Make the whole text first: a full disk must not leave half a table.
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(map(_inert, names))
    writer.writerows([_inert(row.get(name, "")) for name in names] for row in rows)
    # The folder may come from someone else and contain a link that leads out of it.
    write_bytes(Path(path), text.getvalue().encode("utf-8"))


def _inert(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
