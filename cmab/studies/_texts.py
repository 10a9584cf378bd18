"""Names of files in the texts of a module: those that it may read, and those that it writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

# Functions and methods that write a file, or begin so.
_WRITING = ("write", "to_", "save", "dump", "touch", "unlink", "imwrite")
_HANDLERS = {
    "FileHandler",
    "RotatingFileHandler",
    "TimedRotatingFileHandler",
    "WatchedFileHandler",
    "connect",
}
# Calls that make the path of a file out of texts.
_PATHS = {"Path", "PurePath", "with_name", "joinpath", "join", "str", "fspath", "resolve", "absolute"}


class Texts(NamedTuple):
    """Texts of a module that may be names of files."""

    #: All of them, but for those that only a module that is run as a script has.
    named: frozenset[str]
    #: Those to which the module itself writes.
    written: frozenset[str]


def texts_of(tree: ast.Module) -> Texts:
    """Return the texts in a module that may be relative names of files.

    A file is written by the module if its name, or a variable or a default that was set to it, is given to
    ``open`` with a mode to write, or to a function or method with a name such as ``write_text`` or ``save``.
    """
    nodes = list(_imported(tree))
    known: dict[str, set[str]] = {}
    for _ in range(3):  # names of names of names
        for name, value in _bindings(nodes):
            known.setdefault(name, set()).update(_texts_in(value, known))
    written = {text for call in nodes if isinstance(call, ast.Call) for text in _written_by(call, known)}
    named = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return Texts(frozenset(filter(_is_name, named)), frozenset(filter(_is_name, written)))


def _imported(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a module without those under ``if __name__ == "__main__"``."""
    for statement in tree.body:
        is_script = isinstance(statement, ast.If) and any(
            getattr(node, "id", "") == "__name__" for node in ast.walk(statement.test)
        )
        yield from () if is_script else ast.walk(statement)


def _bindings(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of variables, attributes and parameters with what they are set to."""
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from ((name, node.value) for name in _names(target))
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield from ((name, node.context_expr) for name in _names(node.optional_vars))
        elif isinstance(node, ast.arguments):
            placed = [*node.posonlyargs, *node.args][::-1]
            for argument, value in zip(placed, node.defaults[::-1], strict=False):
                yield argument.arg, value
            for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
                if default is not None:
                    yield argument.arg, default


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name | ast.Attribute):
        yield target.id if isinstance(target, ast.Name) else target.attr


def _texts_in(node: ast.AST, known: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the texts that an expression for a path, or for an open file, is made of."""
    if isinstance(node, ast.Constant):
        yield from (node.value,) if isinstance(node.value, str) else ()
    elif isinstance(node, ast.Name):
        yield from known.get(node.id, ())
    elif isinstance(node, ast.Attribute):
        yield from known.get(node.attr, ())
        yield from _texts_in(node.value, known)
    elif isinstance(node, ast.BinOp):
        yield from _texts_in(node.left, known)
        yield from _texts_in(node.right, known)
    elif isinstance(node, ast.Call) and (_called(node) in _PATHS or _is_opened_to_write(node)):
        parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
        for part in parts:
            yield from _texts_in(part, known)


def _written_by(call: ast.Call, known: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield the texts of files to which a call writes."""
    name = _called(call)
    if _is_opened_to_write(call) or name.startswith(_WRITING) or name in _HANDLERS:
        owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        for part in [*owner, *call.args, *(keyword.value for keyword in call.keywords)]:
            yield from _texts_in(part, known)


def _is_opened_to_write(call: ast.Call) -> bool:
    if _called(call) != "open":
        return False
    is_method = isinstance(call.func, ast.Attribute)
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes += call.args[:1] if is_method else call.args[1:2]
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    return any(set("wax+") & set(text) and set(text) <= set("wax+rbt") for text in texts)


def _called(call: ast.Call) -> str:
    return str(getattr(call.func, "id", getattr(call.func, "attr", "")))


def _is_name(text: str) -> bool:
    return 0 < len(text) < 256 and text.isprintable() and not Path(text).is_absolute() and ".." not in text
