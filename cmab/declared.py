"""Ranges of parameters, declared with the field of a dataclass and checked when an object is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from cmab import validation

_KEY = "range"
#: Integers up to this size are floating-point numbers without rounding.
_EXACT = 2**53

Declaration = Mapping[str, "Range"]


@dataclass(frozen=True)
class Range:
    """The values that a parameter may have.

    Attributes
    ----------
    check : callable
        Called with the name of the parameter, its value and the bounds by name. It returns the value,
        converted, or raises ``ValueError``.
    bounds : mapping
        Keyword arguments of `check`. A function stands for what it returns for the object.
    optional : bool
        Whether None is a value, too.
    """

    check: Callable[..., Any]
    bounds: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False

    def bounds_for(self, thing: Any) -> dict[str, Any]:
        """Return the bounds of the parameter of one object."""
        return {name: bound(thing) if callable(bound) else bound for name, bound in self.bounds.items()}


def real(
    low: Any = -math.inf, high: Any = math.inf, *, inside: bool = False, optional: bool = False
) -> Declaration:
    """Declare a finite number in ``[low, high]``, or in ``(low, high)`` if `inside`.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> from cmab.declared import Declared, real
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
    """Declare one of some texts."""
    return checked(validation.one_of, choices=choices)


def flag() -> Declaration:
    """Declare True or False."""
    return checked(_flag)


def interval(*, optional: bool = False) -> Declaration:
    """Declare two finite numbers, the first below the second."""
    return checked(validation.interval, optional=optional)


def checked(check: Callable[..., Any], *, optional: bool = False, **bounds: Any) -> Declaration:
    """Declare what `check` returns for the name of a parameter, its value and the bounds."""
    return {_KEY: Range(check, bounds, optional)}


def ranges(thing: Any) -> dict[str, Range]:
    """Return the declared range of each parameter of a dataclass or of one of its objects.

    Examples
    --------
    >>> from cmab import CUCB
    >>> from cmab.declared import ranges
    >>> ranges(CUCB)["radius_factor"].bounds["low"]
    0.0
    """
    return {part.name: part.metadata[_KEY] for part in fields(thing) if _KEY in part.metadata}


class Declared:
    """Base of dataclasses whose parameters are checked by their declared ranges.

    A subclass with a ``__post_init__`` of its own begins it with ``super().__post_init__()``.
    """

    def __post_init__(self) -> None:
        """Check all declared parameters in the order of the fields, and replace numpy's numbers by Python's.

        Arithmetic with ``numpy.int8(100)`` overflows, and that with a ``numpy.float32`` is inexact.
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
    """Return whether Python calculates with `value` as with the number that was checked."""
    if type(value) is int:
        return abs(value) < _EXACT
    return type(value) in (float, bool, str) or (type(value) is tuple and all(map(_is_plain, value)))
