"""Validation of the order of events in a journal, as far as it is possible without the learner."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from cmab.campaigns._arrays import loaded
from cmab.campaigns._events import Events
from cmab.campaigns._schema import FORMATS, Event, check_form
from cmab.campaigns.names import read_all
from cmab.feedback import MOST_PULLS, Feedback
from cmab.validation import shown

_LISTS = ("choices", "names")
#: Reports with more entries than arms, outcomes and reward are validated as `Feedback` objects.
_PARTS = {"pulls", "squares", "costs", "used"}
_PENDING = 0
#: The kinds of events that describe the learner and its network.
_DESCRIPTIONS = ("campaign", "changed")


class Course:
    """The events of a journal up to a line, which determine the valid next events.

    `check` raises ``ValueError`` if an event cannot be the next one, and changes nothing. `note` adds an
    event.
    """

    def __init__(self) -> None:
        self._events = Events()
        self._names: dict[str, dict[Hashable, None]] = {name: {} for name in _LISTS}
        #: The last description that was checked, and its names.
        self._described: tuple[Event | None, dict[str, dict[Hashable, None]]] = (None, {})
        self._first: Event = {}
        #: The number of rows of each array.
        self._rows: dict[str, int] = {}
        #: For each ticket: the line of its ask, that of its tell or cancel, and the time of its last event.
        self._asked: list[int] = []
        self._closed: list[int] = []
        self._latest: list[str] = []
        #: The lines that an undo can take back, oldest first.
        self._standing: list[int] = []

    def check(self, event: Any) -> None:
        """Raise ``ValueError`` unless this event is a valid next event."""
        check_form(event)
        kind = event["event"]
        if (kind == "campaign") != (not self._events):
            raise ValueError(f"the first event, and no other, must be of kind 'campaign', got {kind!r}")
        _CHECKS[kind](self, event)
        if self._first.get("format", 1) > 1 and event["at"] < (earliest := self.earliest(event)):
            raise ValueError(
                f"at must not be earlier than the last event of the ticket, {earliest}, got {event['at']}"
            )

    def note(self, event: Event) -> None:
        """Add an event that was validated."""
        self._events.append(event)
        line, kind = len(self._events), event["event"]
        if kind in _DESCRIPTIONS:
            self.add_names(event)
            return
        if kind == "array":
            self._rows[event["digest"]] = event["shape"][0]
            return
        if kind == "ask":
            self._asked.append(line)
            self._closed.append(_PENDING)
            self._latest.append(event["at"])
            return
        number = (self._events[event["line"] - 1] if kind == "undo" else event)["ticket"]
        self._latest[number] = event["at"]
        if kind != "undo":
            if "expired" not in event:
                self._standing.append(line)
            if kind != "correct":
                self._closed[number] = line
        elif self._events[self._standing.pop() - 1]["event"] != "correct":
            self._closed[number] = _PENDING

    def add_names(self, event: Event) -> None:
        """Add the names of a description of the campaign."""
        self._first = self._first or event
        checked, names = self._described
        for key in _LISTS:
            self._names[key].update(names[key] if checked is event else dict.fromkeys(read_all(event[key])))
        self._described = None, {}

    def earliest(self, event: Event) -> str:
        """Return the earliest valid time of an event: the time of the last event of its ticket."""
        if event["event"] in ("campaign", "changed", "ask", "array"):
            return ""
        about: Event = self._events[event["line"] - 1] if event["event"] == "undo" else event
        latest: str = self._latest[about["ticket"]]
        return latest

    def _campaign(self, event: Event) -> None:
        if event["format"] not in FORMATS:
            raise ValueError(
                f"the journal must have a format of at most {FORMATS[-1]}, got {event['format']}; install a"
                " newer version of cmab"
            )
        if "seed_seq" not in event["rng"] and event["format"] > 1:
            raise ValueError("rng must have a seed_seq, got none")
        self._changed(event)

    def _changed(self, event: Event) -> None:
        found = {key: dict.fromkeys(read_all(event[key])) for key in _LISTS}
        for key, names in found.items():
            known = self._names[key]
            if len(names) < len(event[key]) or not known.keys().isdisjoint(names):
                raise ValueError(f"{key} must be distinct names without a place, got {shown(event[key])}")
            if "gone" in event:
                _check_places(f"gone {key}", event["gone"][key], len(known))
        if event["arms"]["n_arms"] > len(self._names["names"]) + len(event["names"]):
            raise ValueError(f"n_arms must be at most the number of names, got {event['arms']['n_arms']}")
        self._described = event, found

    def _ask(self, event: Event) -> None:
        if event["ticket"] != len(self._asked):
            raise ValueError(f"ticket must be number {len(self._asked)}, got {event['ticket']}")
        super_arm = event["super_arm"]
        _check_places("super_arm", super_arm, len(self._names["choices"]))
        if "rng" in event and event["rng"]["bit_generator"] != self._first["rng"]["bit_generator"]:
            raise ValueError(f"rng must be a {self._first['rng']['bit_generator']}, as in the first line")
        if event.get("pulls", 1) > MOST_PULLS:
            raise ValueError(f"pulls must be at most {MOST_PULLS}, got {event['pulls']}")
        for name, part in event.get("context", {}).items():
            length = len(self._names["choices" if name == "available" else "names"])
            rows = len(part) if type(part) is list else self._rows.get(part["digest"])
            if rows is None:
                raise ValueError(f"{name} of the context must be stored before, got {shown(part)}")
            if rows != length:
                raise ValueError(f"{name} of the context must have {length} rows, got {rows}")
            if name == "available" and not all(part[place] for place in super_arm):
                raise ValueError(f"super_arm must be available, got {shown(super_arm)}")

    def _array(self, event: Event) -> None:
        if event["digest"] in self._rows:
            raise ValueError(f"digest must be of an array that is not stored yet, got {event['digest']}")
        loaded(event)

    def _tell(self, event: Event) -> None:
        self._cancel(event)
        self._check_report(event)

    def _correct(self, event: Event) -> None:
        number, line = event["ticket"], event["line"]
        told = self._closed[number] if number < len(self._closed) else _PENDING
        if told != line or self._events[line - 1]["event"] != "tell":
            raise ValueError(f"line must be the line of the tell of ticket {number}, got {line}")
        self._check_report(event)

    def _undo(self, event: Event) -> None:
        last = self._standing[-1] if self._standing else None
        if event["line"] != last:
            raise ValueError(
                f"line must be the line of the last tell, cancel or correct, {last}, got {event['line']}"
            )

    def _cancel(self, event: Event) -> None:
        number = event["ticket"]
        if number >= len(self._closed):
            raise ValueError(f"ticket must be below the number of asks, {len(self._closed)}, got {number}")
        if self._closed[number] != _PENDING:
            raise ValueError(f"ticket must be pending, got {number}, closed in line {self._closed[number]}")

    def _check_report(self, event: Event) -> None:
        asked = self._events[self._asked[event["ticket"]] - 1]
        arms, pulls = event["arms"], asked.get("pulls", 1)
        _check_places("arms", arms, len(self._names["names"]))
        if len(arms) != len(event["outcomes"]):
            raise ValueError(
                f"outcomes must have {len(arms)} entries, one for each arm, got {len(event['outcomes'])}"
            )
        if "cascade" in event:
            self._check_cascade(event["cascade"])
        if not _PARTS.isdisjoint(event):
            parts = {name: event[name] for name in _PARTS if name in event}
            Feedback(arms, event["outcomes"], **parts)
        if pulls != 1 and event.get("pulls", []) != [pulls] * len(arms):
            raise ValueError(
                f"pulls must be {pulls} for each arm, as in the ask, got {shown(event.get('pulls'))}"
            )

    def _check_cascade(self, parts: dict[str, list[int]]) -> None:
        people, ties = len(self._names["choices"]), len(self._names["names"])
        for name in ("joined", "unseen"):
            _check_places(name, parts.get(name, []), people)
        _check_places("live and dead", parts.get("live", []) + parts.get("dead", []), ties)
        if not (0 <= parts["known"][0] <= people and 0 <= parts["known"][1] <= ties):
            raise ValueError(f"known must be at most {[people, ties]}, got {shown(parts['known'])}")
        if "network" in parts:
            line = parts["network"][0]
            if not 1 <= line <= len(self._events) or self._events[line - 1]["event"] not in _DESCRIPTIONS:
                raise ValueError(f"network must be the line of a description of the campaign, got {line}")
        if not all(-1 <= step <= people for step in parts.get("steps", [])):
            raise ValueError(f"steps must lie in [-1, {people}], got {shown(parts['steps'])}")


def _check_places(name: str, places: list[int], n: int) -> None:
    if places and not 0 <= min(places) <= max(places) < n:
        raise ValueError(f"{name} must lie in range({n}), got {shown(places)}")
    if len(set(places)) < len(places):
        raise ValueError(f"{name} must not repeat an entry, got {shown(places)}")


_CHECKS = {
    "campaign": Course._campaign,
    "changed": Course._changed,
    "array": Course._array,
    "ask": Course._ask,
    "tell": Course._tell,
    "correct": Course._correct,
    "cancel": Course._cancel,
    "undo": Course._undo,
}
