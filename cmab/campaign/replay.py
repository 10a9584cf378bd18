"""Events and their meaning for a learner: the names, the tickets, the reports, and the state after them."""

from __future__ import annotations

import base64
import hashlib
import threading
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from cmab import archive
from cmab.arrays import AnyArray, IntArray
from cmab.bounds.certificate import Played, note_round
from cmab.campaign.names import Names, Texts, forgotten, nouns
from cmab.campaign.posterior import Cascade, CascadeFeedback, HiddenOutcomes, Network, prior_of
from cmab.campaign.store import Event
from cmab.explorer import Explorer
from cmab.feedback import Context, Feedback, Ticket
from cmab.oracle import Oracle
from cmab.policy import Policy

#: Parts of a context with at most this many numbers are stored whole; of larger ones, the rows of the ticket.
_SMALL = 256
#: The number of recent tickets that are kept to be reported.
_RECENT = 256
#: The purposes of the random numbers of a campaign.
_BEGINNING, _LEARNING, _CHOOSING = range(3)
#: The lists of a report with hidden outcomes: the key in the event, and whether it holds people or ties.
_CASCADE = {"joined": "choices", "unseen": "choices", "live": "arms", "dead": "arms"}
_NUMBERS = {"pulls": np.int64, "squares": np.float64, "costs": np.float64}
#: Entries of an event that its row in the history repeats unchanged.
_SHOWN = ("reward", "pulls", "squares", "used", "expired", "replaced_by", "propensity")

Body = dict[str, Any]


class Description(NamedTuple):
    """The network of a description: its line, the numbers of places before it, and the places it lacks."""

    line: int
    sizes: tuple[int, int]
    gone: tuple[list[int], list[int]]


