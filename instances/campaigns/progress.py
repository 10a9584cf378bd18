"""The progress of a campaign by person and by week."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from instances.campaigns.rounds import Round


@dataclass
class ByName:
    """How often a name was chosen, and the results of these rounds.

    Attributes
    ----------
    name : hashable
        The name.
    rounds : list of int
        The numbers of the reported rounds in which the name was chosen.
    others : float
        In a network: how many others joined in these rounds. In a list: the sum of the results of the item.
    share : float
        `others`, with those of each round divided by the number of people asked in it.
    known : int
        The number of these rounds with a known number.
    """

    name: Hashable
    rounds: list[int] = field(default_factory=list)
    others: float = 0.0
    share: float = 0.0
    known: int = 0

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


def by_name(rounds: Sequence[Round], *, is_network: bool) -> list[ByName]:
    """Return a row for each name that was chosen in a reported round, with the most successful first."""
    rows: dict[Hashable, ByName] = {}
    for of in rounds:
        if of.state != "reported":
            continue
        for name in of.names:
            row = rows.setdefault(name, ByName(name))
            row.rounds.append(of.number)
            value = of.others if is_network else of.results.get(name, math.nan)
            if not math.isnan(value):
                row.known += 1
                row.others += value
                row.share += value / len(of.names) if is_network else value
    return sorted(rows.values(), key=lambda row: (-row.share, -row.asked, str(row.name)))


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
    >>> from instances.campaigns.progress import different_people
    >>> from instances.campaigns.rounds import Round
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
    """Return the numbers of rounds with runs joined: ``1-3, 7``.

    Examples
    --------
    >>> from instances.campaigns.progress import listed_rounds
    >>> listed_rounds([1, 2, 3, 7])
    '1-3, 7'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
