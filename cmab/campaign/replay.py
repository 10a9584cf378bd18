"""Events and their meaning for a learner: the names, the tickets, the reports, and the state after them."""

from __future__ import annotations

import base64
import math
import os
import threading
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from itertools import chain, groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from cmab import archive
from cmab.arrays import AnyArray, IntArray
from cmab.bounds.certificate import Played, note_round
from cmab.campaign.names import Names, replaced, tuples
from cmab.campaign.posterior import Cascade, CascadeFeedback, HiddenOutcomes, Network, prior_of
from cmab.campaign.store import Event, Store
from cmab.feedback import Context, Feedback, Ticket
from cmab.offline.log import Log, LoggedRound
from cmab.policy import Policy
from cmab.validation import check_name, shown

#: Parts of a context with at most this many numbers are stored whole; of larger ones, the rows of the ticket.
_SMALL = 256
#: The purposes of the random numbers of a campaign.
_BEGINNING, _LEARNING, _CHOOSING = range(3)
#: The lists of a report with hidden outcomes: the key in the event, and whether it holds people or ties.
_CASCADE = {"joined": "choices", "unseen": "choices", "live": "arms", "dead": "arms"}
_NUMBERS = {"pulls": np.int64, "squares": np.float64, "costs": np.float64}
#: Entries of an event that its row in the history repeats unchanged.
_SHOWN: tuple[str, ...] = ("reward", "pulls", "squares", "used", "propensity", "by_position")
_SHOWN += ("expired", "withdrawn", "replaced_by", "note")

Body = dict[str, Any]


class Labels(NamedTuple):
    """The names of a description, in the order of the numbers in the events that refer to it."""

    choices: list[Hashable]
    arms: list[Hashable]

    @classmethod
    def of(cls, body: Body) -> Labels:
        """Return the names of the body of a description."""
        choices = list(map(tuples, body["choices"]))
        return cls(choices, choices if body["arms"] is None else list(map(tuples, body["arms"])))

    def listed(self) -> Body:
        """Return the names for the body of a description; raise ``ValueError`` if one cannot be stored."""
        arms = None if self.choices == self.arms else self.arms
        for name in (*self.choices, *(arms or ())):
            check_name(name)
        return {"choices": self.choices, "arms": arms}