class Translation:
    """The names and the arrays of a learner in the form of events, and back.

    Parameters
    ----------
    policy : Policy
        The learner.
    stored : sequence of str
        The names in the store.
    """

    def __init__(self, policy: Policy[Any], stored: Sequence[str] = ()) -> None:
        self.policy, self.texts = policy, Texts(stored)
        oracle = getattr(policy, "oracle", None)
        n_arms = policy.n_arms if isinstance(policy, Explorer) else policy.oracle.n_arms
        arms: list[Hashable] = list(range(n_arms)) if oracle is None else oracle._arm_labels()
        choices = arms
        if oracle is not None and not isinstance(policy, Explorer):  # tickets of explorers hold base arms
            choices = oracle.labels(np.arange(oracle.n_choices))
        is_undirected = isinstance(oracle, Oracle) and getattr(oracle, "is_undirected", False)
        of_choices, of_arms = nouns(choices, arms)
        self.choices = Names(of_choices, choices, is_undirected)
        self.arms = Names(of_arms, arms, is_undirected)
        self.descriptions: list[Description] = []
        #: The body of the first event, and of the last description.
        self.first: Body = {}
        self.last: Body = {}
        self._own = threading.local()
        self._tickets: dict[int, Ticket] = {}
        self.reserves = type(policy).reserve is not Policy.reserve

    # The description of the learner and its names.

    def description(self) -> Body:
        """Return the body of a description: the learner, new names, and the places of names that are gone."""
        choices, arms = self.choices.unknown(), self.arms.unknown()
        coded = self.texts.encoded(choices)
        return {
            "learner": archive.described(self.policy),
            "versions": versions(),
            "choices": coded,
            "arms": None if choices == arms else self.texts.encoded(arms),
            "gone": [self.choices.gone(), self.arms.gone()],
        }

    def learn(self, event: Event) -> None:
        """Take over the names of a description."""
        body = event.body
        if not self.first:
            self.first = body
        self.last = body
        choices = self.texts.decoded(body["choices"])
        self.choices.grow(choices)
        self.arms.grow(choices if body["arms"] is None else self.texts.decoded(body["arms"]))
        sizes = len(self.choices.listed), len(self.arms.listed)
        self._tickets.clear()
        self.descriptions.append(Description(event.number, sizes, tuple(body["gone"])))

    def forget(self, place: int) -> None:
        """Replace the name at a place, also in the lists of names; the learner keeps its own."""
        former, text = self.texts.label(place), forgotten(place)
        self.texts.replace(place, text)
        for names in (self.choices, self.arms):
            names.listed = [_replaced(label, former, self.texts.label(place)) for label in names.listed]

    def changes(self) -> list[str]:
        """Return the names that are new or gone, and the changed parameters, as texts."""
        words = []
        for names, gone in zip((self.choices, self.arms), self.last["gone"], strict=True):
            places = set(gone)
            former = {name: None for place, name in enumerate(names.listed) if place not in places}
            left = [name for name in former if name not in names.number]
            new = [name for name in names.own if name not in former]
            words += [f"{names.counted(new)} new ({_few(new)})"] if new else []
            words += [f"{names.counted(left)} gone ({_few(left)})"] if left else []
        kept, present = self.last["learner"], archive.described(self.policy)
        others = archive.differences(kept, present)
        if words:  # these numbers follow from the names
            follow = tuple(f"oracle.{name} " for name in ("n_arms", "n_choices", "max_size", "alpha", "beta"))
            others = [text for text in others if not text.startswith(follow)]
        return list(dict.fromkeys(words)) + others

    @property
    def tie_names(self) -> list[tuple[Hashable, ...]]:
        """The names of the base arms if they are ties from entries of super arms; otherwise empty."""
        pairs = [arm for arm in self.arms.own if isinstance(arm, tuple) and len(arm) > 1]
        is_ties = len(pairs) == len(self.arms.own) and self.arms.own != self.choices.own
        return pairs if is_ties and all(arm[0] in self.choices.number for arm in pairs) else []

    # Random numbers: each call has its own, which depend on the seed and on the place of the call only.

    def generator(self, number: int, salt: int = 0, purpose: int = _CHOOSING) -> np.random.Generator:
        """Return the generator for a purpose, until the next call in this thread."""
        # Each thread has one generator, because to set its position takes less time than to make one.
        if not hasattr(self._own, "generator"):
            self._own.generator = np.random.Generator(np.random.Philox(key=[self.first["seed"], 0]))
            self._own.position = self._own.generator.bit_generator.state
        rng, position = self._own.generator, self._own.position
        position["state"]["key"][1] = purpose
        position["state"]["counter"][2:] = salt, number
        rng.bit_generator.state = position
        found: np.random.Generator = rng
        return found

    # Tickets and contexts.

    def ask_body(self, ticket: Ticket, **more: Any) -> Body:
        """Return the body of the event of a ticket; entries of `more` that are None are left out."""
        body: Body = {"super_arm": self.choices.places(ticket.super_arm)}
        if ticket.pulls != 1:
            body["pulls"] = ticket.pulls
        if ticket.context is not None:
            body["context"] = self._context_body(ticket.context, ticket.super_arm)
        return body | {name: value for name, value in more.items() if value is not None}

    def _context_body(self, context: Context, super_arm: IntArray) -> Body:
        body: Body = {}
        for name in context.parts:
            part = getattr(context, name)
            if name == "available":
                flags = np.packbits(self.choices.by_place(part)).tobytes()
                body[name] = [len(self.choices.listed), _text_of(zlib.compress(flags))]
            elif part.size <= _SMALL:
                body[name] = self.arms.by_place(part).tolist()
            else:
                rows = self._rows_of(super_arm)
                parts = np.ascontiguousarray(part[rows])
                body[name] = {
                    "arms": self.arms.places(rows),
                    "shape": list(parts.shape),
                    "type": parts.dtype.name,
                    "data": _text_of(parts.tobytes()),
                    "hash": hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest()[:16],
                }
        return body

    def _rows_of(self, super_arm: IntArray) -> IntArray:
        """Return the base arms whose features a later report can need."""
        oracle = getattr(self.policy, "oracle", None)
        if oracle is None or isinstance(self.policy, Explorer) or self.choices.own == self.arms.own:
            return super_arm
        return np.asarray(oracle.triggered_arms(super_arm), np.int64)

    def ticket(self, number: int, body: Body) -> Ticket:
        """Return the ticket of an event. Rows of features that were not stored are zeros."""
        found = self._tickets.get(number)
        if found is None:
            found = self._made(number, body)
            if found.context is None:
                if len(self._tickets) >= _RECENT:
                    self._tickets = {}
                self._tickets[number] = found
        return found

    def _made(self, number: int, body: Body) -> Ticket:
        arms = self.choices.numbers(body["super_arm"])
        there = arms[arms >= 0]
        context = None
        if "context" in body:
            context = Context(**{name: self._part(name, part) for name, part in body["context"].items()})
        # The whole super arm may have been played, including entries that are gone since.
        return Ticket(
            number, there, body.get("pulls", 1), self.token(number, there), context, len(arms) - len(there)
        )

    def token(self, number: int, super_arm: IntArray) -> str:
        """Return the text that tells a ticket from those of other campaigns."""
        return f"{self.first['token']}:{number}:{zlib.crc32(super_arm.tobytes()):08x}"

    def _part(self, name: str, part: Any) -> AnyArray:
        if name == "available":
            n, flags = part
            return self.choices.by_number(unpacked_flags(flags, n))
        if isinstance(part, list):
            return self.arms.by_number(np.array(part))
        rows = np.frombuffer(base64.b64decode(part["data"]), part["type"]).reshape(part["shape"])
        numbers = self.arms.numbers(part["arms"])
        values = np.zeros((len(self.arms.own), *rows.shape[1:]), rows.dtype)
        values[numbers[numbers >= 0]] = rows[numbers >= 0]
        return values

    # Reports.

    def report_body(self, feedback: Feedback) -> Body:
        """Return the body of the event of a report."""
        body: Body = {"arms": self.arms.places(feedback.arms), "outcomes": feedback.outcomes.tolist()}
        if isinstance(feedback, CascadeFeedback):
            body["cascade"] = self._cascade_body(feedback.cascade)
        if feedback.reward == feedback.reward:
            body["reward"] = float(feedback.reward)
        for name in (*_NUMBERS, "used"):
            part = getattr(feedback, name)
            if part is not None and part.size:
                body[name] = part.tolist()
        return body

    def _cascade_body(self, cascade: Cascade) -> Body:
        lists = {key: getattr(self, names).places(getattr(cascade, key)) for key, names in _CASCADE.items()}
        body: Body = {key: places for key, places in lists.items() if places or key == "joined"}
        if cascade.has_steps:
            body["steps"] = cascade.steps.tolist()
        return body | {"network": self._own_description().line}

    def _own_description(self) -> Description:
        """Return the last description with exactly the present people and ties."""
        for found in reversed(self.descriptions):
            lists = zip((self.choices, self.arms), found.sizes, found.gone, strict=True)
            if all(
                len(names.own) == size - len(gone)
                and not len(names.numbers_from(size))
                and (names.numbers(gone) < 0).all()
                for names, size, gone in lists
            ):
                return found
        return self.descriptions[-1]

    def feedback(self, body: Body, asked: Body) -> Feedback:
        """Return the reported feedback, without the arms that the learner does not have.

        Parameters
        ----------
        body : dict
            The body of the report.
        asked : dict
            The body of the event of its ticket.
        """
        arms, outcomes = self.arms.numbers(body["arms"]), np.array(body["outcomes"], np.float64)
        there = arms >= 0
        is_whole = bool(there.all())
        reward = float(body.get("reward", "nan"))
        network = getattr(self.policy.oracle, "network", None) if "cascade" in body else None
        if network is not None:
            seeds = self.choices.numbers(asked["super_arm"])
            return CascadeFeedback(
                self._cascade(body["cascade"], seeds[seeds >= 0]),
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

    def _cascade(self, body: Body, seeds: IntArray) -> Cascade:
        """Return a cascade in the present network.

        People and ties that the network did not have at the time of the report took no part.
        """
        parts = {key: getattr(self, names).numbers(body.get(key, [])) for key, names in _CASCADE.items()}
        joined, steps = parts.pop("joined"), body.get("steps")
        levels = np.full(len(joined), -1) if steps is None else np.array(steps, np.int64)
        parts = {key: numbers[numbers >= 0] for key, numbers in parts.items()}
        known = (joined >= 0) & ~np.isin(joined, seeds)
        found = next(one for one in self.descriptions if one.line == body["network"])
        people, ties = (
            np.union1d(names.numbers(gone)[names.numbers(gone) >= 0], names.numbers_from(size))
            for names, size, gone in zip((self.choices, self.arms), found.sizes, found.gone, strict=True)
        )
        return Cascade(
            seeds=seeds,
            joined=joined[known],
            steps=levels[known],
            absent=np.setdiff1d(people, np.concatenate([joined, parts["unseen"]])).astype(np.int64),
            missing=np.setdiff1d(ties, np.concatenate([parts["live"], parts["dead"]])).astype(np.int64),
            **parts,
        )

    def row(self, event: Event, is_undone: bool) -> dict[str, Any]:
        """Return an event as a row of the history, by name."""
        body = event.body
        row: dict[str, Any] = {"line": event.number, "event": event.kind, "at": iso(event.at)}
        row["undone"] = is_undone
        row |= {key: getattr(event, key) for key in ("author", "ticket") if getattr(event, key) is not None}
        row |= {key: body[key] for key in _SHOWN if key in body}
        if "super_arm" in body:
            row["names"] = tuple(self.choices.listed[place] for place in body["super_arm"])
        if "outcomes" in body:
            names = [self.arms.listed[place] for place in body["arms"]]
            row["outcomes"] = dict(zip(names, body["outcomes"], strict=True))
            if "costs" in body:
                row["costs"] = dict(zip(names, body["costs"], strict=True))
        if "cascade" in body:
            row |= self._cascade_row(body["cascade"])
        if "line" in body:
            row["of_line"] = body["line"]
        return row

    def _cascade_row(self, body: Body) -> dict[str, Any]:
        """Return a report in the form of the arguments of `Campaign.tell`."""
        listed = {
            key: tuple(getattr(self, names).listed[place] for place in body.get(key, ()))
            for key, names in _CASCADE.items()
        }
        joined: Any = listed["joined"]
        if "steps" in body:
            joined = {
                name: step if step >= 0 else None for name, step in zip(joined, body["steps"], strict=True)
            }
        row = {"joined": joined} | ({"unseen": listed["unseen"]} if listed["unseen"] else {})
        known = dict.fromkeys(listed["live"], 1) | dict.fromkeys(listed["dead"], 0)
        return row | ({"known": known} if known else {})


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
        if kind == "ask":
            assert ticket is not None
            self.pending[ticket] = event
            self.asked = max(self.asked, ticket + 1)
            if self.of.reserves:
                self.of.policy.reserve(self.state, self.of.ticket(ticket, event.body))
        elif kind == "tell":
            assert ticket is not None
            asked = self.pending.pop(ticket, None) or find(ticket)
            self._learn(event, (report or event).body, asked)
            self.last_told = (report or event).at
        elif kind == "cancel":
            assert ticket is not None
            self.pending.pop(ticket, None)

    def _learn(self, event: Event, body: Body, asked: Event) -> None:
        of, policy = self.of, self.of.policy
        assert event.ticket is not None
        ticket, told = of.ticket(event.ticket, asked.body), of.feedback(body, asked.body)
        observed = told
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
        """Return the state as an archive, in which the reports with hidden outcomes are not repeated."""
        arrays: dict[str, AnyArray] = {}
        document = {
            "learner": archive.described(self.of.policy),
            "labels": self._labels(),
            "versions": versions(),
            "counts": [self.number, self.asked, self.told, self.last_told],
            "pending": [list(event) for event in self.pending.values()],
            "played": self.played.listed(),
            "state": archive.flattened(self.state, "state", arrays),
            "hidden": self.hidden is not None,
        }
        if self.hidden is not None:
            arrays |= {f"hidden.{name}": part for name, part in self.hidden.arrays().items()}
        return archive.packed(document, arrays, compressed=False)

    @classmethod
    def unpacked(
        cls, of: Translation, data: bytes, reports: Callable[[int], list[CascadeFeedback]]
    ) -> Replay | None:
        """Return the state of an archive, or None if another learner or version has written it.

        Parameters
        ----------
        of : Translation
            The names and the learner.
        data : bytes
            The archive.
        reports : callable
            Returns the reports with hidden outcomes up to an event.
        """
        document, arrays = archive.unpacked(data, "the snapshot")
        made = cls.fresh(of)
        now = {"learner": archive.described(of.policy), "labels": made._labels()}
        now["versions"] = versions()
        if any(document[key] != value for key, value in now.items()):
            return None
        made.state = archive.filled(made.state, document["state"], arrays)
        made.number, made.asked, made.told, made.last_told = document["counts"]
        events = (Event(*row) for row in document["pending"])
        made.pending = {event.ticket: event for event in events if event.ticket is not None}
        made.played = Played.of(document["played"])
        prior = prior_of(of.policy)
        if document["hidden"] and prior is not None:
            stored = {name.removeprefix("hidden."): part for name, part in arrays.items()}
            made.hidden = HiddenOutcomes.of(prior, reports(made.number), stored)
        return made

    def _labels(self) -> list[str]:
        return [archive.labels_hash(names.own) for names in (self.of.choices, self.of.arms)]


@dataclass(frozen=True)
class Rewrites:
    """The corrections and undos of a campaign.

    Attributes
    ----------
    undone : frozenset of int
        The numbers of the events that were undone.
    corrections : dict
        The standing correction of each corrected report, by the number of the report.
    earliest : tuple of (int, int)
        For each correction or undo its number, and the number of the first event that it changes.
    """

    undone: frozenset[int] = frozenset()
    corrections: Mapping[int, Event] = field(default_factory=dict)
    earliest: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, events: Iterable[Event]) -> Rewrites:
        """Return the rewrites among some events, in increasing order."""
        found = {event.number: event for event in events if event.kind in ("correct", "undo")}
        undone = frozenset(event.body["line"] for event in found.values() if event.kind == "undo")
        standing = [e for e in found.values() if e.kind == "correct" and e.number not in undone]
        earliest = []
        for event in found.values():
            line = event.body["line"]
            target = found.get(line)
            earliest.append((event.number, line if target is None else target.body["line"]))
        return cls(undone, {event.body["line"]: event for event in standing}, tuple(earliest))

    def allow(self, number: int) -> bool:
        """Return whether the state after an event is still that of the events up to it."""
        return all(first > number for at, first in self.earliest if at > number)


