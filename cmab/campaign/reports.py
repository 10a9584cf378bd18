"""Rounds as the events tell them, and reports as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx
import numpy as np

from cmab.campaign.files import DATE, NO_NAMES, Names, clean, number_in, short
from cmab.campaign.replay import Standing, standing_of
from cmab.validation import shown

if TYPE_CHECKING:
    from oracles import DirectedGraph

State = Literal["waiting", "reported", "cancelled", "left out"]
#: The notes of a choice in its event.
BEST, NEW_ONLY = "without trying others", "only people who join for the first time count"


@dataclass
class Round:
    """A round of a campaign after all corrections.

    Attributes
    ----------
    number : int
        The number of the round, from 1.
    asked : str
        The time of the choice in UTC, as ISO text.
    names : tuple
        The names that were chosen; after the report, those that were really asked.
    state : {"waiting", "reported", "cancelled", "left out"}
        Whether the round waits for its report, was reported, was cancelled, or was reported and then left
        out, so that nothing is learned from it.
    told : str or None
        The time of the last report in UTC.
    author : str
        The author of the last event of the round; empty if unknown.
    count : float
        In a network, how many joined, including the people asked; otherwise the sum of the results. It is
        nan if it is unknown.
    joined : dict or None
        If known: the joined people without the people asked, and the step of each, or None.
    unknown : tuple
        The people that may have joined without a report.
    results : dict
        The reported outcome of each item or tie, by name.
    corrected : bool
        Whether the report was corrected.
    mark : int
        The line of the last event of the round, which changes with each of them.
    ticket : int
        The number of the ticket of the campaign.
    former : tuple of int
        The tickets that this one replaced, because names were left out, and those that were taken back.
    is_best : bool
        Whether the names were chosen without trying others.
    is_new_only : bool
        Whether only people counted for the choice who join for the first time.
    planned : tuple
        The names that were chosen.
    left_out : tuple
        The names that were left out of the choice.
    n_new : int or None
        In a network: how many joined who are in no earlier reported round, if all names are known.
    alone : tuple
        The joined people that no joined person can have told. They are counted, and nothing is learned from
        them.
    """

    number: int
    asked: str
    names: tuple[Hashable, ...]
    state: State = "waiting"
    told: str | None = None
    author: str = ""
    count: float = math.nan
    joined: dict[Hashable, int | None] | None = None
    unknown: tuple[Hashable, ...] = ()
    results: dict[Any, float] = field(default_factory=dict)
    corrected: bool = False
    mark: int = 0
    ticket: int = -1
    former: tuple[int, ...] = ()
    is_best: bool = False
    is_new_only: bool = False
    planned: tuple[Hashable, ...] = ()
    left_out: tuple[Hashable, ...] = ()
    n_new: int | None = None
    alone: tuple[Hashable, ...] = ()


def rounds_of(history: Iterable[dict[str, Any]], *, is_network: bool) -> list[Round]:
    """Return the rounds of a history, in their order.

    Parameters
    ----------
    history : iterable of dict
        The events of `Campaign.history`.
    is_network : bool
        Whether people join along the ties of a network.
    """
    rows = list(history)
    replaced = [row for row in rows if "replaced_by" in row]
    former = {row["replaced_by"]: row["ticket"] for row in replaced if not row["undone"]}
    withdrawn = {row["replaced_by"]: row["ticket"] for row in replaced if row["undone"]}
    rounds: list[Round] = []
    found: dict[int, Round] = {}
    for each in standing_of(rows):
        of = found[each.asked["ticket"]] = _round_of(each, is_network)
        if of.ticket in former:  # it takes the place of the round before
            old = found[former[of.ticket]]
            of.number, of.former = old.number, (*old.former, old.ticket)
            rounds[old.number - 1] = of
        elif of.state == "cancelled" and of.ticket in withdrawn:
            old = found[of.ticket] = found[withdrawn[of.ticket]]
            old.former = (*old.former, of.ticket)
        else:
            of.number = len(rounds) + 1
            rounds.append(of)
    before: set[Hashable] = set()
    for of in rounds:
        if of.state == "reported" and of.joined is not None:
            there = {*of.names, *of.joined}
            of.n_new = len(there - before) if len(there) == of.count else None
        before |= joined_ever([of])
    return rounds


def _round_of(each: Standing, is_network: bool) -> Round:
    """Return the round of a ticket, without a number."""
    last: dict[str, Any] = each.told or each.closed or {}
    asked, note = each.asked, each.asked.get("note", "")
    of = Round(0, asked["at"], last.get("names", asked["names"]), told=last.get("at"), mark=each.mark)
    of.author = (last or asked).get("author", "")
    of.corrected, of.planned, of.ticket = last.get("event") == "correct", asked["names"], asked["ticket"]
    of.state, of.left_out = "cancelled" if each.closed else "waiting", asked.get("left_out", ())
    of.is_best, of.is_new_only = BEST in note, NEW_ONLY in note
    if each.told is None:
        return of
    if is_left_out(last):
        of.state = "left out"
        return of
    of.state, of.results, of.unknown = "reported", dict(last.get("outcomes") or {}), last.get("unseen", ())
    of.count = last.get("reward", math.nan)
    if not is_network and of.results:
        of.count = float(sum(of.results.values()))
    if "joined" in last:
        of.joined = {name: step for name, step in steps_in(last["joined"]).items() if name not in of.names}
    if of.unknown and not math.isnan(of.count):  # a known number with people without a path: they joined
        of.unknown, of.alone = (), of.unknown
        of.joined = {**(of.joined or {}), **dict.fromkeys(of.alone)}
    return of


def is_left_out(event: dict[str, Any]) -> bool:
    """Return whether an event is a report without any observation, by which a round is left out."""
    is_report = event["event"] in ("tell", "correct")
    return is_report and not (event.get("outcomes") or event.keys() & {"reward", "joined"})


def round_of(rounds: Sequence[Round], number: int) -> Round:
    """Return the round with a number, or raise ``ValueError``."""
    if not 1 <= number <= len(rounds):
        known = f"between 1 and {len(rounds):,}" if rounds else "of this campaign, which has none yet"
        raise ValueError(f"the round must be a number {known}, got {number}")
    return rounds[number - 1]


def joined_ever(rounds: Iterable[Round]) -> set[Hashable]:
    """Return the people that are known to have joined or to have been asked in a reported round."""
    told = [of for of in rounds if of.state == "reported"]
    return {name for of in told for name in (*of.names, *(of.joined or {}))}


def not_new(rounds: Iterable[Round], but: Round | None = None) -> set[Hashable]:
    """Return the people who do not count as new: those in a report, and those asked in a round that waits.

    The round `but` does not count.
    """
    others = [of for of in rounds if but is None or of.ticket != but.ticket]
    return joined_ever(others).union(*(of.names for of in others if of.state == "waiting"))


def steps_in(joined: Any) -> dict[Hashable, int | None]:
    """Return the step of each joined person, or None, from a report with or without steps."""
    return dict(joined) if isinstance(joined, dict) else dict.fromkeys(joined)


class UnreachableError(ValueError):
    """A report of people that no chain of joined people reaches.

    Parameters
    ----------
    people : list
        The people without a path.
    """

    def __init__(self, people: list[Hashable]) -> None:
        self.people, some = people, ", ".join(short(str(name)) for name in people[:5])
        super().__init__(f"No chain of people who joined leads from the people asked to {some}.")


def without_path(
    graph: DirectedGraph, asked: Iterable[Hashable], joined: Iterable[Hashable], unknown: Iterable[Hashable]
) -> list[Hashable]:
    """Return the joined people that the people asked do not reach along joined and unknown people."""
    numbers = graph.node_numbers
    first, told, others = (
        [numbers[name] for name in some if name in numbers] for some in (asked, joined, unknown)
    )
    is_allowed = np.zeros(graph.n_nodes, np.bool_)
    is_allowed[[*first, *told, *others]] = True
    between = is_allowed[graph.tails] & is_allowed[graph.heads]
    part: nx.DiGraph[int] = nx.DiGraph()
    part.add_nodes_from(first)
    part.add_edges_from(zip(graph.tails[between].tolist(), graph.heads[between].tolist(), strict=True))
    reached = {*first}.union(*(nx.descendants(part, node) for node in first))
    return [graph.label(node) for node in told if node not in reached]


_YES = {"yes", "y", "joined", "true", "x", "ja", "oui", "si", "sí", "won"}
_NO = {"no", "n", "not joined", "false", "nein", "non", "lost"}


@dataclass
class Report:
    """The report of one round.

    Parameters
    ----------
    number : int
        The number of the round, from 1.
    joined : dict
        In a network: the joined people, with the step of each, or None if it is not known.
    unknown : list
        The people, or the items, whose result is not known.
    results : dict
        In a list: the result of each item.
    count : float, optional
        Only the number of joined people, including the people asked.
    asked : list, optional
        The people that were really asked and came; by default, those of the round.
    alone : bool
        Whether people that no joined person can have told are accepted.
    """

    number: int
    joined: dict[Hashable, int | None] = field(default_factory=dict)
    unknown: list[Hashable] = field(default_factory=list)
    results: dict[Hashable, float] = field(default_factory=dict)
    count: float | None = None
    asked: list[Hashable] | None = None
    alone: bool = False


def entries_in(text: str, names: Names) -> list[str]:
    """Return the entries of a text with names in lines, or between commas, semicolons or tabs.

    Dates, which do not tell who told whom, and words such as nobody are left out. A name that contains a
    comma is found as a whole.

    Examples
    --------
    >>> from cmab.campaign.files import Names
    >>> from cmab.campaign.reports import entries_in
    >>> entries_in("Ann; Meyer, Zoé, Bob = 2", Names(["Ann", "Bob", "Meyer, Zoé"]))
    ['Ann', 'Meyer, Zoé', 'Bob = 2']
    """
    found: list[str] = []
    for line in text.splitlines():
        for part in line.split("\t") if clean(line) not in names else [line]:
            for piece in part.split(";") if clean(part) not in names else [part]:
                tokens, at = piece.split(","), 0
                while at < len(tokens):
                    ends = (end for end in range(len(tokens), at, -1) if _is_entry(tokens[at:end], names))
                    end = next(ends, at + 1)
                    found.append(clean(",".join(tokens[at:end])))
                    at = end
    dated = [re.sub(r"\s*=\s*$", "", DATE.sub("", each)) if each not in names else each for each in found]
    found = [each for each in dict.fromkeys(map(str.strip, dated)) if each]
    return [each for each in found if each in names or each.casefold() not in NO_NAMES]


def _is_entry(tokens: Sequence[str], names: Names) -> bool:
    whole = clean(",".join(tokens))
    name, _, value = whole.rpartition("=")
    return whole in names or ("," not in value and name.strip() in names)


def report_of(
    of: Round,
    names: Names,
    entries: Iterable[str],
    *,
    is_network: bool,
    unknown: Iterable[str] = (),
    asked: Iterable[str] | None = None,
    largest: float = 1.0,
) -> Report:
    """Return the report of a round from entries such as ``Bob`` or ``Bob=2``.

    In a network, the number is the step in which the person joined. In a list, it is the result of the item;
    items without a number have the largest result, and chosen items that are not listed have the result 0.

    Raises
    ------
    ValueError
        If names or numbers are wrong; the message has a line for each of them.
    """
    report, wrong = Report(of.number), list[str]()

    def found_in(texts: Iterable[str]) -> Iterator[tuple[Hashable, str]]:
        for text in texts:
            try:
                name, _, value = (text, "", "") if text in names else text.rpartition("=")
                yield names.find(name or text), value.strip() if name else ""
            except ValueError as error:
                wrong.append(str(error))

    if asked is not None:
        report.asked = list(dict.fromkeys(name for name, _ in found_in(asked)))
    there = of.names if report.asked is None else report.asked
    for name, value in found_in(entries):
        try:
            if is_network:
                _add_person(report, there, name, value)
            else:
                _add_result(report, of, name, value or "yes", largest)
        except ValueError as error:
            wrong.append(str(error))
    report.unknown = list(dict.fromkeys(name for name, _ in found_in(unknown)))
    both = [name for name in report.unknown if name in there or name in report.joined]
    if is_network and both:
        wrong.append(f"{shown(str(both[0]))} cannot be both asked or joined, and unknown")
    if wrong:
        raise ValueError("\n".join(dict.fromkeys(wrong)))
    if not is_network:
        report.results |= {name: 0.0 for name in of.names if name not in (*report.results, *report.unknown)}
    return report


def _add_person(report: Report, asked: Sequence[Hashable], name: Hashable, step: str) -> None:
    text, found = shown(str(name)), None
    if step:
        if not step.isdecimal() or len(step) > 9:
            raise ValueError(f"the step of {text} must be a whole number, got {shown(short(step))}")
        found = int(step)
    if found is not None and (found == 0) != (name in asked):
        why, wanted = ("was asked", "0 or empty") if found else ("was not asked", "1 or more")
        raise ValueError(f"{text} {why}, so the step must be {wanted}, got {step}")
    former = report.joined.get(name)
    if former and found is not None and former != found:
        raise ValueError(f"{text} must have one step in a round, got {former} and {found}")
    report.joined[name] = 0 if name in asked else former if found is None else found


def _add_result(report: Report, of: Round, name: Hashable, text: str, largest: float) -> None:
    if name not in of.names:
        raise ValueError(f"{shown(str(name))} was not chosen in round {of.number}")
    if name in report.results:
        raise ValueError(f"{shown(str(name))} must be reported once in a round")
    word, result = text.casefold(), -1.0
    if word in _YES or word in _NO:
        result = largest if word in _YES else 0.0
    else:
        with suppress(ValueError):
            result = number_in(text)
    if not 0.0 <= result <= largest:
        raise ValueError(
            f"the result of {shown(str(name))} must be yes, no or a number from 0 to {largest:g}, got"
            f" {shown(short(text))}"
        )
    report.results[name] = result
