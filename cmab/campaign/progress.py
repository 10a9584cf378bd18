"""The progress of a campaign: the reasons for a choice, tables by round and by name, and sentences."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Any

import numpy as np

from cmab.arrays import FloatArray
from cmab.campaign.files import value_of
from cmab.campaign.folder import CampaignFolder
from cmab.campaign.replay import Standing
from cmab.campaign.reports import Round, is_left_out, joined_ever, not_new, round_in, round_numbers
from cmab.offline.log import written
from cmab.run.tables import inert

#: The number of draws from the posterior for expected results; fewer in a network of so many ties.
_DRAWS, _FEW_DRAWS, _LARGE = 40, 8, 20_000

Row = dict[str, Any]


# The reasons for a choice


def reasons_of(folder: CampaignFolder, of: Round) -> list[Row]:
    """Return the reason for each name of a round.

    A row has the ``name``; its ``estimate`` (`expected`); how it is among the ``best``, or an empty text;
    in how many reported rounds it was ``asked`` or chosen; the rounds ``missed``, for which the person was
    chosen, but did not come or was not asked; the number of another round that is ``waiting`` with the name,
    or 0; ``is_first``, if there is no report yet; and ``is_alone``, if no tie leads from the person.
    """
    rounds = folder.rounds()
    told = [each for each in rounds if each.state == "reported"]
    waiting = [each for each in rounds if each.state == "waiting" and each.number != of.number]
    known = not_new(rounds, but=of).difference(of.names) if of.is_new_only else set()
    labels, graph = folder.problem.names.labels, folder.problem.graph
    tellers = {*labels} if graph is None else {labels[at] for at in graph.tails.tolist()}
    means = folder.campaign.beliefs().means
    # The first of these choices with the name says how it is best.
    choices = {"best so far" if told else "best by the shape of the network": folder.best(means=means)}
    if known:
        choices["best of the new people"] = folder.best(known, known, means)
    if of.left_out:
        choices["best of those who remain"] = folder.best(known.union(of.left_out), known, means)
    best = {labels[at]: how for how in reversed(choices) for at in choices[how].tolist()}
    best = dict.fromkeys(of.names if of.is_best else (), "best when chosen") | best
    best = best if told or folder.is_network else {}  # nothing is known about the items
    return [
        {
            "name": name,
            "estimate": estimate,
            "best": best.get(name, ""),
            "asked": sum(name in each.names for each in told),
            "missed": [each.number for each in told if name in each.planned and name not in each.names],
            "waiting": max((each.number for each in waiting if name in each.names), default=0),
            "is_first": not told,
            "is_alone": name not in tellers,
        }
        for name, estimate in zip(of.names, expected(folder, of.names, known), strict=True)
    ]


# Estimates


def draws_of(folder: CampaignFolder) -> list[FloatArray]:
    """Return draws of the means from the posterior, which depend on the reports only."""
    beliefs, rng = folder.campaign.beliefs(), np.random.default_rng(0)
    few = folder.problem.oracle.n_arms >= _LARGE
    return [beliefs.draw(rng) for _ in range(_FEW_DRAWS if few else _DRAWS)]


def expected(
    folder: CampaignFolder, choices: Sequence[str | Sequence[str]], known: Collection[str] = ()
) -> list[float]:
    """Return the expected result of each choice, a name or some, from the same draws and random numbers.

    In a network: how many people join, with those asked; those that are `known` do not count. In a list: the
    sum of the means of the items.
    """
    oracle, number = folder.problem.oracle_without(known), folder.problem.names.number
    draws = draws_of(folder) if folder.is_network else [folder.campaign.beliefs().means]
    names = [[one] if isinstance(one, str) else one for one in choices]
    entries = [np.array([number[name] for name in some]) for some in names]
    values = [[value_of(oracle, one, means, at) for at, means in enumerate(draws)] for one in entries]
    return [float(np.mean(row)) for row in values]


# Tables


def by_name(folder: CampaignFolder, most: int = 10_000) -> list[Row]:
    """Return a row for each name in a reported round or then in the best choice, with the best first."""
    rounds: dict[str, list[int]] = {}
    for of in folder.rounds():
        for name in of.names if of.state == "reported" else ():
            rounds.setdefault(name, []).append(of.number)
    often = sorted(rounds, key=lambda name: -len(rounds[name]))[:most]
    for at in folder.best().tolist() if often else ():
        rounds.setdefault(folder.problem.names.labels[at], [])
    often += [name for name in rounds if not rounds[name]]
    rows: list[Row] = [
        {"name": name, "times": len(rounds[name]), "estimate": estimate, "rounds": rounds[name]}
        for name, estimate in zip(often, expected(folder, often), strict=True)
    ]
    return sorted(rows, key=lambda row: -row["estimate"])


def different_people(rounds: Sequence[Round]) -> str:
    """Return how many different people joined: a number, or "at least" a number if some names are unknown.

    The people asked in a reported round count as joined.
    """
    told = [of for of in rounds if of.state == "reported"]
    names = joined_ever(rounds)
    is_whole = all(of.count == len(of.names) + len(of.joined or {}) for of in told)
    least = max([len(names), *(int(of.count) for of in told if not math.isnan(of.count))])
    return f"{least:,}" if is_whole else f"at least {least:,}"


def _rows_of(of: Round, *, is_network: bool) -> list[Row]:
    """Return the row of a round of a network, or that of each item of a round of a list."""
    is_told, joined = of.state == "reported", (of.joined or {}).items()
    results: list[Row] = [{"item": name, "result": of.results.get(name)} for name in of.names]
    if is_network:
        of_people = {
            "chosen": [*of.planned],
            "asked": [*of.names] if is_told else None,
            "only new people count": of.is_new_only,
            "people who joined": None if math.isnan(of.count) else of.count,
            "for the first time": of.n_new,
            "a number only": is_told and of.joined is None,
            "besides those asked": [f"{name}{'' if step is None else f' = {step}'}" for name, step in joined],
            "of them by another way": [*of.alone],
            "may have joined": [*of.unknown],
        }
        results = [of_people]
    begin = {"round": of.number, "state": of.state, "chosen at": _local(of.asked)}
    end = {"reported at": _local(of.told or "") if is_told else None, "corrected": of.corrected}
    return [begin | result | end for result in results]


def _local(text: str) -> str:
    """Return a time in the time zone of this computer, as spreadsheets read it."""
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}" if text else ""


def tables_of(folder: CampaignFolder) -> list[str]:
    """Return the names of the tables that can be exported."""
    return ["rounds", "people" if folder.is_network else "items", "history"]


def exported(folder: CampaignFolder, name: str) -> bytes:
    """Return a table as the bytes of a CSV file."""
    if name == "history":
        rows = [row | {"at": _local(row["at"])} for row in history_of(folder)]
    else:
        rows = [row for of in folder.rounds() for row in _rows_of(of, is_network=folder.is_network)]
        rows = rows if name == "rounds" else by_name(folder)
    of_items = {"name": "item", "times": "times chosen", "estimate": "estimated result"}
    of_people = {"name": "person", "times": "times asked", "estimate": "brings about"}
    called = of_people if folder.is_network else of_items
    called |= {"rounds": "in rounds", "at": "time", "undone": "taken back"}
    rows = [{called.get(key, key): value for key, value in row.items()} for row in rows]
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerows([map(_cell, row) for row in (*rows[:1], *map(dict.values, rows))])
    return text.getvalue().encode("utf-8-sig")


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 3)
    return "; ".join(str(inert(name)) for name in value) if isinstance(value, list) else inert(value)


# The history


def history_of(folder: CampaignFolder) -> list[Row]:
    """Return the events in words, oldest first. A choice in place of another one is one row."""
    events = folder.history()
    numbers, words, reports = round_numbers(events), dict[int, str](), dict[int, int]()
    asks = {event["ticket"]: event for event in events if event["event"] == "ask"}
    replaced = {event["replaced_by"]: event for event in events if "replaced_by" in event}
    rows = []
    for event in events:
        if "withdrawn" in event:  # a part of the undo before it
            continue
        words[event["line"]] = words_of(event)
        if "replaced_by" in event:  # a part of the choice before it
            continue
        kind, ticket, told = event["event"], event.get("ticket", -1), words[event["line"]]
        details, undone = event.get("note", ""), event["undone"]
        if kind == "ask":
            details = _chosen(event)
            if ticket in replaced:
                told, undone = "chosen again", replaced[ticket]["undone"]
        elif is_left_out(event):
            details = "nothing is learned from the round"
        elif kind in ("tell", "correct"):
            # The first report of a round that was left out before is a correction of an empty one.
            told = words[event["line"]] = "corrected" if ticket in reports.values() else "reported"
            reports[event["line"]] = ticket
            details = _reported(round_in(Standing(asks[ticket], event, None, 0), 0))
        elif kind == "undo":
            details = words[event["of_line"]]
            reports.pop(event["of_line"], None)
            if details == "chosen again":
                told, details = f"has its former {'people' if folder.is_network else 'items'} again", ""
        elif kind == "changed":
            details = _changed(event)
            told = told if details else "program changed"
        row = {"at": event["at"], "round": numbers.get(ticket), "event": told}
        rows.append(row | {"details": details, "undone": undone})
    return rows


def words_of(event: dict[str, Any]) -> str:
    """Return the effect of an event as a participle, such as reported."""
    if "replaced_by" in event:
        return "chosen again"
    return "left out" if is_left_out(event) else _WORDS[event["event"]]


def last_action(rows: Sequence[Row]) -> Row | None:
    """Return the row of `history_of` that an undo takes back, or None."""
    kinds = ("reported", "corrected", "chosen again", "left out")
    return next((row for row in reversed(rows) if row["event"] in kinds and not row["undone"]), None)


def _chosen(event: dict[str, Any]) -> str:
    """Return a choice in words: who was chosen and left out, and how."""
    told = [_few(event["names"])]
    told += [f"left out: {_few(event['left_out'])}"] if event.get("left_out") else []
    return "; ".join([*told, event["note"]] if event.get("note") else told)


def _reported(of: Round) -> str:
    """Return a report in words: the results, or who was asked, how many joined, and who."""
    if of.results:
        return outcome_in_words(of)
    gone = [name for name in of.planned if name not in of.names]
    told = [f"asked: {_few(of.names)}{f' (not {_few(gone)})' if gone else ''}"]
    told += [] if math.isnan(of.count) else [outcome_in_words(of)]
    joined = [name for name in of.joined or () if name not in of.alone]
    for text, names in (
        ("joined", joined),
        ("joined by another way", of.alone),
        ("may have joined", of.unknown),
    ):
        told += [f"{text}: {_few(names)}"] if names else []
    return "; ".join(told)


def _changed(event: dict[str, Any]) -> str:
    """Return the ties that are new or gone, each once."""
    told = []
    for key, text in (("new", "added"), ("gone", "removed")):
        ties = dict.fromkeys(written(tuple(sorted(tie))) for tie in event.get(key, ()))
        told += [f"{text}: {_few([*ties])}"] if ties else []
    return "; ".join(told)


def _few(names: Sequence[Hashable], most: int = 12) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{listed(names[:most])}{more}"


#: The kinds of events in plain words.
_WORDS = {
    "campaign": "campaign made",
    "changed": "network changed",
    "note": "settings changed",
    "ask": "chosen",
    "tell": "reported",
    "correct": "corrected",
    "undo": "taken back",
}

# Sentences


def listed(names: Iterable[Hashable]) -> str:
    """Return names with commas between them, or with semicolons if one has a comma."""
    texts = [str(name) for name in names]
    return ("; " if any("," in text for text in texts) else ", ").join(texts)


def when(text: str, zone: tzinfo | None = None) -> str:
    """Return a time as people write it, in the time zone of this computer or in another one.

    Examples
    --------
    >>> from datetime import UTC
    >>> from cmab.campaign.progress import when
    >>> when("2026-11-25T19:03:10.123+00:00", UTC)
    '25 Nov 2026, 19:03'
    """
    at = datetime.fromisoformat(text).astimezone(zone)
    return f"{at.day} {at:%b %Y, %H:%M}"


def outcome_in_words(of: Round) -> str:
    """Return the result of a reported round."""
    if of.results:
        return f"results {listed(f'{name}: {value:g}' for name, value in of.results.items())}"
    if math.isnan(of.count):
        return "reported in part"
    new = f", {of.n_new:,} of them for the first time" if of.is_new_only and of.n_new is not None else ""
    people = "person" if of.count == 1 else "people"
    return f"{of.count:,.0f} {people} joined, those who were asked included{new}"


def bound_of(folder: CampaignFolder, result: float) -> float | None:
    """Return by how much another choice can be better at most, if this is less than half of a result."""
    try:
        found = folder.campaign.regret_bound().exact_gap
    except ValueError:  # a choice of other people was played, so the optimum differs
        return None
    return found if found < result / 2 else None
