"""Compiled rules in the module of their class, which can be imported without loading numba."""

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
    """Return a decorator that compiles a rule when it is first needed.

    The decorators of `cmab.kernels` load numba when the module of the rule is imported. This decorator turns
    the rule into a function without arguments. Its first call loads numba and compiles the rule. Each call
    returns the compiled rule.

    Pass the names of the compiled functions that the rule calls as `helpers`, so that they are not imported
    earlier either. For type checkers, import these functions below ``if TYPE_CHECKING``.

    Parameters
    ----------
    kind : {"index", "learn", "solve", "play", "draw", "decide"}
        The decorator of `cmab.kernels`, without ``_kernel``. It determines the signature of the rule.
    *helpers : str
        The compiled functions that the rule calls, each as ``"package.module:name"``. The rule must call them
        by these names.

    Raises
    ------
    ValueError
        If `kind` is unknown.

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
        # Compiled once, at the first call, because importing the class must not load numba.
        @functools.cache
        def compiled() -> Function:
            for helper in helpers:
                module, _, name = helper.partition(":")
                # numba looks up helpers in the globals of the module of the function.
                function.__globals__[name] = getattr(import_module(module), name)
            decorator: Any = getattr(import_module("cmab.kernels"), f"{kind}_kernel")
            form: Function = decorator(function)
            return form

        return functools.update_wrapper(compiled, function)

    return decorate
