"""The check of the sub-Gaussian scale: variances and tails of the outcomes."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import FloatArray
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import Subject
from cmab.testing._statistics import MEAN_LEVEL, binomial_tail, mean_margin

_SLACK = 1e-9
# Distances from the mean, in scales, and the false-alarm probability of each test of a tail.
_DISTANCES = tuple(0.25 * step for step in range(5, 29))
_LEVEL = 1e-12


def check_scale(subject: Subject) -> Finding:
    """Check that variances are at most the square of `sigma`, and tails at most those of its normal law."""
    sigma = float(subject.environment.sigma)
    if not np.isfinite(sigma):
        return Finding("not tried: no scale is declared")
    arms, outcomes = subject.pulled
    for arm, sample in zip(arms, outcomes, strict=True):
        mean = float(subject.environment.means[arm])
        # Sub-Gaussian outcomes of scale sigma have a variance of at most sigma^2.
        squares = (sample - mean) ** 2
        text = "pulls of arm {} have variance {:.6g}, more than sigma^2 = {:.6g}"
        # Deviations of large outcomes are rounded, and so is the scale.
        rounding = 4 * np.finfo(np.float64).eps * float(np.abs(sample).max()) + _SLACK * sigma
        within = squares.mean() <= (sigma + rounding) ** 2 + mean_margin(squares)
        require(within, "scale", text, arm, squares.mean(), sigma**2)
        _check_tails(int(arm), sample - mean, sigma, rounding)
    tests = len(arms) * (MEAN_LEVEL + 2 * len(_DISTANCES) * _LEVEL)
    return Finding(f"variances and tails of {len(arms)} arms", tests)


def _check_tails(arm: int, deviations: FloatArray, sigma: float, rounding: float) -> None:
    """Raise ``AssertionError`` if too many deviations exceed a multiple of sigma.

    Chernoff's bound for outcomes of this scale is ``exp(-x**2 / 2)`` for x scales, on each side.
    """
    n = len(deviations)
    for side, name in ((1.0, "above"), (-1.0, "below")):
        ordered = np.sort(side * deviations)
        for distance in _DISTANCES:
            beyond = n - int(np.searchsorted(ordered, distance * sigma + rounding + _SLACK))
            allowed = math.exp(-(distance**2) / 2)
            if beyond <= allowed * n:
                continue
            text = (
                "{} of {} pulls of arm {} are at least {:g} sigma = {:.6g} {} its mean, more than the share"
                " exp(-{:g}^2 / 2) of outcomes of this sub-Gaussian scale, which may be larger than the"
                " standard deviation"
            )
            told = (beyond, n, arm, distance, distance * sigma, name, distance)
            require(binomial_tail(beyond, n, allowed) >= _LEVEL, "scale", text, *told)
