"""What objects hold, as bytes: to compare before and after, or to send elsewhere."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

from cmab.saving._digest import content


def parts(value: object) -> dict[str, bytes]:
    """Return the `content` of each attribute by name, or of a value without any under an empty name."""
    named = getattr(value, "__dict__", None)
    if named is None:
        return {"": content(value)}
    return {f".{name}": content(part) for name, part in named.items()}


def kept(value: object) -> dict[str, bytes]:
    """Return the `content` of each attribute of `value` and its class that its pickles hold."""
    named: Any = value.__getstate__()
    named = dict(named) if isinstance(named, dict) else {"": named}
    for cls in type(value).__mro__:
        if cls.__module__.split(".")[0] not in ("builtins", "abc", "cmab", "instances", "oracles"):
            own = {name: part for name, part in vars(cls).items() if not hasattr(part, "__get__")}
            named = {name: part for name, part in own.items() if name[:1] != "_"} | named
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterators, whose pickles Python 3.14 has no more
        for name, part in named.items():
            with suppress(Exception):  # of chains too long for Python's stack
                found[name] = content(part, or_address=True)
    return found


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Return the names of the parts that are in one only, or differ."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
