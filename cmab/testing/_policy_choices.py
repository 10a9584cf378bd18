"""Worlds in which one super arm is clearly the best, and how often a policy then selects it."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from cmab.arrays import IntArray
from cmab.feedback import Ticket
from cmab.testing._policy_subject import Subject, World

_LEADS = 50


def clear_world(subject: Subject, first: IntArray, good: float, fair: float) -> World:
    """Return a world in which the arms of `first` have the mean `good`, as a fraction, and others `fair`.

    If the policy minimises costs, the fractions are subtracted from 1.
    """
    (low, high), oracle = subject.support, subject.policy.oracle
    if oracle.sense == "min":
        good, fair = 1 - good, 1 - fair
    means = np.full(oracle.n_arms, low + (high - low) * fair)
    means[oracle.triggered_arms(first)] = low + (high - low) * good
    return World(oracle, means, subject.support)


def leads(subject: Subject) -> list[IntArray]:
    """Return a super arm for each of some arms, chosen because this arm is the best one."""
    n = subject.policy.oracle.n_arms
    is_alone = np.eye(n, dtype=bool)[:_LEADS]
    ends = (0.1, 0.9) if subject.policy.oracle.sense == "max" else (0.9, 0.1)
    return [subject.world(np.where(row, ends[1], ends[0])).best() for row in is_alone]


def share_of(subject: Subject, world: World, state: object, best: IntArray) -> float:
    """Return how often the policy selects a super arm that is as good as the best one."""
    goal, hits = world.value(best), []
    for seed in range(10):
        chosen = subject.select(subject.policy, copy.deepcopy(state), np.random.default_rng(seed))
        hits.append(len(chosen) > 0 and world.value(chosen) >= goal - 1e-9 * (1 + abs(goal)))
    return float(np.mean(hits))


def taught(subject: Subject, world: World, super_arms: list[IntArray], each: int) -> Any:
    """Return a state that learned `each` rounds of every super arm, or None if the policy rejects them."""
    policy, rng = subject.policy, np.random.default_rng((71, subject.rng))
    state: Any = policy.initial_state(rng)
    coins = np.random.default_rng((72, subject.rng))
    for number in range(each * len(super_arms)):
        super_arm = super_arms[number % len(super_arms)]
        told = world.play(super_arm.copy(), coins)
        try:
            policy.update(state, told, Ticket(number, super_arm.copy()), rng)
        except (ValueError, TypeError, IndexError, KeyError, NotImplementedError):
            return None
        if policy.is_done(state):
            return None
    return state
