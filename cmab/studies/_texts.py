"""Names of files in the strings of a module, and the files among them that the module writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

# Beginnings of the names of functions and methods that write a file.
_WRITING = ("write", "to_", "save", "dump", "touch", "unlink", "imwrite")
_HANDLERS = {
    "FileHandler",
    "RotatingFileHandler",
    "TimedRotatingFileHandler",
    "WatchedFileHandler",
    "connect",
}
# Calls that build a path from strings.
_PATHS = {"Path", "PurePath", "with_name", "joinpath", "join", "str", "fspath", "resolve", "absolute"}


class Texts(NamedTuple):
    """Strings of a module that may be names of files."""

    #: All strings, except those in the block ``if __name__ == "__main__"``.
    named: frozenset[str]
    #: The strings that name files which the module writes.
    written: frozenset[str]


def texts_of(tree: ast.Module) -> Texts:
    """Return the strings in a module that may be relative names of files.

    The module writes a file if it passes the name, or a variable or default with this value, to ``open`` with
    a writing mode, or to a function or method with a name such as ``write_text`` or ``save``.
    """
    nodes = list(_imported(tree))
    known: dict[str, set[str]] = {}
    for _ in range(3):  # variables that are set to other variables
        for name, value in _bindings(nodes):
            known.setdefault(name, set()).update(_texts_in(value, known))
    written = {text for call in nodes if isinstance(call, ast.Call) for text in _written_by(call, known)}
    named = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return Texts(frozenset(filter(_is_name, named)), frozenset(filter(_is_name, written)))


def _imported(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a module, except those in the block ``if __name__ == "__main__"``."""
    for statement in tree.body:
        is_script = isinstance(statement, ast.If) and any(
            getattr(node, "id", "") == "__name__" for node in ast.walk(statement.test)
        )
        yield from () if is_script else ast.walk(statement)


def _bindings(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of variables, attributes and parameters with the expressions assigned to them."""
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
    """Yield the strings in an expression for a path or an open file."""
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
    """Yield the strings that name the files which a call writes."""
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
