"""Checks of an oracle's reward function, by random search for a counterexample."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.oracle import LinearOracle
from cmab.testing._checks import require
from cmab.testing._oracle_subject import TOLERANCE, Subject


def check_monotonicity(subject: Subject) -> None:
    """Raising means never lowers the reward of a super arm (random search for a counterexample)."""
    rng = np.random.default_rng(subject.seed)
    for means in subject.all_means():
        arm = subject.solve(means)
        raised = means + rng.uniform(0, 1, means.shape) * (rng.random(means.shape) < 0.5) * (
            subject.high - means
        )
        lower = subject.oracle.expected_reward(arm, means)
        upper = subject.oracle.expected_reward(arm, raised)
        ordered = lower <= upper + TOLERANCE * (1 + abs(upper))
        require(
            ordered, "monotonicity", f"{arm} is worth {lower:.6g} at {means}, only {upper:.6g} at {raised}"
        )


def check_smoothness(subject: Subject) -> None:
    """No change of the means moves the reward by more than the declared smoothness allows (random search)."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.seed)
    if subject.smoothness is None:
        return
    width = subject.high - subject.low
    for means in subject.all_means():
        arm = subject.solve(means)
        first = oracle.expected_reward(arm, means)
        for size in width * np.array([1e-3, 0.1, 1.0]):
            mixed = rng.choice([-1.0, 1.0], oracle.n_arms)
            for signs in (1.0, -1.0, mixed, rng.uniform(-1.0, 1.0, oracle.n_arms)):
                moved = np.clip(means + size * signs, subject.low, subject.high)
                _require_smooth(subject, arm, (means, first), moved)


def _require_smooth(
    subject: Subject, arm: IntArray, before: tuple[FloatArray, float], moved: FloatArray
) -> None:
    assert subject.smoothness is not None
    means, first = before
    triggered = subject.oracle.triggered_arms(arm)
    distance = float(np.abs(moved - means)[triggered].max(initial=0.0))
    second = subject.oracle.expected_reward(arm, moved)
    allowed = subject.smoothness.gamma * distance**subject.smoothness.omega
    require(
        abs(first - second) <= allowed + TOLERANCE * (1 + abs(first)),
        "smoothness",
        f"{arm} is worth {first:.6g} at {means} and {second:.6g} at {moved}: {abs(first - second):.6g} apart,"
        f" though no triggered mean moved by more than {distance:.6g}, for which {subject.smoothness} allows"
        f" {allowed:.6g}",
    )


def check_triggering(subject: Subject) -> None:
    """The reward depends on the means of the arms that the super arm may trigger, and on no others."""
    oracle, rng = subject.oracle, np.random.default_rng(subject.seed)
    for means in subject.random_means():
        arm = subject.solve(means)
        triggered = np.zeros(oracle.n_arms, bool)
        triggered[oracle.triggered_arms(arm)] = True
        other = np.where(triggered, means, rng.uniform(subject.low, subject.high, means.shape))
        first, second = oracle.expected_reward(arm, means), oracle.expected_reward(arm, other)
        equal = abs(first - second) <= TOLERANCE * (1 + abs(first))
        require(
            equal, "triggering", f"the reward of {arm} moved from {first:.6g} to {second:.6g} with other arms"
        )
        additive = not isinstance(oracle, LinearOracle) or abs(first - means[arm].sum()) <= 1e-9 * (
            1 + abs(first)
        )
        require(
            additive, "triggering", f"a LinearOracle is worth the sum of its means, got {first} for {arm}"
        )
