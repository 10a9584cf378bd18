"""The state of a campaign in one process."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from cmab.campaign.replay import Body, Replay, Rewrites, Translation
from cmab.campaign.store import Event, Store
from cmab.errors import DamagedStoreError, NewerEventsError, StoreTimeoutError
from cmab.policy import Policy
from cmab.validation import shown

log = logging.getLogger("cmab.campaign")
#: The number of events between two snapshots.
_EVERY = 1_000
#: After another process has overtaken this one, so many writes in a row show that it is alone again.
_WARY = 20
#: The seconds for which events that were read are fresh, if other processes write as well.
_FRESH = 0.02


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
        #: How many writes of this process without another one in between show that it is alone.
        self._contended = 0
        self.error: str | None = None
        self._read_at = 0.0
        #: The number of lost connections when the campaign was opened.
        self._breaks = -1
        self.replay: Replay
        self._lock, self._chain_lock = threading.RLock(), threading.RLock()
        _replicas.add(self)

    def create(self, beginning: Body, author: str | None) -> None:
        """Create the campaign, unless another process does."""
        body = self.described | beginning
        self.store.create(Event(1, "campaign", None, time.time(), author, None, body))

    def describe(self, author: str | None, **more: Any) -> None:
        """Add an event with the present learner, its names and other options."""
        with self.acting():
            is_added = False
            while not is_added:
                body = self.described | {"expires": self.of.last["expires"]} | more
                is_added = self.store.append([self.event("changed", None, body, author)])
                self.catch_up()

    def forget(self, name: Hashable, author: str | None) -> None:
        """Replace a name in the descriptions, and add an event that says so."""
        with self.acting():
            is_erased = False
            while not is_erased:
                event = self.event("forget", None, {}, author)
                bodies = self.of.without(name, f"(forgotten {event.number})")
                if not bodies:
                    raise ValueError(f"name must be a name of the campaign, got {shown(name)}")
                is_erased = self.store.forget(bodies, event)
                self.catch_up()

    def forked(self) -> None:
        """Start again in a child process, whose locks other threads of the parent may hold."""
        self._lock, self._chain_lock = threading.RLock(), threading.RLock()
        self._breaks = -1

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Hold the lock of the actions of this process."""
        with self.store.within(None):
            if not self._lock.acquire(timeout=max(self.store.left(), 0.001)):
                raise StoreTimeoutError(
                    f"{self.store.where}: another call of this process still waits for the store or works"
                )
            try:
                if self.store.breaks != self._breaks:
                    self.open()
                yield
            finally:
                self._lock.release()

    @property
    def is_stale(self) -> bool:
        """Whether other processes write as well, and may have written since the last reading."""
        return self._contended > 0 and time.monotonic() - self._read_at > _FRESH

    def known(self) -> Replay:
        """Return the state that this process knows."""
        if self.store.breaks != self._breaks:
            with self.acting():
                pass
        return self.replay

    def current(self) -> Replay:
        """Return the state after the events of all processes, or the known one while an action runs."""
        with self.store.within(None):
            self.known()
            if self._lock.acquire(blocking=False):
                try:
                    self.catch_up()
                finally:
                    self._lock.release()
        return self.replay

    def open(self) -> None:
        """Compute the state of all events, from a snapshot if possible."""
        with self._lock:
            if not self.store.exists():
                raise DamagedStoreError(
                    f"{self.store.where} must have a campaign, got none; restore a backup"
                )
            breaks = self.store.breaks
            self._read_names()
            if "seed" not in self.of.first:
                raise DamagedStoreError(f"{self.store.where} must have event 1, got none; restore a backup")
            self._replay()
            self._breaks = breaks

    def event(
        self,
        kind: str,
        ticket: int | None,
        body: Body,
        author: str | None = None,
        *,
        after: int = 0,
        key: str | None = None,
    ) -> Event:
        """Return an event with the next number, or that of `after` events later."""
        return Event(self.replay.number + 1 + after, kind, ticket, time.time(), author, key, body)

    def write(self, events: Sequence[Event], *, expected: int | None = None) -> list[Event] | None:
        """Store events that follow the known ones, and return them; None if the writer was overtaken.

        The state is then up to date. If other processes write as well, a single report or ask needs not
        follow the known events, because the store gives it the next number.

        Raises
        ------
        NewerEventsError
            If `expected` is given, and the campaign has another number of events.
        """
        known = self.replay.number
        is_rewrite = any(event.kind in ("correct", "undo") for event in events)
        is_current = expected is None or expected == known
        after = None if is_rewrite or not is_current else self._after(self.replay, events)
        stored: list[Event] | None = None
        is_single = len(events) == 1 and events[0].kind in ("ask", "tell") and not self.store.is_sqlite
        if self._contended and expected is None and is_single:
            newer, added = self.store.add(events[0], known)
            if added is not None:
                stored, after = [added], after if not newer else None
                self._contended -= not newer
                if newer:
                    self.take([*newer, added])
        elif is_current and self.store.append(events):
            stored = list(events)
        else:
            self._contended = _WARY
        if stored is None:
            self.catch_up()
        elif self.replay.number == known:
            for event in stored:
                self._describe(event)
            if after is None:  # after a correction or an undo
                self._replay()
            else:
                self.replay = after
        self._read_at = time.monotonic()
        if stored is not None and stored[-1].number // _EVERY > (stored[0].number - 1) // _EVERY:
            # The process that writes the event with a round number stores the snapshot.
            self._keep_snapshot()
        if stored is None and expected is not None and self.replay.number != expected:
            raise NewerEventsError(
                f"{self.store.where} must have the {expected:,} events that were read before, got"
                f" {self.replay.number:,}; read them again"
            )
        return stored

    def take(self, events: Sequence[Event]) -> None:
        """Process stored events that follow the known ones."""
        for event in events:
            self._describe(event)
        if any(event.kind in ("correct", "undo") for event in events):
            self._replay()
        else:
            self.replay = self._after(self.replay, events)

    def catch_up(self) -> bool:
        """Process the events of other processes; return whether there were any."""
        events = list(self.store.read(self.replay.number))
        self._read_at = time.monotonic()
        if self.store.breaks != self._breaks:
            self.open()
            return True
        if events:
            self.take(events)
        return bool(events)

    def chain(self, replay: Replay) -> Any:
        """Return the chain of the hidden outcomes, which is extended by one thread at a time."""
        assert replay.hidden is not None
        with self._chain_lock:
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

    def _describe(self, event: Event) -> None:
        """Take over the names of a description of another process, or a forgotten name."""
        if event.kind == "forget" or (event.kind == "changed" and event.number not in self.of.labels):
            self._read_names()

    def _read_names(self) -> None:
        for event in self.store.read(kinds=("campaign", "changed")):
            self.of.learn(event)

    def _ask_of(self, ticket: int) -> Event:
        """Return the event of a ticket that is not pending."""
        return next(event for event in self.store.find(ticket=ticket) if event.kind == "ask")

    def _replay(self) -> None:
        """Compute the state of all events, from the last snapshot that corrections leave valid."""
        rewrites = Rewrites.of(self.store.read(kinds=("correct", "undo")))
        replay = self._snapshot(rewrites) or Replay.fresh(self.of)
        first = replay.number
        for event in self.store.read(first):
            if event.kind == "changed":
                self._describe(event)
            if event.number in rewrites.undone:
                replay.number = event.number
            else:
                replay.apply(event, self._ask_of, rewrites.corrections.get(event.number))
        self.replay = replay
        if replay.number - first > _EVERY:
            self._keep_snapshot()

    def _snapshot(self, rewrites: Rewrites) -> Replay | None:
        """Return the state of the last valid snapshot."""
        if self.accept_changes:
            return None
        for number in self.store.snapshots():
            if not rewrites.allow(number):
                continue
            data = self.store.snapshot(number)
            try:
                found = Replay.unpacked(self.of, data)
            except (ValueError, KeyError) as error:
                log.warning(
                    "%s: the snapshot after event %d is not used: %s", self.store.where, number, error
                )
                continue
            if found is not None:
                return found
        return None

    def _keep_snapshot(self) -> None:
        """Store a snapshot if possible; without one, a new process replays more events."""
        if self.replay.hidden is not None:  # its chain depends on all reports
            return
        try:
            self.store.keep_snapshot(self.replay.number, self.replay.packed())
        except (ValueError, OSError) as error:
            log.warning("%s: no snapshot was stored: %s", self.store.where, error)


_replicas: weakref.WeakSet[Replica] = weakref.WeakSet()


def _in_child() -> None:
    for replica in list(_replicas):
        replica.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
