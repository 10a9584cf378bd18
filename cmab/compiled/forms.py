"""Compiled forms of the rules of policies, explorers, oracles and environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray


class Kernel(NamedTuple):
    """A compiled rule with its parameters and scratch space, which must be new for each run.

    Attributes
    ----------
    function : callable
        The rule, compiled by one of the decorators in `cmab.kernels`.
    integers : IntArray
        Integer parameters and scratch space.
    reals : FloatArray
        Real parameters and scratch space.
    is_random : bool
        Whether an index rule draws from the random generator.
    learning : callable or None
        A ``learn_kernel`` that updates the memory of an index rule, if it has one.
    is_lazy : bool
        Whether an index rule is ``upper_bound`` of each arm, with the `reals` of ``pack_optimism``. The
        indices of unobserved arms then change only with the round, so the loop computes few of many indices.
    """

    function: Any
    integers: IntArray = np.empty(0, np.int64)
    reals: FloatArray = np.empty(0)
    is_random: bool = False
    learning: Any = None
    is_lazy: bool = False


class Rule(NamedTuple):
    """A compiled rule of exploration with its parameters, the result of `RuledExplorer.rule`.

    Attributes
    ----------
    decide : callable
        The rule, compiled by ``cmab.kernels.decide_kernel``.
    integers : sequence of int
        Integer parameters and scratch space.
    reals : sequence of float
        Real parameters.
    memory : FloatArray
        The memory of the rule before the first sample. `decide` finds it at the end of `reals` and may change
        it at each sample.
    is_random : bool
        Whether the rule needs a random number.
    room : int
        Number of zeros after the parameters, a table for computed values in a compiled run. A `Session` calls
        the rule without this table.
    """

    decide: Any
    integers: Sequence[int]
    reals: Sequence[float]
    memory: FloatArray = np.empty(0)
    is_random: bool = False
    room: int = 0


class ExplorerKernel(NamedTuple):
    """A compiled loop of exploration with its parameters and scratch space, which must be new for each run.

    Attributes
    ----------
    loop : callable
        The loop, which samples until the stopping rule holds. Its last arguments, from ``draw`` on, are those
        of ``cmab.exploration._kernels_explore.explore``.
    parameters : tuple
        The arguments before ``draw``. The last of them is the `Arguments` of the rule.
    """

    loop: Any
    parameters: tuple[Any, ...]


def compiled_form(thing: Any, form: str = "kernel") -> Any:
    """Return ``thing.kernel()``, or the result of another method `form`; None if there is no current one.

    A class lists the methods that its kernel replaces, ``in_kernel``. If a subclass overrides one of them,
    for example ``indices``, but not the kernel, the result is None: the method of the subclass must be used.
    """
    if not hasattr(thing, form):
        return None
    for home in type(thing).__mro__:
        if form in vars(home):
            return getattr(thing, form)()
        if not vars(home).keys().isdisjoint(getattr(thing, f"in_{form}")):
            return None
    return None


def call_kernel(compiled: Any, *arguments: Any) -> Any:
    """Call a kernel that returns several arrays, and return its result.

    numba converts a returned tuple of arrays in Python code, where a signal that arrived during the call
    takes effect. numba then continues with the next array and raises ``SystemError``. If the cause is a
    ``KeyboardInterrupt``, this function raises the ``KeyboardInterrupt`` instead.
    """
    try:
        return compiled(*arguments)
    except SystemError as error:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__ or cause.__context__
        if cause is None:
            raise
        raise cause from None
