"""Whether the code of an object reads anything that another process may have different.

Two processes differ in the hashes of strings, in addresses, in the settings of the process, and in data that
code has written into modules and classes. Code that uses only numbers, arrays, its own attributes and
functions of numerical packages cannot see the difference. The inspection is careful: whatever it does not
know counts as different.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

_OURS = ("cmab", "instances", "oracles")
#: Packages whose functions compute from their arguments.
_PURE = (*_OURS, "numpy", "math", "cmath", "operator", "itertools", "functools", "scipy", "heapq", "bisect")
_PURE_MODULES = (*_PURE, "dataclasses", "typing", "collections", "abc", "statistics", "fractions")
_DENIED = frozenset(
    (
        *("hash", "id", "set", "frozenset", "type", "setattr", "delattr", "vars", "dir", "globals"),
        *("open", "input", "eval", "exec", "compile", "__import__"),
    )
)
#: Attributes that lead to files, other modules or data of the class.
_DENIED_PARTS = frozenset(
    (
        *("__class__", "__dict__", "__globals__", "__builtins__", "ctypes", "ctypeslib"),
        *("load", "loadtxt", "genfromtxt", "fromfile", "memmap"),
    )
)
_SETS = frozenset(("BUILD_SET", "SET_ADD", "SET_UPDATE"))
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype, slice)
_RANDOM = (np.random.Generator, np.random.BitGenerator)
#: Attributes in which the base classes keep notes about a class.
_NOTES = ("_abc_impl", "_takes", "forms", "stale_forms")
_MOST = 3000


def difference(thing: object) -> str:
    """Return a part that the object reads and another process may have different, or '' if there is none."""
    try:
        return next(_Inspection().of_object(thing, type(thing).__name__), "")
    except Exception as error:  # a proxy or a class of an unusual form
        return f"its parts, which raise {error!r}"


class _Inspection:
    """The parts that were seen."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.kept: list[object] = []

    def is_new(self, part: object) -> bool:
        """Return whether a part was not seen before; it is kept alive, so that its address stays its own."""
        if id(part) in self.seen:
            return False
        if len(self.seen) >= _MOST:
            raise ValueError(f"more than {_MOST} parts")
        self.seen.add(id(part))
        self.kept.append(part)
        return True

    def of_object(self, part: Any, name: str) -> Iterator[str]:
        """Yield the differing parts of a value that a copy in another process has as well."""
        if isinstance(part, _PLAIN) or type(part) in _RANDOM:
            return
        if isinstance(part, type):
            yield from self.of_class(part)
        elif callable(part) and (inner := _function(part)) is not None:
            yield from self.of_function(inner)
        elif self.is_new(part):
            yield from self.of_data(part, name)

    def of_data(self, part: Any, name: str) -> Iterator[str]:
        """Yield the differing parts of a container or of an object."""
        if isinstance(part, np.ndarray):
            if part.dtype.hasobject:
                yield name
        elif type(part) in (tuple, list):
            for each in part:
                yield from self.of_object(each, name)
        elif type(part) is dict:
            for key, each in part.items():
                yield from self.of_object(key, name)
                yield from self.of_object(each, name)
        elif isinstance(part, types.ModuleType):
            if _package(part.__name__) not in _PURE_MODULES:
                yield f"the module {part.__name__}"
        elif isinstance(part, types.BuiltinFunctionType | np.ufunc):
            if _package(getattr(part, "__module__", None) or "numpy") not in (*_PURE, "builtins"):
                yield name
        elif isinstance(type(part), type) and _is_known(type(part)):
            yield from self.of_class(type(part))
            for key, each in _attributes(part).items():
                yield from self.of_object(each, f"{name}.{key}")
        else:
            yield f"{name}, a {type(part).__name__}"

    def of_class(self, cls: type) -> Iterator[str]:
        """Yield the differing parts of the classes that are not of a known package."""
        for base in cls.__mro__:
            package = _package(base.__module__)
            if (
                package in _OURS
                or base in (object, tuple, list, dict, int, float)
                or package in _PURE_MODULES
            ):
                continue
            if package == "builtins" and not issubclass(base, BaseException):
                yield f"the class {base.__name__}"
            if package == "builtins" or not self.is_new(base):
                continue
            for name, part in vars(base).items():
                inner = _function(part)
                if inner is not None:
                    yield from self.of_function(inner, isinstance(part, classmethod))
                elif not name.startswith("__") and name not in _NOTES and not hasattr(part, "__get__"):
                    yield from self.of_shared(part, f"{base.__name__}.{name}")

    @staticmethod
    def is_constant(part: Any) -> bool:
        """Return whether nobody changes such a value: numbers, functions, modules, classes, our objects."""
        is_plain = isinstance(part, (*_PLAIN, type, types.ModuleType)) or callable(part)
        return is_plain or _package(type(part).__module__) in _OURS

    def of_shared(self, part: Any, name: str) -> Iterator[str]:
        """Yield the differing parts of a value of a module or class, which the process may have changed."""
        if isinstance(part, list | dict | bytearray | np.ndarray) and not _is_frozen(part):
            yield name
        elif isinstance(part, tuple) and type(part) is tuple:
            for each in part:
                yield from self.of_shared(each, name)
        elif self.is_constant(part):
            yield from self.of_object(part, name)
        elif not isinstance(part, np.ndarray):
            yield name

    def of_function(self, function: types.FunctionType, is_of_class: bool = False) -> Iterator[str]:
        """Yield the names and operations of a function whose values may differ."""
        if _package(function.__module__ or "") in _PURE or _is_generated(function):
            return
        if not self.is_new(function):
            return
        if vars(function).keys() - {"__wrapped__", "unguarded"}:
            yield f"attributes of {function.__name__}"
        for cell in function.__closure__ or ():
            yield from self.of_shared(_content(cell), f"a variable around {function.__name__}")
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            yield from self.of_shared(value, f"a default of {function.__name__}")
        for code in _codes(function.__code__):
            yield from self.of_code(code, function.__globals__, is_of_class)

    def of_code(self, code: types.CodeType, known: dict[str, Any], is_of_class: bool) -> Iterator[str]:
        """Yield the differing parts that the operations of a code object use."""
        before: list[Any] = []
        for one in dis.get_instructions(code):
            name, told = one.opname, one.argval
            where = f"{code.co_name} of {code.co_filename}"
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                if told in known:
                    yield from self.of_shared(known[told], str(told))
                elif told in _DENIED or not hasattr(builtins, told):
                    yield f"`{told}` in {where}"
            elif name in _SETS or (name == "LOAD_CONST" and isinstance(told, frozenset)):
                yield f"a set in {where}"
            elif name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                yield f"the global variable `{told}` in {where}"
            elif name == "IMPORT_NAME" and _package(told) not in _PURE_MODULES:
                yield f"the module {told} in {where}"
            elif name.startswith(("LOAD_ATTR", "LOAD_METHOD")) and told in _DENIED_PARTS:
                yield f"`{told}` in {where}"
            elif name == "STORE_ATTR" and (is_of_class or not _is_of_local(before, told)):
                yield f"the assignment of `{told}` in {where}"
            before.append(one)


