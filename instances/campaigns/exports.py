"""Tables of a campaign as CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from instances.campaigns.folder import CampaignFolder
from instances.campaigns.progress import by_name, by_week, listed_rounds

Row = dict[str, Any]
#: The first characters of text that spreadsheets take for formulas. An apostrophe makes the others text.
_FORMULA = ("=", "+", "-", "@", "'")
#: Categories of Unicode whose characters are not visible at the beginning of a text.
_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Me", "Cn", "Co", "Cs")
_BREAKS = dict.fromkeys(map(ord, "\t\r\n\v\f"), " ")
FORMATS = ("csv", "json", "parquet")


class Joined(str):
    """A cell with several names, each of which can be made inert.

    Parameters
    ----------
    names : iterable
        The names.
    """

    __slots__ = ("names",)
    names: tuple[str, ...]

    def __new__(cls, names: Iterable[object]) -> Joined:
        texts = tuple(map(str, names))
        made = super().__new__(cls, "; ".join(texts))
        made.names = texts
        return made


def _rounds(folder: CampaignFolder) -> list[Row]:
    return [
        {
            "round": of.number,
            "state": of.state,
            "asked_at": of.asked,
            "asked": Joined(of.names),
            "joined" if folder.is_network else "total": _or_none(of.count),
            "names_joined" if folder.is_network else "results": _details(folder, of),
            "reported_at": of.told if of.state == "reported" else None,
            "corrected": of.corrected,
            "author": of.author,
        }
        for of in folder.rounds()
    ]


def _details(folder: CampaignFolder, of: Any) -> str:
    if not folder.is_network:
        return Joined(f"{name}: {value:g}" for name, value in of.results.items())
    joined = {} if of.joined is None else of.joined
    return Joined(name if step is None else f"{name} (step {step})" for name, step in joined.items())


def _people(folder: CampaignFolder) -> list[Row]:
    what = ("others_joined", "others_joined_per_person_asked") if folder.is_network else ("total", "mean")
    rows = []
    for row in by_name(folder.rounds(), is_network=folder.is_network):
        second = row.share if folder.is_network else row.others / row.known if row.known else math.nan
        values = {what[0]: row.others, what[1]: _or_none(second)}
        rows.append(
            {"name": str(row.name), "asked": row.asked, "rounds": listed_rounds(row.rounds), **values}
        )
    return rows


def _weeks(folder: CampaignFolder) -> list[Row]:
    return [
        {
            "week_of": row.monday,
            "rounds": listed_rounds(row.rounds),
            "waiting": row.waiting,
            "asked": row.asked,
            "joined" if folder.is_network else "total": row.joined,
        }
        for row in by_week(folder.rounds())
    ]


def _estimates(folder: CampaignFolder) -> list[Row]:
    beliefs = folder.beliefs()
    low, high = beliefs.intervals()
    numbers = zip(beliefs.means.tolist(), low.tolist(), high.tolist(), beliefs.counts.tolist(), strict=True)
    return [
        {
            **_named(label, folder.is_network),
            "estimate": round(mean, 6),
            "low": round(least, 6),
            "high": round(most, 6),
            "observed": round(seen, 3),
        }
        for label, (mean, least, most, seen) in zip(folder.problem.oracle._arm_labels(), numbers, strict=True)
    ]


def _named(label: Hashable, is_network: bool) -> Row:
    if is_network and isinstance(label, tuple):
        return {"from": str(label[0]), "to": str(label[1])}
    return {"name": str(label)}


def _history(folder: CampaignFolder) -> list[Row]:
    return [
        {
            "line": event["line"],
            "at": event["at"],
            "author": event.get("author") or "",
            "event": WORDS.get(event["event"], event["event"]),
            "round": event["ticket"] + 1 if "ticket" in event else None,
            "names": Joined(event.get("names") or ()),
            "undone": event["undone"],
        }
        for event in folder.history()
    ]


#: The kinds of events in plain words.
WORDS = {
    "campaign": "started",
    "changed": "options changed",
    "ask": "chosen",
    "tell": "reported",
    "correct": "corrected",
    "cancel": "cancelled",
    "undo": "undone",
}
#: The tables that can be exported.
TABLES: dict[str, Callable[[CampaignFolder], list[Row]]] = {
    "rounds": _rounds,
    "people": _people,
    "weeks": _weeks,
    "estimates": _estimates,
    "history": _history,
}


def table_of(folder: CampaignFolder, name: str) -> list[Row]:
    """Return the rows of a table.

    Raises
    ------
    ValueError
        If there is no such table.
    """
    if name not in TABLES:
        raise ValueError(f"table must be one of {', '.join(TABLES)}, got {name!r}")
    return TABLES[name](folder)


def exported(folder: CampaignFolder, name: str, form: str) -> bytes:
    """Return a table as the bytes of a file; ``all`` is all tables in one file, for JSON only.

    Raises
    ------
    ValueError
        If there is no such table or format.
    ImportError
        If the package for Parquet is missing.
    """
    if form not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {form!r}")
    if name == "all":
        if form != "json":
            raise ValueError(f"all tables together must be exported as JSON, got {form}")
        content: Any = {"title": folder.options.title, **{each: table_of(folder, each) for each in TABLES}}
        return _json(content)
    rows = table_of(folder, name)
    return {"csv": csv_of, "json": _json, "parquet": _parquet}[form](rows)


def csv_of(rows: list[Row]) -> bytes:
    """Return rows as CSV; text that a spreadsheet would take for a formula gets an apostrophe before it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    if rows:
        writer.writerow(map(inert, rows[0]))
        writer.writerows([inert(value) for value in row.values()] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def inert(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, Joined):
        return "; ".join(str(inert(name)) for name in value.names)
    if not isinstance(value, str):
        return value
    if value[:1].isalnum() and value.isprintable():
        return value
    # Some programs split cells at these characters, also within quotes.
    text = value.translate(_BREAKS)
    seen = unicodedata.normalize("NFKC", text)
    while seen and unicodedata.category(seen[0]) in _INVISIBLE:
        seen = seen[1:]
    return f"'{text}" if seen.startswith(_FORMULA) else text


def _json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False).encode("utf-8", "replace")


def _parquet(rows: list[Row]) -> bytes:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError('Parquet files need pyarrow: pip install "cmab[serve]"') from None
    sink = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows), sink)
    return sink.getvalue()


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
