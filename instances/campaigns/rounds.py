"""The rounds of a campaign, as the events tell them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

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
    rounds: list[Round] = []
    tickets: dict[int, int] = {}
    for event in history:
        kind, by = event["event"], event.get("author") or ""
        if "ticket" in event or kind == "undo":
            ticket = event["ticket"] if "ticket" in event else tickets[event["of_line"]]
            tickets[event["line"]] = ticket
        if kind == "ask":
            rounds.append(Round(event["ticket"] + 1, event["at"], event["names"], author=by))
        elif kind in ("tell", "correct", "cancel") and not event["undone"]:
            of = rounds[event["ticket"]]
            of.told, of.author, of.corrected = event["at"], by, kind == "correct"
            if kind == "cancel":
                of.state = "cancelled"
            else:
                of.state = "reported"
                _take(of, event, is_network)
        if event["line"] in tickets:
            rounds[tickets[event["line"]]].mark = event["line"]
    return rounds


def _take(of: Round, event: dict[str, Any], is_network: bool) -> None:
    """Set the result of a round from the event of its report."""
    of.results = dict(event.get("outcomes") or {})
    reward = event.get("reward")
    if reward is not None and not math.isnan(reward):
        of.count = float(reward)
    else:
        of.count = math.nan if is_network or not of.results else float(sum(of.results.values()))
    of.joined, of.unknown = _joined(of, event), event.get("unseen", ())


def _joined(of: Round, event: dict[str, Any]) -> dict[Hashable, int | None] | None:
    """Return the joined people, if the report has names."""
    told = event.get("joined")
    if told is None:
        return None
    return {name: step for name, step in steps_in(told).items() if name not in of.names}


def steps_in(joined: Any) -> dict[Hashable, int | None]:
    """Return the step of each joined person, or None, from a report with or without steps."""
    return dict(joined) if isinstance(joined, dict) else dict.fromkeys(joined)
