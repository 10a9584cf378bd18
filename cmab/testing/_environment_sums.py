"""The check of sums of many pulls, for which distributions often have a method of their own."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._environment_subject import Subject
from cmab.testing._statistics import MEAN_LEVEL, mean_margin, require_mean

# Numbers of pulls, of pulls in a call, and of sums of each arm; fewer sums than _FEW are not compared.
_PULLS = (1500, 5000, 100_000)
_IN_CALL = 500_000
_SUMS = 2000
_FEW = 100
# Further pulls, and the seconds by which the time of many may exceed that of few.
_BILLION, _SLOW = 10**9, 1e-4


def check_large_sums(subject: Subject) -> Finding:
    """Check that sums of thousands of pulls have the mean and variance of sums of independent pulls."""
    environment = subject.environment
    if type(environment).pull_many is Environment.pull_many:
        return Finding("not tried: sums are computed from single pulls")
    if not subject.first_pulls:
        return Finding("not tried: pulling raises")
    arms, outcomes = subject.pulled
    means = np.array(environment.means, np.float64)[arms]
    # Up to four arms with means from the lowest to the highest.
    places = np.unique(np.argsort(means, kind="stable")[np.linspace(0, len(arms) - 1, 4).astype(int)])
    told, tests = [], 0
    for pulls in _PULLS:
        sums, squares = _sums(subject, arms[places], pulls)
        if len(sums) < _FEW:
            break  # a slow method, perhaps of single pulls
        told.append(f"{len(sums)} sums of {pulls} pulls")
        for place, many, second in zip(places, sums.T, squares.T, strict=True):
            _compare(int(arms[place]), float(means[place]), outcomes[place], pulls, many, second)
            tests += 5
    if len(told) == len(_PULLS):
        told += _check_most(subject, arms[places], means[places], outcomes[places])
        tests += len(places)
    text = ", ".join(told) or "not tried: pull_many is slow"
    return Finding(f"{text}, of each of {len(places)} arms", tests * MEAN_LEVEL)


def _check_most(subject: Subject, arms: IntArray, means: FloatArray, singles: FloatArray) -> list[str]:
    """Check sums of a billion pulls, for which 32-bit integers are too small, if they take no longer."""
    seconds = []
    for pulls in (_PULLS[0], _PULLS[-1]):
        watch = Stopwatch()
        subject.environment.pull_many(arms.copy(), np.full(len(arms), pulls), np.random.default_rng(24))
        seconds.append(watch.seconds())
    if seconds[1] > 3 * seconds[0] + _SLOW:
        return []  # the time grows with the pulls
    rng = np.random.default_rng((25, subject.rng))
    try:
        sums, squares = subject.environment.pull_many(arms.copy(), np.full(len(arms), _BILLION), rng)
    except (ValueError, OverflowError, MemoryError):  # the distribution has a limit
        return []
    text = "a billion pulls of arm {} have sum {:.9g} and sum of squares {:.9g}, but mean {:.6g}; {}"
    for arm, mean, single, total, second in zip(arms, means, singles, sums, squares, strict=True):
        # Ten standard errors; the sample may lack rare outcomes that are as large as the others.
        wide = float(np.ptp(single)) + abs(float(mean)) + 1e-3
        deviation = float(single.std()) + wide * (20 / len(single)) ** 0.5
        near = abs(total / _BILLION - mean) <= 10 * deviation / _BILLION**0.5 + 1e-9 * abs(mean)
        why = "integers of 32 bits overflow"
        require(near, "large sums", text, arm, total, second, mean, why)
        possible = second >= total**2 / _BILLION * (1 - 1e-6)
        require(possible, "large sums", text, arm, total, second, mean, why)
    return ["a sum of a billion pulls"]


def _sums(subject: Subject, arms: IntArray, pulls: int) -> tuple[FloatArray, FloatArray]:
    """Return sums and sums of squares, with one row for each repetition and one column for each arm."""
    rng, rows = np.random.default_rng((18, pulls, subject.rng)), max(1, _IN_CALL // (pulls * len(arms)))
    asked = np.tile(arms, rows)
    blocks = []
    for _ in subject.timed(range(-(-_SUMS // rows)), 0.04, at_least=1):
        told = np.array(subject.environment.pull_many(asked.copy(), np.full(len(asked), pulls), rng))
        blocks.append(told.reshape(2, rows, len(arms)))
    sums, squares = np.concatenate(blocks, axis=1)
    return sums, squares


def _compare(
    arm: int, mean: float, single: FloatArray, pulls: int, sums: FloatArray, squares: FloatArray
) -> None:
    what = f"averages of {pulls} pulls of arm {arm}"
    require_mean("large sums", what, sums / pulls, mean, float(np.ptp(single)))
    # The variance of a pull, from the variance of the sums, from the squares within sums, and from pulls. The
    # mean is that of the sums, because an error of the mean in all digits but a few would look like variance.
    between = (sums - sums.mean()) ** 2 / pulls
    within = (squares - sums**2 / pulls) / (pulls - 1)
    apart = (single - single.mean()) ** 2
    # Squares lose digits relative to the square of the mean.
    rounding = 1e-10 * float(np.abs(squares).max()) / pulls
    # Single pulls may lack rare outcomes, which change a sum of squares by their square.
    rare = max(float(np.ptp(apart)), float(np.ptp(squares)))
    pairs = (
        (between, within, 0.0, "the squares within these sums give"),
        (within, apart, rare, "single pulls have"),
    )
    for one, other, spread, name in pairs:
        margin = mean_margin(one, float(np.ptp(one))) + mean_margin(other, spread) + rounding
        near = abs(one.mean() - other.mean()) <= margin
        kind = "have variance" if one is between else "contain squares with variance"
        text = "sums of {} pulls of arm {} {} {:.6g} per pull, but {} {:.6g}"
        require(near, "large sums", text, pulls, arm, kind, one.mean(), name, other.mean())
