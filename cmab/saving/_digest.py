"""What objects hold, as bytes: to send elsewhere, to compare before and after, or to take a hash of."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from io import BytesIO
from operator import attrgetter
from types import CellType, FunctionType, GeneratorType
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def pickled(value: object, see: Callable[[Any], object] = id) -> bytes:
    """Return `value` pickled as worker processes get it: classes from notebooks and tests go by value.

    Each object within is shown to `see` first.
    """
    import cloudpickle

    class Seeing(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, part: Any) -> None:
            see(part)

    return _dumped(value, cloudpickle.Pickler if see is id else Seeing)


def content(value: object, *, or_address: bool = False) -> bytes:
    """Return what `value` holds as bytes, for comparisons before and after; nothing can be read back.

    Classes, and functions that have a name in their module, go by it. Pickled by value, as those of
    ``__main__`` are, they would differ for what Python itself writes on a class, ``__slotnames__`` once an
    instance was copied, and for what the variables of their module hold. Of other functions count what they
    close over, and defaults. With `or_address`, a generator counts with its variables, and what else has no
    pickle, as a lock, is told by its address.
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
            if or_address and isinstance(thing, GeneratorType) and thing.gi_frame is not None:
                return object, (), (thing.gi_frame.f_lasti, dict(thing.gi_frame.f_locals))
            if or_address and type(thing) not in self.dispatch_table and not _has_pickle(thing):
                return int, (id(thing),)
            return super().reducer_override(thing)

    return _dumped(value, Contents)


def short_hash(data: bytes) -> str:
    """Return 16 digits that any change of `data` changes."""
    return hashlib.sha256(data).hexdigest()[:16]


def without_addresses(text: str) -> str:
    """Return the text of an object without its address, which is another one in every process."""
    return _ADDRESS.sub("", text)


def _dumped(value: object, pickler: Any) -> bytes:
    file = BytesIO()
    pickler(file).dump(value)
    return file.getvalue()


def _has_name(thing: object) -> bool:
    if not isinstance(thing, FunctionType):
        return False
    try:
        return attrgetter(thing.__qualname__)(sys.modules[thing.__module__]) is thing
    except (AttributeError, KeyError):
        return False


def _has_pickle(thing: Any) -> bool:
    try:
        return isinstance(thing, type) or bool(thing.__reduce_ex__(4))
    except Exception:  # of locks, files and sockets, and of classes that refuse
        return False


def _parts_of(function: FunctionType) -> tuple[Any, ...]:
    empty = CellType()  # of a variable that has no value yet
    filled = [cell.cell_contents for cell in function.__closure__ or () if cell != empty]
    named = (function.__module__, function.__qualname__)
    return named, function.__defaults__, function.__kwdefaults__, filled, dict(vars(function))
