"""Memory and file of a campaign, which always say the same."""

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
    """A journal and what its events add up to; nothing is changed in one that is not in the other."""

    def __init__(self, policy: Policy[Any], path: Any, *, is_same: bool) -> None:
        self._policy, self.journal = policy, Journal(path)
        self.fold = Fold(policy, self.journal.path, is_same=is_same)
        self._is_whole = True
        self.lock = threading.RLock()

    @property
    def path(self) -> Path:
        """The file."""
        return self.journal.path

    @contextmanager
    def up_to_date(self) -> Iterator[Fold[Any]]:
        """Hold the journal, with all that others have written taken in."""
        with self.lock, self.journal.held():
            if not self._is_whole:
                # A call was broken off between memory and file: the file counts.
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
        """Change the session and write it down, or neither; the event may depend on what `act` returns."""
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
        """Write down a change of the past, after it was tried on a copy."""
        changed_past = self._fold()
        changed_past.extend([*self.fold.events, event])
        self._is_whole = False
        # In place, for the correction stands in what it corrects too.
        changed_past.events[-1].update(self.journal.append(event))
        self.fold, self._is_whole = changed_past, True

    def append(self, event: Event) -> None:
        """Write an event down, and take it in."""
        self.fold.extend([self.journal.append(event)])
