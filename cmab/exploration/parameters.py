"""Ranges of the parameters of explorers, in which no formula of a radius overflows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cmab import validation
from cmab.declared import Declaration, checked, integer, one_of, real
from cmab.statistics import ArmStatistics

#: Maximum number of samples of a run. Counts and their sums then fit into 64-bit integers.
MOST = 2**62
_HUGE = 1e100

N_ARMS = integer(2)
#: Number of arms to return from each bandit.
K = integer(1, lambda explorer: min(getattr(explorer, "arms_per_bandit", (explorer.n_arms,))) - 1)
#: The range of delta keeps ``N / delta`` finite and levels below `delta` positive.
DELTA = real(1e-301, 1.0, inside=True)
#: A positive number whose square and whose products with other parameters are positive and finite.
POSITIVE = real(1.0 / _HUGE, _HUGE)
POSITIVE_OR_NONE = real(1.0 / _HUGE, _HUGE, optional=True)
#: A tolerance. 0 asks for the best arms exactly.
EPSILON = real(0.0, _HUGE)
#: A positive tolerance, for rules that stop on every instance.
TOLERANCE = real(1e-100, 1.0, inside=True)
#: The relative growth of the number of samples from batch to batch.
GROWTH = real(0.0, 1.0)
#: The mode: a proven threshold or an unproven one.
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
        raise ValueError(f"{name} must be at least {least} for this number of arms, got {budget}")
    return samples


#: An interval whose length and squared length are positive and finite.
SUPPORT = checked(_support)


def budget(least: Callable[[Any], int], *, optional: bool = False) -> Declaration:
    """Declare a number of samples that must be at least ``least(explorer)``."""
    return checked(_budget, optional=optional, least=least)


def length(support: tuple[float, float]) -> float:
    """Return the length of the support of the outcomes, called b in many papers."""
    return support[1] - support[0]


def grown(state: ArmStatistics, growth: float) -> int:
    """Return the number of outcomes in a batch: `growth` times the average count per arm, at least 1."""
    return max(1, int(growth * float(state.counts.sum()) / len(state.counts)))


def check_samples(log2: float, names: str) -> None:
    """Raise `ValueError` if a run of ``2**log2`` samples exceeds `MOST` samples."""
    if not log2 <= math.log2(MOST):
        raise ValueError(f"{names} must lead to at most 2**62 samples, got 2**{log2:.0f} samples")
