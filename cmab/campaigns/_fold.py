"""Replay of the events of a journal into a session and its tickets."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any, Generic

import numpy as np

from cmab._ask_tell import check_feedback, interval_of
from cmab.arrays import AnyArray, BoolArray, IntArray
from cmab.campaigns._arrays import is_large, loaded, stored
from cmab.campaigns._cascades import listed_cascade, read_cascade
from cmab.campaigns._events import Events
from cmab.campaigns._networks import Networks
from cmab.campaigns._schema import Event
from cmab.campaigns.names import Names, nouns
from cmab.cascades.cascade import CascadeFeedback
from cmab.explorer import Explorer
from cmab.feedback import Context, Feedback, Ticket, check_outcomes
from cmab.oracle import Oracle
from cmab.policy import Policy, State
from cmab.propensities import estimate_propensity
from cmab.saving._fingerprint import fingerprint
from cmab.saving._generators import generator_from, moved, position_of
from cmab.session import Session
from cmab.validation import real, shown

_PLAIN = {"event", "at", "line", "ticket", "arms", "outcomes", "reward"}
#: The largest number of cached flags of triggered arms.
_MOST_FLAGS = 2**24
#: The largest number of cached contexts.
_MOST_CONTEXTS = 16


def rewritten(events: Mapping[int, Event]) -> tuple[set[int], dict[int, Event]]:
    """Return the undone lines, and the valid correction of each corrected line.

    `events` are corrections and undos, and possibly other events, by their lines in increasing order.
    """
    undone = {event["line"] for event in events.values() if event["event"] == "undo"}
    corrections = {line: event for line, event in events.items() if event["event"] == "correct"}
    return undone, {event["line"]: event for line, event in corrections.items() if line not in undone}


class Fold(Generic[State]):
    """The session of a journal, made by replaying its events with the present policy."""

    def __init__(
        self,
        policy: Policy[State],
        where: str,
        present: dict[str, Any] | None = None,
        *,
        is_same: bool = True,
    ) -> None:
        self.policy, self.where = policy, where
        #: Whether the code of the policy and its oracle is assumed to be the one that wrote the reports.
        self.is_same = is_same
        #: The fingerprint of the policy; another fold of the same policy passes its own to avoid the work.
        self.present = fingerprint(policy) if present is None else present
        oracle = getattr(policy, "oracle", None)
        n_arms = policy.n_arms if isinstance(policy, Explorer) else policy.oracle.n_arms
        arms: list[Hashable] = list(range(n_arms)) if oracle is None else oracle._arm_labels()
        choices = arms
        if oracle is not None and not isinstance(policy, Explorer):  # tickets of explorers hold base arms
            choices = oracle.labels(np.arange(oracle.n_choices))
        self._own = (choices, arms)
        self._is_undirected = isinstance(oracle, Oracle) and getattr(oracle, "is_undirected", False)
        self.events = Events()
        self._begin()

    def _begin(self) -> None:
        choices, arms = self._own
        of_choices, of_arms = nouns(choices, arms)
        self.choices = Names(of_choices, choices, self._is_undirected)
        self.arms = Names(of_arms, arms, self._is_undirected)
        self._networks = Networks(self.choices, self.arms)
        #: The line of the ask of each ticket.
        self.asks: list[int] = []
        #: The line of each array.
        self.arrays: dict[str, int] = {}
        self._contexts: dict[str, Context] = {}
        self._stored: tuple[Context, Event] | None = None
        #: The line of the feedback of each reported ticket.
        self.told: dict[int, int] = {}
        #: The last description of the campaign in the journal.
        self.described: dict[str, Any] = {}
        #: The lines of these descriptions, and those of corrections and undos.
        self.descriptions: list[int] = []
        self.rewrites: list[int] = []
        self.undone: set[int] = set()
        self._drawn: Any = None
        #: Whether this policy wrote the whole journal. Only then can its oracle check the reports.
        self._is_own = self.is_same
        self._triggered: dict[bytes, BoolArray] = {}
        self._corrected: dict[int, Event] = {}
        #: The line of the valid correction of each corrected line.
        self._corrections: dict[int, int] = {}

    @cached_property
    def tie_names(self) -> list[tuple[Hashable, ...]]:
        """The names of the base arms if they are ties from entries of super arms; otherwise empty."""
        pairs = [arm for arm in self.arms.own if isinstance(arm, tuple) and len(arm) > 1]
        is_ties = len(pairs) == len(self.arms.own) and self.arms.own != self.choices.own
        return pairs if is_ties and all(arm[0] in self.choices.number for arm in pairs) else []

    def extend(self, events: Iterable[Event]) -> None:
        """Process more events. A correction or an undo replays all events from the beginning."""
        new = list(events)
        self.events.extend(new)
        if not any(event["event"] in ("correct", "undo") for event in new):
            self._take(len(self.events) - len(new) + 1)
            return
        self._begin()
        self.set_rewrites(
            [line for line, event in enumerate(self.events, 1) if event["event"] in ("correct", "undo")]
        )
        # A correction takes the place of its report, but can have names from later descriptions.
        for line, event in enumerate(self.events, 1):
            if event["event"] in ("campaign", "changed"):
                try:
                    self._name(line, event)
                except ValueError as error:
                    raise self._unfit(line, event, error) from error
        self._take(1)

    def set_rewrites(self, lines: list[int]) -> None:
        """Set the lines of all corrections and undos."""
        self.rewrites = lines
        self.undone, self._corrected = rewritten({line: self.events[line - 1] for line in lines})
        standing = [line for line in lines if line not in self.undone]
        self._corrections = {
            event["line"]: line for line in standing if (event := self.events[line - 1])["event"] == "correct"
        }

    def note(self, events: Iterable[Event]) -> None:
        """Add events whose effect on the session has taken place."""
        for event in events:
            self.events.append(event)
            line, kind = len(self.events), event["event"]
            if kind == "ask":
                self.asks.append(line)
            elif kind == "array":
                self.arrays[event["digest"]] = line
            elif kind == "tell":
                self.told[event["ticket"]] = line

    def forget(self, size: int, told: int) -> None:
        """Remove the events after the first `size`, and the reports after the first `told`."""
        self.events.cut(size)
        self.asks = [line for line in self.asks if line <= size]
        self.arrays = {digest: line for digest, line in self.arrays.items() if line <= size}
        for number in list(self.told)[told:]:
            del self.told[number]

    def _take(self, first: int) -> None:
        """Process the events from a line on; lines are counted from 1."""
        for line, event in enumerate(self.events[first - 1 :], first):
            stands = self._corrected.get(line, event)
            try:
                if line in self.undone or event["event"] in ("correct", "undo") or stands is not event:
                    self._check_event(line, event)
                if line not in self.undone and event["event"] in _TAKES:
                    _TAKES[event["event"]](self, line, stands)
            except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
                raise self._unfit(line, event, error) from error
        self._catch_up()

    def _unfit(self, line: int, event: Event, error: Exception) -> ValueError:
        """Return the error of an event, with its line."""
        why = error if isinstance(error, ValueError) else f"{type(error).__name__} {error}"
        return ValueError(
            f"{self.where}, line {line}, must be an event that {self.policy!r} can process, got"
            f" {shown(event)}: {why}"
        )

    def _campaign(self, line: int, event: Event) -> None:
        support = event["support"]
        rng = generator_from(event["rng"])
        support = support if support is None else interval_of(support)
        #: The current session.
        self.current = Session(self.policy, rng, support=support)
        self.current._id = event["session"]
        self._changed(line, event)

    def _changed(self, line: int, event: Event) -> None:
        if line not in self.descriptions:
            self._name(line, event)
        self.described = {name: event.get(name) for name in ("arms", "policy", "versions", "gone")}
        self._is_own = self._is_own and all(event[key] == part for key, part in self.present.items())

    def _name(self, line: int, event: Event) -> None:
        """Assign places to the names of a description."""
        self.descriptions.append(line)
        self.choices.grow(event["choices"])
        self.arms.grow(event["names"])
        self._networks.add(line, event)

    def _ask(self, line: int, event: Event) -> None:
        session, ticket = self.current, self._ticket(event)
        session._open[ticket.number] = ticket
        self.policy.reserve(session.state, ticket)
        self.asks.append(line)
        session._asked += 1
        self._drawn = event.get("rng", self._drawn)

    def ticket(self, number: int) -> Ticket:
        """Return a ticket by its number, also if it was reported or cancelled."""
        found = self.current._open.get(number)
        return self._ticket(self.events[self.asks[number] - 1]) if found is None else found

    def _ticket(self, event: Event) -> Ticket:
        """Return the ticket of an ask."""
        arms = self.choices.numbers(event["super_arm"])
        context = self._context(event.get("context"))
        there = arms[arms >= 0]
        # The whole super arm may have been played, including entries that are gone since.
        gone = len(arms) - len(there)
        return self.current._made(event["ticket"], there, event.get("pulls", 1), context, gone)

    def _array(self, line: int, event: Event) -> None:
        self.arrays[event["digest"]] = line

    def _tell(self, line: int, event: Event) -> None:
        ticket = self.current._open[event["ticket"]]
        feedback = self.feedback(event, self._corrections.get(line, line))
        self._check_told(ticket, feedback)
        self._catch_up()
        self.current._learn(feedback, ticket)
        del self.current._open[ticket.number]
        self.told[ticket.number] = line

    def _check_event(self, line: int, event: Event) -> None:
        """Raise ``ValueError`` for an impossible report, even if it was corrected or undone."""
        if event["event"] in ("tell", "correct"):
            self._check_told(self.ticket(event["ticket"]), self.feedback(event, line))

    def _check_told(self, ticket: Ticket, feedback: Feedback) -> None:
        """Raise ``ValueError`` for an impossible report, if this oracle wrote the whole journal."""
        if not self._is_own:
            return
        support = self.current.support
        try:
            if isinstance(self.policy, Explorer) or not self._can_trigger(ticket, feedback.arms):
                check_feedback(feedback, ticket, self.policy, support)
            elif support is not None:
                check_outcomes(feedback, support)
        except ValueError as error:
            raise ValueError(
                f"{error}. If the report was valid for the learner of that time,"
                " Campaign(..., accept_changes=True) accepts it unchanged"
            ) from None

    def _can_trigger(self, ticket: Ticket, arms: IntArray) -> bool:
        """Return whether a ticket can trigger these arms. Searches are slow, so their results are cached."""
        if self.policy.oracle._explains(ticket.super_arm, arms):
            return True
        key = ticket.super_arm.tobytes()
        found = self._triggered.get(key)
        if found is None:
            if len(self._triggered) * len(self.arms.own) > _MOST_FLAGS:
                self._triggered.clear()
            found = np.zeros(len(self.arms.own), np.bool_)
            found[self.policy.oracle.triggered_arms(ticket.super_arm)] = True
            self._triggered[key] = found
        return bool(found[arms].all())

    def _catch_up(self) -> None:
        """Move the generator to its position after the last ask."""
        if self._drawn is not None:
            self.current.rng = moved(self.current.rng, self._drawn)
            self._drawn = None

    def _cancel(self, _: int, event: Event) -> None:
        del self.current._open[event["ticket"]]

    def told_as(self, number: int) -> Event:
        """Return the event with the present report of a ticket: its tell or its last correction."""
        line = self.told[number]
        return self._corrected.get(line, self.events[line - 1])

    def asked(self, ticket: Ticket, before: bytes, state: Any = None, draws: int = 0) -> list[Event]:
        """Return the event of a new ticket, after the event of its features if these are new.

        Parameters
        ----------
        ticket : Ticket
            The ticket.
        before : bytes
            The pickled position of the generator before it.
        state : object, optional
            A copy of the state before it, for an estimate of the propensity.
        draws : int
            The number of draws of this estimate; 0 for none.
        """
        event: Event = {"event": "ask", "ticket": ticket.number}
        arrays: list[Event] = []
        event["super_arm"] = self.choices.places(ticket.super_arm)
        if ticket.pulls != 1:
            event["pulls"] = ticket.pulls
        event |= self._propensity(ticket, state, draws)
        if ticket.context is not None:
            rows = {name: self._ordered(name).by_place(part) for name, part in _parts(ticket.context)}
            event["context"] = {name: part.tolist() for name, part in rows.items() if not is_large(part)}
            if "features" in rows and is_large(rows["features"]):
                array = self._array_of(ticket.context, rows["features"])
                event["context"]["features"] = {"digest": array["digest"]}
                arrays = [] if array["digest"] in self.arrays else [array]
        position = position_of(self.current.rng)
        return [*arrays, event if pickle.dumps(position) == before else event | {"rng": position}]

    def _array_of(self, context: Context, rows: AnyArray) -> Event:
        """Return the event of the features of a context, which is often the one of the round before."""
        if self._stored is None or self._stored[0] is not context:
            self._stored = context, stored(rows)
        return self._stored[1]

    def _propensity(self, ticket: Ticket, state: Any, draws: int) -> Event:
        if self.current._cascades is not None:
            return {}  # the choice also depends on the drawn outcomes
        if draws and not isinstance(self.policy, Explorer):
            # The draws are independent of those of the session, and the same in every process.
            rng = np.random.default_rng([zlib.crc32(self.current._id.encode()), ticket.number])
            found = estimate_propensity(
                self.policy, state, ticket.super_arm, ticket.context, draws=draws, rng=rng
            )
            by_position = found.by_position.tolist()
            return {"propensity": found.chance, "by_position": by_position, "draws": found.draws}
        chance = self.policy.propensity(self.current.state, ticket.super_arm, ticket.context)
        return {} if chance is None else {"propensity": real("the propensity of an ask", chance, 0.0, 1.0)}

    def reported(self, kind: str, number: int, feedback: Feedback) -> Event:
        """Return the event of a report, of kind ``"tell"`` or ``"correct"``."""
        event: Event = {"event": kind, "ticket": number, "arms": self.arms.places(feedback.arms)}
        event["outcomes"] = feedback.outcomes.tolist()
        if isinstance(feedback, CascadeFeedback):
            event["cascade"] = listed_cascade(feedback, self.choices, self.arms, self._networks)
        if not np.isnan(feedback.reward):
            event["reward"] = float(feedback.reward)
        for name in ("pulls", "squares", "costs", "used"):
            part = getattr(feedback, name)
            if part is not None and part.size:
                event[name] = part.tolist()
        return event

    def feedback(self, event: Event, line: int | None = None) -> Feedback:
        """Return the reported feedback, without the arms that the learner no longer has.

        `line` is the line of the event. It determines which people and ties the network had at that time. If
        it is omitted, these are the ones in the last description.
        """
        network = getattr(self.policy.oracle, "network", None) if "cascade" in event else None
        if network is not None:
            seeds = self.ticket(event["ticket"]).super_arm
            lacking = self._networks.lacking(event, len(self.events) + 1 if line is None else line)
            return read_cascade(event, seeds, network, self.choices, self.arms, lacking)
        arms = self.arms.numbers(event["arms"])
        there = arms >= 0
        if there.all() and event.keys() <= _PLAIN:  # the journal has validated it
            outcomes = np.array(event["outcomes"], np.float64)
            return Feedback.unchecked(arms, outcomes, float(event.get("reward", "nan")))
        parts: dict[str, Any] = {
            n: np.array(event[n])[there] for n in ("pulls", "squares", "costs") if n in event
        }
        if "used" in event:
            parts["used"] = np.array(event["used"], np.float64)
        elif "costs" in event and not there.all():  # the resources used by arms that are gone still count
            ticket = self.ticket(event["ticket"])
            parts["used"] = np.sum(event["costs"], axis=0) + (len(ticket) + ticket.gone - len(there))
        outcomes = np.array(event["outcomes"], np.float64)[there]
        return Feedback(arms[there], outcomes, reward=event.get("reward", float("nan")), **parts)

    def _ordered(self, part: str) -> Names:
        """Return the names in the order of a part of a context."""
        return self.choices if part == "available" else self.arms

    def _context(self, parts: dict[str, Any] | None) -> Context | None:
        if parts is None:
            return None
        digest = parts["features"]["digest"] if type(parts.get("features")) is dict else None
        if digest is not None and len(parts) == 1 and digest in self._contexts:
            return self._contexts[digest]  # rounds with the same features share them
        rows = {name: np.array(part) for name, part in parts.items() if type(part) is list}
        if digest is not None:
            rows["features"] = loaded(self.events[self.arrays[digest] - 1])
        context = Context(**{name: self._ordered(name).by_number(part) for name, part in rows.items()})
        if digest is not None and len(parts) == 1:
            if len(self._contexts) >= _MOST_CONTEXTS:
                self._contexts.clear()
            self._contexts[digest] = context
        return context


def _parts(context: Context) -> list[tuple[str, AnyArray]]:
    return [(name, getattr(context, name)) for name in context.parts]


_TAKES = {
    "array": Fold._array,
    "campaign": Fold._campaign,
    "changed": Fold._changed,
    "ask": Fold._ask,
    "tell": Fold._tell,
    "cancel": Fold._cancel,
}
