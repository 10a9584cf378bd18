"""Checks that rounds, pulls, sums of pulls and samples of an arm have the same law."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray
from cmab.environment import Environment
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._environment_subject import TIMES, Subject
from cmab.testing._statistics import MEAN_LEVEL, require_mean, same_law

_LEVEL = 1e-10
_ARMS, _LEAST, _MOST = 30, 200, 4000
_SUMS = 20_000
# The error of a sum relative to its size.
_ROUNDED = 1e-13
_SAMPLED, _SAMPLES, _PULLS = 12, 3000, 3


def check_laws(subject: Subject) -> Finding:
    """Check that the outcomes of rounds, pulls, and sums of pulls of an arm have the same law."""
    if not subject.first_pulls:
        return Finding("not tried: pulling raises")
    arms, pulled = subject.pulled
    seen = np.concatenate([f.arms for rounds in subject.rounds for f in rounds])
    outcomes = np.concatenate([f.outcomes for rounds in subject.rounds for f in rounds])
    tests = 0
    for arm, sample in zip(arms[:_ARMS], pulled[:_ARMS], strict=True):
        here = outcomes[seen == arm]
        if len(here) < _LEAST:
            continue
        what = f"outcomes of arm {arm} in rounds"
        _require_alike(what, here[:_MOST], "pulls", sample[:_MOST], float(subject.environment.means[arm]))
        tests += 1
    sums = 0
    if type(subject.environment).pull_many is not Environment.pull_many:
        sums = _check_sums(subject)
    text = f"{tests} arms" + (f", and sums of {sums} arms" if sums else "")
    return Finding(text, (tests + sums + 1) * (_LEVEL + MEAN_LEVEL))


def _check_sums(subject: Subject) -> int:
    """Compare sums of pulls of each arm, and of all arms together, with added single pulls."""
    arms, pulled = subject.pulled
    means = np.array(subject.environment.means, np.float64)[arms]
    whole = pulled.shape[1] // TIMES * TIMES
    added = pulled[:, :whole].reshape(len(arms), -1, TIMES).sum(axis=2)[:, :_SUMS]
    sums = subject.sums[0][:, :_SUMS]
    for arm, mean, one, other in zip(arms[:_ARMS], means, sums, added, strict=False):
        _require_alike(f"sums of {TIMES} pulls of arm {arm}", one, "added pulls", other, TIMES * float(mean))
    # Pulls are independent, so that the arms may be pooled if each has the same share of both samples.
    center = TIMES * means[:, None]
    size = np.maximum(added.std(axis=1, keepdims=True), 1e-12 * (1 + np.abs(center)))
    one, other = (sums - center) / size, (added - center) / size
    rounding = _ROUNDED * float((np.abs(center) / size).max(initial=0.0))
    what = f"sums of {TIMES} pulls of all arms"
    _require_alike(what, one.ravel(), "added pulls", other.ravel(), 0.0, rounding)
    return len(arms[:_ARMS])


def _require_alike(
    what: str, one: FloatArray, name: str, other: FloatArray, mean: float, rounding: float = 0.0
) -> None:
    """Raise ``AssertionError`` if two samples have other laws or other variances."""
    size = float(np.abs(other).max(initial=0.0)) or 1.0
    # Sums in another order differ in the last digits.
    step = max(1e-9 * size, rounding)
    chance = same_law(np.round(one / step), np.round(other / step))
    text = "{} (mean {:.4g}, deviation {:.4g}) and {} ({:.4g}, {:.4g}) have other laws"
    told = (what, one.mean(), one.std(), name, other.mean(), other.std())
    require(chance > _LEVEL, "laws", text, *told)
    # The distance of laws hardly shows that one is wider than the other.
    first, second = (one - mean) ** 2, (other - mean) ** 2
    near = abs(first.mean() - second.mean()) <= _margin(first, second) + 1e-9 * size**2
    require(near, "laws", text, *told)


def _margin(first: FloatArray, second: FloatArray) -> float:
    """Return the accepted difference of the means of two independent samples, as in `mean_margin`."""
    spread = max(float(np.ptp(first)), float(np.ptp(second)))
    rare = 20 * spread * (1 / len(first) + 1 / len(second))
    return 7 * float(np.hypot(first.std() / len(first) ** 0.5, second.std() / len(second) ** 0.5)) + rare


def check_samples(subject: Subject) -> Finding:
    """Check that `sample` returns sums and squares of pulls that agree with single pulls of each arm."""
    environment = subject.environment
    if type(environment).sample is Environment.sample:
        return Finding("not tried: samples are computed by pull and pull_many")
    if not subject.first_pulls:
        return Finding("not tried: pulling raises")
    arms, outcomes = subject.pulled
    rng = np.random.default_rng((22, subject.rng))
    places = rng.permutation(len(arms))[:_SAMPLED]
    means = np.array(environment.means, np.float64)
    tests = 0
    for pulls in (1, _PULLS):
        sums, squares = [], []
        for _ in subject.timed(range(_SAMPLES), 0.04, _SAMPLES // 10):
            told = environment.sample(arms[places].copy(), pulls, rng)
            fits = np.array_equal(told.arms, arms[places])
            text = "sample of the arms {} returned the arms {}"
            require(fits, "samples", text, arms[places], told.arms)
            fits = pulls == 1 if told.pulls is None else bool((np.asarray(told.pulls) == pulls).all())
            require(fits, "samples", "sample with {} pulls returned pulls={}", pulls, told.pulls)
            sums.append(told.outcomes)
            squares.append(told.outcomes**2 if told.squares is None else told.squares)
        for place, total, second in zip(places, np.array(sums).T, np.array(squares).T, strict=True):
            arm, single = int(arms[place]), outcomes[place]
            wide = float(np.ptp(single))
            what = f"samples of {pulls} pulls of arm {arm}"
            require_mean("samples", what, total / pulls, float(means[arm]), wide)
            # The squares of sums vary like independent pulls, and the sums of squares average to the moment.
            between = (total - pulls * means[arm]) ** 2 / pulls
            for name, one, other in (
                ("variance", between, (single - means[arm]) ** 2),
                ("squares", second / pulls, single**2),
            ):
                text = "{} have {} {:.6g} per pull, but single pulls {:.6g}"
                near = abs(one.mean() - other.mean()) <= _margin(one, other) + 1e-9
                require(near, "samples", text, what, name, one.mean(), other.mean())
            tests += 5
    return Finding(f"{len(sums)} samples of {len(places)} arms", tests * MEAN_LEVEL)
