"""Confidence intervals of off-policy values by betting, which are valid for any number of rounds."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.logs._rewards import in_words
from cmab.logs.log import LoggedRound
from cmab.validation import shown

#: The search for an end of the interval stops at this precision, relative to the range.
_PRECISION = 1e-9
# The largest share of the capital in one bet. A share of 1 would lose everything in a round without reward.
_MOST = 0.5


def by_betting(
    rounds: list[LoggedRound],
    weights: FloatArray,
    rewards: FloatArray,
    reward_range: tuple[float, float],
    level: float,
    most: FloatArray | None,
) -> tuple[float, float]:
    """Return `betting_interval` for rewards in a range.

    Raise ``ValueError`` if a reward is outside the range or the interval is empty.
    """
    low, high = map(float, reward_range)
    outside = np.flatnonzero(((rewards < low) | (rewards > high)).any(axis=1))
    if bad := [rounds[i].number for i in outside]:
        raise ValueError(
            f"rewards must lie in reward_range, {shown(reward_range)}, got others in {in_words(bad)}"
        )
    least, largest = betting_interval(weights, (rewards - low) / (high - low), level, most)
    if least > largest:
        raise ValueError(
            "probabilities of the log must fit its rewards, got a log that no value explains; they are wrong,"
            f" or this is one of the {1 - level:.2g} of all logs whose interval may miss the value"
        )
    base, unit = weights.shape[1] * low, high - low
    return base + unit * least, base + unit * largest


def betting_interval(
    weights: FloatArray, rewards: FloatArray, level: float, most: FloatArray | None = None
) -> tuple[float, float]:
    """Return an interval for the expected sum of weighted rewards over k positions, in [0, k].

    Consider a bettor with the claim that the value is above m. Each round multiplies the bettor's capital by
    ``1 + bet * (sum w r - m)``. The game is fair if the value is m. By Markov's inequality, the final capital
    is at least ``2 / (1 - level)`` times the first with probability at most ``(1 - level) / 2``. The interval
    excludes each m for which the capital reaches this factor. The upper end is k minus the lower end for the
    rewards ``1 - r``. Weights have mean 1, so this needs no bound on the weights. If there is a bound, the
    bettor also bets on ``sum w (r - 1) + 1``, which is then bounded from below.

    Parameters
    ----------
    weights, rewards : FloatArray, shape (n, k)
        The weight and the reward of each round and position; rewards in [0, 1].
    level : float
        The confidence level of the interval.
    most : FloatArray, shape (k,), optional
        Upper bounds on the weights at each position.
    """
    alpha = (1.0 - level) / 2.0
    high = weights.shape[1] - _lower(weights, 1.0 - rewards, alpha, most)
    return _lower(weights, rewards, alpha, most), high


def _lower(weights: FloatArray, rewards: FloatArray, alpha: float, most: FloatArray | None) -> float:
    """Return the largest m in [0, k] that the bets exclude."""
    from scipy.optimize import brentq

    games = [((weights * rewards).sum(axis=1), 0.0)]
    if most is not None:
        terms = (weights * (rewards - 1.0)).sum(axis=1) + most.sum()
        games.append((terms.clip(min=0.0), float((most - 1.0).sum())))
    counted = [(*np.unique(terms, return_counts=True), beyond) for terms, beyond in games]
    goal, total = -math.log(alpha), float(weights.shape[1])

    def gain(m: float) -> float:
        logs = [log_capitals(terms, times, m + beyond, goal) for terms, times, beyond in counted]
        # The mean of all capitals, relative to the factor that excludes m.
        return float(np.logaddexp.reduce(np.concatenate(logs))) - math.log(sum(map(len, logs))) - goal

    if gain(_PRECISION) < 0.0:
        return 0.0
    if gain(total) >= 0.0:
        return total
    # All capitals decrease in m, so there is one root. Subtract the precision to stay below it.
    return max(0.0, float(brentq(gain, _PRECISION, total, xtol=_PRECISION)) - _PRECISION)


def log_capitals(terms: FloatArray, times: IntArray, mean: float, goal: float) -> FloatArray:
    """Return the logarithms of ``prod (1 + u (x / mean - 1))`` for shares u of the capital: 1/2, 1/4, ...

    If a bettor splits the capital between these shares, the bettor needs to know neither the best share nor
    the order of the rounds. Shares below ``goal / n`` are left out: with them, the capital does not reach
    ``exp(goal)`` if terms are at most twice the mean.
    """
    n = float(times.sum())
    shares = _MOST * 0.5 ** np.arange(max(1, math.ceil(math.log2(max(n / goal, 1.0)))))
    gains: FloatArray = np.log1p(shares[:, None] * (terms / mean - 1.0)) @ times
    return gains
