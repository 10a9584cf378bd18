"""A list of events that reads the text of an event when the event is used."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from cmab.campaigns._schema import Event


class Events(Sequence[Event]):
    """The events of a campaign, of which the first ones may be lines that were not read yet.

    Parameters
    ----------
    lines : list of bytes
        The validated lines of the first events.
    """

    def __init__(self, lines: Iterable[bytes] = ()) -> None:
        self._items: list[Any] = list(lines)

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> Event: ...

    @overload
    def __getitem__(self, place: slice) -> list[Event]: ...

    def __getitem__(self, place: int | slice) -> Event | list[Event]:
        if isinstance(place, slice):
            return [self._read(each) for each in range(*place.indices(len(self._items)))]
        return self._read(place)

    def __iter__(self) -> Iterator[Event]:
        return map(self._read, range(len(self._items)))

    def copy(self) -> Events:
        """Return a list of the same events, of which both lists keep those that were read."""
        copied = Events()
        copied._items = self._items.copy()
        return copied

    def append(self, event: Event) -> None:
        """Add an event."""
        self._items.append(event)

    def extend(self, events: Iterable[Event]) -> None:
        """Add several events."""
        self._items.extend(events)

    def cut(self, size: int) -> None:
        """Remove all events after the first `size` events."""
        del self._items[size:]

    def _read(self, place: int) -> Event:
        item = self._items[place]
        if type(item) is bytes:
            item = json.loads(item)
            del item["check"]
            self._items[place] = item
        event: Event = item
        return event
