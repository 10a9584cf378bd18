"""The numbers for each base arm in a state of any class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from cmab.arrays import FloatArray

_DEPTH = 4


def parting(one: Any, other: Any, n_arms: int) -> str:
    """Return the name of a part with a number for each arm in which two states differ, or ''.

    Differences by rounding do not count.
    """
    second = dict(of_each_arm(other, n_arms))
    for name, numbers in of_each_arm(one, n_arms):
        known = second.get(name)
        if known is None or known.shape != numbers.shape:
            return name
        if not np.allclose(numbers, known, rtol=1e-9, atol=1e-12, equal_nan=True):
            return name
    return ""


def of_each_arm(part: Any, n_arms: int, name: str = "", depth: int = 0) -> Iterator[tuple[str, FloatArray]]:
    """Yield the arrays, lists and dictionaries in a part that have a number for each arm."""
    if isinstance(part, np.ndarray | list | tuple) and len(numbers := _numbers(part)) == n_arms:
        yield name, numbers
    elif isinstance(part, dict) and set(part) <= set(range(n_arms)):
        for key, value in part.items():  # arms without an entry are allowed
            if (numbers := _numbers(value)).size:
                yield f"{name}[{key}]", numbers
    elif depth < _DEPTH:
        for key, value in within(part).items():
            yield from of_each_arm(value, n_arms, f"{name}.{key}" if name else str(key), depth + 1)


def numbers_of(part: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, FloatArray]]:
    """Yield all numbers, arrays and lists of numbers in a part of a state, with their names."""
    if isinstance(part, np.ndarray | list | tuple | int | float | np.number):
        if (numbers := _numbers(part)).size and numbers.dtype.kind == "f":
            yield name, numbers
    elif depth < _DEPTH:
        for key, value in within(part).items():
            yield from numbers_of(value, f"{name}.{key}" if name else str(key), depth + 1)


def within(part: Any) -> dict[Any, Any]:
    """Return the parts of a dictionary or of an object, also of one with slots, by name."""
    if isinstance(part, dict):
        return part
    named = dict(getattr(part, "__dict__", {}))
    if is_dataclass(part) and not isinstance(part, type):
        named |= {one.name: getattr(part, one.name) for one in fields(part) if hasattr(part, one.name)}
    return named


def _numbers(part: Any) -> FloatArray:
    """Return a part as an array of numbers with at least one dimension, which is empty if it is not one."""
    try:
        return np.atleast_1d(np.asarray(part, np.float64))
    except (TypeError, ValueError):
        return np.empty(0)
