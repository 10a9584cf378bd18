"""Small pieces of HTML: tables of results, in notebooks and in reports."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from cmab.results.tables import Row, cells_of, columns, is_text

__all__ = ["escape", "table"]


def table(rows: Sequence[Row], caption: str = "", *, grouped: bool = False) -> str:
    """Return the rows as a table; text stands left, numbers stand right, missing values are a dash."""
    names = columns(rows)
    kinds = ["text" if is_text(rows, name) else "number" for name in names]
    head = "".join(f'<th class="{kind}">{escape(name)}</th>' for kind, name in zip(kinds, names, strict=True))
    body = "\n".join(
        "<tr>"
        + "".join(f'<td class="{kind}">{escape(cell)}</td>' for kind, cell in zip(kinds, line, strict=True))
        + "</tr>"
        for line in cells_of(rows, grouped=grouped)
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
