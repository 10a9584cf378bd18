"""Tests of means and probabilities with a known false-alarm probability, and their power."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray
from cmab.testing._comparisons import POWER, require

MEAN_LEVEL = 1e-11
"""False-alarm probability of `require_mean`: the normal law beyond seven standard errors, rounded up."""
_SURE = 2.6  # the normal quantile of .995


def mean_margin(sample: FloatArray, spread: float = 0.0) -> float:
    """Return the accepted distance between the mean of `sample` and its expectation.

    The margin is seven standard errors plus ``20 / n`` times the range of the outcomes. The second term
    allows for rare outcomes that a sample of n may lack, for which the normal law does not hold. The range is
    that of the sample, or `spread` if that is larger. For a constant sample with ``spread=0``, the range is
    the absolute value of the outcomes, or 1 if that is larger.
    """
    spread = max(spread, float(np.ptp(sample))) or max(1.0, abs(float(sample[0])))
    n = len(sample)
    return 7 * float(sample.std()) / math.sqrt(n) + 20 * spread / n + 1e-9


def rare_spread(sample: FloatArray, support: tuple[float, float]) -> float:
    """Return the length of a bounded support if the sample is constant; otherwise return 0."""
    length = support[1] - support[0]
    return length if len(sample) and not np.ptp(sample) and math.isfinite(length) else 0.0


def require_mean(fault: str, what: str, sample: FloatArray, claimed: float, spread: float = 0.0) -> None:
    """Raise ``AssertionError`` unless the mean of `sample` is near the declared value.

    Samples of fewer than 30 outcomes pass. `what` names the sample; `spread` is as for `mean_margin`.
    """
    n = len(sample)
    if n < 30:
        return
    mean = float(sample.mean())
    is_near = abs(mean - claimed) <= mean_margin(sample, spread)
    require(
        is_near, fault, "{} average {:.6g} over {} samples, not {:.6g} as declared", what, mean, n, claimed
    )


def doubt(tests: int) -> float:
    """Return the distance in standard errors from which a sample is drawn for longer.

    It is larger for many tests, so that few samples are drawn for longer by chance.
    """
    return 2.0 if tests <= 5 else 3.0 if tests <= 100 else 3.5


def in_doubt(sample: FloatArray, claimed: float, tests: int = 1) -> bool:
    """Return whether the mean of a sample is at least `doubt` standard errors from the declared value."""
    if len(sample) < 2:
        return False
    rounding = 1e-14 * float(np.abs(sample).max())
    apart = abs(float(sample.mean()) - claimed)
    return apart > doubt(tests) * float(sample.std()) / math.sqrt(len(sample)) + rounding


def detected(sample: FloatArray, spread: float, further: int, tests: int = 1) -> float:
    """Return an error of the mean that is detected with probability .99.

    The first sample shows it by its margin, or by `in_doubt` and then by the margin of `further` outcomes.
    """
    deviation = float(sample.std())
    spread = max(spread, float(np.ptp(sample)))
    later = (7 + _SURE) * deviation / math.sqrt(further) + 20 * spread / further
    return min(2 * mean_margin(sample, spread), max(doubted_from(sample, tests), later))


def doubted_from(sample: FloatArray, tests: int = 1) -> float:
    """Return an error of the mean for which `in_doubt` is true with probability .995."""
    return (doubt(tests) + _SURE) * float(sample.std()) / math.sqrt(len(sample))


def same_law(first: FloatArray, second: FloatArray) -> float:
    """Return the asymptotic p-value of the two-sample test of Kolmogorov and Smirnov.

    It is a function of its own because the import of ``scipy.stats`` takes as long as all checks of a class.
    """
    from scipy.special import kolmogorov

    values = np.union1d(first, second)
    laws = [
        np.searchsorted(np.sort(sample), values, side="right") / len(sample) for sample in (first, second)
    ]
    distance = float(np.abs(laws[0] - laws[1]).max())
    return float(kolmogorov(math.sqrt(len(first) * len(second) / (len(first) + len(second))) * distance))


def binomial_tail(failures: int, trials: int, probability: float) -> float:
    """Return the probability of at least `failures` failures in `trials` trials of this probability."""
    from scipy.special import bdtrc

    return float(bdtrc(failures - 1, trials, probability)) if failures > 0 else 1.0


def log_evidence(failures: int, trials: int, probability: float) -> float:
    """Return the logarithm of an e-process against failure rates up to `probability`.

    It is the likelihood of rates above it, averaged uniformly, relative to that of `probability`. By Ville's
    inequality, it ever reaches ``log(1 / level)`` with probability at most `level`, however trials are added.
    """
    from scipy.special import betainc, betaln

    a, b = failures + 1, trials - failures + 1
    above = float(betainc(b, a, 1.0 - probability))
    if above <= 0.0:
        return -math.inf
    likelihood = failures * math.log(probability) + (trials - failures) * math.log1p(-probability)
    return math.log(above) + float(betaln(a, b)) - math.log1p(-probability) - likelihood


def same_rate(count: int, trials: int, probability: float) -> float:
    """Return twice the smaller tail of the binomial law at `count`, at most 1: a p-value of the rate."""
    upper = binomial_tail(count, trials, probability)
    lower = binomial_tail(trials - count, trials, 1.0 - probability)
    return min(1.0, 2.0 * min(upper, lower))


def seen_rate(calls: int) -> float:
    """Return the failure rate at which `calls` independent calls show a failure with probability `POWER`."""
    return float(1 - (1 - POWER) ** (1 / max(calls, 1)))


def refused_rate(trials: int, allowed: float, level: float) -> float:
    """Return the least rate above `allowed` that `trials` trials reject with probability `POWER`, or nan."""
    # First the smallest number of failures that is rejected, then the smallest rate that reaches it.
    critical = next((f for f in range(trials + 1) if binomial_tail(f, trials, allowed) < level), trials + 1)
    rates = np.linspace(allowed, 1.0, 201)[1:]
    refused = [rate for rate in rates if binomial_tail(critical, trials, rate) >= POWER]
    return float(refused[0]) if refused and critical <= trials else math.nan


def bounded_level(mean: float, claimed: float, n: float) -> float:
    """Return a bound on the probability that `n` outcomes in [0, 1] have a mean this far from `claimed`.

    The bound is ``2 exp(-n KL(mean, claimed))`` (Hoeffding 1963, Theorem 1), for every law on [0, 1].
    """
    if not 0 < claimed < 1:
        return 1.0 if abs(mean - claimed) < 1e-12 else 0.0
    parts = [
        part * math.log(part / other)
        for part, other in ((mean, claimed), (1 - mean, 1 - claimed))
        if part > 0
    ]
    return min(1.0, 2 * math.exp(-n * sum(parts)))
