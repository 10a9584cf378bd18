"""Validation of the statistics in the state of any policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from cmab.statistics import ArmStatistics


def check_learned(state: Any, support: tuple[float, float] | None, told: int) -> None:
    """Raise ``ValueError`` if outcomes in `support` and `told` rounds cannot have produced a state.

    Parameters
    ----------
    state : object
        The state of a policy. All `ArmStatistics` in it are checked.
    support : tuple of float or None
        The interval of valid outcomes, or None if outcomes are not checked.
    told : int
        The number of closed tickets, which were passed to ``tell`` or cancelled.
    """
    rounds = getattr(state, "rounds", 0)
    if isinstance(rounds, int) and rounds > told:
        raise ValueError(f"state.rounds must be at most {told} (the number of closed tickets), got {rounds}")
    for name, part in _parts(state, "state"):
        if support is not None and isinstance(part, ArmStatistics):
            try:
                part.check_support(*support)
            except ValueError as error:
                raise ValueError(f"{name}.{error}") from None


def is_learned(state: Any, support: tuple[float, float] | None, told: int) -> bool:
    """Return whether `check_learned` accepts a state. It does unless the support was changed."""
    try:
        check_learned(state, support, told)
    except ValueError:
        return False
    return True


def _parts(state: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield a state and the dataclasses and lists in it, with their names."""
    if dataclasses.is_dataclass(state):
        yield name, state
        for field in dataclasses.fields(state):
            yield from _parts(getattr(state, field.name), f"{name}.{field.name}")
    elif isinstance(state, list | tuple):
        for place, part in enumerate(state):
            yield from _parts(part, f"{name}.{place}")