class Translation:
    """The arrays of a learner in the form of events, and back.

    An event has the numbers of the learner that wrote it, and the line of the description of this learner.
    The names of the description tell the numbers of another learner.

    Parameters
    ----------
    policy : Policy
        The learner.
    """

    def __init__(self, policy: Policy[Any]) -> None:
        self.policy = policy
        oracle = policy.oracle
        arms, choices = oracle._arm_labels(), oracle.labels(np.arange(oracle.n_choices))
        is_undirected = getattr(oracle, "is_undirected", False)
        is_network = choices != arms and bool(arms) and all(isinstance(arm, tuple) for arm in arms)
        of_arms = "ties" if is_network else "base arms"
        of_choices = "nodes" if is_network else of_arms if choices == arms else "entries of super arms"
        self.choices = Names(of_choices, choices, is_undirected)
        self.arms = Names(of_arms, arms, is_undirected)
        #: The names of each description by its line, and their numbers in this learner, or -1.
        self.labels: dict[int, Labels] = {}
        self._numbers: dict[int, tuple[IntArray, IntArray]] = {}
        self._bodies: dict[int, Body] = {}
        #: The line of the description with the names of this learner; 0 without one.
        self.line = 0
        self._own = threading.local()
        self.reserves = type(policy).reserve is not Policy.reserve

    # The description of the learner and its names.

    @property
    def first(self) -> Body:
        """The body of the first event."""
        return self._bodies.get(1, {})

    @property
    def last(self) -> Body:
        """The body of the last description."""
        return next(reversed(self._bodies.values()))

    def description(self) -> Body:
        """Return the body of a description of this learner."""
        learner = {"learner": archive.described(self.policy), "versions": versions()}
        return learner | Labels(self.choices.own, self.arms.own).listed()

    def learn(self, event: Event) -> None:
        """Take over the names of a description, of which some may be forgotten; the learner keeps its own."""
        self._bodies[event.number] = event.body
        labels = self.labels[event.number] = Labels.of(event.body)
        if event.number not in self._numbers:
            self._numbers[event.number] = self.choices.numbers(labels.choices), self.arms.numbers(labels.arms)
            if labels == (self.choices.own, self.arms.own):
                self.line = event.number

    def without(self, name: Hashable, new: str) -> dict[int, Body]:
        """Return the bodies of the descriptions that have a name, with a new name in its place."""
        found = {}
        for line, body in self._bodies.items():
            labels = Labels(*([replaced(one, name, new) for one in some] for some in self.labels[line]))
            if labels != self.labels[line]:
                found[line] = body | labels.listed()
        return found

    def changes(self) -> list[str]:
        """Return the names that are new or gone, and the changed parameters, as texts."""
        words = []
        for names, own in zip((self.choices, self.arms), self.labels[max(self.labels)], strict=True):
            former = set(map(names.form_of, own))
            left = [name for name in own if names.form_of(name) not in names.number]
            new = [name for name in names.own if name not in former]
            words += [f"{names.plural}: {len(new):,} new ({shown(new, 200)})"] if new else []
            words += [f"{names.plural}: {len(left):,} gone ({shown(left, 200)})"] if left else []
        kept, present = self.last["learner"], archive.described(self.policy)
        others = archive.differences(kept, present)
        if words:  # these numbers follow from the names
            follow = tuple(f"oracle.{name} " for name in ("n_arms", "n_choices", "max_size", "alpha", "beta"))
            others = [text for text in others if not text.startswith(follow)]
        return list(dict.fromkeys(words)) + others

    def names_of(self, body: Body) -> tuple[Hashable, ...]:
        """Return the entries of an ask by the names of this learner, or as stored if it lacks them."""
        stored, to_choices = self.labels[body["names"]].choices, self._numbers[body["names"]][0]
        pairs = zip(body["super_arm"], to_choices[body["super_arm"]].tolist(), strict=True)
        return tuple(stored[entry] if own < 0 else self.choices.own[own] for entry, own in pairs)

    # Random numbers: each call has its own, which depend on the seed and on the place of the call only.

    def generator(self, number: int, salt: int = 0, purpose: int = _CHOOSING) -> np.random.Generator:
        """Return the generator for a purpose, until the next call in this thread."""
        # Each thread has one generator, because to set its position takes less time than to make one.
        if not hasattr(self._own, "generator"):
            self._own.generator = np.random.Generator(np.random.Philox(key=[self.first["seed"], 0]))
            self._own.position = self._own.generator.bit_generator.state
        rng: np.random.Generator = self._own.generator
        position = self._own.position
        position["state"]["key"][1] = purpose
        position["state"]["counter"][2:] = salt, number
        rng.bit_generator.state = position
        return rng

    # Tickets and contexts.

    def ask_body(self, super_arm: IntArray, context: Context | None) -> Body:
        """Return the body of the event of a ticket."""
        body: Body = {"names": self.line, "super_arm": super_arm.tolist()}
        for name in () if context is None else context.parts:
            part, parts = getattr(context, name), body.setdefault("context", {})
            if name == "available" or part.size <= _SMALL:
                parts[name] = array_body(part)
            else:
                # Those of the base arms that a later report can need.
                is_same = self.choices.own == self.arms.own
                rows = super_arm if is_same else self.policy.oracle.triggered_arms(super_arm)
                parts[name] = array_body(part[rows]) | {"rows": np.asarray(rows).tolist()}
        return body

    def ticket(self, number: int, body: Body) -> Ticket:
        """Return the ticket of an event. Rows of features that were not stored are zeros."""
        numbers = self._numbers[body["names"]]
        arms = numbers[0][body["super_arm"]]
        there = arms[arms >= 0]
        context = context_of(body.get("context", {}), numbers, (len(self.choices.own), len(self.arms.own)))
        # The whole super arm may have been played, including entries that are gone since.
        token: str = self.first["token"]
        return Ticket(number, there, 1, token, context, len(arms) - len(there))

    # Reports.

    @staticmethod
    def played(asked: Body, report: Body) -> Body:
        """Return the body with the entries that were played: the report if it has others than the ask."""
        return report if "super_arm" in report else asked

    def report_body(self, feedback: Feedback) -> Body:
        """Return the body of the event of a report."""
        body: Body = {
            "names": self.line,
            "arms": feedback.arms.tolist(),
            "outcomes": feedback.outcomes.tolist(),
        }
        if isinstance(feedback, CascadeFeedback):
            cascade = feedback.cascade
            lists = {key: getattr(cascade, key).tolist() for key in _CASCADE}
            body["cascade"] = {key: numbers for key, numbers in lists.items() if numbers or key == "joined"}
            if cascade.has_steps:
                body["cascade"]["steps"] = cascade.steps.tolist()
        if feedback.reward == feedback.reward:
            body["reward"] = float(feedback.reward)
        for name in (*_NUMBERS, "used"):
            part = getattr(feedback, name)
            if part is not None and part.size:
                body[name] = part.tolist()
        return body

    def content(self, report: Body, asked: Body) -> tuple[list[int], Body]:
        """Return the entries that were played and the contents of a report, by the numbers here."""
        played = self.played(asked, report)
        entries = self.ticket(0, played).super_arm.tolist()
        return sorted(entries), self.report_body(self.feedback(report, played))

    def feedback(self, body: Body, asked: Body) -> Feedback:
        """Return the reported feedback, without the arms that the learner does not have.

        Parameters
        ----------
        body : dict
            The body of the report.
        asked : dict
            The body with the entries that were played.
        """
        to_choices, to_arms = self._numbers[body["names"]]
        arms, outcomes = to_arms[body["arms"]], np.array(body["outcomes"], np.float64)
        there = arms >= 0
        is_whole = bool(there.all())
        reward = float(body.get("reward", "nan"))
        network = getattr(self.policy.oracle, "network", None) if "cascade" in body else None
        if network is not None:
            seeds = self._numbers[asked["names"]][0][asked["super_arm"]]
            return CascadeFeedback(
                _cascade(body["cascade"], seeds[seeds >= 0], to_choices, to_arms, network),
                Network(*network),
                arms=arms[there],
                outcomes=outcomes[there],
                reward=reward,
                has_all=True,
                is_old=True,
            )
        parts: dict[str, Any] = {n: np.array(body[n], kind) for n, kind in _NUMBERS.items() if n in body}
        if not parts and "used" not in body and is_whole:  # the usual report, which was validated
            return Feedback.unchecked(arms, outcomes, reward)
        if "used" in body:
            parts["used"] = np.array(body["used"], np.float64)
        elif "costs" in parts and not is_whole:  # the resources used by arms that are gone still count
            parts["used"] = np.sum(parts["costs"], axis=0) + (len(asked["super_arm"]) - len(there))
        parts = {name: part if name == "used" else part[there] for name, part in parts.items()}
        return Feedback(arms[there], outcomes[there], reward=reward, **parts)


