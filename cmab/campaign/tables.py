"""The progress of a campaign: by person and by week, in words, and as CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cmab.campaign.folder import CampaignFolder, labels_of
from cmab.campaign.reasons import LEVEL, values_alone
from cmab.campaign.reports import Round


@dataclass
class ByName:
    """How often a name was chosen, and the estimate of the model for it.

    Attributes
    ----------
    name : hashable
        The name.
    rounds : list of int
        The numbers of the reported rounds in which the name was chosen.
    brings : float
        In a network: how many people join, with the person, if only this person is asked. In a list: the mean
        result.
    """

    name: Hashable
    rounds: list[int] = field(default_factory=list)
    brings: float = math.nan

    @property
    def asked(self) -> int:
        """How often the name was chosen."""
        return len(self.rounds)


@dataclass
class ByWeek:
    """The rounds of one week.

    Attributes
    ----------
    monday : str
        The date of the Monday of the week.
    rounds : list of int
        The numbers of the rounds of which the choice was made in this week, without cancelled ones.
    waiting : int
        The number of these rounds that wait for a report.
    asked : int
        How many were asked in all.
    joined : float
        How many joined, counted in each round, including the people asked; or the sum of the results.
    told : list of Round
        The reported rounds.
    """

    monday: str
    rounds: list[int] = field(default_factory=list)
    waiting: int = 0
    asked: int = 0
    joined: float = 0.0
    told: list[Round] = field(default_factory=list)

    @property
    def different(self) -> str:
        """How many different people joined in this week."""
        return different_people(self.told)


def by_name(folder: CampaignFolder, most: int = 100) -> list[ByName]:
    """Return a row for each name that was chosen in a reported round, with the best estimate first."""
    rows: dict[Hashable, ByName] = {}
    for of in folder.rounds():
        for name in of.names if of.state == "reported" else ():
            rows.setdefault(name, ByName(name)).rounds.append(of.number)
    numbers = {label: at for at, label in enumerate(folder.problem.names.labels)}
    found = sorted((row for row in rows.values() if row.name in numbers), key=lambda row: -row.asked)[:most]
    chosen = [numbers[row.name] for row in found]
    for row, value in zip(found, values_alone(folder.problem.oracle, folder.beliefs(), chosen), strict=True):
        row.brings = value
    return sorted(found, key=lambda row: -row.brings)


def by_week(rounds: Sequence[Round]) -> list[ByWeek]:
    """Return a row for each week with a round that was not cancelled, oldest first."""
    rows: dict[str, ByWeek] = {}
    for of in rounds:
        if of.state == "cancelled":
            continue
        day = datetime.fromisoformat(of.asked)
        monday = (day - timedelta(days=day.weekday())).date().isoformat()
        row = rows.setdefault(monday, ByWeek(monday))
        row.rounds.append(of.number)
        row.asked += len(of.names)
        row.waiting += of.state == "waiting"
        if of.state == "reported":
            row.told.append(of)
        row.joined += 0.0 if math.isnan(of.count) else of.count
    return [rows[monday] for monday in sorted(rows)]


def different_people(rounds: Sequence[Round]) -> str:
    """Return how many different people joined: a number, or "at least" a number if some names are unknown.

    The people asked in a reported round count as joined.

    Examples
    --------
    >>> from cmab.campaign.tables import different_people
    >>> from cmab.campaign.reports import Round
    >>> first = Round(1, "2026-11-25", ("Ann",), "reported", count=2.0, joined={"Bob": None})
    >>> second = Round(2, "2026-11-25", ("Bob",), "reported", count=1.0, joined={})
    >>> different_people([first, second])
    '2'
    >>> different_people([first, Round(3, "2026-11-25", ("Bob",), "reported", count=3.0)])
    'at least 2'
    """
    told = [of for of in rounds if of.state == "reported"]
    names = {name for of in told for name in (*of.names, *(of.joined or {}))}
    is_whole = all(of.count == len(of.names) + len(of.joined or {}) for of in told)
    return f"{len(names):,}" if is_whole else f"at least {len(names):,}"


def listed_rounds(numbers: Sequence[int]) -> str:
    """Return the numbers of rounds with runs joined: ``1 to 3, 7``. Spreadsheets take ``1-3`` for a date.

    Examples
    --------
    >>> from cmab.campaign.tables import listed_rounds
    >>> listed_rounds([1, 2, 3, 7])
    '1 to 3, 7'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs)


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
    what = "brings_about" if folder.is_network else "mean_result"
    return [
        {
            "name": str(row.name),
            "asked": row.asked,
            "rounds": listed_rounds(row.rounds),
            what: round(row.brings, 3),
        }
        for row in by_name(folder)
    ]


def _weeks(folder: CampaignFolder) -> list[Row]:
    return [
        {
            "week_of": row.monday,
            "rounds": listed_rounds(row.rounds),
            "waiting": row.waiting,
            "asked": row.asked,
            "joined" if folder.is_network else "total": row.joined,
            **({"different_people": row.different} if folder.is_network else {}),
        }
        for row in by_week(folder.rounds())
    ]


