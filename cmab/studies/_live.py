"""Code that was changed in memory: functions, classes and constants that differ from their files."""

from __future__ import annotations

import abc
import ast
import hashlib
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# What the base classes of this library set on classes when these are defined.
_DERIVED = {"can_constrain", "has_membership", "triggers_surely", "_kind"}
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Written(NamedTuple):
    """What a file defines: its functions, and its names by scope.

    Functions are told by their qualified names, and scopes by the names of their classes ("" for the module).
    """

    functions: Mapping[str, list[types.CodeType]]
    scopes: Mapping[str, Mapping[str, Any]]
    #: Names that the file itself assigns anew while it runs.
    varying: frozenset[str]


class _Function(NamedTuple):
    """The defaults of a function that is defined once and without a decorator, where all are literals."""

    defaults: tuple[Any, ...] | None


class _Class(NamedTuple):
    """A class that is defined once."""

    is_plain: bool


class _Literal(NamedTuple):
    """A constant that is assigned once."""

    value: Any


def changed(modules: Iterable[str], *, only_functions: bool = False) -> dict[str, str]:
    """Return a hash of each function, class and constant of loaded modules that differs from its file.

    A new process that makes the same changes gets the same hashes. Decorated functions, and what the file
    itself binds several times, are not compared.
    """
    found: dict[str, str] = {}
    for name in modules:
        module = sys.modules.get(name)
        file = Path(str(getattr(module, "__file__", None) or ""))
        if module is None or file.suffix != ".py" or not file.is_file():
            continue
        facts = file.stat()
        written = _written(file, facts.st_mtime_ns, facts.st_size)
        for place, value in _differing(module, written):
            if not only_functions or _function_of(value) is not None:
                found[f"{name}.{place}"] = digest(value)
    return found


def home_of(place: str) -> str | None:
    """Return the loaded module of a place that `changed` told, or None."""
    name = place
    while name and name not in sys.modules:
        name = name.rpartition(".")[0]
    top = place.partition(".")[0]
    # A package above may be loaded, and the module itself not.
    return (
        name
        if name != top or hasattr(sys.modules.get(name), place[len(name) + 1 :].partition(".")[0])
        else None
    )


def digest(value: Any) -> str:
    """Return a hash of a function, of a class, or of a plain value; of other things of their type."""
    return hashlib.sha256(repr(_told(value, ())).encode()).hexdigest()[:16]


def _differing(module: types.ModuleType, written: Written) -> Iterator[tuple[str, Any]]:
    """Yield the places and present values of what differs from the file."""
    for scope, names in written.scopes.items():
        owner: Any = module
        for part in filter(None, scope.split(".")):
            owner = vars(owner).get(part)
            if not isinstance(owner, type):
                break
        else:
            yield from _differing_in(module, owner, scope, names, written)


def _differing_in(
    module: types.ModuleType, owner: Any, scope: str, names: Mapping[str, Any], written: Written
) -> Iterator[tuple[str, Any]]:
    prefix = f"{scope}." if scope else ""
    present = vars(owner)
    # Named tuples, enumerations and classes with slots put descriptors in the place of constants.
    is_odd = hasattr(owner, "_fields") or "__slots__" in present or type(owner) not in (type, abc.ABCMeta)
    is_made_up = bool(scope) and is_odd
    for name, entry in names.items():
        value = present.get(name, NotImplemented)
        if isinstance(entry, _Function):
            function = _function_of(value)
            codes = written.functions.get(f"{prefix}{name}", ())
            same = function is not None and any(function.__code__ == code for code in codes)
            if not same or (entry.defaults is not None and (function.__defaults__ or ()) != entry.defaults):  # type: ignore[union-attr]
                yield f"{prefix}{name}", value
        elif isinstance(entry, _Class):
            home = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
            if entry.is_plain and home != (module.__name__, f"{prefix}{name}"):
                yield f"{prefix}{name}", value
        elif isinstance(entry, _Literal) and name not in written.varying and not is_made_up:
            is_same = type(value) is type(entry.value) and bool(value == entry.value)
            yield from () if is_same else ((f"{prefix}{name}", value),)
    # Functions and values that were added to a class: they may stand for those of a base.
    if scope and not is_made_up:
        for name, value in present.items():
            function = _function_of(value)
            is_written = name in names or name in written.varying or name in _DERIVED
            # Of dataclasses: most methods are compiled from text, and `__replace__` of Python 3.13 is shared.
            is_made = function is not None and (
                function.__code__.co_filename == "<string>" or function.__module__ == "dataclasses"
            )
            if not is_written and not is_made and (function is not None or _is_told(name, value)):
                yield f"{prefix}{name}", value


def _function_of(value: Any) -> types.FunctionType | None:
    """Return the innermost function of a method, a property or a wrapper, if there is one."""
    if isinstance(value, property):
        value = value.fget
    value = getattr(value, "__func__", value)
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value if isinstance(value, types.FunctionType) else None


@lru_cache(maxsize=4096)
def _written(file: Path, _time: int, _size: int) -> Written:
    """Return what a file defines, read again if its time or size is another."""
    try:
        source = file.read_bytes()
        tree = ast.parse(source)
        code = compile(source, str(file), "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return Written({}, {}, frozenset())
    functions: dict[str, list[types.CodeType]] = {}
    waiting = [code]
    while waiting:
        for const in waiting.pop().co_consts:
            if isinstance(const, types.CodeType):
                functions.setdefault(const.co_qualname, []).append(const)
                waiting.append(const)
    scopes: dict[str, dict[str, Any]] = {}
    _read_scope(tree.body, "", scopes)
    return Written(functions, scopes, frozenset(_varying(tree)))


def _read_scope(body: list[ast.stmt], scope: str, scopes: dict[str, dict[str, Any]]) -> None:
    """Note the names that a module or a class binds; None for those bound twice or in other ways."""
    names: dict[str, Any] = {}
    scopes[scope] = names
    for statement in body:
        for name, entry in _bound(statement):
            names[name] = None if name in names else entry
    for statement in body:
        if isinstance(statement, ast.ClassDef) and names.get(statement.name) is not None:
            _read_scope(statement.body, f"{scope}.{statement.name}".lstrip("."), scopes)


def _bound(statement: ast.stmt) -> Iterator[tuple[str, Any]]:
    """Yield the names that a statement binds, with what is known of them."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name, None if statement.decorator_list else _Function(_defaults(statement.args))
    elif isinstance(statement, ast.ClassDef):
        yield statement.name, _Class(not statement.decorator_list)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            is_name = isinstance(target, ast.Name) and len(targets) == 1
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    yield node.id, _literal(statement.value) if is_name else None
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id, None
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, None
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0], None


def _literal(node: ast.expr | None) -> _Literal | None:
    if node is None:
        return None
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
    # What is empty at first, and can be filled in place, is a cache.
    return None if isinstance(value, dict | list | set) and not value else _Literal(value)


def _defaults(arguments: ast.arguments) -> tuple[Any, ...] | None:
    found = [_literal(node) for node in arguments.defaults]
    return tuple(entry.value for entry in found if entry) if all(found) else None


def _varying(tree: ast.Module) -> Iterator[str]:
    """Yield the names that the file assigns as attributes or as globals of functions, wherever."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Global):
            yield from node.names


def _told(value: Any, within: tuple[int, ...]) -> Any:
    """Return nested tuples of plain values that tell what a thing is, the same in every process."""
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
    function = _function_of(value)
    if function is not None:
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
    except ValueError:  # a name that is not assigned yet
        return "empty"
