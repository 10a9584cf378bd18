"""Tests of means and probabilities with a known false-alarm probability and power."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray
from cmab.testing._comparisons import POWER, require

MEAN_LEVEL = 1e-11
"""The false-alarm probability of `require_mean`: seven standard errors of the normal law, rounded up."""


def mean_margin(sample: FloatArray, spread: float = 0.0) -> float:
    """Return the largest accepted difference between the mean of `sample` and a true claim.

    The margin is seven standard errors, plus 20 / n times the range for samples that are too small or too
    rare for the normal law. If `spread` is larger than the range of the sample, it is used instead; a larger
    sample of the same kind may contain rare outcomes that this sample lacks. For a constant sample, the range
    is its absolute value, or 1 if that is larger.
    """
    # The second term allows for rare outcomes that a sample of n may lack.
    spread = max(spread, float(np.ptp(sample))) or max(1.0, abs(float(sample[0])))
    n = len(sample)
    return 7 * float(sample.std()) / math.sqrt(n) + 20 * spread / n + 1e-9


def rare_spread(sample: FloatArray, support: tuple[float, float]) -> float:
    """Return the length of the support if a constant sample may lack rare outcomes; otherwise 0."""
    length = support[1] - support[0]
    return length if len(sample) and not np.ptp(sample) and math.isfinite(length) else 0.0


def require_mean(fault: str, what: str, sample: FloatArray, claimed: float, spread: float = 0.0) -> None:
    """Raise ``AssertionError`` unless a sample mean agrees with its claim; accept samples of fewer than 30.

    For `spread`, see `mean_margin`.
    """
    n = len(sample)
    if n < 30:
        return
    mean = float(sample.mean())
    is_near = abs(mean - claimed) <= mean_margin(sample, spread)
    require(is_near, fault, "{} average {:.6g} over {}, claimed {:.6g}", what, mean, n, claimed)


def binomial_tail(failures: int, trials: int, probability: float) -> float:
    """Return the probability of at least `failures` failures in `trials` trials."""
    from scipy.special import bdtrc

    return float(bdtrc(failures - 1, trials, probability)) if failures > 0 else 1.0


def seen_rate(calls: int) -> float:
    """Return the failure rate that `calls` independent calls detect with probability `POWER`."""
    return float(1 - (1 - POWER) ** (1 / max(calls, 1)))


def refused_rate(trials: int, allowed: float, level: float) -> float:
    """Return the smallest rate above `allowed` that `trials` trials detect with probability `POWER`."""
    # First the smallest number of failures that the test rejects, then the smallest rate that causes it.
    critical = next((f for f in range(trials + 1) if binomial_tail(f, trials, allowed) < level), trials + 1)
    rates = np.linspace(allowed, 1.0, 201)[1:]
    refused = [rate for rate in rates if binomial_tail(critical, trials, rate) >= POWER]
    return float(refused[0]) if refused and critical <= trials else math.nan


def bounded_level(mean: float, claimed: float, n: float) -> float:
    """Return a bound on the probability of a sample mean this far from its claim, for outcomes in [0, 1].

    The bound is ``2 exp(-n KL(mean, claimed))`` (Hoeffding 1963, Theorem 1). It holds for every distribution.
    """
    if not 0 < claimed < 1:
        return 1.0 if abs(mean - claimed) < 1e-12 else 0.0
    parts = [
        part * math.log(part / other)
        for part, other in ((mean, claimed), (1 - mean, 1 - claimed))
        if part > 0
    ]
    return min(1.0, 2 * math.exp(-n * sum(parts)))
