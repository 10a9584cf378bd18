"""Tests that deviations are sub-Gaussian with scale 1, for every law, and the violations that they detect."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cmab.arrays import FloatArray
from cmab.testing._comparisons import require
from cmab.testing._statistics import binomial_tail, refused_rate

#: Distances from the mean, in units of sigma.
_PLACES = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 8.0)
_SIDES = 3
#: Arguments of the moment generating function, and factors of half the square.
_RATES = (0.5, 1.0, 1.75, 3.0, -0.5, -1.0, -1.75, -3.0)
_PARTS = (0.3, 0.7)
#: Parts of the stake that each factor of a test martingale risks.
_STAKES = (0.3, 0.03)


class Sample(NamedTuple):
    """Independent deviations from the mean in units of sigma."""

    name: str
    values: FloatArray


def require_light_tails(
    sample: Sample,
    sigma: float,
    level: float,
    fault: str = "tails",
    places: tuple[float, ...] = _PLACES,
) -> None:
    """Raise ``AssertionError`` if more deviations are large than the scale permits.

    If X is sub-Gaussian with scale 1, then X > t has probability at most ``exp(-t**2 / 2)``, and so has
    X < -t. A correct sample fails with probability at most `level`.
    """
    level /= _SIDES * len(places)
    ordered, n = np.sort(sample.values), len(sample.values)
    for place in places:
        above = n - int(np.searchsorted(ordered, place, side="right"))
        below = int(np.searchsorted(ordered, -place, side="left"))
        bound = math.exp(-(place**2) / 2)
        sides = (("above", above, bound), ("below", below, bound), ("from", above + below, 2 * bound))
        for side, count, permitted in sides:
            if permitted < 1 and count > n * permitted:
                text = (
                    "{} of {} {} are more than {} sigma {} the mean, but the scale sigma = {:.6g} permits"
                    " a probability of {:.3g}"
                )
                is_light = binomial_tail(count, n, permitted) >= level
                require(is_light, fault, text, count, n, sample.name, place, side, sigma, permitted)


def require_moments(sample: Sample, sigma: float, level: float) -> None:
    """Raise ``AssertionError`` if exponential moments are larger than the scale permits.

    If X is sub-Gaussian with scale 1, then ``exp(l X - l**2 / 2)`` and ``sqrt(1 - s) exp(s X**2 / 2)`` have
    means of at most 1 for all l and for s in [0, 1) (Wainwright 2019, Theorem 2.6). Each product of factors
    ``1 + stake (Y - 1)`` with such variables Y, and the average of these products, is a supermartingale. By
    Ville's inequality, it exceeds ``1 / level`` with probability at most `level`.
    """
    logs: dict[str, list[float]] = {}
    averages: dict[str, float] = {}
    with np.errstate(over="ignore"):
        for name, variable in _variables(sample.values):
            logs[name] = [float(np.log1p(stake * (variable - 1.0)).sum()) for stake in _STAKES]
            averages[name] = float(variable.mean())
    everything = np.array([each for some in logs.values() for each in some])
    largest = float(everything.max())
    evidence = largest + math.log(np.exp(everything - largest).mean()) if math.isfinite(largest) else largest
    strongest = max(logs, key=lambda name: max(logs[name]))
    text = (
        "{} of {} {} averages to {:.6g} for X = (outcome - mean) / sigma, but the scale sigma = {:.6g}"
        " permits at most 1"
    )
    told = (strongest, len(sample.values), sample.name, averages[strongest], sigma)
    require(evidence < -math.log(level), "tails", text, *told)


def _variables(values: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    for rate in _RATES:
        yield f"exp({rate} X - {rate**2 / 2})", np.exp(rate * values - rate**2 / 2)
    squares = values**2 / 2
    for part in _PARTS:
        yield f"{math.sqrt(1 - part):.4g} exp({part / 2} X^2)", math.sqrt(1 - part) * np.exp(part * squares)


def tail_power(n: int, level: float) -> str:
    """Return the farthest tail of which three times the permitted probability would be detected."""
    level /= _SIDES * len(_PLACES)
    for place in reversed(_PLACES):
        permitted = 2 * math.exp(-(place**2) / 2)
        if n * permitted > 1 and permitted < 1 / 3 and refused_rate(n, permitted, level) <= 3 * permitted:
            return (
                f"; a probability of {3 * permitted:.2g} of outcomes more than {place} sigma from the mean,"
                " three times the permitted one, would be detected with probability .99"
            )
    return ""


def spread_power(n: int, level: float) -> float:
    """Return the least factor of the scale that `require_moments` detects in `n` normal outcomes, or inf."""
    normal = np.array([-3.3, *np.linspace(-3.2, 3.2, 201), 3.3])
    weights = np.exp(-(normal**2) / 2)
    weights /= weights.sum()
    needed = math.log((len(_RATES) + len(_PARTS)) * len(_STAKES) / level)
    for factor in 1.02 ** np.arange(1, 120):
        for _, variable in _variables(factor * normal):
            for stake in _STAKES:
                gains = np.log1p(stake * (variable - 1.0))
                mean = float(weights @ gains)
                deviation = math.sqrt(float(weights @ (gains - mean) ** 2))
                # The sum of the gains is normal, and below its mean by more with probability 0.01.
                if n * mean - 2.33 * math.sqrt(n) * deviation >= needed:
                    return float(factor)
    return math.inf
