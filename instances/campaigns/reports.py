"""Reports as people write them: names on a command line or in a form, and tables of several rounds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cmab.validation import shown
from instances.campaigns.names import Names, short
from instances.campaigns.rounds import Round
from instances.campaigns.sheets import Line, column, lines_of, number_in

_YES = {"yes", "y", "joined", "true", "x", "ja", "oui", "si", "sí", "won"}
_NO = {"no", "n", "not joined", "false", "nein", "non", "lost"}
_UNKNOWN = {"unknown", "?", "unseen", "not known", "not seen"}
_HEADERS = {
    "name": {"name", "names", "person", "who", "item", "joined name", "people"},
    "round": {"round", "round number", "ticket"},
    "result": {"result", "joined", "outcome", "answer"},
    "step": {"step", "day", "wave"},
}


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
    lines : list of int
        The lines of a table from which this report was read.
    """

    number: int
    joined: dict[Hashable, int | None] = field(default_factory=dict)
    unknown: list[Hashable] = field(default_factory=list)
    results: dict[Hashable, float] = field(default_factory=dict)
    count: float | None = None
    lines: list[int] = field(default_factory=list)


class Refused(NamedTuple):
    """A line of a table that was not accepted: its number, its text and the reason."""

    line: int
    text: str
    reason: str


def report_of(
    rounds: Sequence[Round],
    names: Names,
    number: int | None,
    entries: Iterable[str],
    *,
    is_network: bool,
    unknown: Iterable[str] = (),
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
    for entry in entries:
        name, value = _split(entry, names)
        if is_network:
            _add_person(report, chosen, name, "" if value is None else value)
        else:
            _add_result(report, chosen, name, "yes" if value is None else value, largest)
    report.unknown = names.find_all(unknown)
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
    waiting = [each for each in rounds if each.state == "waiting"]
    if len(waiting) != 1:
        found = ", ".join(str(each.number) for each in waiting) or "none"
        raise ValueError(f"the number of the round must be given; rounds that wait for a report: {found}")
    return waiting[0]


def _split(entry: str, names: Names) -> tuple[Hashable, str | None]:
    """Return the name of an entry and the text after the last equals sign."""
    if entry in names or "=" not in entry:
        return names.find(entry), None
    name, _, value = entry.rpartition("=")
    return names.find(name), value.strip()


def _add_person(report: Report, chosen: Sequence[Hashable], name: Hashable, step: str) -> None:
    if name in report.joined:
        raise ValueError(f"{shown(str(name))} must be reported once in a round")
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
    report.joined[name] = found


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


def reports_in(
    text: str,
    rounds: Sequence[Round],
    names: Names,
    *,
    is_network: bool,
    number: int | None = None,
    largest: float = 1.0,
) -> tuple[list[Report], list[Refused]]:
    """Return the reports of a table, and the lines that were refused.

    The columns are ``round`` (unless `number` is given or only one round waits), ``name``, ``result`` and
    ``step``. Without a header, the first column has the names.

    Raises
    ------
    ValueError
        If the text is not a table.
    """
    lines = lines_of(text)
    header = [cell.casefold() for cell in lines[0].cells]
    places = {what: column(header, words) for what, words in _HEADERS.items()}
    if places["name"] is None:
        if any(at is not None for at in places.values()):
            raise ValueError(f"the table must have a column name, got {', '.join(lines[0].cells)}")
        places = {**places, "name": 0}
    else:
        lines = lines[1:]
    reports: dict[int, Report] = {}
    refused: list[Refused] = []
    for line in lines:
        try:
            _read_line(line, places, reports, rounds, names, number, is_network, largest)
        except ValueError as error:
            refused.append(Refused(line.number, short(", ".join(line.cells)), str(error)))
    return [reports[key] for key in sorted(reports)], refused


def _read_line(
    line: Line,
    places: dict[str, int | None],
    reports: dict[int, Report],
    rounds: Sequence[Round],
    names: Names,
    number: int | None,
    is_network: bool,
    largest: float,
) -> None:
    """Add a line of a table to the report of its round."""
    cells = {
        what: line.cells[at] if at is not None and at < len(line.cells) else "" for what, at in places.items()
    }
    given = number
    if cells["round"]:
        if not cells["round"].isdecimal() or len(cells["round"]) > 9:
            raise ValueError(f"the round must be a whole number, got {shown(short(cells['round']))}")
        given = int(cells["round"])
        if number is not None and given != number:
            raise ValueError(f"the round must be {number}, got {given}")
    of = round_of(rounds, given)
    report = reports.get(of.number) or Report(of.number)
    if cells["name"] or not is_network:
        _take_line(report, of, names, cells, is_network, largest)
    elif cells["result"].casefold() not in _NO:
        raise ValueError("a name must not be empty; write no as the result if nobody joined")
    report.lines.append(line.number)
    reports[of.number] = report


def _take_line(
    report: Report, of: Round, names: Names, cells: dict[str, str], is_network: bool, largest: float
) -> None:
    # Exported tables have an apostrophe before text that a spreadsheet would take for a formula.
    text = cells["name"]
    name = names.find(text[1:] if text not in names and text.startswith("'") else text)
    word = cells["result"].casefold()
    if word in _UNKNOWN:
        report.unknown.append(name)
    elif not is_network:
        if word:  # an empty result is not observed
            _add_result(report, of.names, name, cells["result"], largest)
    elif word in _NO or word == "0":
        if name in report.joined:
            raise ValueError(f"{shown(str(name))} must be reported once in a round")
    elif word == "" or word in _YES or word == "1":
        _add_person(report, of.names, name, cells["step"])
    else:
        raise ValueError(f"the result must be joined, no or unknown, got {shown(short(cells['result']))}")
