"""Checks of the reward function of an oracle, by a random search for counterexamples."""

from __future__ import annotations

from itertools import islice

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.smoothness import Smoothness
from cmab.testing._comparisons import require
from cmab.testing._oracle_subject import TOLERANCE, Subject

_JUMPS = 40


def check_monotonicity(subject: Subject) -> None:
    """Check that the reward of a super arm does not decrease when means increase.

    If `is_monotone` is False, only the reward of the best super arm must not decrease.
    """
    if not subject.oracle.is_monotone:
        _check_best_is_monotone(subject)
        return
    rng, reward = np.random.default_rng(subject.rng), subject.oracle.expected_reward
    for arm, means in subject.super_arms():
        rise = rng.uniform(0, 1, means.shape) * (rng.random(means.shape) < 0.5)
        # Both vectors of means in one array, so that `shrink` can simplify them together.
        both = np.concatenate((means, means + rise * (subject.high - means)))

        def fails(both: FloatArray, arm: IntArray = arm) -> bool:
            lower, raised = np.split(both, 2)
            after = reward(arm, raised)
            return bool((raised >= lower).all() and reward(arm, lower) > after + TOLERANCE * (1 + abs(after)))

        if fails(both):
            lower, raised = np.split(subject.shrink(both, fails), 2)
            worth, after = reward(arm, lower), reward(arm, raised)
            raise AssertionError(
                f"monotonicity: the reward of {arm} is {worth:.6g} for means {lower}, but only {after:.6g}"
                f" for the larger means {raised}"
            )


def _check_best_is_monotone(subject: Subject) -> None:
    """Check that the reward (or cost) of an exact answer does not decrease when means increase."""
    if not subject.oracle.is_exact:
        return
    rng, oracle = np.random.default_rng(subject.rng), subject.oracle
    for means in subject.timed(subject.problems):
        raised = means + rng.uniform(0, 1, means.shape) * (subject.high - means)
        low, high = (oracle.expected_reward(subject.answer(values), values) for values in (means, raised))
        require(
            low <= high + TOLERANCE * (1 + abs(high)),
            "monotonicity",
            "the best super arm has reward {:.6g} for means {}, but only {:.6g} for the larger means {}",
            *(low, means, high, raised),
        )


def check_smoothness(subject: Subject) -> None:
    """Check that a change of the means by at most x changes the reward by at most f(x).

    If the constant modulated by triggering probabilities is declared too, the reward must satisfy this bound
    as well. If no smoothness is declared, the check only requires that the reward has no jumps.
    """
    rng, width = np.random.default_rng(subject.rng), subject.high - subject.low
    if subject.smoothness is None:
        # Fewer super arms, because each search computes many rewards, which may be simulated.
        for arm, means in islice(subject.super_arms(), _JUMPS):
            other = rng.uniform(subject.low, subject.high, means.shape)
            _refuse_jump(subject, arm, np.minimum(means, other), np.maximum(means, other))
        return
    for arm, means in subject.super_arms():
        # All means up, all down, and mixed: the reward decides which of these is the worst case.
        for size in width * np.array([1e-3, 0.1, 1.0]):
            mixed = rng.choice([-1.0, 1.0], means.shape)
            for signs in (1.0, -1.0, mixed, rng.uniform(-1.0, 1.0, means.shape)):
                other = np.clip(means + size * signs, subject.low, subject.high)
                both = np.concatenate((means, other))
                _require_smooth(subject, subject.smoothness, arm, both)
                _require_modulated(subject, subject.smoothness.modulated, arm, both)


def _require_smooth(subject: Subject, smoothness: Smoothness, arm: IntArray, both: FloatArray) -> None:
    """Compare the change of the reward with f(x), where x is the largest change of a triggered mean."""
    reward, triggered = subject.oracle.expected_reward, subject.oracle.triggered_arms(arm)

    def compare(both: FloatArray) -> tuple[float, float, float]:
        first, second = np.split(both, 2)
        distance = float(np.abs(second - first)[triggered].max(initial=0.0))
        change = abs(reward(arm, first) - reward(arm, second))
        return change, distance, change - smoothness(distance) - TOLERANCE * (1 + change)

    if compare(both)[2] <= 0:
        return
    both = subject.shrink(both, lambda tried: compare(tried)[2] > 0)
    (first, second), (change, distance, _) = np.split(both, 2), compare(both)
    raise AssertionError(
        f"smoothness: the reward of {arm} is {reward(arm, first):.6g} for means {first} and"
        f" {reward(arm, second):.6g} for means {second}; it changed by {change:.6g}, although no triggered"
        f" mean moved by more than {distance:.6g}, for which {smoothness} permits {smoothness(distance):.6g}"
    )


