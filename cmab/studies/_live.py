"""Functions, classes and constants of loaded modules that differ from their files."""

from __future__ import annotations

import abc
import enum
import sys
import types
from collections.abc import Iterable, Iterator, Set
from importlib import util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cmab.saving._digest import short_hash
from cmab.studies._sources import OWN, is_installed
from cmab.studies._written import ClassEntry, FunctionEntry, LiteralEntry, Written, written

# Attributes that the base classes of this library and Python set when a class is defined.
_DERIVED = {"can_constrain", "has_membership", "triggers_surely", "_kind", "_abc_impl", "__annotations__"}
_DERIVED |= {"__module__", "__doc__", "__dict__", "__weakref__", "__abstractmethods__", "__match_args__"}
# The modules of this library that add functions to classes.
_MAKERS: set[str] = set()
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class _Comparison(NamedTuple):
    """A module, its file, and the names that the files of all compared modules change."""

    module: types.ModuleType
    written: Written
    assigned: frozenset[str]
    filled: frozenset[str]
    sets_any: bool
    #: The top-level names of all compared modules.
    packages: frozenset[str]


def changed(modules: Iterable[str], *, only_functions: bool = False) -> dict[str, str]:
    """Return a hash of each function, class and constant of loaded modules that differs from its file.

    The hashes are the same in each process that makes the same changes. The function ignores decorated
    functions, names that the file binds several times, names that the files of these modules change, and
    modules that an import hook rewrites.
    """
    found: dict[str, str] = {}
    files = {name: _file_of(name) for name in modules}
    known = {name: written(*file) for name, file in files.items() if file is not None}
    theirs = [file for name, file in known.items() if name.partition(".")[0] not in OWN]
    assigned = frozenset[str]().union(*(file.assigned_elsewhere for file in theirs))
    filled = frozenset[str]().union(*(file.filled for file in theirs))
    sets_any = any(file.sets_any for file in theirs)
    packages = frozenset(name.partition(".")[0] for name in files) | OWN
    for name, file in known.items():
        own = file.assigned | assigned, file.filled | filled, sets_any, packages
        for place, value in _differing(_Comparison(sys.modules[name], file, *own)):
            if not only_functions or _function_of(value) is not None:
                found[f"{name}.{place}"] = digest(value)
    return found


def _file_of(name: str) -> tuple[Path, int, int] | None:
    """Return path, time and size of the file of a loaded module, or None if its code is not from a file."""
    module = sys.modules.get(name)
    file = Path(str(getattr(module, "__file__", None) or ""))
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    # Other loaders may rewrite the code, as those of pytest, typeguard and beartype do.
    if type(loader) is not SourceFileLoader or file.suffix != ".py" or not file.is_file():
        return None
    facts = file.stat()
    return file, facts.st_mtime_ns, facts.st_size


def home_of(place: str) -> str | None:
    """Return the loaded module of a key that `changed` returned, or None."""
    name = place
    while name and name not in sys.modules:
        name = name.rpartition(".")[0]
    below = place[len(name) + 1 :].partition(".")[0]
    # The package may be loaded without the submodule of this place.
    if not name or (hasattr(sys.modules[name], "__path__") and util.find_spec(f"{name}.{below}")):
        return None
    return name


def digest(value: Any) -> str:
    """Return a hash of a function, class or plain value, or of the type of any other object."""
    return short_hash(repr(_told(value, ())).encode())


def _differing(compared: _Comparison) -> Iterator[tuple[str, Any]]:
    """Yield the place and the current value of each name that differs from the file."""
    for scope in compared.written.scopes:
        owner: Any = compared.module
        for part in filter(None, scope.split(".")):
            owner = vars(owner).get(part)
            if not isinstance(owner, type):
                break
        else:
            yield from _changed_in(compared, owner, scope)
            if scope and not _is_made_up(owner):
                yield from _added_in(compared, owner, scope)


def _changed_in(compared: _Comparison, owner: Any, scope: str) -> Iterator[tuple[str, Any]]:
    """Yield the names of a module or class with values that differ from the file."""
    written, present = compared.written, vars(owner)
    above, _, own_name = scope.rpartition(".")
    is_decorated = bool(scope) and not written.scopes[above][own_name].is_plain
    for name, entry in written.scopes[scope].items():
        place = f"{scope}.{name}".lstrip(".")
        value = present.get(name, NotImplemented)
        if value is NotImplemented and is_decorated:
            continue  # attrs removes the defaults of fields from the class
        if isinstance(entry, FunctionEntry):
            is_of_enum = isinstance(owner, enum.EnumMeta) and name == "__new__"  # replaced by Python
            is_same = is_of_enum or _is_as_written(compared, value, entry, scope)
        elif isinstance(entry, ClassEntry):
            home = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
            is_same = not entry.is_plain or home == (compared.module.__name__, place)
        elif isinstance(entry, LiteralEntry):
            is_filled = isinstance(entry.value, dict | list | set) and name in compared.filled
            is_assigned = is_filled or name in compared.assigned
            is_same = is_assigned or (bool(scope) and _is_made_up(owner)) or _is_equal(value, entry.value)
        else:
            continue
        if not is_same:
            yield place, value


