"""The progress of a campaign: the reasons for a choice, tables by round and by name, and sentences."""

from __future__ import annotations

import csv
import io
import math
import unicodedata
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime, tzinfo
from typing import Any

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.bounds.certificate import RegretCertificate
from cmab.campaign.files import Problem, value_of
from cmab.campaign.folder import CampaignFolder
from cmab.campaign.posterior import Beliefs
from cmab.campaign.reports import Round, is_left_out, joined_ever, not_new, steps_in
from cmab.offline.log import written

#: The number of posterior draws for a contribution in a network, and in a large one.
_DRAWS, _FEW_DRAWS, _LARGE = 40, 12, 100_000
_CASCADES = 100

Row = dict[str, Any]


# The reasons for a choice


def reasons_of(problem: Problem, beliefs: Beliefs, of: Round, earlier: Sequence[Round]) -> list[Row]:
    """Return the reason for each name of a round.

    A row has the ``name``; its ``mean`` contribution, which is in a network the number of people, including
    this person, that join because this person is asked, too; whether the name ``is_best``, as it is also in
    the best choice by the present estimates; in how many reported rounds it was ``asked`` or chosen; the
    rounds ``missed``, for which the person was chosen, but did not come or was not asked; the number of
    another round that is ``waiting`` with the name, or 0; and ``is_first``, if there is no report yet.

    Parameters
    ----------
    problem : Problem
        The problem of the campaign.
    beliefs : Beliefs
        The present estimates.
    of : Round
        The round.
    earlier : sequence of Round
        The rounds of the campaign.
    """
    number = {label: at for at, label in enumerate(problem.names.labels)}
    names = [name for name in of.names if name in number]
    chosen = np.array([number[name] for name in names], np.int64)
    rng, told = np.random.default_rng(0), [each for each in earlier if each.state == "reported"]
    waiting = [each for each in earlier if each.state == "waiting" and each.number != of.number]
    before = not_new(earlier, but=of) if of.is_new_only else set()
    oracle = problem.oracle_without(before)
    best: set[int] = set()
    # A name stays the best so far if others are left out, one after the other.
    for gone in dict.fromkeys([(), *((name,) for name in of.left_out[:5]), of.left_out]):
        out = before.union(gone).difference(names)
        flags = np.array([label not in out for label in number])
        best.update(oracle.solve_within(beliefs.means, flags, rng).tolist())
    means = beliefs.means[chosen] if problem.graph is None else _contributions(oracle, beliefs, chosen, rng)
    return [
        {
            "name": name,
            "mean": mean,
            "is_best": of.is_best or number[name] in best,
            "asked": sum(name in each.names for each in told),
            "missed": [each.number for each in told if name in each.planned and name not in each.names],
            "waiting": max((each.number for each in waiting if name in each.names), default=0),
            "is_first": not told,
        }
        for name, mean in zip(names, means.tolist(), strict=True)
    ]


