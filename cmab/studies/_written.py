"""The functions, classes and constants that the file of a module defines, and those that it changes."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

# Methods that change a list, a dict or a set in place.
_FILLING = {"append", "extend", "insert", "remove", "reverse", "sort", "pop", "clear"}
_FILLING |= {"popitem", "setdefault", "update", "add", "discard"}
_FILLING |= {"difference_update", "intersection_update", "symmetric_difference_update"}


class Written(NamedTuple):
    """The functions of a file by qualified name, and its names by scope.

    The name of a scope is the qualified name of its class, or "" for the module.
    """

    functions: Mapping[str, list[types.CodeType]]
    scopes: Mapping[str, Mapping[str, Any]]
    #: Names that functions of the file assign as globals, and all attributes that the file assigns.
    assigned: frozenset[str] = frozenset()
    #: The assigned attributes of objects other than ``self``, which may belong to another file.
    assigned_elsewhere: frozenset[str] = frozenset()
    #: Names of lists, dicts and sets that the file changes in place.
    filled: frozenset[str] = frozenset()
    #: Whether the file sets attributes of objects other than ``self`` by computed names.
    sets_any: bool = False


class FunctionEntry(NamedTuple):
    """A function that is defined once and without a decorator.

    `name` is the name in the file, before name mangling. A default is None unless it is a literal that cannot
    be changed in place.
    """

    name: str
    defaults: tuple[LiteralEntry | None, ...]
    named: Mapping[str, LiteralEntry | None]


class ClassEntry(NamedTuple):
    """A class that is defined once."""

    is_plain: bool


class LiteralEntry(NamedTuple):
    """A constant that is assigned once."""

    value: Any


@lru_cache(maxsize=4096)
def written(file: Path, _time: int, _size: int) -> Written:
    """Return the definitions of a file. They are cached by its time and size."""
    try:
        source = file.read_bytes()
        tree = ast.parse(source)
        code = compile(source, str(file), "exec", dont_inherit=True)
    except (OSError, SyntaxError, ValueError):
        return Written({}, {})
    functions: dict[str, list[types.CodeType]] = {}
    waiting = [code]
    while waiting:
        for const in waiting.pop().co_consts:
            if isinstance(const, types.CodeType):
                functions.setdefault(const.co_qualname, []).append(const)
                waiting.append(const)
    scopes: dict[str, dict[str, Any]] = {}
    _read_scope(tree.body, "", scopes)
    assigned = frozenset(_assigned(tree))
    elsewhere = frozenset(name for name, owner in assigned if owner != "self")
    filled = frozenset(_filled(tree))
    names = frozenset(name for name, _ in assigned)
    return Written(functions, scopes, names, elsewhere - {""}, filled, sets_any="" in elsewhere)


def _read_scope(body: list[ast.stmt], scope: str, scopes: dict[str, dict[str, Any]]) -> None:
    """Add the names that a module or class binds to `scopes`: None if bound twice or in another way."""
    names: dict[str, Any] = {}
    scopes[scope] = names
    for statement in body:
        for written_name, entry in _bound(statement):
            name = _mangled(written_name, scope)
            names[name] = None if name in names else entry
    for statement in body:
        if isinstance(statement, ast.ClassDef) and names.get(_mangled(statement.name, scope)) is not None:
            _read_scope(statement.body, f"{scope}.{statement.name}".lstrip("."), scopes)


def _mangled(name: str, scope: str) -> str:
    """Return a name after name mangling of private names in a class."""
    owner = scope.rpartition(".")[2].lstrip("_")
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{owner}{name}" if is_private and owner else name


def _bound(statement: ast.stmt) -> Iterator[tuple[str, Any]]:
    """Yield the names that a statement binds, with an entry or None for each."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name, None if statement.decorator_list else _function(statement)
    elif isinstance(statement, ast.ClassDef):
        yield statement.name, ClassEntry(not statement.decorator_list)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            is_name = isinstance(target, ast.Name) and len(targets) == 1
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    yield node.id, _literal(statement.value) if is_name else None
    else:
        for node in ast.walk(statement):
            # A deleted name counts as bound a second time.
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id, None
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name, None
            elif isinstance(node, ast.alias):
                yield (node.asname or node.name).partition(".")[0], None


def _function(statement: ast.FunctionDef | ast.AsyncFunctionDef) -> FunctionEntry:
    arguments = statement.args
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return FunctionEntry(
        statement.name,
        tuple(map(_default, arguments.defaults)),
        {argument.arg: _default(node) for argument, node in named if node is not None},
    )


def _default(node: ast.expr) -> LiteralEntry | None:
    """Return a default, or None for a list, dict or set, which the function may use as memory."""
    found = _literal(node)
    return None if found is not None and isinstance(found.value, dict | list | set) else found


def _literal(node: ast.expr | None) -> LiteralEntry | None:
    if node is None:
        return None
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None
    # An empty list, dict or set may be a cache that functions fill.
    return None if isinstance(value, dict | list | set) and not value else LiteralEntry(value)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield (name, owner) of the globals and attributes that a file assigns.

    A computed name is "". The owner is the name of the object with the assigned attribute, or "" if the
    object is not a plain name. The owner of globals is ``self``, because they belong to this file.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.attr, getattr(node.value, "id", "")
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"setattr", "delattr"}:
            owner, name = (*node.args, None, None)[:2]
            yield getattr(name, "value", ""), getattr(owner, "id", "")
        elif isinstance(node, ast.Global):
            yield from ((name, "self") for name in node.names)


def _filled(tree: ast.Module) -> Iterator[str]:
    """Yield the names of containers that a file changes in place, by item, operator or method."""
    for node in ast.walk(tree):
        inner: ast.expr | None = None
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            inner = node.value
        elif isinstance(node, ast.AugAssign):
            inner = node.target
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLING
        ):
            inner = node.func.value
        while isinstance(inner, ast.Subscript):
            inner = inner.value
        if isinstance(inner, ast.Name | ast.Attribute):
            yield inner.id if isinstance(inner, ast.Name) else inner.attr
