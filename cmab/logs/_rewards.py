"""Rewards of logged rounds, as a whole and by position."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cmab.arrays import FloatArray
from cmab.logs.log import Log, LoggedRound
from cmab.validation import shown

_ROUNDING = 1e-9
#: The largest number of rounds in an error message.
_MOST = 5


def told_rounds(log: Log) -> list[LoggedRound]:
    """Return the reported rounds."""
    if not isinstance(log, Log):
        raise TypeError(f"log must be a Log, from read_log or read_campaign, got {shown(log)}")
    rounds = [row for row in log if row.state == "told"]
    if len(rounds) < 2:
        raise ValueError(f"log must have at least two reported rounds, got {len(rounds)}")
    if batches := [row.number for row in rounds if row.pulls != 1]:
        raise ValueError(f"rounds must have one outcome per arm, got more in {in_words(batches)}")
    return rounds


def in_words(numbers: Sequence[int]) -> str:
    """Return the numbers of some rounds as text for an error."""
    more = f" and {len(numbers) - _MOST} more" if len(numbers) > _MOST else ""
    return f"round{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_MOST]))}{more}"


def reward_of(row: LoggedRound) -> float:
    """Return the reported reward of a round, or the sum of all outcomes; nan if neither is known."""
    if not math.isnan(row.reward):
        return row.reward
    return math.fsum(row.outcomes.get(name, math.nan) for name in row.names)


def whole_rewards(rounds: list[LoggedRound]) -> FloatArray:
    """Return the reward of each round, shape (n, 1)."""
    rewards = np.array([[reward_of(row)] for row in rounds])
    if np.isnan(rewards).any():
        missing = [row.number for row, reward in zip(rounds, rewards, strict=True) if math.isnan(reward[0])]
        raise ValueError(
            f"rounds must have a reward, or outcomes of all entries, got neither in {in_words(missing)}"
        )
    return rewards


def rewards_by_position(rounds: list[LoggedRound]) -> FloatArray:
    """Return the outcome of each entry, shape (n, k); 0 if it is unknown and the reward implies it."""
    sizes = {len(row.names) for row in rounds}
    if len(sizes) > 1:
        raise ValueError(f"lists must be equally long for an estimate by position, got lengths {sizes}")
    whole_rewards(rounds)
    rewards = np.array([[row.outcomes.get(name, 0.0) for name in row.names] for row in rounds])
    wrong = [
        row.number
        for row, seen in zip(rounds, rewards.tolist(), strict=True)
        if abs(reward_of(row) - math.fsum(seen)) > _ROUNDING * math.fsum(map(abs, seen))
    ]
    if wrong:
        raise ValueError(
            "rewards must be the sums of the outcomes for an estimate by position, got others in"
            f" {in_words(wrong)}"
        )
    return rewards
