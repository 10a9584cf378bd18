"""Checks of single pulls, of sums of pulls, and of pickled copies."""

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

# Number of arms that are compared with each other, which makes 435 pairs.
_PAIRS = 30
_LAGS = (1, 2, 3, 4)
# Number of arms whose sums are compared with each other.
_SUMS = 12


def check_pulls(subject: Subject) -> Finding:
    """Check that single pulls have the declared means, and sums of pulls their means and variances."""
    environment = subject.environment
    arms, outcomes = subject.pulled
    for arm, sample in zip(arms, outcomes, strict=True):
        rare = rare_spread(sample, environment.support)
        require_mean("pulls", f"pulls of arm {arm}", sample, float(environment.means[arm]), rare)
    sums, _ = subject.sums
    for arm, sample, single in zip(arms, sums, outcomes, strict=True):
        mean = float(environment.means[arm])
        require_mean("pulls", f"sums of pulls of arm {arm}", sample / TIMES, mean, float(np.ptp(single)))
        # Squared deviations from the correct mean average to the variance, which is TIMES as large for sums.
        deviations = (sample - TIMES * mean) ** 2 / TIMES
        text = "single pulls of arm {} have variance {:.6g}, but sums of {} pulls have {:.6g} per pull"
        _require_alike("pulls", text, arm, (single - mean) ** 2, deviations)
    widest = max(mean_margin(sample) for sample in outcomes)
    text = (
        f"{len(arms)} arms, {outcomes.shape[1]} pulls of each; an error of {2 * widest:.2g} in a mean would"
        " be detected with probability .99"
    )
    return Finding(text, 4 * len(arms) * MEAN_LEVEL)


def check_squares(subject: Subject) -> Finding:
    """Check that sums of squares agree with the sums, the support, and the squares of single pulls."""
    arms, outcomes = subject.pulled
    _require_possible(subject)
    for arm, single, many, sums in zip(arms, outcomes, subject.sums[1], subject.sums[0], strict=True):
        text = "squares of single pulls of arm {} average {:.6g}, but in sums of {} pulls {:.6g}"
        _require_alike("squares", text, arm, single**2, many / TIMES)
        # The variance within one sum is a more precise test, because it omits the variance of the sums.
        within = (many - sums**2 / TIMES) / (TIMES - 1)
        text = "single pulls of arm {} have variance {:.6g}, but squares in sums of {} pulls give {:.6g}"
        rounding = 1e-12 * float(many.mean())
        _require_alike("squares", text, arm, (single - single.mean()) ** 2, within, rounding)
    return Finding("", 4 * len(arms) * MEAN_LEVEL)


def _require_alike(
    fault: str, text: str, arm: int, single: FloatArray, many: FloatArray, slack: float = 0.0
) -> None:
    """Compare two averages, from single pulls and from sums, that estimate the same number.

    Each average is outside its margin with probability at most `MEAN_LEVEL`.
    """
    # One spread for both samples, because the smaller one may lack rare outcomes.
    spread = max(float(np.ptp(single)), float(np.ptp(many)))
    margin = mean_margin(single, spread) + mean_margin(many, spread) + slack
    near = abs(single.mean() - many.mean()) <= margin
    require(near, fault, text, arm, single.mean(), TIMES, many.mean())


def _require_possible(subject: Subject) -> None:
    """Raise ``AssertionError`` if no outcomes in the support can have these sums and squares."""
    sums, squares = (part.ravel() for part in subject.sums)
    low, high = subject.environment.support
    slack = 1e-9 * (1 + np.abs(squares))
    text = "the sum of squares {:.6g} of {} pulls with sum {:.6g} is {}"
    for number in np.flatnonzero(squares < sums**2 / TIMES - slack)[:1]:
        require(False, "squares", text, squares[number], TIMES, sums[number], "less than this sum permits")
    if np.isfinite(low) and np.isfinite(high):
        # (x - low)(high - x) >= 0 for every outcome.
        most = (low + high) * sums - TIMES * low * high
        for number in np.flatnonzero(squares > most + slack)[:1]:
            require(
                False, "squares", text, squares[number], TIMES, sums[number], "more than the support permits"
            )


def check_independence(subject: Subject) -> Finding:
    """Check that pulls of two arms, and pulls of one arm up to four places apart, are uncorrelated."""
    arms, outcomes = subject.pulled
    # The mean of equal outcomes is rounded, so that their deviations from it need not be 0.
    rounding = 1e-14 * np.abs(outcomes).max(axis=1, initial=0.0)
    varying = np.flatnonzero(outcomes.std(axis=1) > rounding)[:_PAIRS]
    deviations = outcomes[varying] - outcomes[varying].mean(axis=1, keepdims=True)
    names = [int(arm) for arm in arms[varying]]
    # Two rare outcomes may never coincide in a sample, so that the range of its products is too small.
    largest = np.abs(deviations).max(axis=1)
    tests = 0
    for first in range(len(names)):
        # The product of independent deviations has mean 0 for all laws.
        for lag in _LAGS:
            later = deviations[first, lag:] * deviations[first, :-lag]
            what = f"products of pulls of arm {names[first]}, {lag} apart,"
            require_mean("independence", what, later, 0.0, float(largest[first] ** 2))
        for second in range(first + 1, len(names)):
            products = deviations[first] * deviations[second]
            what = f"products of pulls of arms {names[first]} and {names[second]}"
            require_mean("independence", what, products, 0.0, float(largest[first] * largest[second]))
            tests += 1
    shared = 0
    if type(subject.environment).pull_many is not Environment.pull_many:
        shared = _check_sums(subject)
    size = outcomes.shape[1]
    seen = 2 * 7 / math.sqrt(size)
    text = f"{tests} pairs of arms; a correlation of {seen:.2g} would be detected with probability .99"
    return Finding(text, (tests + shared + len(_LAGS) * len(names)) * MEAN_LEVEL)


def _check_sums(subject: Subject) -> int:
    """Check that sums of pulls of one request are uncorrelated, and return the number of tests."""
    arms, tests = subject.arms, 0
    means = np.array(subject.environment.means, np.float64)[arms]
    deviations = subject.sums[0] - TIMES * means[:, None]
    largest = np.abs(deviations).max(axis=1)
    # Equal sums lack rare outcomes. All of them then have the same small deviation from the mean.
    spread = subject.sums[0].std(axis=1)
    varying = np.flatnonzero(spread > 1e-9 * np.abs(subject.sums[0]).max(initial=1.0))[:_SUMS]
    for number, first in enumerate(varying):
        pairs = [(lag, deviations[first, lag:] * deviations[first, :-lag], first) for lag in _LAGS]
        pairs += [(0, deviations[first] * deviations[second], second) for second in varying[number + 1 :]]
        for lag, products, second in pairs:
            what = f"products of sums of pulls of arms {arms[first]} and {arms[second]}"
            what += f", {lag} apart," if lag else ""
            require_mean("independence", what, products, 0.0, float(largest[first] * largest[second]))
            tests += 1
    return tests


def check_pickling(subject: Subject) -> None:
    """Check that a pickled copy, which worker processes receive, gives the same rounds and pulls."""
    assert subject.first_draws is not None
    try:
        copy: Environment = pickle.loads(pickled(subject.environment))
    except Exception as error:
        text = (
            "{} must be picklable for worker processes, but pickling raised {!r}; define a __getstate__"
            " that omits the attributes that cannot be pickled"
        )
        require(False, "pickling", text, subject.environment, error)
    require_same_draws(subject.first_draws, subject.draws_again(copy), "pickling", "a pickled copy")
