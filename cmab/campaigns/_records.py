"""The store of a campaign and its state in memory, which always agree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cmab.campaigns._fold import Fold
from cmab.campaigns._schema import Event
from cmab.campaigns.stores._store import Store
from cmab.policy import Policy


class Records:
    """A store and the state from its events. Both change together or not at all."""

    def __init__(self, policy: Policy[Any], store: Store, *, is_same: bool) -> None:
        self._policy, self.store = policy, store
        self.fold = Fold(policy, store.where, is_same=is_same)
        self._is_whole = True
        self.lock = threading.RLock()

    @contextmanager
    def up_to_date(self) -> Iterator[Fold[Any]]:
        """Lock the store, process the events that others have added, and yield the state."""
        with self.lock, self.store.held(waiting=self._catch_up):
            self._catch_up()
            self._check_begun()
            yield self.fold

    @contextmanager
    def readable(self) -> Iterator[Fold[Any]]:
        """Process the events that others have added, and yield the state, which must not be changed."""
        with self.lock, self.store.readable():
            self._catch_up()
            self._check_begun()
            yield self.fold

    def _catch_up(self) -> None:
        """Process the events that others have added."""
        if not self._is_whole:
            # A call was interrupted between the change in memory and in the store: the store is valid.
            self.store.rewind()
            self.fold = self._fold()
        self._is_whole = False
        if new := self.store.read():
            self.fold.extend(new)
        self._is_whole = True

    def _check_begun(self) -> None:
        if not self.fold.events:
            raise ValueError(f"{self.store.where} must be the journal of a campaign, got an empty file")

    def _fold(self) -> Fold[Any]:
        """Return an empty fold of the same policy."""
        return Fold(self._policy, self.store.where, self.fold.present, is_same=self.fold.is_same)

    def act(self, event: Event | Callable[[Any], Event], act: Callable[..., Any], *arguments: Any) -> Any:
        """Call `act` on the session and append the event, or do neither.

        The event can be a function of the result of `act`.
        """
        self._is_whole = False
        try:
            done = act(*arguments)
        except Exception:
            self._is_whole = True  # a call of a session that raises has changed nothing
            raise
        self.fold.events += self.store.append([event(done) if callable(event) else event])
        self._is_whole = True
        return done

    def rewrite(self, event: Event) -> None:
        """Append an event that changes the past, after a replay with this event has succeeded."""
        changed_past = self._fold()
        changed_past.extend([*self.fold.events, event])
        self._is_whole = False
        # The event is updated in place, because the table of corrections refers to it as well.
        changed_past.events[-1].update(*self.store.append([event]))
        self.fold, self._is_whole = changed_past, True

    def append(self, event: Event) -> None:
        """Append an event and process it."""
        self.fold.extend(self.store.append([event]))
