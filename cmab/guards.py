"""Arguments of public methods, checked before the method runs: compiled code reads wherever it is told.

A base class names what its methods take, and every subclass, a user's too, is guarded by that one table. Code
that hands on what it checked itself calls the method without its guard.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from cmab.seeding import root

# Takes the object, the argument and all arguments, those before it checked already.
Check = Callable[[Any, Any, tuple[Any, ...]], Any]
Method = TypeVar("Method", bound=Callable[..., Any])


def unguarded(method: Method) -> Method:
    """Return a bound method without the checks of its arguments, for arguments that are right already."""
    inner = getattr(method, "__wrapped__", None)
    return method if inner is None else inner.__get__(method.__self__)  # type: ignore[attr-defined]


def checks_itself(method: Method) -> Method:
    """Mark a method that is called too often to be guarded, and refuses all that the guard would."""
    method.checks_itself = True  # type: ignore[attr-defined]
    return method


def guard(cls: type, table: Mapping[str, tuple[Check | None, ...]]) -> None:
    """Give the methods that `cls` itself defines the checks of `table`, one for each argument (or None)."""
    for name, checks in table.items():
        method = vars(cls).get(name)
        if inspect.isfunction(method) and not hasattr(method, "checks_itself"):
            setattr(cls, name, _guarded(method, checks))


def _guarded(method: Callable[..., Any], checks: tuple[Check | None, ...]) -> Callable[..., Any]:
    # The method's own arguments without self: what comes by name is put in its place, so that it is checked.
    names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
    steps = [(i, check) for i, check in enumerate(checks) if check]

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **named: Any) -> Any:
        if named:
            args, named = _in_order(names, args, named)
        for i, check in steps:
            if i < len(args):
                value = check(self, args[i], args)
                # The tuple is made anew only where a check has converted something.
                if value is not args[i]:
                    args = (*args[:i], value, *args[i + 1 :])
        return method(self, *args, **named)

    return checked


def _in_order(
    names: tuple[str, ...], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with those in place that were given by name and follow without a gap."""
    placed = list(args)
    while len(placed) < len(names) and names[len(placed)] in named:
        placed.append(named[names[len(placed)]])
    taken = names[len(args) : len(placed)]
    return tuple(placed), {name: value for name, value in named.items() if name not in taken}


def generator(_: object, rng: Any, __: object) -> np.random.Generator:
    """Return `rng` if it is a generator, the one that belongs to a seed otherwise."""
    if type(rng) is np.random.Generator:
        return rng
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))
