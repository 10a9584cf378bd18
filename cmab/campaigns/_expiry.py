"""Tickets that are older than a time or a number of rounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from cmab.campaigns._fold import Fold
from cmab.validation import integer, shown

Age = timedelta | int


def age(name: str, value: Any) -> Age | None:
    """Return a validated age: a time, a number of rounds, or None."""
    if value is None:
        return None
    if isinstance(value, timedelta):
        if value < timedelta(0):
            raise ValueError(f"{name} must be a time of at least 0, got {value}")
        return value
    if isinstance(value, float):
        raise ValueError(f"{name} must be a timedelta or a whole number of rounds, got {shown(value)}")
    return integer(name, value, 0)


def older(fold: Fold[Any], limit: Age) -> list[int]:
    """Return the pending tickets that are at least as old as `limit`, the oldest first.

    The age of a ticket in rounds is the number of tickets that were issued after it.
    """
    session = fold.current
    if not isinstance(limit, timedelta):
        return sorted(number for number in session._open if session._asked - 1 - number >= limit)
    try:
        latest = (datetime.now(UTC) - limit).isoformat(timespec="milliseconds")
    except OverflowError:  # older than any date
        return []
    # Times in one zone and one format are compared as texts.
    return sorted(n for n in session._open if fold.events[fold.asks[n] - 1]["at"] <= latest)
