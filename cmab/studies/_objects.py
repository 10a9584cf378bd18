"""Objects that are given in place of tables, and the entries that represent them in stored studies."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from cmab.saving._digest import pickled, short_hash, without_addresses
from cmab.studies import _registry
from cmab.validation import shown

_OURS = {"cmab", "oracles", "instances", "networkx"}


def told(value: Any, objects: dict[str, Any]) -> Any:
    """Return the plain value that represents an object in a specification.

    If this value is a hash, the function adds the object to `objects`.

    Raises
    ------
    TypeError
        If the object cannot be part of a study.
    ValueError
        If its code is in ``__main__``, so that later changes of the code cannot be detected.
    """
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, type) and _registry.kind_of(value) is not None:
        check_home(value.__module__, value)
        return f"{value.__module__}:{value.__qualname__}"
    if _registry.kind_of(type(value)) is None and _top(type(value)) not in _OURS:
        raise TypeError(f"{shown(value)} cannot be part of a study")
    digest, packages = _content(value)
    objects[digest] = value
    return {"object": digest, "packages": packages, "is": without_addresses(shown(value))}


def _content(value: Any) -> tuple[str, list[str]]:
    """Return a hash of the contents of an object, and the packages of its code."""
    packages: set[str] = set()

    def see(part: Any) -> None:
        home = part if isinstance(part, type | types.FunctionType) else type(part)
        check_home(home.__module__, value)
        packages.add(_top(home))

    return short_hash(pickled(value, see)), sorted(packages - {"builtins", "numpy"})


def _top(home: Any) -> str:
    return str(home.__module__).partition(".")[0]


def check_home(module: str | None, value: Any) -> None:
    """Raise ``ValueError`` for code of notebooks and scripts: changes in it cannot be detected later."""
    if module == "__main__":
        raise ValueError(
            f"{shown(value)} must use classes and functions of an importable module, got __main__; move them"
            " to a separate file"
        )
