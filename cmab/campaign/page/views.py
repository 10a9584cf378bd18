"""The contents of the pages of a campaign, computed from its events."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from cmab import RegretCertificate
from cmab.campaign.page.picture import Picture, chart_of, picture_of
from cmab.campaign.page.store import Opened
from cmab.campaign.reasons import LEVEL, Reason, reasons_of
from cmab.campaign.reports import Round, steps_in
from cmab.campaign.tables import (
    WORDS,
    ByName,
    by_name,
    by_week,
    counted,
    different_people,
    is_telling,
    table_of,
)

PAGE_ROWS = 50
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_DRAWS, _CASCADES = 40, 100


@dataclass(frozen=True)
class Card:
    """A round that waits for its report, with the reasons for its names and the picture."""

    of: Round
    reasons: list[Reason]
    picture: Picture | None


def frame(opened: Opened) -> dict[str, Any]:
    """Return the values that all pages of a campaign need."""
    folder = opened.folder
    return {
        "title": folder.options.title,
        "slug": opened.slug,
        "version": opened.version,
        "is_network": folder.is_network,
        "folder": folder,
        "noun": "people" if folder.is_network else "items",
        "one": "person" if folder.is_network else "item",
        "n_names": len(folder.problem.names.labels),
        "k": folder.options.k,
        "budget": folder.options.budget,
    }


def rounds_in(opened: Opened) -> list[Round]:
    """Return all rounds."""
    return opened.kept("rounds", opened.folder.rounds)


def card_of(opened: Opened, of: Round, *, has_picture: bool = True) -> Card:
    """Return a round with its reasons and its picture."""
    folder = opened.folder

    def compute() -> Card:
        rounds = rounds_in(opened)
        picture = None
        if folder.problem.graph is not None and has_picture:
            picture = picture_of(folder.problem.graph, of.names, joined_ever(rounds), asked_ever(rounds))
        return Card(of, reasons_of(folder.problem, folder.beliefs(), of, rounds), picture)

    return opened.kept(("card", of.number, has_picture), compute)


def joined_ever(rounds: list[Round]) -> set[Hashable]:
    """Return the people that are known to have joined or to have been asked in a reported round."""
    told = [of for of in rounds if of.state == "reported"]
    return {name for of in told for name in (*of.names, *(of.joined or {}))}


def asked_ever(rounds: list[Round]) -> set[Hashable]:
    """Return the people that were asked in a round without a report."""
    return {name for of in rounds if of.state == "waiting" for name in of.names}


def joined_before(opened: Opened, of: Round) -> dict[str, int]:
    """Return the number of the last other round before `of` in which each person joined, by name."""
    told = [each for each in rounds_in(opened) if each.state == "reported" and each.number < of.number]
    return {str(name): each.number for each in told for name in (*each.names, *(each.joined or {}))}


def known_people(opened: Opened, of: Round) -> list[str]:
    """Return the direct neighbours of the people asked, in the order of the alphabet."""
    graph = opened.folder.problem.graph
    if graph is None:
        return []
    numbers = graph.node_numbers
    asked = [numbers[name] for name in of.names if name in numbers]
    found = np.setdiff1d(graph.heads[np.isin(graph.tails, asked)], asked).tolist()
    return sorted((str(graph.label(node)) for node in found), key=str.casefold)


def state_of(opened: Opened) -> dict[str, Any]:
    """Return the state of a campaign: rounds, people, weeks, the certificate and the next round."""

    def compute() -> dict[str, Any]:
        folder, rounds = opened.folder, rounds_in(opened)
        reported = [of for of in rounds if of.state == "reported"]
        found = certificate_of(opened) if reported else None
        known = [of.count for of in reported if not math.isnan(of.count)]
        return {
            "rounds": rounds,
            "reported": reported,
            "waiting": [of for of in rounds if of.state == "waiting"],
            "mean": float(np.mean(known)) if known else None,
            "different": different_people(rounds),
            "total": float(sum(known)) if known else None,
            "people": by_name(rounds, is_network=folder.is_network),
            "weeks": by_week(rounds)[::-1],
            "chart": chart_of(rounds, is_network=folder.is_network),
            "certificate": found,
            "bound": None if found is None else found[1].exact_gap,
            "is_early": found is not None and not is_telling(folder, found[1].exact_gap),
            "next": next_round(opened),
            "level": round(100 * LEVEL),
        }

    return opened.kept("state", compute)


def certificate_of(opened: Opened) -> tuple[str, RegretCertificate] | None:
    """Return the sentence of the regret certificate and the certificate, if it bounds anything."""
    found = opened.folder.campaign.summary().certificate
    if found is None or not math.isfinite(found.exact_gap):
        return None
    n = len(found.choice)
    best = (
        f"the best {n} {'people' if n > 1 else 'person'}" if opened.folder.is_network else "the best choice"
    )
    told = found.gap_in_words(best, ", ".join(map(str, found.labels)))
    # The certificate does not use outcomes that are only drawn.
    is_hidden = any(of.joined is not None for of in rounds_in(opened))
    return f"{'A bound that uses only results of ties that are certain: ' if is_hidden else ''}{told}", found


def next_round(opened: Opened) -> dict[str, Any]:
    """Return the expected result of another round with the best choice by the present estimates."""
    from oracles.influence.maximization import InfluenceOracle

    folder = opened.folder
    beliefs, oracle = folder.beliefs(), folder.problem.oracle
    rng = np.random.default_rng(0)
    choice = np.asarray(oracle.solve(beliefs.means, rng))
    draws = []
    for _ in range(_DRAWS if oracle.n_arms < 100_000 else 8):
        means = beliefs.draw(rng)
        if isinstance(oracle, InfluenceOracle):
            draws.append(oracle.spread(choice, np.clip(means, 0.0, 1.0), cascades=_CASCADES)[0])
        else:
            draws.append(float(means[choice].sum()))
    low, high = np.quantile(draws, [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0])
    names = [str(name) for name in oracle.labels(choice)]
    return {"names": names, "mean": float(np.mean(draws)), "low": float(low), "high": float(high)}


def estimates_of(opened: Opened, *, search: str, sort: str, down: bool, page: int) -> dict[str, Any]:
    """Return a page of the table of estimates, searched and sorted."""
    rows = opened.kept("estimates", lambda: table_of(opened.folder, "estimates"))
    names = [name for name in ("from", "to", "name") if rows and name in rows[0]]
    found = [row for row in rows if any(search.casefold() in row[name].casefold() for name in names)]
    columns = [*names, "estimate", "low", "high", "observed"]
    key = sort if sort in columns else "estimate"
    found.sort(key=lambda row: row[key].casefold() if isinstance(row[key], str) else row[key], reverse=down)
    pages = max(1, math.ceil(len(found) / PAGE_ROWS))
    page = min(max(page, 1), pages)
    return {
        "rows": found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS],
        "names": names,
        "found": len(found),
        "all": len(rows),
        "search": search,
        "sort": key,
        "down": down,
        "page": page,
        "pages": pages,
    }


def history_of(opened: Opened) -> list[dict[str, Any]]:
    """Return the events in words, newest first."""
    events, rounds = opened.folder.history(), rounds_in(opened)
    tickets = {event["line"]: event.get("ticket") for event in events}
    rows = []
    for event in events:
        ticket = event.get("ticket", tickets.get(event.get("of_line")))
        told = WORDS.get(event["event"], event["event"])
        if event["event"] == "undo":
            told = f"took back line {event['of_line']}"
        rows.append(
            {
                "line": event["line"],
                "at": when(event["at"]),
                "author": event.get("author") or "",
                "told": told,
                "round": None if ticket is None else ticket + 1,
                "details": _details(event, opened.folder.is_network),
                "undone": event["undone"],
                "can_correct": ticket is not None
                and event["event"] in ("tell", "correct")
                and not event["undone"]
                and rounds[ticket].state == "reported",
            }
        )
    return rows[::-1]


def _details(event: dict[str, Any], is_network: bool) -> str:
    if event["event"] == "ask":
        return ", ".join(map(str, event["names"]))
    reward = event.get("reward")
    if is_network and reward is not None and not math.isnan(reward):
        others = [str(name) for name, step in steps_in(event.get("joined") or {}).items() if step != 0]
        return f"{counted(reward, 'person', 'people')} joined{_listed(others)}"
    if event["event"] in ("tell", "correct") and not is_network:
        return ", ".join(f"{name}: {value:g}" for name, value in (event.get("outcomes") or {}).items())
    return ""


def _listed(names: list[str], most: int = 12) -> str:
    """Return a colon and the first names, or nothing without names."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f": {', '.join(names[:most])}{more}" if names else ""


def can_undo(opened: Opened) -> bool:
    """Return whether there is an event to take back."""
    kinds = ("tell", "cancel", "correct")
    return any(event["event"] in kinds and not event["undone"] for event in opened.folder.history())


def when(text: str | None) -> str:
    """Return a time in UTC as people write it.

    Examples
    --------
    >>> from cmab.campaign.page.views import when
    >>> when("2026-11-25T19:03:10.123+00:00")
    '25 Nov 2026, 19:03'
    """
    if not text:
        return ""
    at = datetime.fromisoformat(text)
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}, {at:%H:%M}"


def share_of(row: ByName, *, is_network: bool) -> str:
    """Return the number of a row of the table of people."""
    if not row.known:
        return "not known"
    return f"{row.share if is_network else row.others / row.known:.3g}"
