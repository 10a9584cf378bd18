"""Checks of single pulls and of pickled copies of an environment."""

from __future__ import annotations

import math
import pickle

import numpy as np

from cmab.arrays import FloatArray
from cmab.environment import Environment
from cmab.saving._digest import pickled
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_draws import require_same_draws
from cmab.testing._environment_subject import TIMES, Subject
from cmab.testing._statistics import MEAN_LEVEL, mean_margin, rare_spread, require_mean

# The number of arms that are compared with each other; they form 435 pairs.
_PAIRS = 30


def check_pulls(subject: Subject) -> Finding:
    """Check that pulls have the declared means, and that sums of pulls have the mean and variance of sums."""
    environment = subject.environment
    arms, outcomes = subject.pulled
    for arm, sample in zip(arms, outcomes, strict=True):
        rare = rare_spread(sample, environment.support)
        require_mean("pulls", f"pulls of arm {arm}", sample, float(environment.means[arm]), rare)
    sums, _ = subject.sums
    for arm, sample, single in zip(arms, sums, outcomes, strict=True):
        mean = float(environment.means[arm])
        require_mean("pulls", f"sums of pulls of arm {arm}", sample / TIMES, mean, float(np.ptp(single)))
        # The mean is correct, so the mean squared deviation from it is the variance. Sums have TIMES as much.
        deviations = (sample - TIMES * mean) ** 2 / TIMES
        text = "single pulls of arm {} have variance {:.6g}, sums of {} of them {:.6g} each"
        _require_alike("pulls", text, arm, (single - mean) ** 2, deviations)
    widest = max(mean_margin(sample) for sample in outcomes)
    text = (
        f"{len(arms)} arms, {outcomes.shape[1]} pulls of each; a mean wrong by {2 * widest:.2g} is detected"
    )
    return Finding(text + " with probability .99", 4 * len(arms) * MEAN_LEVEL)


def check_squares(subject: Subject) -> Finding:
    """Check that sums of squares agree with the sums, with the support, and with single pulls."""
    arms, outcomes = subject.pulled
    _require_possible(subject)
    for arm, single, many, sums in zip(arms, outcomes, subject.sums[1], subject.sums[0], strict=True):
        text = "squares of pulls of arm {} average {:.6g}, in sums of {} {:.6g}"
        _require_alike("squares", text, arm, single**2, many / TIMES)
        # The variance within a sum: this varies less than a comparison with the sums.
        within = (many - sums**2 / TIMES) / (TIMES - 1)
        text = "single pulls of arm {} have variance {:.6g}, but the squares of sums of {} imply {:.6g}"
        rounding = 1e-12 * float(many.mean())
        _require_alike("squares", text, arm, (single - single.mean()) ** 2, within, rounding)
    return Finding("", 4 * len(arms) * MEAN_LEVEL)


def _require_alike(
    fault: str, text: str, arm: int, single: FloatArray, many: FloatArray, slack: float = 0.0
) -> None:
    """Raise ``AssertionError`` unless the estimates of one number from single pulls and from sums agree.

    Each estimate is within its margin except with probability `MEAN_LEVEL`. Both samples may lack rare
    outcomes.
    """
    # Use the larger range for both, because the smaller sample may lack rare outcomes.
    spread = max(float(np.ptp(single)), float(np.ptp(many)))
    margin = mean_margin(single, spread) + mean_margin(many, spread) + slack
    near = abs(single.mean() - many.mean()) <= margin
    require(near, fault, text, arm, single.mean(), TIMES, many.mean())


def _require_possible(subject: Subject) -> None:
    """Raise ``AssertionError`` unless outcomes in the support can have these sums and squares."""
    sums, squares = (part.ravel() for part in subject.sums)
    low, high = subject.environment.support
    slack = 1e-9 * (1 + np.abs(squares))
    text = "squares {:.6g} of {} pulls with sum {:.6g} are {}"
    for number in np.flatnonzero(squares < sums**2 / TIMES - slack)[:1]:
        require(False, "squares", text, squares[number], TIMES, sums[number], "less than the sum allows")
    if np.isfinite(low) and np.isfinite(high):
        # (x - low)(high - x) >= 0 for every outcome.
        most = (low + high) * sums - TIMES * low * high
        for number in np.flatnonzero(squares > most + slack)[:1]:
            require(
                False, "squares", text, squares[number], TIMES, sums[number], "more than the support allows"
            )


def check_independence(subject: Subject) -> Finding:
    """Check that pulls of an arm are independent of each other and of those of other arms in the call."""
    arms, outcomes = subject.pulled
    # The mean of equal outcomes is rounded, so that their deviations from it may differ from 0.
    rounding = 1e-14 * np.abs(outcomes).max(axis=1, initial=0.0)
    varying = np.flatnonzero(outcomes.std(axis=1) > rounding)[:_PAIRS]
    deviations = outcomes[varying] - outcomes[varying].mean(axis=1, keepdims=True)
    names = [int(arm) for arm in arms[varying]]
    # Two rare outcomes may never occur together in a sample, so that the range of its products is too small.
    largest = np.abs(deviations).max(axis=1)
    tests = 0
    for first in range(len(names)):
        # The product of independent deviations has mean 0 for all distributions.
        later = deviations[first, 1:] * deviations[first, :-1]
        what = f"products of successive pulls of arm {names[first]}"
        require_mean("independence", what, later, 0.0, float(largest[first] ** 2))
        for second in range(first + 1, len(names)):
            products = deviations[first] * deviations[second]
            what = f"products of pulls of arms {names[first]} and {names[second]}"
            require_mean("independence", what, products, 0.0, float(largest[first] * largest[second]))
            tests += 1
    size = outcomes.shape[1]
    seen = 2 * 7 / math.sqrt(size)
    text = f"{tests} pairs of arms; a correlation of {seen:.2g} is detected with probability .99"
    return Finding(text, (tests + len(names)) * MEAN_LEVEL)


def check_pickling(subject: Subject) -> None:
    """Check that a pickled copy, as worker processes receive it, returns the same rounds and pulls."""
    assert subject.first_draws is not None
    try:
        copy: Environment = pickle.loads(pickled(subject.environment))
    except Exception as error:
        text = (
            "{} must be picklable for worker processes, but raised {!r}; define __getstate__ without the"
            " parts that cannot be pickled"
        )
        require(False, "pickling", text, subject.environment, error)
    require_same_draws(subject.first_draws, subject.draws_again(copy), "pickling", "a pickled copy")