def _cascade(body: Body, seeds: IntArray, people: IntArray, ties: IntArray, network: Any) -> Cascade:
    """Return a cascade in the present network.

    People and ties that the network of the report did not have took no part.
    """
    numbers = {"choices": people, "arms": ties}
    parts = {key: numbers[names][body.get(key, [])] for key, names in _CASCADE.items()}
    joined, steps = parts.pop("joined"), body.get("steps")
    levels = np.full(len(joined), -1) if steps is None else np.array(steps, np.int64)
    known = (joined >= 0) & ~np.isin(joined, seeds)
    tails, _, n_nodes = network
    return Cascade(
        seeds=seeds,
        joined=joined[known],
        steps=levels[known],
        absent=np.setdiff1d(np.arange(n_nodes), people),
        missing=np.setdiff1d(np.arange(len(tails)), ties),
        **{key: part[part >= 0] for key, part in parts.items()},
    )


def array_body(array: AnyArray) -> Body:
    """Return an array as JSON values."""
    data = zlib.compress(np.ascontiguousarray(array).tobytes(), 1)
    return {"type": array.dtype.name, "shape": list(array.shape), "data": base64.b64encode(data).decode()}


def in_order(body: Body, numbers: IntArray, n: int) -> AnyArray:
    """Return the rows of an array with other numbers, among `n` rows; other rows are zeros."""
    data = zlib.decompress(base64.b64decode(body["data"]))
    rows = np.frombuffer(data, body["type"]).reshape(body["shape"])
    numbers = numbers[body["rows"]] if "rows" in body else numbers
    values = np.zeros((n, *rows.shape[1:]), rows.dtype)
    values[numbers[numbers >= 0]] = rows[numbers >= 0]
    return values


