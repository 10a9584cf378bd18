"""Compiled forms: an object may offer a compiled form of its rule beside the Python one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cmab.arrays import FloatArray, IntArray


class Kernel(NamedTuple):
    """A compiled rule with its parameters and scratch space, made afresh for each run.

    Attributes
    ----------
    function : callable
        Compiled by one of the decorators of ``cmab.compiled._kernels_signatures``.
    integers : IntArray
        Whole-number parameters and scratch space.
    reals : FloatArray
        Real parameters and scratch space.
    is_random : bool
        Whether an index rule draws from the generator.
    learning : callable or None
        What an index rule does with the outcomes besides, a ``learn_kernel``.
    is_lazy : bool
        Whether an index rule is ``upper_bound`` of each arm, with `reals` as ``pack_optimism`` makes them:
        arms that are not observed then move with the clock only, and few of many have to be looked at.
    """

    function: Any
    integers: IntArray = np.empty(0, np.int64)
    reals: FloatArray = np.empty(0)
    is_random: bool = False
    learning: Any = None
    is_lazy: bool = False


class Rule(NamedTuple):
    """A compiled rule of exploration: what `RuledExplorer.rule` returns.

    Attributes
    ----------
    decide : callable
        Compiled by ``cmab.kernels.decide_kernel``.
    integers : sequence of int
        Whole-number parameters and scratch space.
    reals : sequence of float
        Real parameters.
    memory : FloatArray
        What the rule keeps in mind, before the first sample. It changes with each sample, and `decide` finds
        it at the end of `reals`.
    is_random : bool
        Whether the rule needs a coin.
    room : int
        Zeros after the parameters, where a run remembers what it has computed; ask and tell go without.
    """

    decide: Any
    integers: Sequence[int]
    reals: Sequence[float]
    memory: FloatArray = np.empty(0)
    is_random: bool = False
    room: int = 0


class ExplorerKernel(NamedTuple):
    """A compiled loop of exploration with its parameters and scratch space, made afresh for each run.

    Attributes
    ----------
    loop : callable
        Samples until the stopping rule holds; its last arguments are those of
        ``cmab.exploration._kernels_explore.explore`` from ``draw`` on.
    parameters : tuple
        What comes before them, the `Arguments` of the rule last.
    """

    loop: Any
    parameters: tuple[Any, ...]


def compiled_form(thing: Any, form: str = "kernel") -> Any:
    """Return ``thing.kernel()`` (or what another method `form` returns), or None unless that is current."""
    return getattr(thing, form)() if is_current(thing, form) else None


def is_current(thing: Any, form: str) -> bool:
    """Return whether `thing` has a method `form`, and no subclass changed a rule in it but not the form.

    Those who override ``indices`` of a compiled policy mean their own rule, not the compiled one.
    """
    if not hasattr(thing, form) or form in type(thing).stale_forms:
        return False
    return not type(thing).forms[form] & getattr(thing, "__dict__", {}).keys()


def settle_forms(cls: Any, forms: Mapping[str, Iterable[str]]) -> None:
    """Note for a new class which compiled forms stand for which rules, and which of them are stale."""
    cls.forms = {form: frozenset(rules) for form, rules in forms.items()}
    homes = [vars(base) for base in cls.__mro__]
    cls.stale_forms = frozenset(form for form, rules in cls.forms.items() if _is_stale(homes, form, rules))


def _is_stale(homes: list[Any], form: str, rules: frozenset[str]) -> bool:
    """Return whether a rule stands in a class below the one that has the form."""
    below = next((i for i, names in enumerate(homes) if form in names), 0)
    return any(rules & names.keys() for names in homes[:below])


def solve_rows(kernel: Kernel, n_choices: int, means: FloatArray) -> list[IntArray]:
    """Return what an oracle's `kernel` answers to each row of `means`, in one compiled call."""
    from cmab.compiled._kernels_batch import solve_each

    rows, n_arms = means.shape
    answers, sizes = np.empty((rows, max(n_arms, n_choices)), np.int64), np.empty(rows, np.int64)
    solve_each(kernel.function, kernel.integers, kernel.reals, np.ascontiguousarray(means), answers, sizes)
    return [answer[:size] for answer, size in zip(answers, sizes, strict=True)]
