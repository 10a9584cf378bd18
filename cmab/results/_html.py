"""Tables of results as HTML, in notebooks and in reports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from html import escape
from typing import Any

from cmab.results.tables import Row, cells_of, columns, is_text

__all__ = ["escape", "table"]

_TABLE = """\
<table{% if sortable %} class="sortable"{% endif %}>
{%- if caption %}<caption>{{ caption }}</caption>{% endif %}
<thead><tr>
{%- for name, side in heads %}<th scope="col" style="text-align:{{ side }}">{{ name }}</th>{% endfor -%}
</tr></thead>
<tbody>
{%- for line in lines %}{% set strong = loop.index0 in bold %}
<tr>
{%- for cell in line %}<td style="text-align:{{ heads[loop.index0][1] }}">
{%- if strong %}<strong>{{ cell }}</strong>{% else %}{{ cell }}{% endif %}</td>{% endfor -%}
</tr>
{%- endfor %}
</tbody></table>"""


def table(
    rows: Sequence[Row],
    caption: str = "",
    *,
    bold: Collection[int] = (),
    sortable: bool = True,
) -> str:
    """Return the rows as an HTML table: text is left-aligned, numbers right-aligned, missing values a dash.

    `bold` contains the numbers of the rows in bold. In a report, a click on a heading of a `sortable` table
    sorts its rows.
    """
    heads = [(name, "left" if is_text(rows, name) else "right") for name in columns(rows)]
    lines = cells_of(rows, grouped=True)
    made: str = _template().render(heads=heads, lines=lines, caption=caption, bold=bold, sortable=sortable)
    return made


@cache
def _template() -> Any:
    from jinja2 import Environment

    return Environment(autoescape=True).from_string(_TABLE)
