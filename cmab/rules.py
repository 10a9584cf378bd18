"""Compiled rules that stand in the file of their class, which may be imported without loading numba."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, TypeVar

from cmab.validation import one_of

Function = TypeVar("Function", bound=Callable[..., object])
Kind = Literal["index", "learn", "solve", "play", "draw", "decide"]
_KINDS: tuple[Kind, ...] = ("index", "learn", "solve", "play", "draw", "decide")


def compiled_rule(kind: Kind, *helpers: str) -> Callable[[Function], Callable[[], Function]]:
    """Return a decorator that makes a function one that returns its compiled form, by need.

    What the decorators of `cmab.kernels` make when a module is imported, this makes at the first call.
    Compiled functions that the rule calls are named, for they too are to be imported no earlier; a type
    checker sees them below ``if TYPE_CHECKING``.

    Parameters
    ----------
    kind : {"index", "learn", "solve", "play", "draw", "decide"}
        Which decorator of `cmab.kernels` it stands for, and so the arguments.
    *helpers : str
        Compiled functions that the rule calls by their own names, as ``"package.module:name"``.

    Raises
    ------
    ValueError
        If there is no such kind.

    Examples
    --------
    >>> import numpy as np
    >>> from cmab.rules import compiled_rule
    >>> @compiled_rule("solve")
    ... def first_arm(means, integers, reals, out):
    ...     out[0] = 0
    ...     return 1
    >>> first_arm()(np.ones(3), np.empty(0, np.int64), np.empty(0), np.empty(3, np.int64))
    1
    """
    one_of("kind", kind, _KINDS)

    def decorate(function: Function) -> Callable[[], Function]:
        # Compiled once, when it is first asked for: importing the class must not load numba.
        @functools.cache
        def compiled() -> Function:
            for helper in helpers:
                module, _, name = helper.partition(":")
                # numba looks helpers up among the globals of the function's own module.
                function.__globals__[name] = getattr(import_module(module), name)
            decorator: Any = getattr(import_module("cmab.kernels"), f"{kind}_kernel")
            form: Function = decorator(function)
            return form

        return functools.update_wrapper(compiled, function)

    return decorate
