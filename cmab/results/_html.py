"""Small pieces of HTML: tables of results, in notebooks and in reports."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cmab.results.tables import Row, columns, decimals, shown

__all__ = ["escape", "table"]


def table(rows: Sequence[Row], caption: str = "") -> str:
    """Return the rows as a table; text stands left, numbers stand right, missing values are a dash."""
    names = columns(rows)
    # By column, not by cell: a missing number stands under numbers.
    kinds = {
        name: "text" if all(isinstance(row.get(name), str | None) for row in rows) else "number"
        for name in names
    }
    places = {name: decimals([row.get(name) for row in rows]) for name in names}
    head = "".join(f'<th class="{kinds[name]}">{escape(name)}</th>' for name in names)
    body = "\n".join(
        "<tr>"
        + "".join(
            f'<td class="{kinds[name]}">{escape(shown(row.get(name), places[name]))}</td>' for name in names
        )
        + "</tr>"
        for row in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
