"""Parameters of objects: ranges that dataclasses declare and check, and texts of objects (``repr``)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from cmab import validation

# The main arguments of an object. They come first, without their names. Their texts have the number of arms.
_SUBJECTS = ("graph", "arms", "oracle")
_MOST_ENTRIES, _ENDS = 8, 3


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


_KEY = "range"
#: Integers up to this size convert to floating-point numbers without rounding.
_EXACT = 2**53

Declaration = Mapping[str, "Range"]


@dataclass(frozen=True)
class Range:
    """The valid values of a parameter.

    Attributes
    ----------
    check : callable
        Called with the name of the parameter, its value and the bounds as keyword arguments. It returns the
        converted value or raises ``ValueError``.
    bounds : mapping
        Keyword arguments of `check`. A bound may be a function of the object that returns the bound.
    optional : bool
        Whether None is also valid.
    """

    check: Callable[..., Any]
    bounds: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False

    def bounds_for(self, thing: Any) -> dict[str, Any]:
        """Return the bounds of the parameter for one object."""
        return {name: bound(thing) if callable(bound) else bound for name, bound in self.bounds.items()}


def real(
    low: Any = -math.inf, high: Any = math.inf, *, inside: bool = False, optional: bool = False
) -> Declaration:
    """Declare a finite number in ``[low, high]``, or in ``(low, high)`` if `inside`.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> from cmab.parameters import Declared, real
    >>> @dataclass(frozen=True)
    ... class Level(Declared):
    ...     delta: float = field(default=0.1, metadata=real(0.0, 1.0, inside=True))
    >>> Level(2.0)
    Traceback (most recent call last):
        ...
    ValueError: delta must be a finite number in (0, 1), got 2.0
    """
    return checked(validation.real, optional=optional, low=low, high=high, inside=inside)


def integer(low: Any = None, high: Any = None, *, optional: bool = False) -> Declaration:
    """Declare an integer in ``[low, high]``."""
    return checked(validation.integer, optional=optional, low=low, high=high)


def one_of(*choices: str) -> Declaration:
    """Declare a string that is one of `choices`."""
    return checked(validation.one_of, choices=choices)


def flag() -> Declaration:
    """Declare True or False."""
    return checked(_flag)


def interval(*, optional: bool = False) -> Declaration:
    """Declare two finite numbers, the first below the second."""
    return checked(validation.interval, optional=optional)


def checked(check: Callable[..., Any], *, optional: bool = False, **bounds: Any) -> Declaration:
    """Declare a parameter that `check` validates, called with its name, its value and the bounds."""
    return {_KEY: Range(check, bounds, optional)}


def ranges(thing: Any) -> dict[str, Range]:
    """Return the declared range of each parameter of a dataclass or of one of its objects.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.parameters import ranges
    >>> ranges(CUCB)["radius_factor"].bounds["low"]
    0.0
    """
    return {part.name: part.metadata[_KEY] for part in fields(thing) if _KEY in part.metadata}


class Declared:
    """Base class of dataclasses that check their parameters against their declared ranges.

    If a subclass defines ``__post_init__``, its first line must be ``super().__post_init__()``.
    """

    def __post_init__(self) -> None:
        """Check all declared parameters in the order of the fields, and convert numpy scalars to Python's.

        Arithmetic with ``numpy.int8(100)`` overflows, and arithmetic with ``numpy.float32`` is inexact.
        """
        for part in fields(self):  # type: ignore[arg-type]
            if not part.init:
                continue
            name, declared = part.name, part.metadata.get(_KEY)
            value = kept = getattr(self, name)
            if declared is None:
                kept = value.item() if isinstance(value, np.integer | np.floating) else value
            elif value is not None or not declared.optional:
                kept = declared.check(name, value, **declared.bounds_for(self))
            if kept is not value and not _is_plain(value):
                object.__setattr__(self, name, kept)


def _flag(name: str, value: object) -> bool:
    validation.check_flag(name, value)
    return bool(value)


def _is_plain(value: object) -> bool:
    """Return whether arithmetic with `value` equals arithmetic with the checked Python number."""
    if type(value) is int:
        return abs(value) < _EXACT
    return type(value) in (float, bool, str) or (type(value) is tuple and all(map(_is_plain, value)))
