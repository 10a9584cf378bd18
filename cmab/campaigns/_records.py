"""Memory and file of a campaign, which always say the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from cmab.campaigns._fold import Fold
from cmab.campaigns._schema import Event
from cmab.campaigns.journal import Journal
from cmab.policy import Policy

Done = TypeVar("Done")


class Records:
    """A journal and what its events add up to; nothing is changed in one that is not in the other."""

    def __init__(self, policy: Policy[Any], path: Any, *, is_same: bool) -> None:
        self._policy, self._journal = policy, Journal(path)
        self.fold = Fold(policy, self._journal.path, is_same=is_same)
        self._is_whole = True
        self.lock = threading.RLock()
        self._file = -1

    @property
    def path(self) -> Path:
        """The file."""
        return self._journal.path

    @contextmanager
    def begun(self) -> Iterator[list[Event]]:
        """Hold the journal, made if there is none, and give what is in it; nothing of it is taken in."""
        with self._journal.held(create=True) as self._file:
            yield self._journal.read(self._file)

    @contextmanager
    def up_to_date(self) -> Iterator[Fold[Any]]:
        """Hold the journal, with all that others have written taken in."""
        with self.lock, self._journal.held() as self._file:
            if not self._is_whole:
                # A call was broken off between memory and file: the file counts.
                self._journal.rewind()
                self.fold = self._fold()
            self._is_whole = False
            self.fold.extend(self._journal.read(self._file))
            if len(self.fold) == 0:
                raise ValueError(f"{self.path} must be the journal of a campaign, got an empty file")
            self._is_whole = True
            yield self.fold

    def _fold(self) -> Fold[Any]:
        """Return an empty fold of the same policy."""
        return Fold(self._policy, self.path, self.fold.present, is_same=self.fold.is_same)

    def act(self, act: Callable[[], Done], event: Callable[[Done], Event]) -> Done:
        """Change the session and write it down, or neither."""
        self._is_whole = False
        try:
            done = act()
        except Exception:
            self._is_whole = True  # a call of a session that raises has changed nothing
            raise
        self.fold.events.append(self._write(event(done)))
        self._is_whole = True
        return done

    def rewrite(self, event: Event) -> None:
        """Write down a change of the past, after it was tried on a copy."""
        changed_past = self._fold()
        changed_past.extend([*self.fold.events, event])
        self._is_whole = False
        # In place, for the correction stands in what it corrects too.
        changed_past.events[-1].update(self._write(event))
        self.fold, self._is_whole = changed_past, True

    def append(self, event: Event) -> None:
        """Write an event down, and take it in."""
        self.fold.extend([self._write(event)])

    def _write(self, event: Event) -> Event:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        # Clocks are set back; times of a ticket never decrease, so that a reader can check them.
        return self._journal.append(self._file, event | {"at": max(now, self._journal.earliest(event))})
