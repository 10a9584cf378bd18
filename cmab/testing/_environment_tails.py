"""The check that outcomes, and sums of outcomes, are sub-Gaussian with the declared scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import cycle

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import changes
from cmab.feedback import Feedback
from cmab.testing._checks import Finding
from cmab.testing._environment_subject import TIMES, Subject
from cmab.testing._sub_gaussian import (
    Sample,
    require_light_tails,
    require_moments,
    spread_power,
    tail_power,
)

#: False-alarm probability of the whole check.
TAIL_LEVEL = 1e-9
# Outcomes for the moments of all arms together at the quick level; the share of the seconds for further
# rounds and pulls; rounds that differ, and how often each is played.
_MOMENTS, _FURTHER = 200_000, 0.02
_ROUNDS, _PLAYED = 100, 10
#: Arms of which sums are tested.
_SUMMED = 30
#: Fewer outcomes of an arm are also tested together with those of the other arms.
_FEW = 20_000


def check_tails(subject: Subject) -> Finding:
    """Check that outcomes, and sums of the pulls of a call, are sub-Gaussian with scale `sigma`."""
    low, high = subject.environment.support
    sigma = float(subject.environment.sigma)
    if not (np.isfinite(sigma) and sigma > 0):
        return Finding("not tried: no positive scale is declared")
    # By Hoeffding's lemma, outcomes in the support have this scale.
    is_sure = sigma >= (high - low) / 2 * (1 - 1e-9)
    makers = (_sums,) if is_sure else (_sums, _pulls, _rounds, _worlds)
    samples = [one for make in makers for one in make(subject, sigma) if len(one.values)]
    if not samples:
        return Finding("not tried: all outcomes in the support have this scale, and pulling raises")
    level = TAIL_LEVEL / 2 / len(samples)
    most = _at_most([len(one.values) for one in samples], int(_MOMENTS * max(1.0, subject.seconds / 10.0)))
    for one in samples:
        require_light_tails(one, sigma, level)
        require_moments(Sample(one.name, one.values[:most]), sigma, level)
    return Finding(_told(samples, most, level), TAIL_LEVEL)


def _at_most(sizes: list[int], total: int) -> int:
    """Return a limit such that samples, each cut to it, have about `total` entries."""
    for number, size in enumerate(sorted(sizes)):
        left = len(sizes) - number
        if size * left > total:
            return max(1000, total // left)
        total -= size
    return max(sizes)


def _told(samples: list[Sample], most: int, level: float) -> str:
    """Return how many deviations were tested, and the violations that would have been detected."""
    sizes: dict[bool, list[int]] = {False: [], True: []}
    for one in samples:
        sizes[one.name.startswith("sums")].append(len(one.values))
    text = f"{sum(map(len, (one.values for one in samples)))} deviations in {len(samples)} samples"
    for is_sum, what in ((False, "outcomes"), (True, "sums of outcomes")):
        if sizes[is_sum] and math.isfinite(factor := spread_power(min(most, *sizes[is_sum]), level)):
            text += f"; normal {what} with a standard deviation of {factor:.3g} sigma would be detected"
    return text + (tail_power(min(sizes[False]), level) if sizes[False] else "")


def _deviations(outcomes: FloatArray, mean: float, scale: float, count: int = 1) -> FloatArray:
    """Return the deviations of sums of `count` outcomes in units of their scale."""
    # Deviations of large outcomes are rounded, and so is the scale.
    rounding = 8 * np.finfo(np.float64).eps * float(np.abs(outcomes).max(initial=0.0)) + 1e-9 * scale
    found: FloatArray = (outcomes - count * mean) / (math.sqrt(count) * (scale + rounding))
    return found


def _sums(subject: Subject, sigma: float) -> Iterator[Sample]:
    """Yield sums of all pulls of an arm in one call of `pull`, and sums that `pull_many` draws."""
    if not subject.first_pulls:
        return
    arms, outcomes = subject.pulled
    means = np.array(subject.environment.means, np.float64)[arms]
    pulls = subject.pulls_in_a_call
    calls = outcomes.reshape(len(arms), -1, pulls).sum(axis=2)
    for arm, mean, one in list(zip(arms, means, calls, strict=True))[:_SUMMED]:
        yield Sample(f"sums of {pulls} pulls of arm {arm} in a call", _deviations(one, mean, sigma, pulls))
    everything, count = calls.sum(axis=0), pulls * len(arms)
    found = _deviations(everything, float(means.mean()), sigma, count)
    yield Sample(f"sums of {count} pulls of all arms in a call", found)
    for arm, mean, one in list(zip(arms, means, subject.sums[0], strict=True))[:_SUMMED]:
        name = f"sums of {TIMES} pulls of arm {arm} by pull_many"
        yield Sample(name, _deviations(one, mean, sigma, TIMES))


def _pulls(subject: Subject, sigma: float) -> Iterator[Sample]:
    """Yield the single pulls of each arm, and those of all arms together if they are few."""
    if not subject.first_pulls:
        return
    arms, outcomes = subject.pulled
    means = np.array(subject.environment.means, np.float64)[arms]
    rng, asked = np.random.default_rng((21, subject.rng)), np.repeat(arms, 4000 // len(arms) + 1)
    further = []
    for _ in subject.timed(range(int(10 * subject.seconds) - 20), _FURTHER, at_least=0):
        told = np.asarray(subject.environment.pull(asked.copy(), rng), np.float64)
        further.append(told.reshape(len(arms), -1))
    whole = np.concatenate((outcomes, *further), axis=1)
    found = [_deviations(row, mean, sigma) for row, mean in zip(whole, means, strict=True)]
    for arm, one in zip(arms, found, strict=True):
        yield Sample(f"pulls of arm {arm}", one)
    if len(arms) > 1 and whole.shape[1] < _FEW:
        # Columns, so that any first part contains all arms.
        yield Sample("pulls of all arms", np.array(found).T.ravel())


def _rounds(subject: Subject, sigma: float) -> Iterator[Sample]:
    """Yield the outcomes of each arm in rounds. Outcomes of one round may depend on each other."""
    rng = np.random.default_rng((22, subject.rng))
    further = [
        subject.environment.play(super_arm.copy(), rng)
        for super_arm, _ in subject.timed(zip(cycle(subject.super_arms), range(200_000)), _FURTHER, 0)
    ]
    seen, outcomes = _observed([*(each for rounds in subject.rounds for each in rounds), *further])
    for arm in np.unique(seen):
        found = _deviations(outcomes[seen == arm], float(subject.environment.means[arm]), sigma)
        yield Sample(f"outcomes of arm {arm} in rounds", found)


def _worlds(subject: Subject, sigma: float) -> Iterator[Sample]:
    """Yield deviations from the means of rounds that differ, each played a few times."""
    if not changes(subject.environment):
        return
    rng, rounds = np.random.default_rng((23, subject.rng)), np.random.default_rng((24, subject.rng))
    arms, found = [], []
    for t in subject.timed(range(1, _ROUNDS + 1), _FURTHER):
        world = subject.environment.in_round(t, rounds)
        available = None if world.context is None else world.context.available
        playable = [arm for arm in subject.super_arms if available is None or available[arm].all()]
        if playable:
            told = [world.play(playable[i % len(playable)].copy(), rng) for i in range(_PLAYED)]
            seen, outcomes = _observed(told)
            arms.append(seen)
            found.append(outcomes - np.array(world.means)[seen])
    if arms:
        seen, apart = np.concatenate(arms), np.concatenate(found)
        for arm in np.unique(seen):
            name = f"outcomes of arm {arm} in rounds that differ"
            yield Sample(name, _deviations(apart[seen == arm], 0.0, sigma))


def _observed(told: list[Feedback]) -> tuple[IntArray, FloatArray]:
    """Return the arms and the outcomes of all rounds."""
    return np.concatenate([f.arms for f in told]), np.concatenate([f.outcomes for f in told])
