"""Former names of arguments. They work for one version and emit a warning."""

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
    """Return a decorator that makes a function accept arguments by their former names.

    Parameters
    ----------
    **names : str
        The present name for each former name. ``"search.threads"`` means the field ``threads`` of the object
        passed as ``search``. The default of ``search`` must then be an object with this field.

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
    3 draw: write rng in place of seed, which will be removed in the next version
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
    """Return the present names of the arguments of a class or function, keyed by their former names."""
    called = inspect.getattr_static(maker, "__init__") if isinstance(maker, type) else maker
    found: Mapping[str, str] = getattr(called, "former_arguments", {})
    return found


def _rename(function: Any, names: Mapping[str, str], kwargs: dict[str, Any]) -> None:
    """Replace former names in `kwargs` by the present names, with one warning."""
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
                continue  # the function itself raises the error
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
        f"{title}: write {' and '.join(present)} in place of {', '.join(former)}, which will be"
        " removed in the next version",
        DeprecationWarning,
        stacklevel=3,
    )


def _are_all(function: Any, kwargs: Mapping[str, Any]) -> bool:
    """Return whether all arguments are passed by name, as `dataclasses.replace` passes them."""
    parameters = list(inspect.signature(function).parameters)
    return parameters[0] == "self" and kwargs.keys() >= set(parameters[1:])
