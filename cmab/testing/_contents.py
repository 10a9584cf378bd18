"""What objects hold, as bytes: to compare before and after, or to send elsewhere."""

from __future__ import annotations

import sys
import warnings
from contextlib import suppress
from io import BytesIO
from operator import attrgetter
from types import CellType, FunctionType
from typing import Any


def pickled(value: object) -> bytes:
    """Return `value` pickled as worker processes get it: classes from notebooks and tests go by value."""
    import cloudpickle

    data: bytes = cloudpickle.dumps(value)
    return data


def content(value: object) -> bytes:
    """Return what `value` holds as bytes, for comparisons before and after; nothing can be read back.

    Classes, and functions that have a name in their module, go by it. Pickled by value, as those of
    ``__main__`` are, they would differ for what Python itself writes on a class, ``__slotnames__`` once an
    instance was copied, and for what the variables of their module hold. Of other functions count what they
    close over, and defaults.
    """
    import cloudpickle

    class Contents(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, thing: Any) -> Any:
            if (isinstance(thing, type) and thing.__module__ != "builtins") or _has_name(thing):
                # By name: what a class holds is its module's matter, and may change between two looks.
                return str, (f"{thing.__module__}.{thing.__qualname__}",)
            if isinstance(thing, FunctionType):
                # The parts come as a state, after the function is known: its closure may hold itself.
                return object, (), _parts_of(thing)
            return super().reducer_override(thing)

    file = BytesIO()
    Contents(file).dump(value)
    return file.getvalue()


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
            with suppress(Exception):  # what has no pickle, which another check tells
                found[name] = content(part)
    return found


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Return the names of the parts that are in one only, or differ."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def _has_name(thing: object) -> bool:
    if not isinstance(thing, FunctionType):
        return False
    try:
        return attrgetter(thing.__qualname__)(sys.modules[thing.__module__]) is thing
    except (AttributeError, KeyError):
        return False


def _parts_of(function: FunctionType) -> tuple[Any, ...]:
    empty = CellType()  # of a variable that has no value yet
    filled = [cell.cell_contents for cell in function.__closure__ or () if cell != empty]
    named = (function.__module__, function.__qualname__)
    return named, function.__defaults__, function.__kwdefaults__, filled, dict(vars(function))
