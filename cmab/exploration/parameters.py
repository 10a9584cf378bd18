"""Ranges of parameters: within them no formula of exploration overflows, so that no radius is lost."""

from __future__ import annotations

import math

from cmab.statistics import ArmStatistics
from cmab.validation import integer, interval, real

#: Most samples of a run: counts stay integers of 64 bits, with room for sums.
MOST = 2**62
_HUGE = 1e100


def length(support: tuple[float, float]) -> float:
    """Return the length of the outcomes' support, the b of many papers."""
    return support[1] - support[0]


def check_delta(delta: float) -> None:
    """Raise unless 1e-301 < delta < 1: ``N / delta`` must be a number, and a level below it too."""
    real("delta", delta, 1e-301, 1.0, inside=True)


def check_noise(delta: float, sigma: float) -> None:
    """Raise unless `delta` is a probability, and `sigma` and its square are positive."""
    check_delta(delta)
    real("sigma", sigma, 1.0 / _HUGE, _HUGE)


def check_epsilon(epsilon: float) -> None:
    """Raise unless `epsilon` is a tolerance, 0 or more."""
    real("epsilon", epsilon, 0.0, _HUGE)


def check_growth(growth: float) -> None:
    """Raise unless `growth`, by which share samples grow from batch to batch, lies in [0, 1]."""
    real("growth", growth, 0.0, 1.0)


def grown(state: ArmStatistics, growth: float) -> int:
    """Return the outcomes of a batch: at least one, and the share `growth` of all so far, an arm's."""
    return max(1, int(growth * float(state.counts.sum()) / len(state.counts)))


def check_factor(name: str, factor: float) -> None:
    """Raise unless `factor` is positive, and its products with others are numbers."""
    real(name, factor, 1.0 / _HUGE, _HUGE)


def check_support(support: tuple[float, float]) -> None:
    """Raise unless `support` is an interval, whose length and its square are positive numbers."""
    interval("support", support)
    for end in support:
        real("support", end, -_HUGE, _HUGE)
    real("the length of support", length(support), 1.0 / _HUGE)


def check_budget(budget: int, least: int) -> None:
    """Raise unless `budget` is at least `least`."""
    if integer("budget", budget, None, MOST) < least:
        raise ValueError(f"budget must be at least {least}, one sample of each arm, got {budget}")


def check_samples(log2: float, names: str) -> None:
    """Raise if a run whose number of samples has this logarithm takes more than `MOST`."""
    if not log2 <= math.log2(MOST):
        raise ValueError(f"{names} must leave at most 2**62 samples, got 2**{log2:.0f} of them")
