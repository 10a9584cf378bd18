"""Compiled forms of the rules of policies, explorers, oracles and environments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
        of ``cmab.exploration.base.explore``.
    parameters : tuple
        The arguments before ``draw``. The last of them is the `Arguments` of the rule.
    """

    loop: Any
    parameters: tuple[Any, ...]


def compiled_form(thing: Any, form: str = "kernel") -> Any:
    """Return ``thing.kernel()``, or the result of another method `form`; None if the form is not current."""
    return getattr(thing, form)() if is_current(thing, form) else None


def is_current(thing: Any, form: str) -> bool:
    """Return whether `thing` has a method `form` that agrees with its rules.

    The form is not current if a subclass overrides a rule, for example ``indices``, but not the form. The
    override must then be used instead of the compiled rule.
    """
    if not hasattr(thing, form) or form in type(thing).stale_forms:
        return False
    return not type(thing).forms[form] & getattr(thing, "__dict__", {}).keys()


def settle_forms(cls: Any, forms: Mapping[str, Iterable[str]]) -> None:
    """Store in a new class the rules of each compiled form, and the forms that are stale."""
    cls.forms = {form: frozenset(rules) for form, rules in forms.items()}
    homes = [vars(base) for base in cls.__mro__]
    cls.stale_forms = frozenset(form for form, rules in cls.forms.items() if _is_stale(homes, form, rules))


def _is_stale(homes: list[Any], form: str, rules: frozenset[str]) -> bool:
    """Return whether a class overrides a rule below the class that defines the form."""
    below = next((i for i, names in enumerate(homes) if form in names), 0)
    return any(rules & names.keys() for names in homes[:below])


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


def solve_rows(kernel: Kernel, n_choices: int, means: FloatArray) -> list[IntArray]:
    """Return the answer of an oracle's `kernel` to each row of `means`, in one compiled call."""
    from cmab.compiled._kernels_batch import solve_each

    rows, n_arms = means.shape
    answers, sizes = np.empty((rows, max(n_arms, n_choices)), np.int64), np.empty(rows, np.int64)
    # Kernels are compiled for writable arrays.
    numbers = np.require(means, requirements=("C", "W"))
    solve_each(kernel.function, kernel.integers, kernel.reals, numbers, answers, sizes)
    return [answer[:size] for answer, size in zip(answers, sizes, strict=True)]