class Round(NamedTuple):
    """A round as it stands: its ask, its report or None, and its state."""

    asked: Event
    told: Event | None
    state: str


def standing_rounds(events: Iterable[Event]) -> Iterator[Round]:
    """Yield the rounds of all events after all undos and corrections, in the order of their tickets."""
    listed = [event for event in events if event.kind in ("ask", "tell", "cancel", "correct", "undo")]
    rewrites = Rewrites.of(listed)
    asked = {event.ticket: event for event in listed if event.kind == "ask"}
    told: dict[int | None, Event] = {}
    closed = set()
    for event in listed:
        if event.number in rewrites.undone:
            continue
        if event.kind == "tell":
            told[event.ticket] = rewrites.corrections.get(event.number, event)
        elif event.kind == "cancel":
            closed.add(event.ticket)
    for ticket, event in asked.items():
        state = "told" if ticket in told else "cancelled" if ticket in closed else "pending"
        yield Round(event, told.get(ticket), state)


def versions() -> dict[str, str]:
    """Return the versions that events and snapshots state."""
    return {"cmab": metadata.version("cmab"), "numpy": np.__version__}


def unpacked_flags(text: str, n: int) -> AnyArray:
    """Return the flags of a context in an event, by place."""
    packed = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return np.unpackbits(packed, count=n).astype(np.bool_)


def _text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def iso(at: float) -> str:
    """Return a time as text in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _replaced(label: Hashable, former: Hashable, new: Hashable) -> Hashable:
    if isinstance(label, tuple):
        return tuple(_replaced(part, former, new) for part in label)
    return new if label == former else label


def _few(names: Sequence[Hashable]) -> str:
    more = f", and {len(names) - 5:,} more" if len(names) > 5 else ""
    return f"[{', '.join(map(repr, names[:5]))}{more}]"
