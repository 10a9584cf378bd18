"""A campaign that speaks names, safe from crashes and shared by processes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from cmab._ask_tell import check_feedback
from cmab.campaigns._admission import admit, beginning, changed, learner_of
from cmab.campaigns._fold import Fold
from cmab.campaigns._names import read
from cmab.campaigns.journal import Event, Journal
from cmab.context import Context
from cmab.explorer import Explorer
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.policy import Policy
from cmab.saving._generators import generator_state
from cmab.seeding import Seed
from cmab.session import Session
from cmab.ticket import Ticket
from cmab.validation import shown

Done = TypeVar("Done")
Told = Feedback | Mapping[Any, Any] | Collection[tuple[Any, Any]]

_NONE = float("nan")


@dataclass(frozen=True, eq=False)
class Request:
    """What `Campaign.ask` hands out: play `names`, then tell what was seen under this `number`.

    Attributes
    ----------
    number : int
        Counts the calls of `ask` of all processes, from 0.
    names : tuple
        What to play: people, edges, pairs. From an `Explorer`: the base arms to sample.
    ticket : Ticket
        The same by numbers.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cmab import CUCB, Campaign
    >>> from oracles import TopK
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     campaign = Campaign(CUCB(TopK(5, k=2)), pathlib.Path(folder, "campaign.jsonl"), rng=0)
    ...     campaign.ask()
    Request(number=0, names=(0, 1))
    """

    number: int
    names: tuple[Hashable, ...]
    ticket: Ticket

    def __repr__(self) -> str:
        return f"Request(number={self.number}, names={self.names!r})"

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class Campaign:
    """A `Session` that speaks names and keeps a journal: nothing that was told is lost.

    Every event, an ask, a tell, a cancel, a correction, is a line of a file, on the disk before a call
    returns. Made anew on the same file, a campaign goes on where it was, after a crash too. Processes and
    threads may share it: each call waits for the others, and takes in what they have written.

    Parameters
    ----------
    learner : Policy, Explorer or Oracle
        The learner; for an oracle, Thompson sampling (`CTS`) with a counter for each base arm.
    path : str or path-like
        The journal, begun if there is no such file.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Seed of a new campaign; one that goes on has its own. A generator is not advanced.
    support : tuple of float, optional
        As in `Session`; one that goes on has its own.
    accept_changes : bool
        Whether another k or scale, people and edges that are new, and ones that are gone are right. What was
        learned is matched by name; a mere change of their order needs no word.

    Raises
    ------
    TypeError
        If `learner` is none.
    ValueError
        If two things have one name; or the file is damaged, no journal, or one of another learner.
    OSError
        If the file cannot be read and written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import networkx as nx
    >>> from cmab import Campaign
    >>> from oracles import DegreeHeuristic
    >>> friends = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("bob", "dan"), ("cy", "dan")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "campaign.jsonl")
    ...     request = Campaign(DegreeHeuristic(friends, k=1), path, rng=0).ask()
    ...     again = Campaign(DegreeHeuristic(friends, k=1), path)
    ...     again.tell(ticket=0, joined=["ann", "bob"], carried=[("ann", "bob")])
    ...     again.pending, again.history()[-1]["outcomes"]
    ((), {('ann', 'bob'): 1.0, ('ann', 'cy'): 0.0, ('bob', 'dan'): 0.0})
    """

    def __init__(
        self,
        learner: Policy[Any] | Oracle,
        path: str | os.PathLike[str],
        *,
        rng: Seed = None,
        support: tuple[float, float] | None = None,
        accept_changes: bool = False,
    ) -> None:
        self.policy = learner_of(learner)
        self._journal = Journal(path)
        self._fold = Fold(self.policy, self._journal.path)
        self._is_whole = True
        self._lock = threading.RLock()
        with self._journal.held() as file:
            events = self._journal.read(file)
            if events:
                admit(self._fold, events, support, accept_changes)
                self._fold.extend(events)
            else:
                begun = beginning(self._fold, rng, support)
                # Tried before it is written: a file with nothing but a wrong beginning helps nobody.
                Session(self.policy, 0, support=support)
                self._append(file, begun)
            now = changed(self._fold)
            if (
                now["choices"]
                or now["names"]
                or any(now[key] != of for key, of in self._fold.described.items())
            ):
                self._append(file, now)

    def __repr__(self) -> str:
        return f"Campaign({self.policy!r}, {str(self._journal.path)!r})"

    @property
    def pending(self) -> tuple[int, ...]:
        """Numbers of the tickets whose feedback is still to come."""
        with self._up_to_date():
            return self._fold.current.pending

    @property
    def is_done(self) -> bool:
        """Whether an explorer's stopping rule holds; always false for other policies."""
        with self._up_to_date():
            return self._fold.current.is_done

    @property
    def session(self) -> Session[Any]:
        """A copy of the session as it stands, by numbers."""
        with self._up_to_date():
            return copy(self._fold.current)

    def recommend(self) -> list[Hashable]:
        """Return the names of the arms that the explorer would name now.

        Raises
        ------
        TypeError
            If the policy is no `Explorer`.
        """
        with self._up_to_date():
            return [self._fold.arms.own[arm] for arm in self._fold.current.recommend()]

    def ask(
        self, context: Context | None = None, *, available: Collection[Hashable] | None = None
    ) -> Request:
        """Return what to play now, by name.

        Parameters
        ----------
        context : Context, optional
            What is known of the round, by numbers.
        available : collection, optional
            Names of what may be chosen in this round; everything if left out.

        Raises
        ------
        ValueError
            As in `Session.ask`; or if a name is unknown.
        TypeError
            If `context` is no `Context`.
        """
        with self._up_to_date() as file:
            session = self._fold.current
            if available is not None:
                context = self._restricted(context, available)
            before = _text(session)

            def event(ticket: Ticket) -> Event:
                asked = self._fold.asked(ticket)
                if _text(session) == before:
                    del asked["rng"]
                return asked

            ticket = self._act(file, lambda: session.ask(context), event)
            self._fold.tickets[ticket.number] = session._open[ticket.number]
            names = self._fold.choices.own
            return Request(ticket.number, tuple(names[entry] for entry in ticket.super_arm), ticket)

    def tell(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        **seen: Any,
    ) -> None:
        """Take in what was seen after an ask, by name; what was not seen may be left out.

        Parameters
        ----------
        outcomes : mapping, list of pairs, or Feedback, optional
            Outcome of each base arm that was seen, by its name: of an explorer's ticket with several pulls, a
            list of so many.
        ticket : Request, Ticket or int, optional
            What was played, or its number; may be left out when exactly one is pending.
        reward : float, optional
            The reward of the round.
        **seen
            A report in the oracle's own words, in place of `outcomes`: of influence ``joined=``, and
            ``carried=`` or ``unseen=`` (see `oracles.InfluenceOracle.feedback_of`).

        Raises
        ------
        ValueError
            As in `Session.tell`; or if a name is unknown, or the report cannot be of this ticket.
        TypeError
            If `outcomes` is nothing of the kind.
        """
        with self._up_to_date() as file:
            session = self._fold.current
            of = session._find(_ticket(ticket))
            feedback = self._feedback(of, outcomes, reward, seen)
            event = self._fold.reported("tell", of.number, feedback)
            self._act(file, lambda: session.tell(feedback, of), lambda _: event)
            self._fold.told[of.number] = len(self._fold)

    def cancel(self, ticket: Request | Ticket | int) -> None:
        """Take back a ticket that was not played, or whose feedback never comes; nothing is learned.

        Parameters
        ----------
        ticket : Request, Ticket or int
            What was asked for, or its number.

        Raises
        ------
        ValueError
            As in `Session.cancel`.
        """
        with self._up_to_date() as file:
            session = self._fold.current
            if ticket is None:
                raise ValueError("ticket must be a Request, a Ticket or its number, got None")
            of = session._find(_ticket(ticket))
            event: Event = {"event": "cancel", "ticket": of.number}
            self._act(file, lambda: session.cancel(of), lambda _: event)

    def correct(
        self,
        outcomes: Told | None = None,
        ticket: Request | Ticket | int | None = None,
        *,
        reward: float = _NONE,
        **seen: Any,
    ) -> None:
        """Replace what was told of a ticket, as if it had been told so at that time.

        What was asked for since then stays as it was.

        Parameters
        ----------
        outcomes, reward, **seen
            As in `tell`.
        ticket : Request, Ticket or int
            What was told, or its number.

        Raises
        ------
        ValueError
            As in `tell`; or if the ticket was not told.
        """
        with self._up_to_date() as file:
            of = self._told(_ticket(ticket))
            feedback = self._feedback(of, outcomes, reward, seen)
            check_feedback(feedback, of, self.policy, self._fold.current.support)
            event = self._fold.reported("correct", of.number, feedback)
            self._rewrite(file, event | {"line": self._fold.told[of.number]})

    def undo(self) -> dict[str, Any]:
        """Take back the last tell, cancel or correction, and return it as in `history`.

        Raises
        ------
        ValueError
            If there is nothing to take back, or another process has written since this one looked: call it
            again if what `history` shows last is still meant.
        """
        with self._lock:
            known = len(self._fold)
            with self._up_to_date() as file:
                if len(self._fold) != known:
                    raise ValueError(
                        "undo must be of what was seen last, got newer events of another process: look at the"
                        " history, and call it again"
                    )
                lines = range(len(self._fold), 0, -1)
                line = next((line for line in lines if self._can_undo(line)), None)
                if line is None:
                    raise ValueError("undo must follow a tell, cancel or correction, got none that is left")
                self._rewrite(file, {"event": "undo", "line": line})
                return self._shown(line)

    def history(self) -> list[dict[str, Any]]:
        """Return all events, oldest first, by name.

        Returns
        -------
        list of dict
            Each with ``line`` (in the file), ``event``, ``at`` (UTC), ``undone``, and what it is about.
        """
        with self._up_to_date():
            return [self._shown(line) for line in range(1, len(self._fold) + 1)]

    @contextmanager
    def _up_to_date(self) -> Iterator[int]:
        """Hold the journal, with all that others have written taken in."""
        with self._lock, self._journal.held() as file:
            if not self._is_whole:
                # A call was broken off between memory and file: the file counts.
                self._journal.rewind()
                self._fold = Fold(self.policy, self._journal.path)
            self._is_whole = False
            self._fold.extend(self._journal.read(file))
            if len(self._fold) == 0:
                raise ValueError(f"{self._journal.path} must be the journal of a campaign, got an empty file")
            self._is_whole = True
            yield file

    def _act(self, file: int, act: Callable[[], Done], event: Callable[[Done], Event]) -> Done:
        """Change the session and write it down, or neither."""
        self._is_whole = False
        try:
            done = act()
        except Exception:
            self._is_whole = True  # a call of a session that raises has changed nothing
            raise
        self._fold.events.append(self._write(file, event(done)))
        self._is_whole = True
        return done

    def _rewrite(self, file: int, event: Event) -> None:
        """Write down a change of the past, after it was tried on a copy."""
        changed_past = Fold(self.policy, self._journal.path)
        changed_past.extend([*self._fold.events, event])
        self._is_whole = False
        changed_past.events[-1] = self._write(file, event)
        self._fold, self._is_whole = changed_past, True

    def _append(self, file: int, event: Event) -> None:
        """Write an event down, and take it in."""
        self._fold.extend([self._write(file, event)])

    def _write(self, file: int, event: Event) -> Event:
        event = event | {"at": datetime.now(UTC).isoformat(timespec="seconds")}
        self._journal.append(file, event)
        return event

    def _restricted(self, context: Context | None, available: Collection[Hashable]) -> Context:
        """Return the context with what is available by name."""
        if context is not None and context.available is not None:
            raise ValueError("available must be given once, by name or in the context, got both")
        if isinstance(available, str) or not isinstance(available, Collection):
            raise ValueError(f"available must be a list of names, got {shown(available)}")
        flags = np.zeros(len(self._fold.choices.own), np.bool_)
        for name in available:
            flags[self._fold.choices.find(read(name))] = True
        rest = {} if context is None else {name: getattr(context, name) for name in context.parts}
        return Context(available=flags, **rest)

    def _feedback(self, of: Ticket, outcomes: Any, reward: float, seen: dict[str, Any]) -> Feedback:
        """Return a report by name as feedback by numbers."""
        if (outcomes is None) == (not seen):
            given = "both" if seen else "neither"
            raise ValueError(f"outcomes, or a report in the oracle's words, must be told, got {given}")
        if seen:
            if isinstance(self.policy, Explorer):
                raise ValueError(f"outcomes must be told to an explorer, got {', '.join(seen)}")
            told: Feedback = self.policy.oracle.feedback_of(of.super_arm, **seen)
            return told if np.isnan(reward) else Feedback(told.arms, told.outcomes, reward=reward)
        if isinstance(outcomes, Feedback):
            return outcomes
        if isinstance(outcomes, str) or not isinstance(outcomes, Collection):
            raise TypeError(f"outcomes must be a mapping of names to outcomes, got {shown(outcomes)}")
        pairs = list(outcomes.items() if isinstance(outcomes, Mapping) else outcomes)
        arms = [self._fold.arms.find(read(name)) for name, _ in pairs]
        values = [outcome for _, outcome in pairs]
        if of.pulls == 1:
            return Feedback(arms, values, reward=reward)
        drawn = np.array(values, np.float64).reshape(len(arms), -1)
        pulls, squares = np.full(len(arms), drawn.shape[1]), (drawn**2).sum(axis=1)
        return Feedback(arms, drawn.sum(axis=1), reward=reward, pulls=pulls, squares=squares)

    def _told(self, ticket: Ticket | int | None) -> Ticket:
        """Return the told ticket that is meant."""
        number = ticket.number if isinstance(ticket, Ticket) else ticket
        if number not in self._fold.told:
            raise ValueError(f"ticket must be one that was told, got {shown(number)}")
        of = self._fold.tickets[number]
        if isinstance(ticket, Ticket) and ticket.session != of.session:
            raise ValueError(f"ticket must be one of this campaign, got number {number} of another one")
        return of

    def _can_undo(self, line: int) -> bool:
        event = self._fold.events[line - 1]["event"]
        return event in ("tell", "cancel", "correct") and line not in self._fold.undone

    def _shown(self, line: int) -> dict[str, Any]:
        """Return an event as the history shows it."""
        event = self._fold.events[line - 1]
        choices, arms = list(self._fold.choices.known), list(self._fold.arms.known)
        told = {
            "line": line,
            "event": event["event"],
            "at": event.get("at"),
            "undone": line in self._fold.undone,
        }
        told |= {key: event[key] for key in ("ticket", "reward", "pulls", "squares") if key in event}
        if "super_arm" in event:
            told["names"] = tuple(choices[place] for place in event["super_arm"])
        if "outcomes" in event:
            names = [arms[place] for place in event["arms"]]
            told["outcomes"] = dict(zip(names, event["outcomes"], strict=True))
        if event["event"] in ("correct", "undo"):
            told["of_line"] = event["line"]
        return told


def _ticket(ticket: Request | Ticket | int | None) -> Ticket | int | None:
    return ticket.ticket if isinstance(ticket, Request) else ticket


def _text(session: Session[Any]) -> str:
    """Return the state of the generator in a form that can be compared."""
    return json.dumps(generator_state(session.rng), default=np.ndarray.tolist)
