"""The check that counts in arrays of small integers do not start again at zero."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from cmab.arrays import AnyArray, IntArray
from cmab.feedback import Ticket
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._policy_choices import clear_world, leads
from cmab.testing._policy_subject import Subject

_SHARE, _LEAST, _MOST = 0.3, 2000, 100_000
_SEEDS, _DEPTH = 5, 3


def check_wraps(subject: Subject) -> int:
    """Check that a policy never selects another super arm because an integer of an arm has overflowed.

    An integer has overflowed if one report changes it from the largest number of its type to the smallest. It
    may be the place in a circular buffer. The check therefore fails only if the selection depends on it.
    Return the number of reports, which is 0 if the state has no such integers.
    """
    policy, rng = subject.policy, np.random.default_rng((29, subject.rng))
    state: Any = policy.initial_state(rng)
    if not any(_small(state, policy.oracle.n_arms)):
        return 0
    if subject.needs_context or subject.worlds is None:
        return 0
    super_arms = [subject.worlds[0].best(), *leads(subject)]
    world = clear_world(subject, super_arms[0], 0.6, 0.2)
    coins, watch = np.random.default_rng((30, subject.rng)), Stopwatch()
    for number in range(_MOST):
        if number >= _LEAST and watch.seconds() > _SHARE * subject.seconds:
            break
        super_arm: IntArray = super_arms[number % len(super_arms)]
        before = {name: part.copy() for name, part in _small(state, policy.oracle.n_arms)}
        told = world.play(super_arm.copy(), coins)
        try:
            policy.update(state, told, Ticket(number, super_arm.copy()), rng)
        except (ValueError, TypeError, IndexError, KeyError):
            return 0  # the policy rejects reports of super arms that it has not selected
        if policy.is_done(state):
            break
        for name, part in _small(state, policy.oracle.n_arms):
            if name in before and before[name].dtype == part.dtype:
                _check_part(subject, state, name, before[name], number + 1)
    return number + 1


def _small(part: Any, n_arms: int, name: str = "", depth: int = 0) -> Iterator[tuple[str, AnyArray]]:
    """Yield the arrays in a part that have an integer of at most 16 bits for each arm."""
    if isinstance(part, np.ndarray):
        if part.dtype.kind in "iu" and part.dtype.itemsize <= 2 and part.shape == (n_arms,):
            yield name, part
    elif depth < _DEPTH:
        within = part if isinstance(part, dict) else getattr(part, "__dict__", {})
        for key, value in within.items():
            yield from _small(value, n_arms, f"{name}.{key}" if name else str(key), depth + 1)


def _check_part(subject: Subject, state: Any, name: str, before: AnyArray, reports: int) -> None:
    """Compare the selections after an overflow with those of a state in which the integer did not change."""
    n_arms = subject.policy.oracle.n_arms
    now, limits = dict(_small(state, n_arms))[name], np.iinfo(before.dtype)
    fallen = np.flatnonzero((before == limits.max) & (now == limits.min))
    for arm in fallen:
        twin = copy.deepcopy(state)
        dict(_small(twin, n_arms))[name][arm] = limits.max
        for seed in range(_SEEDS):
            chosen, usual = (
                subject.select(subject.policy, copy.deepcopy(one), np.random.default_rng(seed))
                for one in (state, twin)
            )
            text = (
                "after {} reports, `{}[{}]` of the state, of type {}, changed from {} to {}, and the policy"
                " selected {} instead of {}; use int64"
            )
            told = (reports, name, arm, before.dtype, limits.max, limits.min, chosen, usual)
            require(np.array_equal(chosen, usual), "long reports", text, *told)
