"""Subclasses that record which of their attributes are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Attributes through which all others can be read.
_WHOLE = ("__dict__", "__getstate__", "__reduce__", "__reduce_ex__")


def watched(thing: Any, names: tuple[str, ...]) -> tuple[Any, set[str]]:
    """Return a copy of `thing`, of a subclass of its class, and the set of those `names` that are read."""
    cls, read = type(thing), set[str]()

    class Watched(cls):  # type: ignore[misc, valid-type]
        def __getattribute__(self, name: str) -> Any:
            if name in names:
                read.add(name)
            elif name in _WHOLE:
                read.update(names)
            return super().__getattribute__(name)

    Watched.__name__, Watched.__qualname__ = cls.__name__, cls.__qualname__
    twin = object.__new__(Watched)
    twin.__dict__.update(vars(thing))
    read.clear()
    return twin, read


@contextmanager
def watching(thing: Any, names: tuple[str, ...]) -> Iterator[tuple[Any, set[str]]]:
    """Yield `watched`. After the block, the copy has the class of `thing`, so that it can be saved."""
    twin, read = watched(thing, names)
    try:
        yield twin, read
    finally:
        object.__setattr__(twin, "__class__", type(thing))
