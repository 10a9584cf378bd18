"""The events of the history, by name."""

from __future__ import annotations

from typing import Any

from cmab.campaigns._cascades import cascade_by_name
from cmab.campaigns._fold import Fold

_PLAIN = ("author", "ticket", "reward", "pulls", "squares", "used", "expired", "digest", "shape")


def row_of(fold: Fold[Any], line: int) -> dict[str, Any]:
    """Return an event as a row of the history."""
    event = fold.events[line - 1]
    told = {"line": line, "event": event["event"], "at": event.get("at"), "undone": line in fold.undone}
    told |= {key: event[key] for key in _PLAIN if key in event}
    if "super_arm" in event:
        told["names"] = tuple(fold.choices.listed[place] for place in event["super_arm"])
    if "outcomes" in event:
        names = [fold.arms.listed[place] for place in event["arms"]]
        told["outcomes"] = dict(zip(names, event["outcomes"], strict=True))
        if "costs" in event:
            told["costs"] = dict(zip(names, event["costs"], strict=True))
    if "cascade" in event:
        told |= cascade_by_name(event["cascade"], fold.choices.listed, fold.arms.listed)
    if event["event"] in ("correct", "undo"):
        told["of_line"] = event["line"]
    return told


def last_to_undo(fold: Fold[Any]) -> int | None:
    """Return the line of the last event that `undo` can take back, or None."""
    for line in range(len(fold.events), 0, -1):
        event = fold.events[line - 1]
        is_other = event["event"] not in ("tell", "cancel", "correct") or "expired" in event
        if not is_other and line not in fold.undone:
            return line
    return None
