"""Rows of results as tables: text, Markdown, LaTeX and HTML by tabulate, and files and frames."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from cmab.archive import write_bytes

Row = Mapping[str, Any]
Form = Literal["plain", "github", "latex_booktabs", "html"]
# Text that begins so is no formula, which may run programs, in any spreadsheet; neither is an empty text.
_PLAIN = re.compile(r"[\w!\"#$%&()*,./:;<>?\[\\\]^`{|}~]|$")
# A number with commas before each three digits.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")
#: Columns that hold p-values.
P_VALUES = ("p", "p (Holm)")


class Rows(list[Row]):
    """Rows that are shown as a table in a terminal and in a notebook."""

    def __repr__(self) -> str:
        return text(self) if self else "[]"

    def _repr_html_(self) -> str:
        return text(self, "html")


class Table(str):
    """A text that an interactive session shows without quotes, also without `print`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def numbers_of(texts: Sequence[str], *, grouped: bool = False) -> list[float]:
    """Return the numbers of a column as people write them, with a percent sign or commas; nan for other text.

    The whole column tells whether a comma marks decimals or thousands: it marks thousands if all commas stand
    before three digits, and a decimal point or a second comma shows it.

    Parameters
    ----------
    grouped : bool
        Whether such commas mark thousands even if nothing else shows it.

    Raises
    ------
    ValueError
        If nothing shows whether a comma marks decimals or thousands.

    Examples
    --------
    >>> from cmab.run.tables import numbers_of
    >>> numbers_of(["1,234.5", "1,200"]), numbers_of(["12,50", "9,99"]), numbers_of(["1.234,5", "30 %"])
    ([1234.5, 1200.0], [12.5, 9.99], [1234.5, 0.3])
    """
    cells = [text.strip().removesuffix("%").rstrip() for text in texts]
    given = [cell for cell in cells if "," in cell]
    is_grouped = bool(given) and all(map(_GROUPED.fullmatch, given))
    if is_grouped and not grouped and not any("." in cell or cell.count(",") > 1 for cell in cells):
        bare, point = given[0].replace(",", ""), float(given[0].replace(",", "."))
        raise ValueError(f"{given[0]} may mean {bare} or {point:g}; write one of these")
    found = []
    for text, cell in zip(texts, cells, strict=True):
        # With a decimal comma, points mark thousands.
        plain = cell.replace(",", "") if is_grouped else cell
        if "," in plain:
            plain = plain.replace(".", "").replace(",", ".")
        try:
            found.append(float(plain) / (100.0 if text.rstrip().endswith("%") else 1.0))
        except ValueError:
            found.append(float("nan"))
    return found


def columns(rows: Iterable[Row]) -> list[str]:
    """Return the names of all columns in order of appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def text(rows: Sequence[Row], form: Form = "plain") -> str:
    """Return the rows as an aligned table. Text is left-aligned, numbers are right-aligned.

    Parameters
    ----------
    form : {"plain", "github", "latex_booktabs", "html"}
        Plain text, Markdown, LaTeX (package booktabs) or HTML; a format of tabulate.
    """
    from tabulate import tabulate  # imported only if a table is printed

    names = columns(rows)
    cells = [[printable(_cell(name, row.get(name))) for name in names] for row in rows]
    if form == "github":  # tabulate does not escape these cells
        cells = [[cell.replace("|", r"\|") for cell in line] for line in cells]
    return tabulate(
        cells,
        [printable(name) for name in names],
        form,
        colalign=["left" if _is_text(rows, name) else "right" for name in names],
        disable_numparse=True,
        preserve_whitespace=True,
    )


def number(value: object) -> str:
    """Return a number with four significant digits, commas and no exponent for common sizes; "-" for none."""
    if is_missing(value):
        return "-"
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    is_whole = isinstance(value, int) or 1e4 <= abs(value) < 1e15
    return f"{value:,.0f}" if is_whole else f"{value:,.4g}"


def printable(text: str) -> str:
    """Return `text` with escapes for control characters, which could control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def is_missing(value: object) -> bool:
    """Return whether a value is None or NaN."""
    return value is None or value != value  # NaN is not equal to itself


def frame_of(rows: Sequence[Row], names: Sequence[str] | None = None) -> Any:
    """Return the rows as a ``pandas.DataFrame``; `names` are the columns, by default those of the rows."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ImportError("to_frame needs pandas: pip install 'cmab[frames]'") from None
    return pandas.DataFrame(rows, columns=columns(rows) if names is None else names)


def write_csv(path: str | os.PathLike[str], rows: Sequence[Row], names: Sequence[str] | None = None) -> None:
    """Write the rows with full precision and a header of `names`, by default the columns of the rows.

    Text that a spreadsheet would take for a formula gets an apostrophe before it, as in spreadsheets.
    """
    names = columns(rows) if names is None else names
    # Make the whole text first: a full disk must not leave half a table.
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow(map(inert, names))
    writer.writerows([inert(row.get(name, "")) for name in names] for row in rows)
    write_bytes(Path(path), lines.getvalue().encode("utf-8"))


def _cell(name: str, value: object) -> str:
    if name in P_VALUES and isinstance(value, float) and value == value:
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    return number(value)


def _is_text(rows: Sequence[Row], name: str) -> bool:
    return all(isinstance(row.get(name), str | None) for row in rows)


def inert(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: other first characters get an apostrophe."""
    return f"'{value}" if isinstance(value, str) and not _PLAIN.match(value) else value
