"""Arguments of public methods, checked before the method runs: compiled code reads wherever it is told.

A base class names by method and position what its methods take. `guard` puts one frame around each of these
methods of every subclass, a user's too. Code that hands on what it checked itself calls `unguarded` methods.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cmab import _metering
from cmab.seeding import root

# Takes the object, the argument and all arguments, those before it checked already.
Check = Callable[[Any, Any, tuple[Any, ...]], Any]
#: By method, a check of each argument in order, or None for one that the method checks by itself.
Takes = Mapping[str, tuple[Check | None, ...]]
Method = TypeVar("Method", bound=Callable[..., Any])
Result = TypeVar("Result")
# The code of the one frame, by which methods are known that have it already.
_GUARDED: set[Any] = set()
_BY_POSITION = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


class Verb(NamedTuple):
    """A method of which a subclass may leave out trailing arguments that it does not need.

    Attributes
    ----------
    names : tuple of str
        The arguments, in order.
    required : int
        How many of them a caller must give; the others are None where he does not.
    dropped : callable or None
        Called with the object and the last argument that a method does not take, to refuse it.
    """

    names: tuple[str, ...]
    required: int
    dropped: Callable[[Any, Any], None] | None = None


def unguarded(method: Method) -> Method:
    """Return a bound method without the checks of its arguments, for arguments that are right already."""
    inner = getattr(method, "unguarded", None)  # not __wrapped__, which the author's own decorators set, too
    return method if inner is None else inner.__get__(method.__self__)  # type: ignore[attr-defined]


def checks_itself(method: Method) -> Method:
    """Mark a method that is called too often to be guarded, and refuses all that the guard would."""
    method.checks_itself = True  # type: ignore[attr-defined]
    return method


def verb(method: Callable[..., Result]) -> Callable[..., Result]:
    """Tell type checkers that a subclass may leave out trailing arguments of a method."""
    return method


def guard(
    cls: type,
    table: Takes,
    verbs: Mapping[str, Verb] | None = None,
    metered: tuple[str, ...] = (),
) -> None:
    """Give the methods of `cls` the checks of `table`, one for each argument (or None).

    Methods that it inherits from classes without guards are guarded, too. Properties stay as they are, and
    so do methods that are assigned when the class is defined already.
    """
    for name, checks in table.items():
        method = inspect.getattr_static(cls, name, None)
        if not inspect.isfunction(method):
            method = _as_function(name, method)
        if method is not None and method.__code__ not in _GUARDED and not hasattr(method, "checks_itself"):
            form = None if verbs is None else verbs.get(name)
            setattr(cls, name, _guarded(cls, method, checks, form, name in metered))


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
    is_metered: bool,
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
                # The tuple is made anew only where a check has converted something.
                if value is not args[i]:
                    args = (*args[:i], value, *args[i + 1 :])
        if place < len(args) and type(rng := args[place]) is not np.random.Generator:
            rng = rng if rng is None and is_optional else generator(self, rng, args)
            args = (*args[:place], rng, *args[place + 1 :])
        if form is not None and len(args) != takes and form.required <= len(args) <= len(form.names):
            if form.dropped is not None and takes < len(form.names) == len(args):
                form.dropped(self, args[-1])
            args = args[:takes] if len(args) > takes else (*args, *(None,) * (takes - len(args)))
        if is_metered:
            meter = _metering.ACTIVE.meter
            if meter is not None and meter.oracle is self:
                return meter.measure(method, (self, *args), named)
        return method(self, *args, **named)

    _GUARDED.add(guarded.__code__)  # type: ignore[attr-defined]
    guarded.takes, guarded.unguarded = takes, method  # type: ignore[attr-defined]
    return guarded


def _parameters(method: Any) -> list[inspect.Parameter]:
    """Return the parameters behind `self`; of a wrapper that takes any, those of the method that it wraps."""
    parameters = [*inspect.signature(method, follow_wrapped=False).parameters.values()]
    if hasattr(method, "__wrapped__") and any(one.kind is one.VAR_POSITIONAL for one in parameters):
        parameters = [*inspect.signature(method).parameters.values()]
    return parameters[1:]


def _taken(cls: type, method: Any, form: Verb, parameters: list[inspect.Parameter]) -> int:
    """Return how many arguments a method takes, refused unless they stand in the order of its verb.

    An optional argument with another name and another default than None is one of the author's own, which no
    caller gives.
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
    """Return the arguments and those of `named`, which loses them, that follow without a gap."""
    placed = list(args)
    while len(placed) < len(names) and names[len(placed)] in named:
        placed.append(named.pop(names[len(placed)]))
    return tuple(placed)


def _in_place(
    form: Verb, own: tuple[str, ...], args: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the arguments of a verb, those of `named`, which loses them, in place, and None in gaps.

    They may have the names of the verb or those of the method's own arguments.
    """
    placed, last = [*args, *(None,) * len(form.names)], len(args)
    for i in range(len(args), len(form.names)):
        for name in {form.names[i], *own[i : i + 1]} & named.keys():
            placed[i], last = named.pop(name), i + 1
    return tuple(placed[:last])


def generator(_: object, rng: Any, __: object) -> np.random.Generator:
    """Return `rng` if it is a generator, the one that belongs to a seed otherwise."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(root(rng))


def generator_or_none(_: object, rng: Any, __: object) -> np.random.Generator | None:
    """Return `rng` if it is a generator or None, which draws nothing; the one of a seed otherwise."""
    return rng if rng is None else generator(_, rng, __)


_GENERATORS = generator, generator_or_none
