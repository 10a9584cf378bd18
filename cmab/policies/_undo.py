"""Undoing an update of a state that failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cmab.feedback import Feedback
from cmab.policies._compiled import CompiledIndexPolicy
from cmab.policy import AnyPolicy, IndexPolicy
from cmab.archive import copied
from cmab.statistics import ArmStatistics

# The updates that change the statistics of the observed arms, and the memory, but no other statistics.
_LOCAL = (IndexPolicy.update, CompiledIndexPolicy.update)


def restorer(policy: AnyPolicy, state: Any, feedback: Feedback) -> Callable[[], Any]:
    """Return a function that returns the present state after an update with `feedback` that failed.

    If the update changes the statistics of the observed arms only, these are copied, not those of all arms.
    """
    is_local = type(state) is ArmStatistics and type(feedback) is Feedback and type(policy).update in _LOCAL
    if not is_local:
        before = copied(state)
        return lambda: before
    arms, rounds, memory = feedback.arms, state.rounds, state.memory.copy()
    arrays = state.counters, state.means, state.deviations
    rows = [array[arms] for array in arrays]

    def restored() -> Any:
        for array, row in zip(arrays, rows, strict=True):
            array[arms] = row
        state.memory[:], state.rounds = memory, rounds
        return state

    return restored
