"""The check that an object does not depend on other instances of its class."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np

from cmab.oracle import Oracle
from cmab.testing._checks import Finding
from cmab.testing._process_state import kept_settings
from cmab.testing._trials import Answer, Trial, prepared

_MOST = 4


def check_instances(subject: Any) -> Finding:
    """Check that answers do not depend on other instances of the class, which answer in turn with it."""
    trial = prepared(subject)
    assert trial.answers is not None
    others = chain(getattr(subject, "others", ()), _rebuilt(trial.thing))
    tried = 0
    for other in islice(others, _MOST):
        with kept_settings(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the other instance may not fit the problems
            theirs = _answers(_for_other(trial, other), other)
            # The other instance answers first, so that what it keeps in the class is there.
            found = [one for _, one in zip(_forever(theirs), trial.each(), strict=False)]
        where = f"after {other!r}, another instance of the class, answered"
        trial.require_same(found, "instances", where)
        tried += 1
    if not tried:
        return Finding("not tried: no instance with other arguments could be made")
    return Finding(f"{tried} other instances")


def _for_other(trial: Trial, other: Any) -> Trial:
    """Return the trial with problems that fit another instance."""
    if isinstance(other, Oracle) and other.n_arms != trial.thing.n_arms:
        problems = [np.resize(means, other.n_arms) for means in trial.arguments[0]]
        return replace(trial, arguments=(problems,))
    return trial


def _answers(trial: Trial, other: Any) -> Iterator[Answer]:
    """Yield the answers of another instance up to its first exception: it may not fit the problems."""
    try:
        yield from trial.each(other)
    except Exception:
        return


def _forever(answers: Iterator[Answer]) -> Iterator[Answer | None]:
    yield from answers
    while True:
        yield None


def _rebuilt(thing: Any) -> Iterator[Any]:
    """Yield instances made with one other argument, if attributes have the names of the parameters."""
    given: dict[str, Any] = {}
    try:
        parameters = list(inspect.signature(type(thing)).parameters.values())
    except (TypeError, ValueError):  # a class without a signature
        return
    for one in parameters:
        if one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            continue
        value = _attribute(thing, one.name)
        if value is not None:
            given[one.name] = value
        elif one.default is one.empty:
            return
    for name, value in given.items():
        for instead in _unlike(value):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    other = type(thing)(**{**given, name: instead})
            except Exception:  # the constructor rejects this argument
                continue
            yield other


def _attribute(thing: Any, name: str) -> Any:
    for known in (name, f"_{name}"):
        try:
            value = getattr(thing, known)
        except Exception:  # a property may raise
            continue
        if value is not None and not callable(value):
            return value.copy() if isinstance(value, np.ndarray) else value
    return None


def _unlike(value: Any) -> list[Any]:
    """Return other values of the same type, near a number, or in reverse order."""
    if isinstance(value, bool | np.bool_):
        return [not value]
    if isinstance(value, int | np.integer):
        whole = int(value)
        return [whole - 1, whole + 1] if abs(whole) < 1000 else []
    if isinstance(value, float | np.floating):
        return [0.9 * value] if np.isfinite(value) and value else []
    if isinstance(value, np.ndarray) and value.ndim and not np.array_equal(value, value[::-1]):
        return [value[::-1].copy()]
    is_plain = isinstance(value, tuple | list) and all(isinstance(part, int | float) for part in value)
    if is_plain and list(value) != list(value)[::-1]:
        turned: Any = value[::-1]
        return [turned]
    return []