def _contributions(oracle: Any, beliefs: Beliefs, chosen: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return the expected number of people that join less if all but one of the chosen people are asked."""
    found = np.zeros((_DRAWS if oracle.n_arms < _LARGE else _FEW_DRAWS, len(chosen)))
    for row in found:
        means = np.clip(beliefs.draw(rng), 0.0, 1.0)
        whole = oracle.spread(chosen, means, cascades=_CASCADES)[0]
        for at in range(len(chosen)):
            others = np.delete(chosen, at)
            rest = oracle.spread(others, means, cascades=_CASCADES)[0] if len(others) else 0.0
            row[at] = max(whole - rest, 0.0)
    mean: FloatArray = found.mean(axis=0)
    return mean


# Tables


def by_name(folder: CampaignFolder, most: int = 10_000) -> list[Row]:
    """Return a row for each name that was chosen in a reported round, with the best estimate first.

    ``estimate`` is that of the model. In a network: how many people join, with the person, if only this
    person is asked. In a list: the mean result.
    """
    rounds: dict[Hashable, list[int]] = {}
    for of in folder.rounds():
        for name in of.names if of.state == "reported" else ():
            rounds.setdefault(name, []).append(of.number)
    numbers = {label: at for at, label in enumerate(folder.problem.names.labels)}
    found = sorted((name for name in rounds if name in numbers), key=lambda name: -len(rounds[name]))[:most]
    beliefs, rng = folder.campaign.beliefs(), np.random.default_rng(0)
    draws = [beliefs.means] if not folder.is_network else [beliefs.draw(rng) for _ in range(_FEW_DRAWS)]
    rows: list[Row] = []
    for name in found:
        alone = np.array([numbers[name]], np.int64)
        brings = float(np.mean([value_of(folder.problem.oracle, alone, means) for means in draws]))
        asked = {"asked": len(rounds[name]), "rounds": rounds[name]}
        rows.append({"name": str(name), **asked, "estimate": round(brings, 3)})
    return sorted(rows, key=lambda row: -row["estimate"])


def different_people(rounds: Sequence[Round]) -> str:
    """Return how many different people joined: a number, or "at least" a number if some names are unknown.

    The people asked in a reported round count as joined.
    """
    told = [of for of in rounds if of.state == "reported"]
    names = joined_ever(rounds)
    is_whole = all(of.count == len(of.names) + len(of.joined or {}) for of in told)
    return f"{len(names):,}" if is_whole else f"at least {len(names):,}"


def _rounds(folder: CampaignFolder) -> list[Row]:
    return [
        {
            "round": of.number,
            "state": of.state,
            "chosen_at": _local(of.asked),
            "chosen": [str(name) for name in of.planned],
            "asked": [str(name) for name in of.names],
            "joined" if folder.is_network else "total": None if math.isnan(of.count) else of.count,
            "names_joined" if folder.is_network else "results": _details(folder, of),
            "reported_at": _local(of.told or "") if of.state == "reported" else None,
            "corrected": of.corrected,
            "author": of.author,
        }
        for of in folder.rounds()
    ]


def _local(text: str) -> str:
    """Return a time in the time zone of this computer, as spreadsheets read it."""
    return f"{datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}" if text else ""


def _history(folder: CampaignFolder) -> list[Row]:
    return [row | {"at": _local(row["at"])} for row in history_of(folder)]


def _details(folder: CampaignFolder, of: Round) -> list[str]:
    if not folder.is_network:
        return [f"{name}: {value:g}" for name, value in of.results.items()]
    joined = (of.joined or {}).items()
    return [str(name) if step is None else f"{name} (step {step})" for name, step in joined]


def history_of(folder: CampaignFolder) -> list[Row]:
    """Return the events in words, oldest first. A choice in place of another one is one row."""
    events = folder.history()
    numbers = {ticket: of.number for of in folder.rounds() for ticket in (of.ticket, *of.former)}
    by_line = {event["line"]: event for event in events}
    asks = {event["ticket"]: event for event in events if event["event"] == "ask"}
    replaced = {event["replaced_by"]: event for event in events if "replaced_by" in event}
    rows = []
    for event in events:
        if event.keys() & {"withdrawn", "replaced_by"}:  # a part of the undo, or of the choice, before it
            continue
        kind, target = event["event"], by_line.get(event.get("of_line", 0), {})
        ticket: Any = event.get("ticket", target.get("ticket"))
        old = replaced.get(ticket)
        details, undone = event.get("note", ""), event["undone"]
        if kind == "ask":
            details, undone = _chosen(event), undone or (old is not None and old["undone"])
        elif is_left_out(event):
            details = "nothing is learned from the round"
        elif kind in ("tell", "correct"):
            details = _reported(event, asks[ticket]["names"], is_network=folder.is_network)
        elif kind == "undo":
            details = words_of(target)
        elif kind == "changed":
            words = [_changed(event, key) for key in ("new", "gone") if event.get(key)]
            details = "; ".join(words) or "other options or another version, and the same names"
        told = "chosen again" if kind == "ask" and old else words_of(event)
        values = event["at"], event.get("author") or "", numbers.get(ticket), told, details, undone
        rows.append(dict(zip(("at", "author", "round", "event", "details", "undone"), values, strict=True)))
    return rows


def words_of(event: dict[str, Any]) -> str:
    """Return the effect of an event as a participle, such as reported."""
    if event.keys() & {"replaced_by", "expired"}:
        return "chosen again" if "replaced_by" in event else "expired"
    return "left out" if is_left_out(event) else WORDS.get(event["event"], event["event"])


def last_action(rows: Sequence[Row]) -> Row | None:
    """Return the row of `history_of` that an undo takes back, or None."""
    kinds = ("reported", "corrected", "cancelled", "chosen again", "left out")
    return next((row for row in reversed(rows) if row["event"] in kinds and not row["undone"]), None)


def _chosen(event: dict[str, Any]) -> str:
    """Return a choice in words: who was chosen and left out, and how."""
    told = [_few(event["names"])]
    told += [f"left out: {_few(event['left_out'])}"] if event.get("left_out") else []
    return "; ".join([*told, event["note"]] if event.get("note") else told)


def _reported(event: dict[str, Any], planned: Sequence[Hashable], *, is_network: bool) -> str:
    """Return a report in words: the results, or who was asked, how many joined, and who."""
    results, reward = event.get("outcomes"), event.get("reward")
    if not is_network:
        return ", ".join(f"{name}: {value:g}" for name, value in (results or {}).items())
    asked = event.get("names", planned)
    gone = [name for name in planned if name not in asked]
    names = [name for name in steps_in(event.get("joined") or {}) if name not in asked]
    names += event.get("unseen", ()) if reward is not None and "joined" in event else ()
    told = [f"asked: {_few(asked)}{f' (not {_few(gone)})' if gone else ''}"]
    if reward is not None and not math.isnan(reward):
        told.append(f"{counted(reward, 'person', 'people')} joined, those who were asked included")
    return "; ".join([*told, f"joined: {_few(names)}"] if names else told)


def _changed(event: dict[str, Any], key: str) -> str:
    """Return the ties or items that are new or gone, with each tie once."""
    names = [tuple(sorted(map(str, each))) if isinstance(each, tuple) else each for each in event[key]]
    return f"{'added' if key == 'new' else 'removed'}: {_few([*dict.fromkeys(map(written, names))])}"


def _few(names: Sequence[Hashable], most: int = 12) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(map(str, names[:most]))}{more}"


#: The kinds of events in plain words.
WORDS = {
    "campaign": "campaign made",
    "changed": "network or list changed",
    "note": "settings changed",
    "ask": "chosen",
    "tell": "reported",
    "correct": "corrected",
    "cancel": "cancelled",
    "undo": "taken back",
}
#: The tables that can be exported.
TABLES: dict[str, Callable[[CampaignFolder], list[Row]]] = {
    "rounds": _rounds,
    "people": by_name,
    "history": _history,
}
#: The first characters of text that spreadsheets take for formulas. An apostrophe makes the others text.
_FORMULA = ("=", "+", "-", "@", "'")
#: Categories of Unicode whose characters are not visible at the beginning of a text.
_INVISIBLE = ("Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Me", "Cn", "Co", "Cs")
_BREAKS = dict.fromkeys(map(ord, "\t\r\n\v\f"), " ")


def exported(folder: CampaignFolder, name: str) -> bytes:
    """Return a table as the bytes of a CSV file.

    Text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    rows = TABLES[name](folder)
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerows([map(inert, row) for row in (*rows[:1], *map(dict.values, rows))])
    return text.getvalue().encode("utf-8-sig")


def inert(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(str(inert(name)) for name in value)
    if not isinstance(value, str) or (value[:1].isalnum() and value.isprintable()):
        return value
    # Some programs split cells at these characters, also within quotes.
    text = value.translate(_BREAKS)
    seen = unicodedata.normalize("NFKC", text)
    while seen and unicodedata.category(seen[0]) in _INVISIBLE:
        seen = seen[1:]
    return f"'{text}" if seen.startswith(_FORMULA) else text


# Sentences


def when(text: str | None, zone: tzinfo | None = None) -> str:
    """Return a time as people write it, in the time zone of this computer or in another one.

    Examples
    --------
    >>> from datetime import UTC
    >>> from cmab.campaign.progress import when
    >>> when("2026-11-25T19:03:10.123+00:00", UTC)
    '25 Nov 2026, 19:03'
    """
    if not text:
        return ""
    at = datetime.fromisoformat(text).astimezone(zone)
    return f"{at.day} {at:%b %Y, %H:%M}"


def counted(number: float, one: str, more: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> from cmab.campaign.progress import counted
    >>> counted(1, "round"), counted(2, "person", "people")
    ('1 round', '2 people')
    """
    text = f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
    return f"{text} {one if number == 1 else more or one + 's'}"


def outcome_in_words(of: Round, *, is_network: bool) -> str:
    """Return the result of a round."""
    if of.state != "reported":
        return "waiting for a report" if of.state == "waiting" else of.state
    if math.isnan(of.count):
        return "reported in part"
    if is_network:
        new = f", {of.n_new:,} of them for the first time" if of.is_new_only and of.n_new is not None else ""
        return f"{counted(of.count, 'person', 'people')} joined, those who were asked included{new}"
    return f"results {', '.join(f'{name}: {value:g}' for name, value in of.results.items())}"


def is_counted(of: Round, *, is_network: bool) -> bool:
    """Return whether the whole result of a reported round is known."""
    return not math.isnan(of.count) and (is_network or len(of.results) == len(of.names))


def bound_of(folder: CampaignFolder) -> RegretCertificate | None:
    """Return the certificate of the best choice, if its bound says more than the range of the results.

    The bound must be less than nine tenths of the largest difference between the results of two rounds. In a
    network, all results include the people asked.
    """
    k = folder.options.k
    widest = len(folder.problem.names.labels) - k if folder.is_network else k * folder.options.largest
    try:
        found = folder.campaign.regret_bound()
    except ValueError:  # a choice of other people was played, so the optimum differs
        return None
    return found if found.exact_gap < 0.9 * widest else None
