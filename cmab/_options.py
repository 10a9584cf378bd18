"""A command made from a documented function: its keyword parameters become options."""

from __future__ import annotations

import argparse
import inspect
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\w[\w, ]*?) ?:.*\n((?:    .*\n?|\n)*)", re.MULTILINE)


def parser_of(function: Callable[..., Any], prog: str) -> argparse.ArgumentParser:
    """Return a parser with an option for each keyword parameter of `function`.

    The type and the default of an option come from the signature, its help from the docstring. Parameters may
    be annotated as ``int``, ``float``, ``str``, ``bool``, ``Path``, a ``Literal`` of strings, or a union of
    one of these with ``None``. The parsed namespace contains only the options that were given, so the
    function uses its own defaults for the others.
    """
    text = inspect.getdoc(function) or ""
    described = parameter_texts(text)
    parser = argparse.ArgumentParser(prog=prog, description=text.split("\n\n")[0])
    hints = get_type_hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        settings: dict[str, Any] = {"default": argparse.SUPPRESS}
        if get_origin(kind) in (Union, types.UnionType):
            kind = next(member for member in get_args(kind) if member is not type(None))
        if get_origin(kind) is Literal:
            settings |= {"choices": get_args(kind)}
        elif kind is bool and name in _OPPOSITES:
            about = described.get(name, "").replace("%", "%%")
            either = parser.add_mutually_exclusive_group()
            either.add_argument(f"--{name}", action="store_true", help=about, **settings)
            opposite = {"dest": name, "action": "store_false", "help": f"the opposite of --{name}"}
            either.add_argument(f"--{_OPPOSITES[name]}", **settings | opposite)
            continue
        elif kind is bool:
            # Gives both forms, such as --quick and --no-quick.
            settings |= {"action": argparse.BooleanOptionalAction}
        else:
            if kind not in _METAVARS:
                raise TypeError(f"{name} of {prog} must have a type that can be an option, got {kind}")
            settings |= {"type": _TYPES.get(kind, kind), "metavar": _METAVARS[kind]}
        default = "" if parameter.default is None or kind is bool else f" (default: {parameter.default})"
        # argparse formats help texts with %.
        help_text = (described.get(name, "") + default).replace("%", "%%")
        option = _SPELT.get(name, name).replace("_", "-")
        parser.add_argument(f"--{option}", dest=name, help=help_text, **settings)
    return parser


def path_named(text: str) -> Path:
    """Return the path of an option; reject an empty text, which would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("must be the path of a folder or a file, got an empty text")
    return Path(text)


_TYPES: dict[type, Callable[[str], Any]] = {Path: path_named}
# Options whose names differ from those of the Python parameters.
_SPELT = {"n_jobs": "jobs", "rng": "seed", "horizon": "rounds"}
# Switches whose opposite is a word of its own instead of --no- and the name.
_OPPOSITES = {"directed": "undirected"}
_METAVARS = {int: "N", float: "X", str: "NAME", Path: "PATH"}


def parameter_texts(docstring: str) -> dict[str, str]:
    """Return the description of each parameter in a numpydoc section, as one line."""
    section = _SECTION.search(docstring)
    if section is None:
        return {}
    return {
        name.strip(): " ".join(body.split())
        for names, body in _ENTRY.findall(section.group(1))
        for name in names.split(",")
    }