def context_of(parts: Body, numbers: tuple[IntArray, IntArray], sizes: tuple[int, int]) -> Context | None:
    """Return the parts of a context with other numbers of entries and arms; None without parts."""
    found = {}
    for name, part in parts.items():
        of = 0 if name == "available" else 1
        found[name] = in_order(part, numbers[of], sizes[of])
    return Context(**found) if found else None


@dataclass
class Replay:
    """The state after some events. Once other threads can see it, it is never changed: `twin` is.

    Attributes
    ----------
    of : Translation
        The names and the learner.
    state : object
        The state of the learner.
    number : int
        The number of events.
    asked, told : int
        The numbers of tickets and of reported tickets.
    pending : dict
        The events of the pending tickets, oldest first.
    played : Played
        The record of rewards and missing outcomes for certificates.
    hidden : HiddenOutcomes or None
        The reports with hidden outcomes, from the first one on.
    last_told : float or None
        The time of the last report.
    """

    of: Translation
    state: Any
    number: int = 0
    asked: int = 0
    told: int = 0
    pending: dict[int, Event] = field(default_factory=dict)
    played: Played = field(default_factory=Played)
    hidden: HiddenOutcomes | None = None
    last_told: float | None = None

    @classmethod
    def fresh(cls, of: Translation) -> Replay:
        """Return the state before the first ticket."""
        return cls(of, of.policy.initial_state(of.generator(0, purpose=_BEGINNING)))

    def twin(self, *, learns: bool = True) -> Replay:
        """Return a copy that can be changed; if `learns` is false, it shares the state of the learner."""
        twin = object.__new__(Replay)
        twin.__dict__.update(self.__dict__, pending=self.pending.copy())
        if learns:
            twin.state, twin.played = deepcopy(self.state), deepcopy(self.played)
            twin.hidden = copy(self.hidden)
        return twin

    def apply(self, event: Event, find: Callable[[int], Event], report: Event | None = None) -> None:
        """Process an event.

        Parameters
        ----------
        event : Event
            The next event. Corrections and undos have no effect here; they change how others are replayed.
        find : callable
            Returns the event of a ticket that is not pending, because it expired before it was reported.
        report : Event, optional
            The correction that stands in place of a report.
        """
        kind, ticket = event.kind, event.ticket
        self.number = event.number
        if ticket is None:
            return
        if kind == "ask":
            self.pending[ticket] = event
            self.asked = max(self.asked, ticket + 1)
            if self.of.reserves:
                self.of.policy.reserve(self.state, self.of.ticket(ticket, event.body))
        elif kind == "tell":
            asked = self.pending.pop(ticket, None) or find(ticket)
            self._learn(event, ticket, (report or event).body, asked.body)
            self.last_told = (report or event).at
        elif kind == "cancel":
            self.pending.pop(ticket, None)

    def _learn(self, event: Event, number: int, body: Body, asked: Body) -> None:
        of, policy = self.of, self.of.policy
        asked = of.played(asked, body)
        ticket = of.ticket(number, asked)
        told = observed = of.feedback(body, asked)
        if isinstance(told, CascadeFeedback):
            observed, prior = told.plain, prior_of(policy)
            if self.hidden is None and prior is not None:
                self.hidden = HiddenOutcomes(prior, self.state)
        policy.update(self.state, observed, ticket, of.generator(event.number, purpose=_LEARNING))
        note_round(self.played, policy, ticket, observed)
        if self.hidden is not None:
            self.hidden.tell(told)
        self.told += 1

    def packed(self) -> bytes:
        """Return the state as an archive, which has no room for hidden outcomes."""
        arrays: dict[str, AnyArray] = {}
        document = self._owner() | {
            "counts": [self.number, self.asked, self.told, self.last_told],
            "pending": [list(event) for event in self.pending.values()],
            "played": archive.flattened(self.played, "played", arrays),
            "state": archive.flattened(self.state, "state", arrays),
        }
        return archive.packed(document, arrays, compressed=False)

    @classmethod
    def unpacked(cls, of: Translation, data: bytes) -> Replay | None:
        """Return the state of an archive, or None if another learner or version has written it."""
        document, arrays = archive.unpacked(data, "the snapshot")
        made = cls.fresh(of)
        if any(document[key] != value for key, value in made._owner().items()):
            return None
        made.state = archive.filled(made.state, document["state"], arrays)
        made.number, made.asked, made.told, made.last_told = document["counts"]
        events = (Event(*row) for row in document["pending"])
        made.pending = {event.ticket: event for event in events if event.ticket is not None}
        made.played = archive.filled(made.played, document["played"], arrays)
        return made

    def _owner(self) -> dict[str, Any]:
        """Return what must be equal in a process that uses a snapshot."""
        labels = [archive.labels_hash(names.own) for names in (self.of.choices, self.of.arms)]
        return {"learner": archive.described(self.of.policy), "labels": labels, "versions": versions()}


