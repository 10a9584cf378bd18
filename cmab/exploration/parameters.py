"""Ranges of parameters: within them no formula of exploration overflows, so that no radius is lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cmab import validation
from cmab.declared import Declaration, checked, integer, one_of, real
from cmab.statistics import ArmStatistics

#: Most samples of a run: counts stay integers of 64 bits, with room for sums.
MOST = 2**62
_HUGE = 1e100

N_ARMS = integer(2)
#: How many arms are returned of each bandit.
K = integer(1, lambda explorer: min(getattr(explorer, "arms_per_bandit", (explorer.n_arms,))) - 1)
#: ``N / delta`` must be a number, and a level below it too.
DELTA = real(1e-301, 1.0, inside=True)
#: A positive number whose square, and whose products with others, are positive numbers.
POSITIVE = real(1.0 / _HUGE, _HUGE)
POSITIVE_OR_NONE = real(1.0 / _HUGE, _HUGE, optional=True)
#: A tolerance, 0 for none.
EPSILON = real(0.0, _HUGE)
#: A tolerance of rules that end on every instance.
TOLERANCE = real(1e-100, 1.0, inside=True)
#: The share by which samples grow from batch to batch.
GROWTH = real(0.0, 1.0)
#: Whether the threshold is the proven one.
PROVEN_OR_NOT = one_of("faithful", "heuristic")


def _support(name: str, support: tuple[float, float]) -> tuple[float, float]:
    ends = validation.interval(name, support)
    for end in ends:
        validation.real(name, end, -_HUGE, _HUGE)
    validation.real(f"the length of {name}", length(ends), 1.0 / _HUGE)
    return ends


def _budget(name: str, budget: int, least: int) -> int:
    samples = validation.integer(name, budget, None, MOST)
    if samples < least:
        raise ValueError(f"{name} must be at least {least}, one sample of each arm, got {budget}")
    return samples


#: An interval whose length and its square are positive numbers.
SUPPORT = checked(_support)


def budget(least: Callable[[Any], int], *, optional: bool = False) -> Declaration:
    """Declare a number of samples that is at least `least` of the explorer."""
    return checked(_budget, optional=optional, least=least)


def length(support: tuple[float, float]) -> float:
    """Return the length of the outcomes' support, the b of many papers."""
    return support[1] - support[0]


def grown(state: ArmStatistics, growth: float) -> int:
    """Return the outcomes of a batch: at least one, and the share `growth` of all so far, an arm's."""
    return max(1, int(growth * float(state.counts.sum()) / len(state.counts)))


def check_samples(log2: float, names: str) -> None:
    """Raise if a run whose number of samples has this logarithm takes more than `MOST`."""
    if not log2 <= math.log2(MOST):
        raise ValueError(f"{names} must leave at most 2**62 samples, got 2**{log2:.0f} of them")
