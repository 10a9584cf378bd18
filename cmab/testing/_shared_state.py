"""The state that the code of a class keeps outside its objects: in classes, modules, closures and caches."""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from cmab.saving._digest import content
from cmab.testing._portable import _NOTES, _OURS, _PURE_MODULES, _codes, _content, _function, _package

_MOST_PARTS = 2000
#: Larger values are not compared.
_MOST_BYTES = 10_000_000
#: The state of each class when a check met it for the first time.
_FIRST: weakref.WeakKeyDictionary[type, dict[str, bytes]] = weakref.WeakKeyDictionary()


def note_state(thing: object) -> None:
    """Record the shared state of a class unless it is known from an earlier object."""
    if type(thing) not in _FIRST:
        with suppress(Exception):  # a class of an unusual form
            _FIRST[type(thing)] = shared_state(thing)


def changed_state(thing: object) -> list[str]:
    """Return the sorted names of the shared parts that have changed since the class was first met."""
    first = _FIRST.get(type(thing))
    if first is None:
        return []
    try:
        now = shared_state(thing)
    except Exception:
        return []
    # A part without a first value was first read or made by a call.
    return sorted(name for name, told in now.items() if first.get(name) != told)


def shared_state(thing: object) -> dict[str, bytes]:
    """Return the contents of all values outside the object that the code of its class may change, by name."""
    return dict(_Walk().of_object(thing))


class _Walk:
    """A walk over the classes and functions of an object that belong to no known package."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.kept: list[object] = []

    def is_new(self, part: object) -> bool:
        """Return whether a part was not seen before; it is kept alive, so that its address stays its own."""
        if id(part) in self.seen or len(self.seen) >= _MOST_PARTS:
            return False
        self.seen.add(id(part))
        self.kept.append(part)
        return True

    def of_object(self, thing: Any) -> Iterator[tuple[str, bytes]]:
        """Yield the state of the class of an object, and of the classes of its attributes."""
        if not self.is_new(thing):
            return
        yield from self.of_class(type(thing))
        for part in list(getattr(thing, "__dict__", {}).values()):
            if isinstance(part, list | tuple):
                for each in part[:20]:
                    yield from self.of_value("", each)
            elif (function := _function(part)) is not None:
                yield from self.of_function(function)
            elif not isinstance(part, np.ndarray):
                yield from self.of_object(part)

    def of_class(self, cls: type) -> Iterator[tuple[str, bytes]]:
        """Yield the attributes of a class and of its bases, and the variables of their methods."""
        for base in cls.__mro__:
            if _is_known(base) or not self.is_new(base):
                continue
            for name, part in list(vars(base).items()):
                if (name.startswith("__") and _function(part) is None) or name in _NOTES:
                    continue
                yield from self.of_value(f"{base.__name__}.{name}", part)

    def of_value(self, name: str, part: Any) -> Iterator[tuple[str, bytes]]:
        """Yield the contents of a value, or the state that a function or class keeps."""
        if hasattr(part, "cache_info"):
            with suppress(Exception):
                yield f"the cache of {name}", str(part.cache_info()[-1]).encode()
        function = None if isinstance(part, type) else _function(part)
        if isinstance(part, type):
            yield from self.of_class(part)
        elif function is not None:
            yield from self.of_function(function)
        elif not (name == "" or isinstance(part, types.ModuleType) or callable(part) or _is_descriptor(part)):
            yield name, _bytes(part)
        if not _is_known(type(part)) and function is None and not isinstance(part, type):
            yield from self.of_object(part)

    def of_function(self, function: types.FunctionType) -> Iterator[tuple[str, bytes]]:
        """Yield the variables around a function, its defaults, its attributes, and its global variables."""
        if _package(function.__module__ or "") in _PURE_MODULES or not self.is_new(function):
            return
        where = function.__qualname__
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield from self.of_value(f"the variable {name} around {where}", _content(cell))
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        for number, value in enumerate(defaults):
            yield from self.of_value(f"default {number} of {where}", value)
        for name, value in list(vars(function).items()):
            if name not in ("__wrapped__", "unguarded"):
                yield from self.of_value(f"{where}.{name}", value)
        for code in _codes(function.__code__):
            for name in code.co_names:
                yield from self.of_global(name, function.__globals__, code.co_names)

    def of_global(
        self, name: str, known: dict[str, Any], names: tuple[str, ...]
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the state of a variable of a module, or of the parts of a module that a function names."""
        part = known.get(name)
        if isinstance(part, types.ModuleType):
            if _package(part.__name__) not in _PURE_MODULES and not _is_library(part) and self.is_new(part):
                for inner in names:
                    if inner in vars(part):
                        yield from self.of_value(f"{part.__name__}.{inner}", vars(part)[inner])
        elif name in known:
            yield from self.of_value(f"{known.get('__name__')}.{name}", part)


def _is_known(cls: type) -> bool:
    package = _package(cls.__module__)
    return package in (*_OURS, *_PURE_MODULES, "builtins") or _is_library(sys.modules.get(cls.__module__))


def _is_library(module: types.ModuleType | None) -> bool:
    """Return whether a module belongs to Python or to an installed package."""
    if module is None:
        return False
    file = getattr(module, "__file__", None)
    return _package(module.__name__) in sys.stdlib_module_names or "site-packages" in str(file or "")


def _is_descriptor(part: Any) -> bool:
    return hasattr(type(part), "__get__")


def _bytes(part: Any) -> bytes:
    """Return the contents of a value, or its address if it is large or cannot be pickled."""
    size = part.nbytes if isinstance(part, np.ndarray) else sys.getsizeof(part)
    try:
        return content(part, or_address=True) if size <= _MOST_BYTES else str(id(part)).encode()
    except Exception:  # long linked structures exceed the recursion limit
        return str(id(part)).encode()