# Events by name.


def rows_of(events: Sequence[Event], labels: Mapping[int, Labels]) -> list[dict[str, Any]]:
    """Return events as rows of the history, by name."""
    undone = {event.body["line"] for event in events if event.kind == "undo"}
    rows = [row_of(event, labels, event.number in undone) for event in events]
    described = [event.number for event in events if event.kind in ("campaign", "changed")]
    for one, other in pairwise(described):
        if labels[one] != labels[other]:
            old, new = {*labels[one].arms}, {*labels[other].arms}
            rows[other - 1] |= {"new": tuple(new - old), "gone": tuple(old - new)}
    return rows


def row_of(event: Event, labels: Mapping[int, Labels], is_undone: bool) -> dict[str, Any]:
    """Return an event as a row of the history, by name."""
    body = event.body
    row: dict[str, Any] = {"line": event.number, "event": event.kind, "at": iso(event.at)}
    row["undone"] = is_undone
    row |= {key: getattr(event, key) for key in ("author", "ticket") if getattr(event, key) is not None}
    row |= {key: body[key] for key in _SHOWN if key in body}
    if "super_arm" in body:
        row["names"] = tuple(labels[body["names"]].choices[number] for number in body["super_arm"])
    if "available" in body.get("context", {}):
        choices = labels[body["names"]].choices
        flags = in_order(body["context"]["available"], np.arange(len(choices)), len(choices))
        row["left_out"] = tuple(name for name, flag in zip(choices, flags, strict=True) if not flag)
    if "outcomes" in body:
        arms = [labels[body["names"]].arms[number] for number in body["arms"]]
        row["outcomes"] = dict(zip(arms, body["outcomes"], strict=True))
        if "costs" in body:
            row["costs"] = dict(zip(arms, body["costs"], strict=True))
    if "cascade" in body:
        row |= _cascade_row(body["cascade"], labels[body["names"]])
    if "line" in body:
        row["of_line"] = body["line"]
    return row


def _cascade_row(body: Body, labels: Labels) -> dict[str, Any]:
    """Return a report in the form of the arguments of `Campaign.tell`."""
    listed = {
        key: tuple(getattr(labels, names)[number] for number in body.get(key, ()))
        for key, names in _CASCADE.items()
    }
    joined: Any = listed["joined"]
    if "steps" in body:
        joined = {name: step if step >= 0 else None for name, step in zip(joined, body["steps"], strict=True)}
    row = {"joined": joined} | ({"unseen": listed["unseen"]} if listed["unseen"] else {})
    known = dict.fromkeys(listed["live"], 1) | dict.fromkeys(listed["dead"], 0)
    return row | ({"known": known} if known else {})


