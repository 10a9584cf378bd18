"""Calls of the optional methods of an oracle. Their results are compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, FloatArray, IntArray
from cmab.oracle import LinearOracle, Oracle
from cmab.testing._comparisons import require

#: Exceptions that come from slips in the code rather than from a refusal.
SLIPS = (IndexError, KeyError, AttributeError, NameError, ZeroDivisionError, AssertionError)
_OPTIONAL = (
    *("solve_batch", "solve_certified", "solve_within", "solve_constrained", "solve_root", "gaps"),
    *("optimum_bound", "triggered_arms", "triggering_probabilities", "is_feasible", "uniform_family"),
)


def defines(oracle: Oracle, method: str) -> bool:
    """Return whether the class of an oracle overrides a method of the base classes."""
    own = getattr(type(oracle), method, None)
    return own not in (None, getattr(Oracle, method, None), getattr(LinearOracle, method, None))


def calls(oracle: Oracle, means: FloatArray, answer: IntArray) -> Iterator[tuple[str, tuple[AnyArray, ...]]]:
    """Yield the optional methods that the class defines, each with arguments for one call.

    The arguments depend only on the means and on an answer.
    """
    rng = np.random.default_rng(int(answer.sum()) + len(answer))
    available = rng.random(oracle.n_choices) < 0.8
    include = answer[:1].copy()
    exclude = np.setdiff1d(answer[1:2], include)
    arguments: dict[str, tuple[AnyArray, ...]] = {
        "solve_batch": (np.array([means, means[::-1], means]),),
        "solve_within": (means, available),
        "solve_constrained": (means, include, exclude),
        "solve_root": (means, np.linspace(0.0, 1.0, oracle.n_arms)),
        "gaps": (means, include[:0], exclude),
        "triggered_arms": (answer,),
        "triggering_probabilities": (answer, means),
        "is_feasible": (answer,),
        "uniform_family": (available,),
    }
    for method in _OPTIONAL:
        if defines(oracle, method):
            yield method, arguments.get(method, (means,))


def result(oracle: Oracle, method: str, arguments: tuple[AnyArray, ...]) -> Any:
    """Return a copy of the result of a call, or the name of the exception with which it refuses."""
    given: list[Any] = [each.copy() for each in arguments]
    if method.startswith(("solve", "gaps", "optimum")):
        given.append(np.random.default_rng(7))
    try:
        told = getattr(oracle, method)(*given)
    except SLIPS as error:
        text = "{} raised {!r} for the arguments {}"
        require(False, "methods", text, method, error, arguments)
    except Exception as error:  # for example, no super arm is left, or the method needs other means
        return type(error).__name__
    for before, after in zip(arguments, given, strict=False):
        same = np.array_equal(before, after)
        require(
            same, "methods", "{} must not modify its arguments, but changed {} to {}", method, before, after
        )
    return _copied(told)


def _copied(told: Any) -> Any:
    if hasattr(told, "super_arm"):
        parts = [getattr(told, name, None) for name in ("ratio", "certified", "value", "bound")]
        return (np.array(told.super_arm), *(np.nan if part is None else float(part) for part in parts))
    if isinstance(told, tuple | list):
        return [_copied(part) for part in told]
    if isinstance(told, np.ndarray):
        return told.copy()
    return told
