"""The store of a campaign and its state in memory, which always agree."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any, TypeVar, cast

from cmab.campaigns._checkpoints import EVERY, EVERY_HIDDEN, line_of, resumed, written
from cmab.campaigns._fold import Fold
from cmab.campaigns._schema import Event
from cmab.campaigns.newer_events import NewerEventsError
from cmab.campaigns.stores._store import Overtaken, Store
from cmab.policy import Policy

Function = TypeVar("Function", bound=Callable[..., Any])


def repeated(method: Function) -> Function:
    """Decorate a method to start again if the connection was lost and other processes have added events.

    Iterators among the arguments become lists, because the first attempt would exhaust them.
    """

    @functools.wraps(method)
    def called(*args: Any, **named: Any) -> Any:
        args, named = tuple(map(_listed, args)), {name: _listed(value) for name, value in named.items()}
        while True:
            try:
                return method(*args, **named)
            except Overtaken:
                continue

    return cast(Function, called)


def _listed(argument: Any) -> Any:
    """Return an argument in which iterators are lists, also within the reports in a list."""
    if isinstance(argument, Iterator):
        argument = list(argument)
    if isinstance(argument, list | tuple) and any(isinstance(part, Mapping) for part in argument):
        argument = list(map(_listed, argument))
    if isinstance(argument, Mapping) and any(map(_is_once, argument.values())):
        return {name: _listed(value) for name, value in argument.items()}
    return argument


def _is_once(value: Any) -> bool:
    return isinstance(value, Iterator) or (isinstance(value, Mapping) and any(map(_is_once, value.values())))


class Records:
    """A store and the state from its events. Both change together or not at all."""

    def __init__(self, policy: Policy[Any], store: Store, *, is_same: bool) -> None:
        self._policy, self.store = policy, store
        self.fold = Fold(policy, store.where, is_same=is_same)
        self._is_whole = True
        self._author: str | None = None
        #: The number of events in the last checkpoint that this object knows.
        self._n_kept = 0
        #: The events of the present batch, which are written together; None outside of batches.
        self._batch: list[Event] | None = None
        self.lock = threading.RLock()

    @contextmanager
    def up_to_date(self, author: str | None = None, expected: int | None = None) -> Iterator[Fold[Any]]:
        """Lock the store, process the events that others have added, and yield the state.

        Raises
        ------
        NewerEventsError
            If `expected` is given and the campaign has another number of events.
        """
        with self.lock:
            with self.store.held(waiting=self._catch_up):
                self._catch_up()
                self._check_begun()
                if expected is not None and len(self.fold.events) != expected:
                    raise NewerEventsError(self.store.where, expected, len(self.fold.events))
                self._author, before = author, self.store.n_read
                yield self.fold
            # The process that writes the event with a round number writes the checkpoint.
            if self.store.n_read // self._every > before // self._every:
                self.keep_checkpoint()

    @contextmanager
    def readable(self) -> Iterator[Fold[Any]]:
        """Process the events that others have added, and yield the state, which must not be changed."""
        with self.lock, self.store.readable():
            self._catch_up()
            self._check_begun()
            yield self.fold

    @contextmanager
    def together(self) -> Iterator[None]:
        """Append the events of several actions at once: all of them or none."""
        fold = self.fold
        before, size, told = copy(fold.current), len(fold.events), len(fold.told)
        self._batch = []
        try:
            yield
            batch, self._batch = self._batch, None
            if batch:
                self._is_whole = False
                fold.events.cut(size)
                fold.events.extend(self.store.append(batch))
                self._is_whole = True
        except BaseException:
            if self._is_whole:  # an action was refused: restore the state before the batch
                fold.current = before
                fold.forget(size, told)
            raise
        finally:
            self._batch = None

    def resume(self) -> None:
        """Take over the state of the checkpoint, if it fits and no event was read."""
        data = self.store.checkpoint()
        found = None if data is None else line_of(data)
        if found is None:
            return
        lines = self.store.first_lines(found[1])
        state = resumed(self.fold, found[0], lines)
        if state is not None:
            self.fold, course = state
            self.store.resume(lines, course)
        self._n_kept = self.store.n_read

    def keep_checkpoint(self) -> None:
        """Write a checkpoint if possible; without one, the campaign replays more events."""
        with suppress(OSError, ValueError, TypeError):
            if self._is_whole:
                self.store.keep_checkpoint(written(self.fold, self.store))
                self._n_kept = self.store.n_read

    @property
    def is_long(self) -> bool:
        """Whether a checkpoint would save the replay of many events."""
        return self.store.n_read - self._n_kept >= self._every

    @property
    def _every(self) -> int:
        """The number of events between two checkpoints."""
        return EVERY if self.fold.current._cascades is None else EVERY_HIDDEN

    def _catch_up(self) -> None:
        """Process the events that others have added."""
        if not self._is_whole:
            # A call was interrupted between the change in memory and in the store: the store is valid.
            self.store.rewind()
            self.fold = self._fold()
            self.resume()
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

    def act(
        self, made: Event | Callable[[Any], list[Event]], act: Callable[..., Any], *arguments: Any
    ) -> Any:
        """Call `act` on the session and append the event, or do neither.

        Instead of the event, `made` can be a function that returns events from the result of `act`.
        """
        self._is_whole = False
        try:
            done = act(*arguments)
        except Exception:
            self._is_whole = True  # a call of a session that raises has changed nothing
            raise
        events = [self._signed(event) for event in (made(done) if callable(made) else [made])]
        if self._batch is None:
            events = self.store.append(events)
        else:
            self._batch += events
        self.fold.note(events)
        self._is_whole = True
        return done

    def rewrite(self, *events: Event) -> None:
        """Append events that change the past, at once, after a replay with these events has succeeded."""
        new = [self._signed(event) for event in events]
        changed_past = self._fold()
        changed_past.extend([*self.fold.events, *new])
        self._is_whole = False
        first = len(self.fold.events)
        # The events are updated in place, because the table of corrections refers to them as well.
        for place, kept in enumerate(self.store.append(new), first):
            changed_past.events[place].update(kept)
        self.fold, self._is_whole = changed_past, True

    def append(self, event: Event, author: str | None) -> None:
        """Append an event and process it."""
        self._author = author
        self.fold.extend(self.store.append([self._signed(event)]))

    def _signed(self, event: Event) -> Event:
        return event if self._author is None else event | {"author": self._author}
