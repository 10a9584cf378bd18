"""Checks of the arguments of public methods before they run, because compiled code does not check bounds.

A base class declares by method and position which arguments are checked. `guard` wraps these methods in every
subclass, including subclasses of the user. Code that passes arguments which it has checked calls `unguarded`
methods.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cmab.seeding import root

# Called with the object, the argument and all arguments, of which the ones before it are already checked.
Check = Callable[[Any, Any, tuple[Any, ...]], Any]
#: The checks of the arguments of each method, in order; None if the method checks an argument itself.
Takes = Mapping[str, tuple[Check | None, ...]]
Method = TypeVar("Method", bound=Callable[..., Any])
Result = TypeVar("Result")
# The code object of the wrapper. It identifies methods that are already wrapped.
_GUARDED: set[Any] = set()
_BY_POSITION = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


class Verb(NamedTuple):
    """A method; its implementation in a subclass may omit trailing arguments that it does not need.

    Attributes
    ----------
    names : tuple of str
        The names of the arguments, in order.
    required : int
        The number of arguments that a caller must pass. The others default to None.
    dropped : callable or None
        Called with the object and the last argument if the method does not take it. It may raise an error.
    """

    names: tuple[str, ...]
    required: int
    dropped: Callable[[Any, Any], None] | None = None


def unguarded(method: Method) -> Method:
    """Return a bound method without the checks of its arguments, for arguments that are already valid."""
    inner = getattr(method, "unguarded", None)  # other decorators set __wrapped__, too
    return method if inner is None else inner.__get__(method.__self__)  # type: ignore[attr-defined]


def verb(method: Callable[..., Result]) -> Callable[..., Result]:
    """Return `method` with a type that lets subclasses omit trailing arguments."""
    return method


def guard(
    cls: type,
    table: Takes,
    verbs: Mapping[str, Verb] | None = None,
) -> None:
    """Wrap the methods of `cls` in the checks of `table`, one check (or None) for each argument.

    Methods that `cls` inherits from classes without guards are wrapped, too. Properties are left unchanged,
    and so are methods that are assigned after the class definition.
    """
    for name, checks in table.items():
        method = inspect.getattr_static(cls, name, None)
        if not inspect.isfunction(method):
            method = _as_function(name, method)
        if method is not None and method.__code__ not in _GUARDED:
            form = None if verbs is None else verbs.get(name)
            setattr(cls, name, _guarded(cls, method, checks, form))


def _as_function(name: str, method: Any) -> Any:
    """Return a function that calls a static or partial method or another callable; None for the rest."""
    is_method = isinstance(method, staticmethod | classmethod | functools.partialmethod)
    if not is_method and (isinstance(method, type) or not callable(method)):
        return None

    def bound(self: Any) -> Any:
        return method.__get__(self, type(self)) if hasattr(method, "__get__") else method

    def call(self: Any, *args: Any, **named: Any) -> Any:
        return bound(self)(*args, **named)

    call.__name__ = name
    with suppress(ValueError):  # compiled code may have no signature, and then gets all arguments
        own = inspect.signature(bound(name)).parameters.values()
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        call.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
    return call


def _guarded(
    cls: type,
    method: Callable[..., Any],
    checks: tuple[Check | None, ...],
    form: Verb | None,
) -> Callable[..., Any]:
    parameters = _parameters(method)
    takes = len(parameters) if form is None else _taken(cls, method, form, parameters)
    own = tuple(one.name for one in parameters if one.kind in _BY_POSITION)[:takes]
    steps = [(i, check) for i, check in enumerate(checks) if check and check not in _GENERATORS]
    place = next((i for i, check in enumerate(checks) if check in _GENERATORS), sys.maxsize)
    is_optional = generator_or_none in checks

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **named: Any) -> Any:
        if named:
            args = _in_order(own, args, named) if form is None else _in_place(form, own, args, named)
        for i, check in steps:
            if i < len(args):
                value = check(self, args[i], args)
                # The tuple is rebuilt only if a check has converted the argument.
                if value is not args[i]:
                    args = (*args[:i], value, *args[i + 1 :])
        if place < len(args) and type(rng := args[place]) is not np.random.Generator:
            rng = rng if rng is None and is_optional else generator(self, rng, args)
            args = (*args[:place], rng, *args[place + 1 :])
        if form is not None and len(args) != takes and form.required <= len(args) <= len(form.names):
            if form.dropped is not None and takes < len(form.names) == len(args):
                form.dropped(self, args[-1])
            args = args[:takes] if len(args) > takes else (*args, *(None,) * (takes - len(args)))
        return method(self, *args, **named)

    _GUARDED.add(guarded.__code__)  # type: ignore[attr-defined]
    guarded.takes, guarded.unguarded = takes, method  # type: ignore[attr-defined]
    return guarded


def _parameters(method: Any) -> list[inspect.Parameter]:
    """Return the parameters after `self`. If `method` is a wrapper with ``*args``, use the wrapped method."""
    parameters = [*inspect.signature(method, follow_wrapped=False).parameters.values()]
    if hasattr(method, "__wrapped__") and any(one.kind is one.VAR_POSITIONAL for one in parameters):
        parameters = [*inspect.signature(method).parameters.values()]
    return parameters[1:]


def _taken(cls: type, method: Any, form: Verb, parameters: list[inspect.Parameter]) -> int:
    """Return how many arguments a method takes. Raise ``TypeError`` if their order differs from `form`.

    An optional argument with another name and a default other than None is an option of the subclass. No
    caller passes it.
    """
    in_place = [one for one in parameters if one.kind in _BY_POSITION]
    misplaced = [
        one.name for i, one in enumerate(in_place) if one.name in form.names[:i] + form.names[i + 1 :]
    ]
    if misplaced or any(one.name in form.names for one in parameters if one.kind is one.KEYWORD_ONLY):
        raise TypeError(
            f"{cls.__name__}.{method.__name__} must take ({', '.join(form.names)}) in this order and by"
            f" position, or the first of them, got ({', '.join(one.name for one in parameters)})"
        )
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return len(form.names)
    for i, one in enumerate(in_place[form.required : len(form.names)], form.required):
        if one.name != form.names[i] and one.default is not one.empty and one.default is not None:
            return i
    return min(len(in_place), len(form.names))


def _in_order(names: tuple[str, ...], args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return `args` and the arguments of `named` that follow without a gap. Remove these from `named`."""
    placed = list(args)
    while len(placed) < len(names) and names[len(placed)] in named:
        placed.append(named.pop(names[len(placed)]))
    return tuple(placed)


def _in_place(
    form: Verb, own: tuple[str, ...], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the arguments of a verb by position, with None in gaps, and remove them from `named`.

    The keys of `named` may be the names of the verb or the names of the method's own arguments.
    """
    placed, last = [*args, *(None,) * len(form.names)], len(args)
    for i in range(len(args), len(form.names)):
        for name in {form.names[i], *own[i : i + 1]} & named.keys():
            placed[i], last = named.pop(name), i + 1
    return tuple(placed[:last])


def generator(_: object, rng: Any, __: object) -> np.random.Generator:
    """Return `rng` if it is a generator, and otherwise a generator with the seed `rng`."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))


def generator_or_none(_: object, rng: Any, __: object) -> np.random.Generator | None:
    """Return `rng` if it is a generator or None, and otherwise a generator with the seed `rng`."""
    return rng if rng is None else generator(_, rng, __)


_GENERATORS = generator, generator_or_none
