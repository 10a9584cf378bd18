"""The check that the results of an environment belong to its caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from cmab.arrays import AnyArray
from cmab.feedback import Feedback
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import Subject

_FEW, _TIMES, _SUPER_ARMS = 20, 3, 10
_Call = Callable[[np.random.Generator], Any]


def check_aliasing(subject: Subject) -> Finding:
    """Check that results stay the same in later calls, and that overwriting outcomes has no effect."""
    copy = subject.trial.copy()  # the check may overwrite arrays of the environment
    if copy is None:
        return Finding("not tried: the environment cannot be copied")
    calls = list(_calls(subject, copy))
    for number, (name, call) in enumerate(calls):
        first = _arrays(call(np.random.default_rng(1)))
        kept = [array.copy() for array in first]
        call(np.random.default_rng(2))
        # The same method for another super arm, and the other methods.
        for step in (-2, -1, 1, 2):
            calls[(number + step) % len(calls)][1](np.random.default_rng(3))
        for one, now in zip(kept, first, strict=True):
            text = "a later call changed the result {} of {} to {}"
            require(np.array_equal(one, now, equal_nan=True), "aliasing", text, one, name, now)
        if name.startswith("triggering"):
            continue  # the environment may return an array of its own
        for array in first:
            if array.flags.writeable:
                array[...] = 1
        again = _arrays(call(np.random.default_rng(1)))
        for one, now in zip(kept, again, strict=True):
            text = "after its result was overwritten, {} gave {} instead of {}"
            require(np.array_equal(one, now, equal_nan=True), "aliasing", text, name, now, one)
    return Finding(f"{len(calls)} calls")


def _calls(subject: Subject, place: Any) -> Iterator[tuple[str, _Call]]:
    for super_arm in subject.super_arms[:_SUPER_ARMS]:
        yield f"play({super_arm.tolist()})", partial(_play, place, super_arm)
        yield f"triggering_probabilities({super_arm.tolist()})", partial(_chances, place, super_arm)
    if not subject.first_pulls:
        return
    few = subject.arms[:_FEW]
    yield "pull", lambda rng: place.pull(few.copy(), rng)
    yield "pull_many", lambda rng: place.pull_many(few.copy(), np.full(len(few), _TIMES), rng)
    for times in (1, _TIMES):
        yield f"sample with {times} pulls", partial(_sample, place, few, times)


def _play(place: Any, super_arm: AnyArray, rng: np.random.Generator) -> Any:
    return place.play(super_arm.copy(), rng)


def _chances(place: Any, super_arm: AnyArray, _: np.random.Generator) -> Any:
    return place.triggering_probabilities(super_arm.copy())


def _sample(place: Any, arms: AnyArray, times: int, rng: np.random.Generator) -> Any:
    return place.sample(arms.copy(), times, rng)


def _arrays(told: Any) -> list[AnyArray]:
    """Return the arrays of a result, not their copies."""
    if isinstance(told, Feedback):
        told = (told.arms, told.outcomes, told.pulls, told.squares, told.costs)
    parts = told if isinstance(told, tuple | list) else (told,)
    return [np.asarray(part) for part in parts if part is not None]