def _is_of_local(before: list[Any], name: str) -> bool:
    """Return whether the operations before an assignment of an attribute load the object from a variable.

    An augmented assignment loads the object earlier, copies it, and loads the attribute.
    """
    if before and before[-1].opname == "SWAP":
        starts = [
            place
            for place, one in enumerate(before[:-1])
            if one.opname == "COPY" and before[place + 1].argval == name
        ]
        return bool(starts) and all(_is_of_local(before[:place], "") for place in starts)
    place = len(before) - 1
    while place > 0 and before[place].opname.startswith(("LOAD_ATTR", "CACHE")):
        place -= 1
    return place >= 0 and "LOAD_FAST" in before[place].opname


def _package(module: str) -> str:
    return module.partition(".")[0]


def _is_known(cls: type) -> bool:
    """Return whether instances are ordinary objects, with attributes in a dictionary or in slots."""
    return cls.__dictoffset__ != 0 or _package(cls.__module__) in _OURS or hasattr(cls, "__slots__")


def _attributes(part: Any) -> dict[str, Any]:
    found = dict(getattr(part, "__dict__", {}))
    for cls in type(part).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(part, name):
                found[name] = getattr(part, name)
    return found


def _function(part: Any) -> types.FunctionType | None:
    """Return the function in a method, property, guard, cache or partial call, or None."""
    for _ in range(10):
        if isinstance(part, types.FunctionType):
            inner = getattr(part, "unguarded", None)
            if inner is None and _package(part.__module__ or "") in _OURS:
                inner = getattr(part, "__wrapped__", None)
            if inner is None:
                return part
            part = inner
            continue
        inner = next(
            (
                getattr(part, name)
                for name in ("__func__", "fget", "func", "py_func", "__wrapped__")
                if hasattr(part, name)
            ),
            None,
        )
        if inner is None or isinstance(part, type):
            return None
        part = inner
    return None


def _is_generated(function: types.FunctionType) -> bool:
    """Return whether `dataclasses` wrote the function."""
    file = function.__code__.co_filename
    return file == "<string>" or file.endswith(("dataclasses.py", "reprlib.py"))


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _codes(part)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _is_frozen(part: Any) -> bool:
    """Return whether the process cannot have changed a value: an empty container or a read-only array."""
    if isinstance(part, np.ndarray):
        return not part.flags.writeable and not part.dtype.hasobject
    return False
