"""Rounds as the events tell them, and reports as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cmab.campaign.files import Names, clean, number_in, short
from cmab.campaign.replay import Standing, standing_of
from cmab.validation import shown

if TYPE_CHECKING:
    from oracles import DirectedGraph

State = Literal["waiting", "reported", "cancelled"]


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
        The names that were chosen.
    state : {"waiting", "reported", "cancelled"}
        Whether the round waits for its report, was reported or was cancelled.
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
        The tickets that this one replaced, because names were left out or others were asked.
    planned : tuple
        The names that the first of these tickets had.
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
    planned: tuple[Hashable, ...] = ()
    alone: tuple[Hashable, ...] = ()

    @property
    def others(self) -> float:
        """How many joined without being asked; nan if unknown."""
        return self.count - len(self.names)


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
    withdrawn = {row["replaced_by"] for row in replaced if row["undone"]}
    rounds: list[Round] = []
    found: dict[int, Round] = {}
    for each in standing_of(rows):
        of = found[each.asked["ticket"]] = _round_of(each, is_network)
        if of.ticket in former:  # it takes the place of the round before
            old = found[former[of.ticket]]
            of.number, of.planned, of.former = old.number, old.planned, (*old.former, old.ticket)
            rounds[old.number - 1] = of
        elif of.state != "cancelled" or of.ticket not in withdrawn:
            of.number = len(rounds) + 1
            rounds.append(of)
    return rounds


def _round_of(each: Standing, is_network: bool) -> Round:
    """Return the round of a ticket, without a number."""
    last: dict[str, Any] = each.told or each.closed or {}
    state: State = "reported" if each.told else "cancelled" if each.closed else "waiting"
    of = Round(0, each.asked["at"], each.asked["names"], state, last.get("at"))
    of.author = (last or each.asked).get("author", "")
    of.corrected, of.planned = last.get("event") == "correct", of.names
    of.ticket, of.mark = each.asked["ticket"], each.mark
    if each.told is not None:
        _take(of, each.told, is_network)
    return of


def joined_ever(rounds: Iterable[Round]) -> set[Hashable]:
    """Return the people that are known to have joined or to have been asked in a reported round."""
    told = [of for of in rounds if of.state == "reported"]
    return {name for of in told for name in (*of.names, *(of.joined or {}))}


def _take(of: Round, event: dict[str, Any], is_network: bool) -> None:
    """Set the result of a round from the event of its report."""
    of.results = dict(event.get("outcomes") or {})
    reward = event.get("reward")
    if reward is not None and not math.isnan(reward):
        of.count = float(reward)
    else:
        of.count = math.nan if is_network or not of.results else float(sum(of.results.values()))
    of.joined, of.unknown, of.alone = _joined(of, event), event.get("unseen", ()), ()
    if of.unknown and not math.isnan(of.count):  # a known number with people without a path: they joined
        of.unknown, of.alone = (), of.unknown
        of.joined = {**(of.joined or {}), **dict.fromkeys(of.alone)}


def _joined(of: Round, event: dict[str, Any]) -> dict[Hashable, int | None] | None:
    """Return the joined people, if the report has names."""
    told = event.get("joined")
    if told is None:
        return None
    return {name: step for name, step in steps_in(told).items() if name not in of.names}


def steps_in(joined: Any) -> dict[Hashable, int | None]:
    """Return the step of each joined person, or None, from a report with or without steps."""
    return dict(joined) if isinstance(joined, dict) else dict.fromkeys(joined)


class UnreachableError(ValueError):
    """A report of a person that no chain of joined people reaches.

    Parameters
    ----------
    sentence : str
        The sentence with the name of the person.
    people : list
        The people without a path.

    Attributes
    ----------
    sentence : str
        The same sentence, without a remedy.
    people : list
        The people without a path.
    """

    def __init__(self, sentence: str, people: list[Hashable]) -> None:
        super().__init__(
            f"{sentence} Did you forget somebody in between? Add them to the report, or give them as"
            " unknown if they may have joined without your knowledge."
        )
        self.sentence, self.people = sentence, people


def without_path(
    graph: DirectedGraph,
    asked: Iterable[Hashable],
    joined: Iterable[Hashable],
    unknown: Iterable[Hashable],
) -> UnreachableError | None:
    """Return an error with the joined people that the people asked do not reach, or None.

    Paths lead through people that joined and through unknown ones.

    Parameters
    ----------
    graph : DirectedGraph
        The network.
    asked, joined, unknown : iterable of hashable
        The names of the people asked, of the joined people, and of those that may have joined.
    """
    numbers = graph.node_numbers
    first = {numbers[name] for name in asked if name in numbers}
    told = [numbers[name] for name in joined if name in numbers]
    allowed = {*first, *told, *(numbers[name] for name in unknown if name in numbers)}
    is_allowed = np.zeros(graph.n_nodes, np.bool_)
    is_allowed[list(allowed)] = True
    between = np.flatnonzero(is_allowed[graph.tails] & is_allowed[graph.heads])
    ties = list(zip(graph.tails[between].tolist(), graph.heads[between].tolist(), strict=True))
    reached = _reached(first, ties)
    lost = [node for node in told if node not in reached]
    if not lost:
        return None
    people = [graph.label(node) for node in lost]
    tailed = {head for _, head in ties}
    alone = next((node for node in lost if node not in tailed), None)
    if alone is None:
        some = ", ".join(short(str(name)) for name in people[:5])
        return UnreachableError(
            f"No chain of people who joined leads from the people asked to {some}.", people
        )
    name = short(str(graph.label(alone)))
    if any(tail == alone for tail, _ in ties):
        return UnreachableError(
            f"{name} can tell people who were asked or who joined, but in the network none of them can"
            f" tell {name}.",
            people,
        )
    return UnreachableError(f"{name} knows nobody who was asked or who joined.", people)


def _reached(first: set[int], ties: list[tuple[int, int]]) -> set[int]:
    """Return the people that the first ones reach along the ties."""
    heads: dict[int, list[int]] = {}
    for tail, head in ties:
        heads.setdefault(tail, []).append(head)
    found, queue = {*first}, [*first]
    while queue:
        new = [head for head in heads.get(queue.pop(), ()) if head not in found]
        found.update(new)
        queue += new
    return found


_YES = {"yes", "y", "joined", "true", "x", "ja", "oui", "si", "sí", "won"}
_NO = {"no", "n", "not joined", "false", "nein", "non", "lost"}
#: How many rounds that wait for a report a message lists.
_SHOWN_ROUNDS = 20
#: A date as spreadsheets write it. Dates do not tell who told whom, so nothing is learned from them.
_DATE = re.compile(
    r"\d{1,4}[-./ ]\d{1,2}[-./ ]\d{1,4}(?:[ T]\d{1,2}:\d{2}(?::\d{2})?(?: ?[AP]M)?)?", re.IGNORECASE
)


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
    absent : list
        The people that were chosen, but not asked, or who did not come.
    instead : list
        The people that were asked, but not chosen.
    alone : bool
        Whether people that no joined person can have told are accepted.
    """

    number: int
    joined: dict[Hashable, int | None] = field(default_factory=dict)
    unknown: list[Hashable] = field(default_factory=list)
    results: dict[Hashable, float] = field(default_factory=dict)
    count: float | None = None
    absent: list[Hashable] = field(default_factory=list)
    instead: list[Hashable] = field(default_factory=list)
    alone: bool = False


