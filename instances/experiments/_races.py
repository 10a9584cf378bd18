"""The races of Garivier and Kaufmann's table: sample all remaining arms in turn and eliminate the worst one.

There is no proof for the rate ``ln((1 + ln t) / delta)`` of the table, so the races are not explorers of the
library. Both races follow the public code of the authors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray

#: Whether the worst arm is eliminated, given the means of the best and the worst arm, their rounds, and the
#: rate.
Test = Callable[[FloatArray, FloatArray, IntArray, FloatArray], BoolArray]
_ROUNDS = 512


def chernoff_race(means: FloatArray, delta: float, rng: np.random.Generator) -> tuple[int, int]:
    """Return the last arm and the samples; an arm is eliminated when its likelihood ratio is large."""

    def is_worse(best: FloatArray, worst: FloatArray, rounds: IntArray, rate: FloatArray) -> BoolArray:
        middle = (best + worst) / 2.0
        return rounds * (_entropy(best, middle) + _entropy(worst, middle)) > rate

    return _race(means, delta, rng, is_worse)


def kl_race(means: FloatArray, delta: float, rng: np.random.Generator) -> tuple[int, int]:
    """Return the last arm and the samples; an arm is eliminated when its KL upper bound is too low."""

    def is_worse(best: FloatArray, worst: FloatArray, rounds: IntArray, rate: FloatArray) -> BoolArray:
        # The upper bound of the worst arm: the largest mean at which rounds times the divergence is the rate.
        low, high = worst.copy(), np.ones_like(worst)
        for _ in range(40):
            middle = (low + high) / 2.0
            inside = rounds * _entropy(worst, middle) <= rate
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return (low < best) & (rounds * _entropy(best, low) > rate)

    return _race(means, delta, rng, is_worse)


def _race(means: FloatArray, delta: float, rng: np.random.Generator, is_worse: Test) -> tuple[int, int]:
    left, sums = np.arange(len(means)), (rng.random(len(means)) < means).astype(np.float64)
    played, samples = 1, len(means)
    while len(left) > 1:
        # Draw many rounds at once. Rounds after the first elimination are discarded.
        outcomes = rng.random((_ROUNDS, len(left))) < means[left]
        totals, rounds = sums + outcomes.cumsum(axis=0), played + np.arange(1, _ROUNDS + 1)
        now = totals / rounds[:, None]
        rate = np.log((1.0 + np.log(samples + len(left) * np.arange(1, _ROUNDS + 1))) / delta)
        goes = is_worse(now.max(axis=1), now.min(axis=1), rounds, rate)
        last = int(np.argmax(goes)) if goes.any() else _ROUNDS - 1
        sums, played, samples = totals[last], int(rounds[last]), samples + len(left) * (last + 1)
        if goes[last]:
            kept = np.arange(len(left)) != np.argmin(sums)
            left, sums = left[kept], sums[kept]
    return int(left[0]), samples


def _entropy(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return the relative entropies of Bernoulli distributions, with 0 ln 0 = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(p > 0.0, p * np.log(p / q), 0.0)
        tails = np.where(p < 1.0, (1.0 - p) * np.log((1.0 - p) / (1.0 - q)), 0.0)
    return np.asarray(heads + tails, np.float64)
