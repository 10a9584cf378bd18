"""The state of a campaign in one process."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from cmab.campaign.replay import Body, Replay, Translation
from cmab.campaign.store import Event, Store
from cmab.errors import DamagedStoreError, StoreTimeoutError
from cmab.policy import Policy

log = logging.getLogger("cmab.campaign")
#: The number of events between two snapshots.
_EVERY = 1_000
#: The kinds of events after which the state follows from the one before.
_PLAIN = ("ask", "tell", "cancel", "note")


class Replica:
    """The state of a campaign in this process, which follows the events of its store.

    The state is replaced and never changed, so threads that read need no lock. A writer applies its events to
    a copy of the state, stores them with the next numbers, and then replaces the state. If another process
    was faster, it reads the newer events, and the caller tries again.

    Parameters
    ----------
    store : Store
        The store.
    policy : Policy
        The learner.
    accept_changes : bool
        Whether snapshots are ignored.
    """

    def __init__(self, store: Store, policy: Policy[Any], accept_changes: bool) -> None:
        self.store, self._policy, self.accept_changes = store, policy, accept_changes
        self.of = Translation(policy)
        #: The description of the learner. Its names are checked before anything is stored.
        self.described = self.of.description()
        self.error: str | None = None
        #: Whether another process has overtaken this one, and has still written at the last reading.
        self.is_crowded = False
        #: The number of lost connections when the campaign was opened.
        self._breaks = -1
        self.replay: Replay

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Hold the lock of the actions of this process."""
        if not self.store.lock.acquire(timeout=max(self.store.patience.seconds, 0.001)):
            raise StoreTimeoutError(
                f"{self.store.where}: another call of this process still waits for the store or works; repeat"
                " the call later, or pass a larger timeout"
            )
        try:
            if self.store.breaks != self._breaks:
                self.open()
            yield
        finally:
            self.store.lock.release()

    def current(self) -> Replay:
        """Return the state after the events of all processes, or the known one while an action runs."""
        if self.store.lock.acquire(blocking=False):
            try:
                self.catch_up()
            finally:
                self.store.lock.release()
        return self.replay

    def open(self) -> None:
        """Compute the state of all events, from a snapshot if possible."""
        with self.store.lock:
            if self.store.first() is None:
                raise DamagedStoreError(
                    f"{self.store.where} must have a campaign, got none; restore a backup"
                )
            breaks = self.store.breaks
            self._read_names()
            self._replay()
            self._breaks = breaks

    def write(self, events: Sequence[Event], *, erased: dict[int, Body] | None = None) -> list[Event] | None:
        """Store events with the next numbers, and return them; None if the writer was overtaken.

        The state is then up to date. If other processes write as well, a single report or ask needs not
        follow the known events. `erased` are new bodies of former events.
        """
        known, stored = self.replay.number, list[Event]()
        events = [event._replace(number=number) for number, event in enumerate(events, known + 1)]
        # An error of the policy is raised before the events are stored.
        is_plain = all(event.kind in _PLAIN for event in events)
        after = self._after(self.replay, events) if is_plain else None
        is_single = len(events) == 1 and events[0].kind in ("ask", "tell")
        if self.is_crowded and is_single and not self.of.reserves:
            added = self.store.add(events[0], known)
            stored = [] if added is None else [added]
        elif self.store.forget(erased, events[0]) if erased else self.store.append(events):
            stored = events
        is_next = bool(stored) and stored[0].number == known + 1
        if is_next and after is not None:
            self.replay = after
        else:
            self.catch_up()
        self.is_crowded |= not is_next
        if not stored:
            return None
        if stored[-1].number // _EVERY > (stored[0].number - 1) // _EVERY:
            # The process that writes the event with a round number stores the snapshot.
            self._keep_snapshot()
        return stored

    def catch_up(self) -> bool:
        """Process the events that were not read yet; return whether there were any."""
        events = list(self.store.read(self.replay.number))
        kinds = {event.kind for event in events}
        self.is_crowded &= bool(events)
        if self.store.breaks != self._breaks:
            self.open()
            return True
        if kinds & {"changed", "forget"}:
            self._read_names()
        if kinds & {"correct", "undo"}:
            self._replay()
        else:
            self.replay = self._after(self.replay, events) if events else self.replay
        return bool(events)

    def chain(self, replay: Replay) -> Any:
        """Return the chain of the hidden outcomes, which is extended by one thread at a time."""
        assert replay.hidden is not None
        with self.store.long_lock:
            return replay.hidden.chain()

    def completed(self, replay: Replay, rng: np.random.Generator) -> Any:
        """Return the state for a choice, completed by drawn outcomes if some are hidden."""
        if replay.hidden is None:
            return replay.state
        return replay.hidden.completed(self._policy, replay.state, self.chain(replay), rng)

    def _after(self, replay: Replay, events: Sequence[Event]) -> Replay:
        """Return the state after further events."""
        twin = replay.twin(learns=self.of.reserves or any(event.kind == "tell" for event in events))
        for event in events:
            twin.apply(event, self._ask_of)
        return twin

    def _read_names(self) -> None:
        for event in self.store.read(kinds=("campaign", "changed")):
            self.of.learn(event)

    def _ask_of(self, ticket: int) -> Event:
        """Return the event of a ticket that is not pending."""
        return next(event for event in self.store.find(ticket=ticket) if event.kind == "ask")

    def _replay(self) -> None:
        """Compute the state of all events, from the snapshot if corrections leave it valid."""
        changes = list(self.store.read(kinds=("correct", "undo")))
        undone = {event.body["line"] for event in changes if event.kind == "undo"}
        corrections, first = dict[int, Event](), dict[int, int]()
        for event in changes:
            line = event.body["line"]
            # The number of the first event that it changes, also if it takes back a correction.
            first[event.number] = first.get(line, line)
            if event.kind == "correct" and event.number not in undone:
                corrections[line] = event
        at, data = (0, b"") if self.accept_changes else self.store.snapshot()
        is_valid = at and all(line > at for number, line in first.items() if number > at)
        replay = (Replay.unpacked(self.of, data) if is_valid else None) or Replay.fresh(self.of)
        begun = replay.number
        known = changes[-1].number if changes else 0
        for event in self.store.read(begun):
            if event.kind in ("correct", "undo") and event.number > known:
                break  # it was stored after these readings began, and the next one replays again
            if event.kind == "changed" and event.number not in self.of.labels:
                self._read_names()
            if event.number in undone:
                replay.number = event.number
            else:
                replay.apply(event, self._ask_of, corrections.get(event.number))
        self.replay = replay
        if replay.number - begun > _EVERY:
            self._keep_snapshot()

    def _keep_snapshot(self) -> None:
        """Store a snapshot if possible; without one, a new process replays more events."""
        if self.replay.hidden is not None:  # its chain depends on all reports
            return
        try:
            self.store.keep_snapshot(self.replay.number, self.replay.packed())
        except (ValueError, OSError) as error:
            log.warning("%s: no snapshot was stored: %s", self.store.where, error)
