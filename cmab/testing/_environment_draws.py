"""Results of an environment for fixed seeds: rounds, and the pulls that explorers request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.environment import Environment
from cmab.feedback import Feedback
from cmab.testing._comparisons import require_same

ROUND_STATES = 20
_PULL_STATES = 4
_ARMS = 50
_TIMES = 3


class Draw(NamedTuple):
    """The result of one call: the name of the method, and all arrays of its answer."""

    method: str
    answer: tuple[AnyArray, ...]


def fixed_rounds(environment: Environment, super_arms: Sequence[IntArray]) -> Iterator[Draw]:
    """Yield a round of each super arm for some seeds."""
    for state in range(ROUND_STATES):
        for super_arm in super_arms:
            yield Draw("play", _parts(environment.play(super_arm.copy(), np.random.default_rng(state))))


def fixed_pulls(environment: Environment, arms: IntArray) -> Iterator[Draw]:
    """Yield the answers of `pull`, `pull_many` and `sample` for some seeds."""
    few, one = arms[:_ARMS], np.full(len(arms[:_ARMS]), 1)
    repeated = np.repeat(few, _TIMES)
    for state in range(_PULL_STATES):
        yield Draw("pull", (np.array(environment.pull(repeated, np.random.default_rng(state))),))
        sums = environment.pull_many(few, _TIMES * one, np.random.default_rng(state))
        yield Draw("pull_many", tuple(np.array(part) for part in sums))
        for pulls in (1, _TIMES):
            told = environment.sample(few, pulls, np.random.default_rng(state))
            yield Draw("sample", _parts(told))


def _parts(feedback: Feedback) -> tuple[AnyArray, ...]:
    """Return copies of all arrays of the feedback, and its reward as an array."""
    told = (feedback.arms, feedback.outcomes, feedback.reward, feedback.pulls, feedback.squares)
    whole = (*told, feedback.costs, feedback.used)
    return tuple(np.array(part) for part in whole if part is not None)


def require_same_draws(first: Sequence[Draw], again: Sequence[Draw], fault: str, what: str) -> None:
    """Raise ``AssertionError`` unless all results are equal. Two rewards that are nan count as equal."""
    for one, other in zip(first, again, strict=True):
        for here, there in zip(one.answer, other.answer, strict=True):
            if not np.array_equal(here, there, equal_nan=True):
                require_same(here, there, fault, f"{one.method}: {what}")