def _estimates(folder: CampaignFolder) -> list[Row]:
    beliefs = folder.beliefs()
    low, high = beliefs.intervals(LEVEL)
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
    numbers = {ticket: of.number for of in folder.rounds() for ticket in (of.ticket, *of.former)}
    return [
        {
            "line": event["line"],
            "at": event["at"],
            "author": event.get("author") or "",
            "event": WORDS.get(event["event"], event["event"]),
            "round": numbers.get(event.get("ticket", -1)),
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


_MOST = 20


def counted(number: float, one: str, more: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> from cmab.campaign.tables import counted
    >>> counted(1, "round"), counted(2, "person", "people")
    ('1 round', '2 people')
    """
    text = f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
    return f"{text} {one if number == 1 else more or one + 's'}"


def size_in_words(folder: CampaignFolder) -> str:
    """Return the size of the campaign and the size of a round."""
    options, n = folder.options, len(folder.problem.names.labels)
    each = (
        f"{options.k:,} in a round"
        if options.k is not None
        else f"a budget of {options.budget:g} for a round"
    )
    if folder.problem.graph is None:
        return f"{counted(n, 'item')}, {each}"
    return f"{counted(n, 'person', 'people')}, {counted(folder.problem.n_ties, 'tie')}, {each}"


def outcome_in_words(of: Round, *, is_network: bool) -> str:
    """Return the result of a round."""
    if of.state == "waiting":
        return "waiting for a report"
    if of.state == "cancelled":
        return "cancelled"
    if math.isnan(of.count):
        return "reported in part"
    if is_network:
        return f"{counted(of.count, 'person', 'people')} joined, with those who were asked"
    return f"results {', '.join(f'{name}: {value:g}' for name, value in of.results.items())}"


def summary_lines(folder: CampaignFolder) -> Iterator[str]:
    """Yield the lines of the summary: the state, the last rounds, and the tables by person and by week."""
    rounds = folder.rounds()
    yield f"{folder.options.title}: {size_in_words(folder)}"
    if not rounds:
        yield "No round yet; `cmab campaign ask` chooses the first."
        return
    reported = [of for of in rounds if of.state == "reported"]
    waiting = [of for of in rounds if of.state == "waiting"]
    cancelled = len(rounds) - len(reported) - len(waiting)
    more = f", {cancelled:,} cancelled" if cancelled else ""
    yield f"{counted(len(rounds), 'round')}: {len(reported):,} reported, {len(waiting):,} waiting{more}"
    known = [of.count for of in reported if not math.isnan(of.count)]
    if known and folder.is_network:
        yield f"On average {sum(known) / len(known):.1f} people joined in a round, with those who were asked."
        yield (
            f"Counted in each round, {sum(known):g} joined in all; these are {different_people(rounds)}"
            " different people."
        )
    for of in waiting[:_MOST]:
        yield f"Round {of.number} waits for its report since {of.asked[:10]}: {labels_of(of.names)}"
    yield from _progress(folder)
    certificate = folder.campaign.summary().certificate if reported else None
    if certificate is not None and math.isfinite(certificate.exact_gap):
        best = "the best choice" if not folder.is_network else "the best people"
        yield ""
        if not is_telling(folder, certificate.exact_gap):
            yield TOO_EARLY
            return
        if any(of.joined is not None for of in reported):
            yield "The next sentence uses only results of ties that are certain."
        yield certificate.gap_in_words(best, labels_of(certificate.labels))


#: The sentence instead of a bound that says nothing.
TOO_EARLY = "It is too early to tell how much more another choice would bring."


def is_telling(folder: CampaignFolder, gap: float) -> bool:
    """Return whether a bound on the gain of a better choice says more than the range of the results.

    The bound must be less than nine tenths of the largest difference between the results of two rounds. In a
    network, all results include the people asked.
    """
    options, n = folder.options, len(folder.problem.names.labels)
    widest = n - (options.k or 1) if folder.is_network else (options.k or n) * options.largest
    return gap < 0.9 * widest


def _progress(folder: CampaignFolder) -> Iterator[str]:
    about = "By item (the mean result is an estimate)"
    if folder.is_network:
        about = "By person (how many people join, with the person, if only this person is asked; an estimate)"
    people = _people(folder)
    yield from ["", about, *aligned(people[:_MOST])]
    if len(people) > _MOST:
        yield f"  and {len(people) - _MOST:,} more"
    yield from ["", "By week", *aligned(_weeks(folder)[-_MOST:])]


def aligned(rows: Sequence[Row]) -> Iterator[str]:
    """Yield rows with aligned columns below their header."""
    table = [list(rows[0]) if rows else [], *(list(row.values()) for row in rows)]
    cells = [[f"{cell:,.7g}" if isinstance(cell, float) else str(cell) for cell in row] for row in table]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        texts = (text.replace("_", " ") if row is cells[0] else text for text in row)
        yield f"  {'  '.join(map(str.ljust, texts, wide))}".rstrip()
