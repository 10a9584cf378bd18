"""The contents of the attributes of objects as bytes, to compare objects before and after a call."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

from cmab.saving._digest import content


def parts(value: object) -> dict[str, bytes]:
    """Return the `content` of each attribute by name, or of the value itself if it has no attributes."""
    named = getattr(value, "__dict__", None)
    if named is None:
        return {"": content(value)}
    return {f".{name}": content(part) for name, part in named.items()}


def kept(value: object) -> dict[str, bytes]:
    """Return the `content` of the pickled attributes of `value` and the public attributes of its classes."""
    named: Any = value.__getstate__()
    named = dict(named) if isinstance(named, dict) else {"": named}
    for cls in type(value).__mro__:
        if cls.__module__.split(".")[0] not in ("builtins", "abc", "cmab", "instances", "oracles"):
            own = {name: part for name, part in vars(cls).items() if not hasattr(part, "__get__")}
            named = {name: part for name, part in own.items() if name[:1] != "_"} | named
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.14 can no longer pickle iterators; earlier versions warn
        for name, part in named.items():
            with suppress(Exception):  # long linked structures exceed the recursion limit
                found[name] = content(part, or_address=True)
    return found


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Return the sorted names of the parts that differ, or that only one of the two has."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