def _require_modulated(subject: Subject, constant: float | None, arm: IntArray, both: FloatArray) -> None:
    """Compare the change of the reward with the changes of means, weighted by triggering probabilities."""
    oracle = subject.oracle

    def excess(both: FloatArray) -> tuple[float, float]:
        first, second = np.split(both, 2)
        chances = None if constant is None else oracle.triggering_probabilities(arm, first)
        if constant is None or chances is None:
            return -1.0, 0.0
        change = abs(oracle.expected_reward(arm, first) - oracle.expected_reward(arm, second))
        limit = constant * float(chances @ np.abs(second - first))
        return change - limit - TOLERANCE * (1 + change), limit

    if excess(both)[0] <= 0:
        return
    both = subject.shrink(both, lambda tried: excess(tried)[0] > 0)
    first, second = np.split(both, 2)
    raise AssertionError(
        f"smoothness: the reward of {arm} is {oracle.expected_reward(arm, first):.6g} for means {first} and"
        f" {oracle.expected_reward(arm, second):.6g} for means {second}; the modulated constant {constant:g}"
        " times the sum of the changes of the means, each weighted by the triggering probability of its arm,"
        f" permits only {excess(both)[1]:.6g}"
    )


def _refuse_jump(subject: Subject, arm: IntArray, first: FloatArray, second: FloatArray) -> None:
    """Check that the reward does not jump between two vectors of means, by bisection.

    Each step keeps the half with the larger change of the reward, and this change must vanish. All means
    increase from `first` to `second`, and so does the reward: if its change is small, there is no jump.
    """
    reward = subject.oracle.expected_reward
    values = reward(arm, first), reward(arm, second)
    start = abs(values[0] - values[1])
    # A reward that is estimated from fixed random numbers has small steps, which are permitted.
    allowed = max(0.01 * start, 0.003 * (1 + min(map(abs, values))))
    # Bisection keeps at least half of the change; 40 halvings bring the ends within 1e-12 of each other.
    for _ in range(40):
        if abs(values[0] - values[1]) <= allowed:
            return
        middle = (first + second) / 2
        value = reward(arm, middle)
        if abs(value - values[0]) >= abs(value - values[1]):
            second, values = middle, (values[0], value)
        else:
            first, values = middle, (value, values[1])
    jumps = abs(values[0] - values[1]) > allowed
    require(
        not jumps,
        "smoothness",
        "the reward of {} jumps from {:.6g} to {:.6g} at means {}, which change by only {:.3g}",
        arm,
        values[0],
        values[1],
        first,
        np.abs(first - second).max(),
    )


def check_triggering(subject: Subject) -> None:
    """Check that the reward depends only on the means of base arms that the super arm may trigger."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.rng)
    for arm, means in subject.super_arms():
        triggered = np.zeros(oracle.n_arms, bool)
        triggered[oracle.triggered_arms(arm)] = True
        other = np.where(triggered, means, rng.uniform(subject.low, subject.high, means.shape))
        first, second = oracle.expected_reward(arm, means), oracle.expected_reward(arm, other)
        equal = abs(first - second) <= TOLERANCE * (1 + abs(first))
        require(
            equal,
            "triggering",
            "the reward of {} changed from {:.6g} to {:.6g} with the means of arms that it does not trigger",
            arm,
            first,
            second,
        )
        additive = not oracle.is_linear or abs(first - means[arm].sum()) <= 1e-9 * (1 + abs(first))
        require(
            additive,
            "triggering",
            "the reward of a LinearOracle must be the sum of the means, got {} for {}",
            first,
            arm,
        )
