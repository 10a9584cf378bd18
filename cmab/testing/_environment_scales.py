"""The check of the sub-Gaussian scale: variances and tails of the outcomes."""

from __future__ import annotations

import numpy as np

from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import Subject
from cmab.testing._statistics import MEAN_LEVEL, mean_margin
from cmab.testing._sub_gaussian import Sample, require_light_tails

_SLACK = 1e-9
# Distances from the mean, in scales, and the false-alarm probability of the tests of the tails of an arm.
_DISTANCES = tuple(0.25 * step for step in range(5, 29))
_LEVEL = 3 * 24 * 1e-12


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
        apart = np.maximum(np.abs(sample - mean) - rounding - _SLACK, 0.0) * np.sign(sample - mean)
        apart /= sigma or _SLACK
        require_light_tails(Sample(f"pulls of arm {arm}", apart), sigma, _LEVEL, "scale", _DISTANCES)
    tests = len(arms) * (MEAN_LEVEL + _LEVEL)
    return Finding(f"variances and tails of {len(arms)} arms", tests)