def entries_in(text: str, names: Names) -> list[str]:
    """Return the entries of a text with names in lines, or between commas, semicolons or tabs.

    Dates are left out. A name that contains a comma is found as a whole.

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
            pieces = part.split(";") if clean(part) not in names else [part]
            for piece in pieces:
                tokens, at = piece.split(","), 0
                while at < len(tokens):
                    ends = (end for end in range(len(tokens), at, -1) if _is_entry(tokens[at:end], names))
                    end = next(ends, at + 1)
                    found.append(clean(",".join(tokens[at:end])))
                    at = end
    dated = [re.sub(r"\s*=\s*$", "", _DATE.sub("", each)) if each not in names else each for each in found]
    return [each for each in dict.fromkeys(map(str.strip, dated)) if each]


def _is_entry(tokens: Sequence[str], names: Names) -> bool:
    whole = clean(",".join(tokens))
    name, _, value = whole.rpartition("=")
    return whole in names or ("," not in value and name.strip() in names)


def report_of(
    rounds: Sequence[Round],
    names: Names,
    number: int | None,
    entries: Iterable[str],
    *,
    is_network: bool,
    unknown: Iterable[str] = (),
    absent: Iterable[str] = (),
    instead: Iterable[str] = (),
    largest: float = 1.0,
) -> Report:
    """Return a report from entries such as ``Bob`` or ``Bob=2``.

    In a network, the number is the step in which the person joined. In a list, it is the result of the item;
    items without a number have the largest result, and chosen items that are not listed have the result 0.

    Raises
    ------
    ValueError
        If the round cannot be reported, or a name or a number is wrong.
    """
    report = Report(round_of(rounds, number).number)
    chosen = round_of(rounds, report.number).names
    wrong: list[str] = []

    def found_in(texts: Iterable[str]) -> Iterator[tuple[str, Hashable, str | None]]:
        for text in texts:
            try:
                yield text, *_split(text, names)
            except ValueError as error:
                wrong.append(str(error))

    report.instead = [name for _, name, _ in found_in(instead) if name not in chosen]
    report.absent = [name for _, name, _ in found_in(absent)]
    asked = (*(name for name in chosen if name not in report.absent), *report.instead)
    for _, name, value in found_in(entries):
        try:
            if is_network:
                _add_person(report, asked, name, value or "")
            else:
                _add_result(report, chosen, name, "yes" if value is None else value, largest)
        except ValueError as error:
            wrong.append(str(error))
    report.unknown = list(dict.fromkeys(name for _, name, _ in found_in(unknown)))
    both = [name for name in report.unknown if name in asked or name in report.joined]
    wrong += [
        f"{shown(str(name))} cannot be both asked or joined, and unknown" for name in both if is_network
    ]
    if wrong:
        raise ValueError("\n".join(dict.fromkeys(wrong)))
    if not is_network:
        for name in chosen:
            if name not in report.results and name not in report.unknown:
                report.results[name] = 0.0
    return report


def round_of(rounds: Sequence[Round], number: int | None) -> Round:
    """Return the round with a number, or the only one that waits for a report.

    Raises
    ------
    ValueError
        If there is no such round, or several wait for a report.
    """
    if number is not None:
        if not 1 <= number <= len(rounds):
            known = f"between 1 and {len(rounds):,}" if rounds else "of this campaign, which has none yet"
            raise ValueError(f"the round must be a number {known}, got {number}")
        return rounds[number - 1]
    some = list(islice((each for each in rounds if each.state == "waiting"), _SHOWN_ROUNDS + 1))
    waiting = some[:_SHOWN_ROUNDS]
    if len(waiting) != 1:
        more = ", ..." if len(some) > len(waiting) else ""
        found = ", ".join(str(each.number) for each in waiting) + more or "none"
        raise ValueError(f"the number of the round must be given; rounds that wait for a report: {found}")
    return waiting[0]


def _split(entry: str, names: Names) -> tuple[Hashable, str | None]:
    """Return the name of an entry and the text after the last equals sign."""
    if entry in names or "=" not in entry:
        return names.find(entry), None
    name, _, value = entry.rpartition("=")
    return names.find(name), value.strip()


def _add_person(report: Report, chosen: Sequence[Hashable], name: Hashable, step: str) -> None:
    found = None
    if step:
        if not step.isdecimal() or len(step) > 9:
            raise ValueError(
                f"the step of {shown(str(name))} must be a whole number, got {shown(short(step))}"
            )
        found = int(step)
    if name in chosen:
        if found:
            raise ValueError(f"{shown(str(name))} was asked, so the step must be 0 or empty, got {step}")
        found = 0
    elif found == 0:
        raise ValueError(
            f"{shown(str(name))} was not asked in this round, so the step must be 1 or more, got 0"
        )
    former = report.joined.get(name)
    if former is not None and found is not None and former != found:
        raise ValueError(f"{shown(str(name))} must have one step in a round, got {former} and {found}")
    report.joined[name] = former if found is None else found


def _add_result(
    report: Report, chosen: Sequence[Hashable], name: Hashable, text: str, largest: float
) -> None:
    if name not in chosen:
        raise ValueError(f"{shown(str(name))} was not chosen in round {report.number}")
    if name in report.results:
        raise ValueError(f"{shown(str(name))} must be reported once in a round")
    word = text.casefold()
    if word in _YES or word in _NO:
        report.results[name] = largest if word in _YES else 0.0
        return
    try:
        result = number_in(text)
    except ValueError:
        result = -1.0
    if not 0.0 <= result <= largest:
        raise ValueError(
            f"the result of {shown(str(name))} must be yes, no or a number from 0 to {largest:g}, got"
            f" {shown(short(text))}"
        )
    report.results[name] = result
