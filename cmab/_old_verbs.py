"""Deprecated method names of policies: `start`, `select_for` and `learn`. They work for one version."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

#: The former methods with their arguments, and the present methods with theirs.
RENAMED = {
    ("start", "rng"): ("initial_state", "rng=None"),
    ("select_for", "state, context, rng"): ("select", "state, rng, context=None"),
    ("learn", "state, ticket, feedback, rng"): ("update", "state, feedback, ticket=None, rng=None"),
}


class _Running(threading.local):
    def __init__(self) -> None:
        self.calls: set[tuple[str, int]] = set()


_RUNNING = _Running()


class OldVerbs:
    """The former methods of a policy. They emit a warning and call the present methods."""

    def start(self, rng: Any) -> Any:
        """Return ``initial_state(rng)``."""
        return _renamed(self, 0, rng)

    def select_for(self, state: Any, context: Any, rng: Any) -> Any:
        """Return ``select(state, rng, context)``."""
        return _renamed(self, 1, state, rng, context)

    def learn(self, state: Any, ticket: Any, feedback: Any, rng: Any) -> None:
        """Call ``update(state, feedback, ticket, rng)``."""
        _renamed(self, 2, state, feedback, ticket, rng)


def _renamed(policy: Any, number: int, *args: Any) -> Any:
    (old, old_takes), (new, takes) = [*RENAMED.items()][number]
    warnings.warn(f"{old}({old_takes}) is now {new}({takes})", DeprecationWarning, stacklevel=3)
    return getattr(policy, new)(*args)


def adopt(cls: Any) -> list[str]:
    """Use former methods that a class defines as the present ones, and return the names of the latter.

    If a class defines a present method without its last arguments, and a base class defines the former
    method, then the former method calls the present one.
    """
    adopted = []
    for ((old, old_takes), (new, takes)), through in zip(RENAMED.items(), _THROUGH, strict=True):
        homes = [next(i for i, base in enumerate(cls.__mro__) if name in vars(base)) for name in (old, new)]
        home = cls.__mro__[homes[0]]
        required = takes.count(",") + 1 - takes.count("=")
        is_whole = getattr(getattr(cls, new), "takes", required) > required
        if home is OldVerbs or (home is not cls and is_whole and homes[0] >= homes[1]):
            continue
        warnings.warn(
            f"{home.__name__} defines {old}({old_takes}), which is now {new}({takes}): rename it, with the"
            " arguments in this order",
            DeprecationWarning,
            stacklevel=4,
        )
        setattr(cls, new, through(vars(home)[old], getattr(cls, new)))
        adopted.append(new)
    return adopted


def _once(policy: Any, verb: str, old: Callable[[], Any], previous: Callable[[], Any]) -> Any:
    """Call the former method. If it calls the present method itself, call the inherited present method."""
    call = verb, id(policy)
    if call in _RUNNING.calls:
        return previous()
    _RUNNING.calls.add(call)
    try:
        return old()
    finally:
        _RUNNING.calls.discard(call)


def _through_start(old: Any, previous: Any) -> Any:
    def initial_state(self: Any, rng: Any = None) -> Any:
        if rng is None:
            return previous(self)
        return _once(self, "initial_state", lambda: old(self, rng), lambda: previous(self, rng))

    return initial_state


def _through_select_for(old: Any, previous: Any) -> Any:
    def select(self: Any, state: Any, rng: Any, context: Any = None) -> Any:
        def replaced() -> Any:
            return previous(self, state, rng, context)

        return _once(self, "select", lambda: old(self, state, context, rng), replaced)

    return select


def _through_learn(old: Any, previous: Any) -> Any:
    def update(self: Any, state: Any, feedback: Any, ticket: Any = None, rng: Any = None) -> None:
        def replaced() -> None:
            previous(self, state, feedback, ticket, rng)

        if ticket is None:
            replaced()
        else:
            _once(self, "update", lambda: old(self, state, ticket, feedback, rng), replaced)

    return update


_THROUGH = _through_start, _through_select_for, _through_learn