def _added_in(compared: _Comparison, owner: type, scope: str) -> Iterator[tuple[str, Any]]:
    """Yield functions and values that were added to a class, which may override those of a base class."""
    known = {*compared.written.scopes[scope], *compared.assigned, *_DERIVED}
    for name, value in vars(owner).items():
        if name in known:
            continue
        layers = _layers(value)
        if getattr(layers[-1], "__module__", None) in _MAKERS:
            continue
        if not isinstance(layers[-1], types.FunctionType):
            is_added = _is_told(name, value) and not compared.sets_any
        else:
            # Base classes and decorators of other packages, such as dataclasses and attrs, generate methods.
            is_added = _are_foreign(layers, compared.packages)
            if not is_added and not layers[-1].__code__.co_filename.startswith("<"):
                is_added = not compared.sets_any and not compared.packages.isdisjoint(map(_home, layers))
        if is_added:
            yield f"{scope}.{name}", value


def _is_made_up(owner: Any) -> bool:
    """Return whether a class may replace its constants by other objects.

    Named tuples, enumerations and classes with slots replace them by descriptors. Metaclasses may replace
    them by any object.
    """
    is_odd = hasattr(owner, "_fields") or "__slots__" in vars(owner)
    return is_odd or type(owner) not in (type, abc.ABCMeta)


def _is_as_written(compared: _Comparison, value: Any, entry: FunctionEntry, scope: str) -> bool:
    """Return whether a function has the code and defaults of the file, and no wrapper of a foreign module."""
    *wrappers, function = _layers(value)
    if not isinstance(function, types.FunctionType):
        return False
    if wrappers and _are_foreign(wrappers, compared.packages):
        return False
    if function.__code__ not in compared.written.functions.get(f"{scope}.{entry.name}".lstrip("."), ()):
        return False
    defaults, named = function.__defaults__ or (), function.__kwdefaults__ or {}
    if len(defaults) != len(entry.defaults) or named.keys() != entry.named.keys():
        return False
    known = [*entry.defaults, *entry.named.values()]
    present = [*defaults, *map(named.__getitem__, entry.named)]
    for default, now in zip(known, present, strict=True):
        if default is not None and not _is_equal(now, default.value):
            return False
    return True


def _is_equal(value: Any, literal: Any) -> bool:
    """Return whether a value equals a literal and has its type; False if the comparison raises."""
    try:
        return type(value) is type(literal) and bool(value == literal)
    except Exception:  # comparisons may raise, for example of an array
        return False


def _home(layer: Any) -> str:
    """Return the top-level name of the module of a function, or "" for other objects."""
    if not isinstance(layer, types.FunctionType):
        return ""
    return str(layer.__globals__.get("__name__") or "").partition(".")[0]


def _are_foreign(layers: Iterable[Any], packages: Set[str]) -> bool:
    """Return whether a layer has code of a module that is neither in `packages` nor installed."""
    for home in {*map(_home, layers)} - packages - sys.stdlib_module_names - {""}:
        if not is_installed(home):
            return True
    return False


def _layers(value: Any) -> list[Any]:
    """Return a method, property or wrapper and all objects that it wraps; the innermost function is last."""
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, classmethod | staticmethod | types.MethodType):
        value = value.__func__
    found = [value]
    while True:
        # `hasattr` does not work here, because some objects have an attribute of any name.
        try:
            attributes = object.__getattribute__(found[-1], "__dict__")
        except AttributeError:
            return found
        inner = attributes.get("__wrapped__") if isinstance(attributes, dict) else None
        if inner is None or id(inner) in map(id, found):
            return found
        found.append(inner)


def _function_of(value: Any) -> types.FunctionType | None:
    """Return the innermost function of a method, a property or a wrapper, if there is one."""
    function = _layers(value)[-1]
    return function if isinstance(function, types.FunctionType) else None


def _told(value: Any, within: tuple[int, ...]) -> Any:
    """Return nested tuples of plain values that describe an object, equal in all processes."""
    if isinstance(value, _PLAIN):
        return type(value).__name__, value
    if id(value) in within:
        return "again", within.index(id(value))
    within = (*within, id(value))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return type(value).__name__, tuple(_told(entry, within) for entry in value)
    if isinstance(value, set | frozenset):
        return type(value).__name__, tuple(sorted(repr(_told(entry, within)) for entry in value))
    if isinstance(value, dict):
        return "dict", tuple((_told(k, within), _told(v, within)) for k, v in value.items())
    if isinstance(value, types.CodeType):
        names = value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars
        return value.co_code, names, tuple(_told(const, within) for const in value.co_consts)
    *wrappers, function = _layers(value)
    if isinstance(function, types.FunctionType):
        if wrappers and isinstance(wrappers[0], types.FunctionType):
            function = wrappers[0]  # its closure contains the wrapped function
        cells = tuple(_cell(cell, within) for cell in function.__closure__ or ())
        defaults = _told(function.__defaults__, within), _told(function.__kwdefaults__, within)
        return type(value).__name__, _told(function.__code__, within), defaults, cells
    if isinstance(value, type):
        own = {
            name: entry for name, entry in vars(value).items() if _function_of(entry) or _is_told(name, entry)
        }
        bases = tuple(f"{base.__module__}.{base.__qualname__}" for base in value.__mro__[1:])
        return value.__qualname__, bases, _told(own, within)
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _is_told(name: str, value: Any) -> bool:
    return not name.startswith("__") and isinstance(value, (*_PLAIN, tuple, list, np.ndarray))


def _cell(cell: types.CellType, within: tuple[int, ...]) -> Any:
    try:
        return _told(cell.cell_contents, within)
    except ValueError:  # the variable is not assigned yet
        return "empty"
