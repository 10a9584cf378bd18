"""Checks of single pulls, and of copies."""

from __future__ import annotations

import math
import pickle

import numpy as np

from cmab.environment import Environment
from cmab.testing._checks import Finding, pickled, require, require_same
from cmab.testing._environment_subject import Subject
from cmab.testing._statistics import MEAN_LEVEL, mean_margin, require_mean

_TIMES = 7
_PAIRS = 30


def check_pulls(subject: Subject) -> Finding:
    """Single pulls of every arm have the claimed means, and so have sums of many."""
    environment, rng = subject.environment, np.random.default_rng((5, subject.seed))
    arms, outcomes = subject.pulled
    for arm, sample in zip(arms, outcomes, strict=True):
        require_mean("pulls", f"pulls of arm {arm}", sample, float(environment.means[arm]))
    each = max(30, min(200, 20_000 // len(arms)))
    sums, _ = environment.pull_many(np.repeat(arms, each), np.full(each * len(arms), _TIMES), rng)
    for arm, sample in zip(arms, sums.reshape(len(arms), each), strict=True):
        require_mean("pulls", f"sums of pulls of arm {arm}", sample / _TIMES, float(environment.means[arm]))
    widest = max(mean_margin(sample) for sample in outcomes)
    text = (
        f"{len(arms)} arms, {outcomes.shape[1]} pulls of each; a mean wrong by {2 * widest:.2g} would be seen"
    )
    return Finding(text + " with probability .99", 2 * len(arms) * MEAN_LEVEL)


def check_squares(subject: Subject) -> Finding:
    """Sums of squares fit the sums, the support, and the squares of single pulls."""
    environment, rng = subject.environment, np.random.default_rng((6, subject.seed))
    arms, outcomes = subject.pulled
    each = max(30, min(200, 20_000 // len(arms)))
    low, high = environment.support
    sums, squares = environment.pull_many(np.repeat(arms, each), np.full(each * len(arms), _TIMES), rng)
    slack = 1e-9 * (1 + np.abs(squares))
    text = "squares {:.6g} of {} pulls with sum {:.6g} are {}"
    for number in np.flatnonzero(squares < sums**2 / _TIMES - slack)[:1]:
        require(False, "squares", text, squares[number], _TIMES, sums[number], "less than the sum allows")
    if np.isfinite(low) and np.isfinite(high):
        # (x - low)(high - x) >= 0 for every outcome.
        most = (low + high) * sums - _TIMES * low * high
        for number in np.flatnonzero(squares > most + slack)[:1]:
            require(
                False, "squares", text, squares[number], _TIMES, sums[number], "more than the support allows"
            )
    for arm, single, many in zip(arms, outcomes**2, squares.reshape(len(arms), each) / _TIMES, strict=True):
        margin = mean_margin(single) + mean_margin(many)
        text = "squares of pulls of arm {} average {:.6g}, in sums of {} {:.6g}"
        near = abs(single.mean() - many.mean()) <= margin
        require(near, "squares", text, arm, single.mean(), _TIMES, many.mean())
    return Finding("", 2 * len(arms) * MEAN_LEVEL)


def check_independence(subject: Subject) -> Finding:
    """Pulls are independent: of other arms in the same call, and of the arm's own pulls before and after."""
    arms, outcomes = subject.pulled
    varying = np.flatnonzero(outcomes.std(axis=1) > 0)[:_PAIRS]
    deviations = outcomes[varying] - outcomes[varying].mean(axis=1, keepdims=True)
    names = [int(arm) for arm in arms[varying]]
    tests = 0
    for first in range(len(names)):
        later = deviations[first, 1:] * deviations[first, :-1]
        require_mean("independence", f"products of successive pulls of arm {names[first]}", later, 0.0)
        for second in range(first + 1, len(names)):
            products = deviations[first] * deviations[second]
            what = f"products of pulls of arms {names[first]} and {names[second]}"
            require_mean("independence", what, products, 0.0)
            tests += 1
    size = outcomes.shape[1]
    seen = 2 * 7 / math.sqrt(size)
    text = f"{tests} pairs of arms; a correlation of {seen:.2g} would be seen with probability .99"
    return Finding(text, (tests + len(names)) * MEAN_LEVEL)


def check_pickling(subject: Subject) -> None:
    """A pickled copy, as worker processes get it, plays the same rounds."""
    try:
        copy: Environment = pickle.loads(pickled(subject.environment))
    except Exception as error:
        text = (
            "{} cannot be pickled, as worker processes need it ({!r}); leave out by __getstate__ what cannot"
        )
        require(False, "pickling", text, subject.name, error)
    for state, super_arm in enumerate(subject.super_arms):
        here, there = (e.play(super_arm, np.random.default_rng(state)) for e in (subject.environment, copy))
        require_same(here.arms, there.arms, "pickling", "a pickled copy")
        require_same(here.outcomes, there.outcomes, "pickling", "a pickled copy")
