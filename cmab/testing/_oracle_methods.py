"""The check of all methods of an oracle apart from `solve`: arguments, repeated calls, and surroundings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, FloatArray
from cmab.testing._checks import Finding
from cmab.testing._comparisons import entries, require
from cmab.testing._oracle_calls import calls, result
from cmab.testing._oracle_subject import Subject
from cmab.testing._surroundings import kept_generators, later, seed_generators
from cmab.testing._trials import alike

_TRIED = 12


def check_methods(subject: Subject) -> Finding:
    """Check that all methods keep their arguments, and give the same results after other calls."""
    oracle = subject.oracle
    problems = subject.some(0.02)[:_TRIED]
    todo = [
        (means, method, arguments)
        for means in subject.timed(problems, 0.1)
        for method, arguments in calls(oracle, means, subject.answer(means))
    ]
    names = list(dict.fromkeys(method for _, method, _ in todo))
    if not names:
        return Finding("not tried: the class defines no optional methods")
    first = [result(oracle, method, arguments) for _, method, arguments in todo]
    order = list(range(len(todo)))[::-1]
    _compare(subject, todo, first, order, "a later call", lambda number: _solve(subject, todo[number][0]))
    with kept_generators():
        _compare(subject, todo, first, order, "another seed of the global generators", seed_generators)
    with later(oracle):
        _compare(subject, todo, first, order, "half a year later, the call", None)
    return Finding(f"{len(todo)} calls of {', '.join(names)}")


def _solve(subject: Subject, means: FloatArray) -> None:
    """Raise ``AssertionError`` if `solve` gives another answer after the calls of other methods."""
    one, two = subject.answer(means), entries(subject.solve(means))
    text = "after calls of other methods, solve for means {} gave {} instead of {}"
    require(np.array_equal(one, two), "methods", text, means, two, one)


def _compare(
    subject: Subject,
    todo: list[tuple[FloatArray, str, tuple[AnyArray, ...]]],
    first: list[Any],
    order: list[int],
    what: str,
    before: Callable[[int], None] | None,
) -> None:
    """Repeat the calls, perhaps after another action, and compare their results with the first ones."""
    for number in subject.timed(order, 0.05):
        if before is not None:
            before(number)
        _, method, arguments = todo[number]
        again = result(subject.oracle, method, arguments)
        text = "{} of {} with the arguments {} gave {} instead of {}"
        same = alike(first[number], again)
        require(same, "methods", text, what, method, arguments, again, first[number])
