"""Rounds as the events tell them, and reports as people write them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.campaign.files import DATE, NOBODY, Names, clean, noted, number_in, short
from cmab.campaign.replay import Standing, standing_of
from cmab.validation import shown

if TYPE_CHECKING:
    from oracles import DirectedGraph

State = Literal["waiting", "reported", "left out"]
#: The notes of a choice in its event.
BEST, NEW_ONLY = "without trying others", "only people who join for the first time count"
_SEPARATOR = re.compile(r"([;,])")
#: The headers of a pasted column, in lower case.
_HEADERS = {"name", "names", "person", "people", "who joined", "joined", "step", "steps", "date", "time"}
_HEADERS |= {"timestamp", "datum", "nom", "nombre"}
#: The number or the bullet of a line, and parentheses with a date, or around one that is gone.
_NUMBERED, _EMPTY = re.compile(r"(\d+[.)]|[-*•]) *"), re.compile(r"\([^()]*\d[^()]*\)|[(\[]\s*[)\]]")


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
    state : {"waiting", "reported", "left out"}
        Whether the round waits for its report, was reported, or was left out, so that nothing is learned
        from it.
    told : str or None
        The time of the last report in UTC.
    count : float
        In a network, how many joined, including the people asked; otherwise the sum of the results. It is
        nan if a part is unknown.
    joined : dict or None
        If known: the joined people without the people asked, and the step of each, or None.
    unknown : tuple
        The people that may have joined without a report.
    results : dict
        The reported result of each item, by name.
    corrected : bool
        Whether the report was corrected.
    mark : int
        The line of the last event of the round, which changes with each of them.
    ticket : int
        The number of the ticket of the campaign.
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
    names: tuple[str, ...]
    state: State = "waiting"
    told: str | None = None
    count: float = math.nan
    joined: dict[str, int | None] | None = None
    unknown: tuple[str, ...] = ()
    results: dict[str, float] = field(default_factory=dict)
    corrected: bool = False
    mark: int = 0
    ticket: int = -1
    is_best: bool = False
    is_new_only: bool = False
    planned: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    n_new: int | None = None
    alone: tuple[str, ...] = ()


def rounds_of(history: Sequence[dict[str, Any]]) -> list[Round]:
    """Return the rounds of a history of `Campaign.history`, in their order."""
    numbers, rounds = round_numbers(history), dict[int, Round]()
    told = [row for row in history if row["event"] in ("tell", "correct") and not row["undone"]]
    times = Counter(row["ticket"] for row in told if not is_left_out(row))
    for each in standing_of(history):
        if "withdrawn" not in (each.closed or ()):
            number = numbers[each.asked["ticket"]]
            rounds[number] = round_in(each, number)
            rounds[number].corrected = times[each.asked["ticket"]] > 1
    before: set[str] = set()
    for of in rounds.values():
        if of.state == "reported" and of.joined is not None:
            there = {*of.names, *of.joined}
            of.n_new = len(there - before) if len(there) == of.count else None
        before |= joined_ever([of])
    return list(rounds.values())


def round_numbers(history: Iterable[dict[str, Any]]) -> dict[int, int]:
    """Return the number of the round of each ticket. A choice in place of another one keeps its number."""
    instead_of, numbers = dict[int, int](), dict[int, int]()
    for row in history:
        if "replaced_by" in row:
            instead_of[row["replaced_by"]] = row["ticket"]
    for row in history:
        if row["event"] == "ask":
            old = numbers.get(instead_of.get(row["ticket"], -1))
            numbers[row["ticket"]] = old or 1 + max(numbers.values(), default=0)
    return numbers


def round_in(each: Standing, number: int) -> Round:
    """Return the round of a ticket."""
    last: dict[str, Any] = each.told or {}
    asked, note = each.asked, each.asked.get("note", "")
    of = Round(number, asked["at"], last.get("names", asked["names"]), told=last.get("at"), mark=each.mark)
    of.planned, of.ticket, of.left_out = asked["names"], asked["ticket"], asked.get("left_out", ())
    of.is_best, of.is_new_only = BEST in note, NEW_ONLY in note
    if each.told is None:
        return of
    if is_left_out(last):
        of.state = "left out"
        return of
    of.state, of.unknown, of.count = "reported", last.get("unseen", ()), last.get("reward", math.nan)
    for name, value in (last.get("outcomes") or {}).items():
        if isinstance(name, str):  # an item, not a tie
            of.results[name] = value
    if of.results:
        of.count = sum(of.results.values()) if len(of.results) == len(of.names) else math.nan
    if "joined" in last:
        joined = last["joined"] if isinstance(last["joined"], dict) else dict.fromkeys(last["joined"])
        of.joined = {name: step for name, step in joined.items() if name not in of.names}
    if of.unknown and not math.isnan(of.count):  # a known number with people without a path: they joined
        of.unknown, of.alone = (), of.unknown
        of.joined = {**(of.joined or {}), **dict.fromkeys(of.alone)}
    return of


def is_left_out(event: dict[str, Any]) -> bool:
    """Return whether an event is a report without any observation, by which a round is left out."""
    is_report = event["event"] in ("tell", "correct")
    return is_report and not (event.get("outcomes") or event.keys() & {"reward", "joined"})


def joined_ever(rounds: Iterable[Round]) -> set[str]:
    """Return the people that are known to have joined or to have been asked in a reported round."""
    told = [of for of in rounds if of.state == "reported"]
    return {name for of in told for name in (*of.names, *(of.joined or {}))}


def not_new(rounds: Iterable[Round], but: Round | None = None) -> set[str]:
    """Return the people who do not count as new: those in a report, and those asked in a round that waits.

    The round `but` does not count.
    """
    others = [of for of in rounds if but is None or of.ticket != but.ticket]
    return joined_ever(others).union(*(of.names for of in others if of.state == "waiting"))


class UnreachableError(ValueError):
    """A report of people that no chain of joined people reaches.

    Parameters
    ----------
    people : list
        The people without a path.
    """

    def __init__(self, people: list[str]) -> None:
        self.people, some = people, ", ".join(short(str(name)) for name in people[:5])
        super().__init__(f"No chain of people who joined leads from the people asked to {some}.")


def without_path(
    graph: DirectedGraph, asked: Iterable[str], joined: Iterable[str], unknown: Iterable[str]
) -> list[str]:
    """Return the joined people that the people asked do not reach along joined and unknown people."""
    from oracles.influence.spread import reachable

    first, told, others = (
        np.array([graph.node_numbers[name] for name in some], np.int64) for some in (asked, joined, unknown)
    )
    is_allowed = np.zeros(graph.n_nodes, np.bool_)
    is_allowed[np.concatenate([first, told, others])] = True
    usable = is_allowed[graph.tails] & is_allowed[graph.heads]
    _, reached = reachable(*graph.out_arcs, graph.heads, usable, first)
    return [str(graph.label(node)) for node in told[~reached[told]].tolist()]


@dataclass
class Report:
    """The report of a round.

    Parameters
    ----------
    joined : dict
        In a network: the joined people, with the step of each, or None if it is not known.
    unknown : list
        The people who may have joined.
    results : dict
        In a list: the result of each item whose result is known.
    count : float, optional
        Only the number of joined people, including the people asked.
    asked : list, optional
        The people that were really asked and came; by default, those of the round.
    alone : bool
        Whether people that no joined person can have told are accepted.
    """

    joined: dict[str, int | None] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    results: dict[str, float] = field(default_factory=dict)
    count: float | None = None
    asked: list[str] | None = None
    alone: bool = False


def entries_in(text: str, names: Names) -> list[tuple[str, str]]:
    """Return the entries of a text, in lines or between commas, semicolons or tabs: a name, and its step.

    Dates, which do not tell who told whom, and words such as nobody are left out. A name that contains a
    comma or semicolon is found as a whole.

    Examples
    --------
    >>> from cmab.campaign.files import Names
    >>> from cmab.campaign.reports import entries_in
    >>> entries_in("Ann; Meyer, Zoé, Bob = 2", Names(["Ann", "Bob", "Meyer, Zoé"]))
    [('Ann', ''), ('Meyer, Zoé', ''), ('Bob', '2')]
    """
    longest = 2 * max(len(_SEPARATOR.findall(name)) for name in names.labels) + 1
    found: dict[tuple[str, str], None] = {}
    for line in text.replace("\t", "\n").splitlines():
        parts, at = _SEPARATOR.split(line), 0
        while at < len(parts):
            for end in range(min(at + longest, len(parts)), at, -2):
                name, step = _entry("".join(parts[at:end]), names)
                if name in names and not _SEPARATOR.search(step):
                    break
            found[name, step] = None
            at = end + 1
    found.pop(("", ""), None)
    gone = NOBODY | _HEADERS
    return [each for each in found if each[0] in names or each[0].casefold().rstrip(".:! ") not in gone]


def _entry(text: str, names: Names) -> tuple[str, str]:
    """Return the name and the step in a text, without a date or, if a known name follows, a number before."""
    if (plain := clean(text)) in names:
        return plain, ""
    plain = clean(_EMPTY.sub("", DATE.sub("", text)))
    for given in (plain, _NUMBERED.sub("", plain)):
        for name, _, step in ((given, "", ""), given.rpartition("="), given.rpartition(":")):
            if name.strip() in names:
                return name.strip(), step.strip()
    name, equals, step = plain.rpartition("=")
    return (name.strip(), step.strip()) if equals else (plain, "")


def report_of(
    names: Names, entries: Sequence[tuple[str, str]], *, asked: Sequence[str], unknown: Sequence[str]
) -> Report:
    """Return the report of a round in a network, with the joined people and their steps.

    Raises
    ------
    ValueError
        If names or steps are wrong; the message has a line for each of them.
    """
    report, wrong = Report(), list[str]()
    report.unknown = noted(wrong, names.find_all, unknown) or []
    report.asked = there = noted(wrong, names.find_all, asked) or []
    steps: dict[str, dict[str, None]] = {}
    for text, step in entries:
        if (name := noted(wrong, names.find, text)) is not None:
            steps.setdefault(name, {}).update({step: None} if step else {})
    for name, texts in steps.items():
        report.joined[name] = noted(wrong, _step, name, [*texts], name in there)
    both = [name for name in report.unknown if name in report.joined or name in there]
    if both:
        wrong.append(f"{shown(both[0])} cannot be both asked or joined, and unknown")
    if any(text not in names for text in (*asked, *unknown, *(text for text, _ in entries))):
        wrong.append("a person or a tie that the network lacks can be added under Settings")
    if wrong:
        raise ValueError("\n".join(dict.fromkeys(wrong)))
    return report


def _step(name: str, texts: list[str], is_asked: bool) -> int | None:
    """Return the step of a person from all texts about it, or None without a text."""
    if not texts:
        return 0 if is_asked else None
    text = texts[0]
    is_right = len(texts) == 1 and text.isdecimal() and len(text) < 10 and (int(text) == 0) == is_asked
    if not is_right:
        wanted = "1 if one of those asked told this person, 2 if one of those with 1 did, and so on"
        wanted = "left out, because this person was asked" if is_asked else wanted
        given = " and ".join(map(short, texts))
        raise ValueError(f"the number after {shown(name)} must be {wanted}; got {given}")
    return int(text)


def results_of(of: Round, texts: Sequence[str], largest: float) -> Report:
    """Return the report of a round of a list, from a text for each item.

    A text is ``yes`` for the largest result, ``no`` for 0, a number, or ``unknown`` or empty.

    Raises
    ------
    ValueError
        If no result is known, or results are wrong; the message has a line for each of them.
    """
    report, wrong = Report(), list[str]()
    for name, text in zip(of.names, texts, strict=True):
        if text not in ("", "unknown"):
            report.results[name] = noted(wrong, _result, name, text, largest) or 0.0
    if not report.results:
        wrong.append("enter the result of at least one item, or leave the round out")
    if wrong:
        raise ValueError("\n".join(wrong))
    return report


def _result(name: str, text: str, largest: float) -> float:
    if text in ("yes", "no"):
        return largest if text == "yes" else 0.0
    try:
        found = number_in(text)
    except ValueError as error:
        raise ValueError(f"the result of {shown(name)}: {error}") from None
    if not 0.0 <= found <= largest:
        raise ValueError(f"the result of {shown(name)} must be from 0 to {largest:g}, got {short(text)}")
    return found
