"""Former names of arguments, which keep working for one version, with a warning."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def formerly(
    **names: str,
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Return a decorator that lets a function take arguments by their former names.

    Parameters
    ----------
    **names : str
        What each former name is called now. ``"search.threads"`` stands for the field ``threads`` of the
        value object that the argument ``search`` is; the default of that argument is such an object.

    Examples
    --------
    >>> import warnings
    >>> from cmab.former_arguments import formerly
    >>> @formerly(seed="rng")
    ... def draw(*, rng=0):
    ...     return rng
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     print(draw(seed=3), told[0].message)
    3 draw: write rng in place of seed, which will be gone in the next version
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            if not names.keys().isdisjoint(kwargs):
                _rename(function, names, kwargs)
            return function(*args, **kwargs)

        called.former_arguments = names  # type: ignore[attr-defined]
        return called

    return decorate


def former_arguments(maker: Any) -> Mapping[str, str]:
    """Return the former names of the arguments of a class or function, with the present ones."""
    called = inspect.getattr_static(maker, "__init__") if isinstance(maker, type) else maker
    found: Mapping[str, str] = getattr(called, "former_arguments", {})
    return found


def _rename(function: Any, names: Mapping[str, str], kwargs: dict[str, Any]) -> None:
    """Write arguments of former names to their present places in `kwargs`, with one warning."""
    title = function.__qualname__.removesuffix(".__init__")
    former = [name for name in kwargs if name in names]
    fields: dict[str, list[str]] = {}
    for name in former:
        value, (argument, _, field) = kwargs.pop(name), names[name].partition(".")
        if field:
            usual = inspect.signature(function).parameters[argument].default
            fields.setdefault(f"{argument}={type(usual).__name__}", []).append(f"{field}=...")
            kept = kwargs.get(argument, usual)
            if not isinstance(kept, type(usual)):
                continue  # the function refuses it
            if getattr(kept, field) not in (getattr(usual, field), value):
                raise TypeError(
                    f"{title} must have one of {argument}.{field} and its former name {name}, got both"
                )
            value = replace(kept, **{field: value})
        elif argument in kwargs and not _are_all(function, kwargs):
            raise TypeError(f"{title} must have one of {argument} and its former name {name}, got both")
        else:
            fields[argument] = []
        kwargs[argument] = value
    present = [f"{place}({', '.join(each)})" if each else place for place, each in fields.items()]
    warnings.warn(
        f"{title}: write {' and '.join(present)} in place of {', '.join(former)}, which will be gone in the"
        " next version",
        DeprecationWarning,
        stacklevel=3,
    )


def _are_all(function: Any, kwargs: Mapping[str, Any]) -> bool:
    """Return whether each argument is given by name, as `dataclasses.replace` gives it beside the change."""
    parameters = list(inspect.signature(function).parameters)
    return parameters[0] == "self" and kwargs.keys() >= set(parameters[1:])
