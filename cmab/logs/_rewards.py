"""What a logged round earned, as a whole and by position."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cmab.arrays import FloatArray
from cmab.campaigns.log import Log, LoggedRound
from cmab.validation import shown

_ROUNDING = 1e-9
#: Rounds that an error names.
_MOST = 5


def told_rounds(log: Log) -> list[LoggedRound]:
    """Return the rounds whose feedback is known."""
    if not isinstance(log, Log):
        raise TypeError(f"log must be a Log, as read_log and read_journal make it, got {shown(log)}")
    rounds = [row for row in log if row.state == "told"]
    if len(rounds) < 2:
        raise ValueError(f"log must have two told rounds at least, got {len(rounds)}")
    if batches := [row.number for row in rounds if row.pulls != 1]:
        raise ValueError(f"rounds must have one outcome an arm, got more in {in_words(batches)}")
    return rounds


def in_words(numbers: Sequence[int]) -> str:
    """Return the numbers of some rounds as an error names them."""
    more = f" and {len(numbers) - _MOST} more" if len(numbers) > _MOST else ""
    return f"round{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_MOST]))}{more}"


def reward_of(row: LoggedRound) -> float:
    """Return what a round earned: the reward that was told, or the sum of all outcomes; nan if neither."""
    if not math.isnan(row.reward):
        return row.reward
    return math.fsum(row.outcomes.get(name, math.nan) for name in row.names)


def whole_rewards(rounds: list[LoggedRound]) -> FloatArray:
    """Return what each round earned, shape (n, 1)."""
    rewards = np.array([[reward_of(row)] for row in rounds])
    if np.isnan(rewards).any():
        missing = [row.number for row, reward in zip(rounds, rewards, strict=True) if math.isnan(reward[0])]
        raise ValueError(
            f"rounds must have a reward, or outcomes of all entries, got neither in {in_words(missing)}"
        )
    return rewards


def rewards_by_position(rounds: list[LoggedRound]) -> FloatArray:
    """Return what each entry earned, shape (n, k); nothing where it was not seen, and rewards say so."""
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
