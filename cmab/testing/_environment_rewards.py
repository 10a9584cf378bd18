"""The check of the rewards of rounds."""

from __future__ import annotations

import numpy as np

from cmab.arrays import IntArray
from cmab.feedback import Feedback
from cmab.oracle import Oracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import Subject
from cmab.testing._statistics import MEAN_LEVEL, detected, in_doubt, require_mean

# Number of outcomes whose part of the rewards is removed, and the least number of rounds for it.
_CONTROLS, _LEAST = 10, 200


def check_rewards(subject: Subject) -> Finding:
    """Check that rewards average to the expected reward, and that those of linear oracles are sums."""
    is_sum = getattr(subject.oracle, "is_linear", False)
    widest, shown, looks = 0.0, 0, 0
    for number, (super_arm, rounds) in enumerate(zip(subject.super_arms, subject.rounds, strict=True)):
        rewards = np.array([f.reward for f in rounds])
        seen = rewards[~np.isnan(rewards)]  # nan: the round has no reward
        text = "{} of {} rounds of {} have a reward; the total of a run is then nan"
        require(len(seen) in (0, len(rewards)), "rewards", text, len(seen), len(rewards), super_arm)
        rewards = seen
        claimed = subject.environment.expected_reward(super_arm)
        rare = _rare_reward(subject, super_arm, len(rewards))
        if len(rewards) and not np.ptp(rewards):  # the range of a constant sample is as in `mean_margin`
            rare = max(rare, 1.0, abs(float(rewards[0])))
        require_mean("rewards", f"rewards of {super_arm.tolist()}", rewards, claimed, rare)
        if in_doubt(rewards, claimed, len(subject.super_arms)):
            more = np.array([f.reward for f in subject.further(number)])
            require_mean("rewards", f"rewards of {super_arm.tolist()}", more, claimed, rare)
            looks += 1
        if len(rewards) == len(rounds):
            _require_adjusted(subject, super_arm, rounds, claimed, rare)
        if len(rewards):
            widest, shown = (
                max(widest, detected(rewards, rare, subject.many // 2, len(subject.super_arms))),
                shown + len(rewards),
            )
        for feedback in rounds if is_sum else ():
            if len(feedback.arms) != len(super_arm) or np.isnan(feedback.reward):
                continue  # some arms were not observed, so that the sum is not known
            total = float(feedback.outcomes.sum())
            apart = abs(feedback.reward - total) > 1e-9 * (1 + abs(total))
            require(
                not apart,
                "rewards",
                "the reward must be the sum of the outcomes {}, got {}",
                feedback.outcomes,
                feedback.reward,
            )
    if not shown:
        return Finding("no round has a reward")
    text = f"{shown} rounds; an error of {widest:.2g} in a reward would be detected with probability .99"
    told = f"; {looks} super arms in doubt got more rounds" if looks else ""
    return Finding(text + told, 3 * len(subject.super_arms) * MEAN_LEVEL)


def _require_adjusted(
    subject: Subject, super_arm: IntArray, rounds: list[Feedback], claimed: float, rare: float
) -> None:
    """Check the mean of the rewards after the part that is linear in the outcomes is removed.

    The outcomes have known means, so that the expectation stays the same, but the variance is smaller.
    """
    arms = [arm for arm in super_arm[:_CONTROLS].tolist() if arm < subject.environment.n_arms]
    shown = [dict(zip(f.arms.tolist(), f.outcomes.tolist(), strict=True)) for f in rounds]
    arms = [arm for arm in arms if all(arm in each for each in shown)]
    if len(rounds) < _LEAST or not arms:
        return
    outcomes = np.array([[each[arm] for arm in arms] for each in shown])
    rewards = np.array([f.reward for f in rounds])
    centered = outcomes - outcomes.mean(axis=0)
    slopes = np.linalg.lstsq(centered, rewards - rewards.mean(), rcond=1e-9)[0]
    adjusted = rewards - (outcomes - np.array(subject.environment.means, np.float64)[arms]) @ slopes
    # Outcomes that are too rare for the sample may change rewards as much as the others.
    spread = max(rare, float(np.ptp(rewards)), float(np.abs(slopes) @ np.ptp(outcomes, axis=0)))
    what = f"rewards of {super_arm.tolist()}, less their linear part in the outcomes,"
    require_mean("rewards", what, adjusted, claimed, spread)


def _rare_reward(subject: Subject, super_arm: IntArray, n: int) -> float:
    """Return the largest change of the reward by a rare outcome that `n` rounds may lack, or 0."""
    oracle, means = subject.oracle, np.array(subject.environment.means)
    if not isinstance(oracle, Oracle) or not oracle.n_choices == oracle.n_arms == len(means) or not n:
        return 0.0
    largest = 0.0
    for arm in super_arm:
        for end in (0.0, 1.0):
            chance, without = abs(means[arm] - end), means.copy()
            without[arm] = end
            if 0.0 < chance < 20.0 / n:
                change = oracle.expected_reward(super_arm, means) - oracle.expected_reward(super_arm, without)
                largest = max(largest, abs(change) / chance)
    return largest
