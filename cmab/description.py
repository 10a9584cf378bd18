"""Texts of objects (``repr``): the class and the arguments of the constructor."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

# The main arguments of an object. They come first, without their names. Their texts have the number of arms.
_SUBJECTS = ("graph", "arms", "oracle")
_MOST_ENTRIES, _ENDS = 8, 3


def is_own(cls: type) -> bool:
    """Return whether a class is defined in this distribution, and not by a user."""
    return cls.__module__.partition(".")[0] in ("cmab", "oracles", "instances")


def described(thing: Any, **facts: Any) -> str:
    """Return ``Class(facts, parameters)``, the same text in all processes, without addresses.

    The parameters are those of the constructor that the object keeps as attributes of the same name. The
    attributes of plain values may have a leading underscore. Plain values that equal the default are left
    out, and long arrays are abbreviated. A value of None in `facts` hides a parameter.
    """
    kept = getattr(thing, "__dict__", {})
    told = dict(facts)
    for name, parameter in inspect.signature(type(thing)).parameters.items():
        value = kept.get(name, kept.get("_" + name))
        is_plain = isinstance(value, tuple | str | float | int | np.generic)
        if value != parameter.default if is_plain else name in kept:
            told.setdefault(name, value)
    told = {name: value for name, value in told.items() if value is not None}
    parts = [_text(told.pop(name)) for name in _SUBJECTS if name in told]
    if not parts and hasattr(thing, "n_arms"):
        told = {"n_arms": thing.n_arms} | told
    parts += [f"{name}={_text(value)}" for name, value in told.items()]
    return f"{type(thing).__name__}({', '.join(parts)})"


def _text(value: Any) -> str:
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(float(value))
    if isinstance(value, np.generic):
        return _text(value.item())
    if isinstance(value, tuple) and len(value) <= _ENDS and all(map(np.isscalar, value)):
        return f"({', '.join(map(_text, value))}{',' * (len(value) == 1)})"
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "biuf":
        entries = [f"{entry:.4g}" if value.dtype.kind == "f" else str(entry) for entry in value.tolist()]
        if len(entries) > _MOST_ENTRIES:
            entries[_ENDS:-_ENDS] = ["..."]
        return f"[{', '.join(entries)}]"
    if isinstance(value, np.ndarray | list | tuple | dict | set):
        return "..."
    if getattr(type(value), "__repr__", None) is object.__repr__:  # it contains an address
        return type(value).__name__
    return str(getattr(value, "__name__", None) or repr(value))
