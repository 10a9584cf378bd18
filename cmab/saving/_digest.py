"""The contents of objects as bytes, to send them, to compare them or to hash them."""

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
    """Return `value` pickled by cloudpickle, as for worker processes.

    Classes of notebooks and tests are pickled by value. The pickler calls `see` with each object in `value`.
    """
    import cloudpickle

    class Seeing(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, part: Any) -> None:
            see(part)

    return _dumped(value, cloudpickle.Pickler if see is id else Seeing)


def content(value: object, *, or_address: bool = False) -> bytes:
    """Return the contents of `value` as bytes, to compare them at two times. The bytes cannot be unpickled.

    Classes, and functions that are found in their module, are represented by name. cloudpickle would pickle
    those of ``__main__`` by value. Then they would differ after Python sets an attribute of a class
    (``__slotnames__``, when an instance is copied), or after a variable of their module changes. Other
    functions are represented by name, attributes, closure and defaults. If `or_address` is true, a generator
    is represented by its position and its variables, and any other object that cannot be pickled, such as a
    lock, by its address.
    """
    import cloudpickle

    class Contents(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, thing: Any) -> Any:
            if (isinstance(thing, type) and thing.__module__ != "builtins") or _has_name(thing):
                # By name, because the attributes of a class may change between two calls.
                return str, (f"{thing.__module__}.{thing.__qualname__}",)
            if isinstance(thing, FunctionType):
                # The parts are pickled as a state, after the function: its closure may contain itself.
                return object, (), _parts_of(thing)
            if or_address and isinstance(thing, GeneratorType) and thing.gi_frame is not None:
                return object, (), (thing.gi_frame.f_lasti, dict(thing.gi_frame.f_locals))
            if or_address and type(thing) not in self.dispatch_table and not _has_pickle(thing):
                return int, (id(thing),)
            return super().reducer_override(thing)

    return _dumped(value, Contents)


def short_hash(data: bytes) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()[:16]


def without_addresses(text: str) -> str:
    """Return the text of an object without its address, which differs between processes."""
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
    except Exception:  # for locks, files and sockets, and for classes that forbid pickling
        return False


def _parts_of(function: FunctionType) -> tuple[Any, ...]:
    empty = CellType()  # the cell of a variable without a value
    filled = [cell.cell_contents for cell in function.__closure__ or () if cell != empty]
    named = (function.__module__, function.__qualname__)
    return named, function.__defaults__, function.__kwdefaults__, filled, dict(vars(function))
