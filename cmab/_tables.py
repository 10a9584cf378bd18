"""Rows of results as text for a terminal and as CSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cmab._streams import printable

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
Row = Mapping[str, Any]


def columns(rows: Iterable[Row]) -> list[str]:
    """Return the names of all columns in order of appearance."""
    return list(dict.fromkeys(name for row in rows for name in row))


def text(rows: Sequence[Row]) -> str:
    """Return the rows as an aligned table; numbers have four digits, missing ones a dash."""
    names = columns(rows)
    cells = [
        [printable(cell) for cell in line]
        for line in (names, *([shown(row.get(name)) for name in names] for row in rows))
    ]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    left = [all(isinstance(row.get(name), str | None) for row in rows) for name in names]
    lines = (
        "  ".join(
            cell.ljust(w) if is_left else cell.rjust(w)
            for cell, w, is_left in zip(line, widths, left, strict=True)
        )
        for line in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def shown(value: object) -> str:
    """Return a cell's text."""
    if value is None or value != value:  # NaN is not equal to itself
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def write_csv(path: str | os.PathLike[str], rows: Sequence[Row]) -> None:
    """Write the rows with full precision and a header.

    Text that a spreadsheet would take for a formula has an apostrophe before it, as spreadsheets write it.
    """
    names = columns(rows)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(map(_inert, names))
        writer.writerows([_inert(row.get(name, "")) for name in names] for row in rows)


def _inert(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
