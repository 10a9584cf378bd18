"""The summary of a campaign in words and small tables, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from instances.campaigns.folder import CampaignFolder, labels_of
from instances.campaigns.progress import by_name, by_week, different_people, listed_rounds
from instances.campaigns.rounds import Round

_MOST = 20


def counted(number: float, one: str, more: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> from instances.campaigns.words import counted
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
    return f"{counted(n, 'person', 'people')}, {counted(folder.problem.graph.n_arcs, 'tie')}, {each}"


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
    yield from _progress(folder, rounds)
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


def _progress(folder: CampaignFolder, rounds: Sequence[Round]) -> Iterator[str]:
    rows = by_name(rounds, is_network=folder.is_network)
    yield ""
    if folder.is_network:
        yield "By person (others who joined, in all and for each person asked in the same round)"
        table = [["person", "asked", "in rounds", "others joined", "per person asked"]]
        table += [
            [
                str(row.name),
                f"{row.asked:,}",
                listed_rounds(row.rounds),
                _text(row.others, row.known),
                _text(row.share, row.known),
            ]
            for row in rows[:_MOST]
        ]
    else:
        yield "By item"
        table = [["item", "chosen", "in rounds", "mean result"]]
        table += [
            [
                str(row.name),
                f"{row.asked:,}",
                listed_rounds(row.rounds),
                _text(row.others / max(row.known, 1), row.known),
            ]
            for row in rows[:_MOST]
        ]
    yield from aligned(table)
    if len(rows) > _MOST:
        yield f"  and {len(rows) - _MOST:,} more"
    yield ""
    yield "By week"
    joined = ["joined, by round", "different people"] if folder.is_network else ["sum of results"]
    weeks = [["week of", "rounds", "asked" if folder.is_network else "chosen", *joined, "waiting"]]
    weeks += [
        [
            row.monday,
            listed_rounds(row.rounds),
            f"{row.asked:,}",
            f"{row.joined:g}",
            *([row.different] if folder.is_network else []),
            f"{row.waiting:,}",
        ]
        for row in by_week(rounds)[-_MOST:]
    ]
    yield from aligned(weeks)


def _text(value: float, known: int) -> str:
    return f"{value:.3g}" if known else "not known"


def aligned(table: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield the rows of a table with aligned columns."""
    wide = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    for row in table:
        cells = (cell.ljust(width) for cell, width in zip(row, wide, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
