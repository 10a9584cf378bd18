"""Ranges of parameters, declared in the metadata of dataclass fields and checked at construction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from cmab import validation

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
    >>> from cmab.declared import ranges
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