class Standing(NamedTuple):
    """A ticket after all undos and corrections, from rows of the history.

    Attributes
    ----------
    asked, told, closed : dict or None
        The row of its ask, of its report or correction, and of its cancellation.
    mark : int
        The line of the last event about the ticket.
    """

    asked: dict[str, Any]
    told: dict[str, Any] | None
    closed: dict[str, Any] | None
    mark: int

    @property
    def state(self) -> str:
        """The state: ``"told"``, ``"cancelled"`` or ``"pending"``."""
        return "told" if self.told is not None else "cancelled" if self.closed is not None else "pending"


def standing_of(rows: Iterable[dict[str, Any]]) -> Iterator[Standing]:
    """Yield the tickets of a history in their order."""
    found: dict[int, dict[str, Any]] = {}
    for row in rows:
        if "ticket" not in row:
            continue
        if row["event"] == "ask":
            found[row["ticket"]] = {"asked": row, "told": None, "closed": None}
        of = found[row["ticket"]]
        of["mark"] = row["line"]
        if row["event"] in ("tell", "correct", "cancel") and not row["undone"]:
            of["closed" if row["event"] == "cancel" else "told"] = row
    return (Standing(**of) for of in found.values())


def versions() -> dict[str, str]:
    """Return the versions that events and snapshots state."""
    return {"cmab": metadata.version("cmab"), "numpy": np.__version__}


def iso(at: float) -> str:
    """Return a time as text in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


# The log


def read_campaign(where: str | os.PathLike[str], *, timeout: float = 120.0) -> Log:
    """Return the rounds of a campaign by name, after all undos and corrections.

    The function needs no learner and writes nothing. You can call it while processes use the campaign.

    Parameters
    ----------
    where : str or path-like
        The path or the URL of a `Campaign`.
    timeout : float
        The number of seconds to wait for the database.

    Raises
    ------
    ValueError
        If there is no campaign, or if the store is damaged.
    OSError
        If the file or the database cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CTS, Campaign, read_campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.db")
    ...     request = Campaign(CTS(TopK(5, k=2)), path, rng=0).ask()
    ...     [(row.number, row.state) for row in read_campaign(path)]
    [(0, 'pending')]
    """
    store = Store(where, timeout)
    try:
        if store.first() is None:
            raise ValueError(f"where must be a campaign, got {store.where}, which has none")
        events = list(store.read())
    finally:
        store.close()
    described = [event for event in events if event.kind in ("campaign", "changed")]
    versions = [found for found, _ in groupby(event.body["versions"] for event in described)]
    labels = {event.number: Labels.of(event.body) for event in described}
    choices = Names(
        "entries of super arms", list(dict.fromkeys(chain(*(one.choices for one in labels.values()))))
    )
    arms = Names("base arms", list(dict.fromkeys(chain(*(one.arms for one in labels.values())))))
    numbers = {line: (choices.numbers(one.choices), arms.numbers(one.arms)) for line, one in labels.items()}
    rounds = []
    for each in standing_of(rows_of(events, labels)):
        asked, told, body = each.asked, each.told or {}, events[each.asked["line"] - 1].body
        parts = {name: part for name, part in body.get("context", {}).items() if "rows" not in part}
        if "names" in told:  # others were played than those that the policy chose
            asked = {"ticket": asked["ticket"], "names": told["names"], "at": asked["at"]}
        rounds.append(
            LoggedRound(
                number=asked["ticket"],
                state=each.state,
                names=asked["names"],
                outcomes=told.get("outcomes", {}),
                reward=told.get("reward", math.nan),
                propensity=asked.get("propensity"),
                by_position=tuple(asked["by_position"]) if "by_position" in asked else None,
                context=context_of(parts, numbers[body["names"]], (len(choices.own), len(arms.own))),
                asked=datetime.fromisoformat(asked["at"]),
                told=datetime.fromisoformat(told["at"]) if told else None,
            )
        )
    return Log(rounds, choices=choices.own, arms=arms.own, versions=versions)
