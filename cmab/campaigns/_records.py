"""The file of a campaign and its state in memory, which always agree."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cmab.campaigns._fold import Fold
from cmab.campaigns._schema import Event
from cmab.campaigns.journal import Journal
from cmab.policy import Policy


class Records:
    """A journal and the state from its events. Both change together or not at all."""

    def __init__(self, policy: Policy[Any], path: Any, *, is_same: bool) -> None:
        self._policy, self.journal = policy, Journal(path)
        self.fold = Fold(policy, self.journal.path, is_same=is_same)
        self._is_whole = True
        self.lock = threading.RLock()

    @property
    def path(self) -> Path:
        """The journal file."""
        return self.journal.path

    @contextmanager
    def up_to_date(self) -> Iterator[Fold[Any]]:
        """Lock the journal, process the events that others have added, and yield the state."""
        with self.lock, self.journal.held():
            if not self._is_whole:
                # A call was interrupted between the change in memory and in the file: the file is valid.
                self.journal.rewind()
                self.fold = self._fold()
            self._is_whole = False
            if new := self.journal.read():
                self.fold.extend(new)
            if not self.fold.events:
                raise ValueError(f"{self.path} must be the journal of a campaign, got an empty file")
            self._is_whole = True
            yield self.fold

    def _fold(self) -> Fold[Any]:
        """Return an empty fold of the same policy."""
        return Fold(self._policy, self.path, self.fold.present, is_same=self.fold.is_same)

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
        self.fold.events.append(self.journal.append(event(done) if callable(event) else event))
        self._is_whole = True
        return done

    def rewrite(self, event: Event) -> None:
        """Append an event that changes the past, after a replay with this event has succeeded."""
        changed_past = self._fold()
        changed_past.extend([*self.fold.events, event])
        self._is_whole = False
        # The event is updated in place, because the table of corrections refers to it as well.
        changed_past.events[-1].update(self.journal.append(event))
        self.fold, self._is_whole = changed_past, True

    def append(self, event: Event) -> None:
        """Append an event and process it."""
        self.fold.extend([self.journal.append(event)])
