"""Defaults of earlier versions, which a journal or a saved session determines."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from functools import cached_property
from inspect import getattr_static
from typing import Any, TypeVar

from cmab.explorer import Explorer
from cmab.oracle import Oracle
from cmab.policy import Policy

_Thing = TypeVar("_Thing")
_DEEPEST = 8


def with_defaults_of(recorded: Any, learner: _Thing, depth: int = 0) -> _Thing:
    """Return `learner` with the defaults of the version that wrote the description `recorded`.

    Parameters that were given stay as they are. The result is `learner` itself if no default has changed, and
    otherwise a copy.
    """
    if not isinstance(recorded, Mapping) or depth >= _DEEPEST:
        return learner
    if isinstance(learner, Oracle):
        learner = learner._with_defaults_of(recorded)
    changed = {}
    for name, part in getattr(learner, "__dict__", {}).items():
        if isinstance(part, Oracle | Policy | Explorer):
            new = with_defaults_of(recorded.get(name.lstrip("_")), part, depth + 1)
            if new is not part:
                changed[name] = new
    return _replaced(learner, changed) if changed else learner


def _replaced(thing: Any, parts: dict[str, Any]) -> Any:
    """Return a copy of `thing` with other parts, without values that were computed from the former parts."""
    if dataclasses.is_dataclass(thing):
        given = {field.name for field in dataclasses.fields(thing) if field.init}
        if parts.keys() <= given:
            return dataclasses.replace(thing, **parts)  # type: ignore[type-var]
    new = copy.copy(thing)
    for name in list(vars(new)):
        if isinstance(getattr_static(type(new), name, None), cached_property):
            del vars(new)[name]
    vars(new).update(parts)
    return new
