"""Mutants of all lines of a folder or a file, by small changes of the syntax tree.

Each change is one that a slip of the pen makes: another comparison, a sign, an end that is one off, the
smaller for the larger, another constant, a condition that is never or always true.
"""

import ast
import copy
import random
from pathlib import Path
from typing import NamedTuple

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
}
NAMES = {
    "min": "max",
    "max": "min",
    "argmin": "argmax",
    "argmax": "argmin",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
}


class Generated(NamedTuple):
    """A mutant: a file, the line, what changed, and the whole new text of the file."""

    file: Path
    line: int
    change: str
    text: str

    @property
    def name(self):
        return f"{self.file.name}:{self.line} {self.change}"


def changes(node):
    """Yield a description and a changed copy of a node for each slip."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} to {other.__name__}", _with(node, ops=[other()])
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        other = OPERATORS[type(node.op)]
        yield f"{type(node.op).__name__} to {other.__name__}", _with(node, op=other())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not _is_number(node.operand):
        yield "sign dropped", node.operand
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} to {other.__name__}", _with(node, op=other())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not dropped", node.operand
    if _is_number(node):
        yield f"{node.value} to {node.value + 1}", _with(node, value=node.value + 1)
        if node.value not in (0, 1):
            yield f"{node.value} to {node.value / 2}", _with(node, value=type(node.value)(node.value / 2))
    if isinstance(node, ast.Name) and node.id in NAMES:
        yield f"{node.id} to {NAMES[node.id]}", _with(node, id=NAMES[node.id])
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield f"{node.attr} to {NAMES[node.attr]}", _with(node, attr=NAMES[node.attr])


def _is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _with(node, **parts):
    other = copy.copy(node)
    for name, part in parts.items():
        setattr(other, name, part)
    return other


def _code(tree):
    """Yield the nodes of functions that compute, without docstrings, annotations, defaults and errors."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name in ("__repr__", "__init__"):
            continue
        waiting = list(function.body)
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, ast.Raise | ast.Assert | ast.FunctionDef | ast.JoinedStr):
                continue
            yield node
            skipped = {id(getattr(node, "annotation", None))}
            waiting += [part for part in ast.iter_child_nodes(node) if id(part) not in skipped]


def mutants(file):
    """Return all mutants of a file. The text of each differs from the original in one expression."""
    text = file.read_text(encoding="utf-8")
    lines, made, seen = text.splitlines(keepends=True), [], set()
    for node in _code(ast.parse(text)):
        if not hasattr(node, "lineno") or node.lineno != node.end_lineno:
            continue
        for change, other in changes(node):
            line, written = lines[node.lineno - 1].encode(), ast.unparse(other).encode()
            if isinstance(other, ast.BinOp | ast.BoolOp | ast.Compare):
                written = b"(" + written + b")"  # as an operand
            new = (line[: node.col_offset] + written + line[node.end_col_offset :]).decode()
            changed = "".join([*lines[: node.lineno - 1], new, *lines[node.lineno :]])
            if changed == text or changed in seen:
                continue
            try:
                ast.parse(changed)
            except SyntaxError:
                continue
            seen.add(changed)
            made.append(Generated(file, node.lineno, change, changed))
    return made


def sample(folder, number, seed=0, pattern="*.py"):
    """Return some mutants of the files of a folder, or of one file, in an order that the seed decides."""
    files = [folder] if folder.is_file() else sorted(folder.rglob(pattern))
    found = [mutant for file in files for mutant in mutants(file)]
    random.Random(seed).shuffle(found)
    return found[:number], len(found)
