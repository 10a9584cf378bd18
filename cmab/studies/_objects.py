"""Objects in the place of tables, in studies that Python describes: what a file says of them instead."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from cmab.saving._digest import pickled, short_hash, without_addresses
from cmab.studies import _registry
from cmab.validation import shown

_OURS = {"cmab", "oracles", "instances", "networkx"}


def told(value: Any, objects: dict[str, Any]) -> Any:
    """Return what stands in a specification for an object, and keep that in `objects` by a hash.

    Raises
    ------
    TypeError
        If the object has no place in a study.
    ValueError
        If it is made by code of no file that could be looked at again.
    """
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, type) and _registry.kind_of(value) is not None:
        check_home(value.__module__, value)
        return f"{value.__module__}:{value.__qualname__}"
    if _registry.kind_of(type(value)) is None and _top(type(value)) not in _OURS:
        raise TypeError(f"not a part of a study: {shown(value)}")
    digest, packages = _content(value)
    objects[digest] = value
    return {"object": digest, "packages": packages, "is": without_addresses(shown(value))}


def _content(value: Any) -> tuple[str, list[str]]:
    """Return a hash of all that an object holds, and the packages whose code it needs."""
    packages: set[str] = set()

    def see(part: Any) -> None:
        home = part if isinstance(part, type | types.FunctionType) else type(part)
        check_home(home.__module__, value)
        packages.add(_top(home))

    return short_hash(pickled(value, see)), sorted(packages - {"builtins", "numpy"})


def _top(home: Any) -> str:
    return str(home.__module__).partition(".")[0]


def check_home(module: str | None, value: Any) -> None:
    """Refuse code of notebooks and scripts: nobody could tell later whether it is still the same."""
    if module == "__main__":
        raise ValueError(
            f"{shown(value)} must be made by classes of a module that can be imported, got __main__: put them"
            " into a file of their own"
        )
