"""How far the mean of an arm may fall below others before a policy no longer selects it."""

from __future__ import annotations

import math

import numpy as np

from cmab.arrays import IntArray
from cmab.testing._comparisons import require
from cmab.testing._policy_subject import Subject
from cmab.testing._policy_written import can_write, named_data, written

#: Outcomes of the rare arms and rounds, from which the check recognises a confidence bound.
_EARLY, _LATE, _MORE = (1000, 10**5), (1000, 10**8), (10_000, 10**8)
#: Outcomes and rounds for which the gap is compared with the standard error.
_PLACES = ((10, 10**4), (100, 10**4), (1000, 10**6), (10**5, 10**10))
_ERRORS, _STEPS, _LARGEST = 0.84, 14, 0.45
#: The mean of well known arms, as a fraction of the support, which an arm without outcomes may exceed.
_KNOWN_MEAN = 0.9


def check_gaps(subject: Subject) -> str:
    """Check that a confidence bound on sums of means selects an arm again after bad luck.

    The gap of an arm is the largest distance of its mean from that of arms with many outcomes at which it is
    still selected. If the gaps grow with the rounds and fall with the outcomes, the policy uses a confidence
    bound. Its gap must be at least 0.84 standard errors. Return how much was tried.
    """
    oracle = subject.policy.oracle
    low, high = subject.policy.support or subject.environment.support
    if not (math.isfinite(low) and math.isfinite(high)) or subject.worlds is None or not can_write(subject):
        return "not tried: the outcomes have no bounds, or the state has other parts than counts and means"
    if named_data(subject) or not oracle.is_linear or oracle.n_choices != oracle.n_arms:
        return "not tried: the policy may tell arms apart, or the reward is not a sum"
    first, second = (world.best() for world in subject.worlds)
    rare, often = np.setdiff1d(first, second), np.setdiff1d(second, first)
    if len(rare) != len(often) or not len(rare):
        return "not tried: the super arms have different sizes"
    try:
        return _compared(subject, rare, often, np.intersect1d(first, second))
    except OverflowError:
        return "not tried: the state has small integers"


def _compared(subject: Subject, rare: IntArray, often: IntArray, shared: IntArray) -> str:
    early, late, more = (_gap(subject, rare, often, shared, *place) for place in (_EARLY, _LATE, _MORE))
    if early is None or late is None or more is None or not (0 < 1.01 * early < late and 0 < more < late):
        return "not tried: the selections do not behave like those of a confidence bound"
    low, high = subject.support
    for count, rounds in _PLACES:
        gap = _gap(subject, rare, often, shared, count, rounds)
        error = (high - low) / 2 * (1 / math.sqrt(count) - 1 / math.sqrt(rounds // (2 * len(often))))
        text = (
            "after {} rounds, arms {} with {} outcomes are no longer selected if their mean is {:.3g} worse"
            " than that of arms with many outcomes, which is {:.2g} standard errors of outcomes at the ends"
            " of the support; a good arm may never be selected again"
        )
        if gap is not None:
            far = gap * (high - low) / error
            require(far >= _ERRORS, "radius", text, rounds, rare, count, gap * (high - low), far)
    text = (
        "arms {} without outcomes are not selected instead of arms {} with {} outcomes of mean {:.4g}; an arm"
        " that was never observed may be better, and is then never selected"
    )
    sign = subject.policy.oracle.sign
    fraction = 0.5 + sign * (_KNOWN_MEAN - 0.5)
    is_selected = _prefers(subject, rare, often, shared, 0, 10**6, 0.0, fraction)
    mean = low + (high - low) * fraction
    require(is_selected is not False, "radius", text, rare, often, 10**6 // (2 * len(often)), mean)
    return f"{len(_PLACES)} gaps"


def _gap(
    subject: Subject, rare: IntArray, often: IntArray, shared: IntArray, count: int, rounds: int
) -> float | None:
    """Return the largest gap, as a fraction of the support, at which the rare arms are selected."""
    if not _prefers(subject, rare, often, shared, count, rounds, 0.0):
        return None
    lower, upper = 0.0, _LARGEST
    if _prefers(subject, rare, often, shared, count, rounds, upper):
        return upper
    for _ in range(_STEPS):
        middle = (lower + upper) / 2
        is_selected = _prefers(subject, rare, often, shared, count, rounds, middle)
        if is_selected is None:
            return None
        lower, upper = (middle, upper) if is_selected else (lower, middle)
    return lower


def _prefers(
    subject: Subject,
    rare: IntArray,
    often: IntArray,
    shared: IntArray,
    count: int,
    rounds: int,
    gap: float,
    usual: float = 0.5,
) -> bool | None:
    """Return whether the rare arms are selected, or None if the selection is random or of other arms."""
    oracle = subject.policy.oracle
    sign = oracle.sign
    counts = np.full(oracle.n_arms, count)
    counts[often] = rounds // (2 * len(often))
    others = np.setdiff1d(np.arange(oracle.n_arms), [*rare, *often])
    counts[others] = max(count, rounds // (2 * max(len(others), 1)))
    fractions = np.full(oracle.n_arms, 0.5 - 0.5 * sign)
    fractions[shared] = 0.5 + 0.5 * sign
    fractions[often] = usual
    fractions[rare] = usual - sign * gap
    state = written(subject, counts, fractions)
    chosen = [
        set(subject.select(subject.policy, state, np.random.default_rng(seed)).tolist()) for seed in range(2)
    ]
    if chosen[0] != chosen[1]:
        return None
    if set(rare.tolist()) <= chosen[0]:
        return True
    return False if set(often.tolist()) <= chosen[0] else None
