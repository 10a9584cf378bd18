"""Checks of the scale of indices: of their distance from the mean, and of their limit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cmab.policy import IndexPolicy
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_gap import check_gaps
from cmab.testing._policy_subject import Subject
from cmab.testing._policy_written import indices_of, tells_arms_apart, written

#: Outcomes of an arm, rounds, and again: the distance of the index from the mean must be between these.
_FEW, _MANY, _EARLY, _LATE = 1000, 10_000, 10**5, 10**8
#: Outcomes of an arm and rounds for which the distance is compared with the standard error.
_PLACES = ((10, 10**4), (100, 10**4), (1000, 10**6), (10**6, 10**12))
#: The index is below the mean with probability .2 if its distance is 0.84 standard errors.
_ERRORS = 0.84
#: Numbers of outcomes and of draws for which the spread of random indices is compared. From the first number
#: to the last it falls by 10 if it is in proportion to the standard error, and by 100 if to its square.
_FEWER, _SPREAD_DRAWS = (10, 100, 1000), 100
_FALL, _WIDE, _NARROW = 45.0, 0.1, 0.3
#: Outcomes of arms whose indices are near their limits, the means as fractions, and the draws of each.
_PROVEN, _FRACTIONS, _DRAWS = 10**6, (0.2, 0.5, 0.8), 20
#: The mean of well known arms, as a fraction of the support, which an arm without outcomes may exceed.
_KNOWN_MEAN = 0.9
#: The largest ratio of two steps of the limits, and the least step relative to them.
_UNEVEN, _LEAST_STEP = 1.2, 1e-3


def check_radius(subject: Subject) -> Finding:
    """Check that an index that grows with the rounds and falls with the outcomes exceeds the true mean."""
    if not isinstance(subject.policy, IndexPolicy):
        return Finding(check_gaps(subject) if subject.policy.learns else "not tried: learns=False")
    if reason := tells_arms_apart(subject):
        return Finding(reason)
    low, high = subject.policy.support or subject.environment.support
    if not (math.isfinite(low) and math.isfinite(high)):
        return Finding("not tried: the outcomes have no bounds, so that their largest variance is not known")
    claimed = [_distance(subject, *place) for place in ((_FEW, _EARLY), (_FEW, _LATE), (_MANY, _LATE))]
    if any(one is None for one in claimed):
        return Finding(_check_spread(subject))
    early, late, narrow = (one or 0.0 for one in claimed)
    if not (0.0 < 1.01 * early < late and narrow < late):
        return Finding(
            "not tried: the index does not behave like a confidence bound that grows with the rounds"
        )
    for count, rounds in _PLACES:
        distance = _distance(subject, count, rounds)
        error = (high - low) / 2 / math.sqrt(count)
        text = (
            "after {} rounds, the index of an arm with {} outcomes of mean {:g} is {:.3g} from this mean,"
            " which is {:.2g} standard errors of outcomes at the ends of the support; it is worse than the"
            " true mean with probability {:.0%}, so that a good arm may never be selected again"
        )
        if distance is not None:
            far = distance / error
            told = (rounds, count, (low + high) / 2, distance, far, 0.5 * math.erfc(far / math.sqrt(2)))
            require(far >= _ERRORS, "radius", text, *told)
    _check_unseen(subject)
    return Finding(f"{len(_PLACES)} states")


def _check_unseen(subject: Subject) -> None:
    """Check that an arm without outcomes has an index above that of arms with a well known mean."""
    policy: Any = subject.policy
    n, sign = policy.oracle.n_arms, policy.oracle.sign
    owner = next(cls for cls in type(policy).__mro__ if "select" in vars(cls))
    if owner is not IndexPolicy:
        return  # it may select arms without outcomes whatever their index is
    fraction = 0.5 + sign * (_KNOWN_MEAN - 0.5)
    state = written(subject, [0] + [_PROVEN] * (n - 1), [fraction] * n)
    indices = indices_of(policy, state, 0)
    text = (
        "an arm without outcomes has the index {:.4g}, and arms with {} outcomes of mean {:.4g} have {:.4g};"
        " an arm that was never observed may be better, and is then never selected"
    )
    good = sign * (indices[0] - indices[1]) >= -1e-9 * (1 + abs(indices[1]))
    require(good, "radius", text, indices[0], _PROVEN, state.means[1], indices[1])


def _check_spread(subject: Subject) -> str:
    """Check that the spread of random indices of an arm does not fall faster than the standard error."""
    spreads = []
    for count in _FEWER:
        n = subject.policy.oracle.n_arms
        counts = [count] + [_EARLY // max(n - 1, 1)] * (n - 1)
        state = written(subject, counts, [0.5] * n)
        draws = [indices_of(subject.policy, state, seed)[0] for seed in range(_SPREAD_DRAWS)]
        spreads.append(float(np.std(draws)))
    if not np.isfinite(spreads).all() or min(spreads) <= 0.0:
        return "not tried: the indices are infinite or do not vary"
    low, high = subject.support
    errors = [
        spread * math.sqrt(count) * 2 / (high - low) for spread, count in zip(spreads, _FEWER, strict=True)
    ]
    text = (
        "the random index of an arm with {} outcomes has the standard deviations {}, which are {} standard"
        " errors of outcomes at the ends of the support; they must not fall faster than the standard error,"
        " because a good arm is then lost after bad luck"
    )
    fast = spreads[0] / spreads[-1] > _FALL and errors[0] > _WIDE and errors[-1] < _NARROW
    require(not fast, "radius", text, _FEWER, np.array(spreads), np.array(errors))
    return f"{len(_FEWER)} laws of a random index"


def check_limit(subject: Subject) -> Finding:
    """Check that the indices of arms with a million outcomes are in proportion to their means."""
    if reason := tells_arms_apart(subject):
        return Finding(reason)
    if not _is_sum(subject):
        return Finding("not tried: the reward is not a sum of the means, which an index may transform")
    limits = []
    for fraction in _FRACTIONS:
        n = subject.policy.oracle.n_arms
        state = written(subject, _PROVEN, [fraction] * n)
        limits.append(np.mean([indices_of(subject.policy, state, seed).mean() for seed in range(_DRAWS)]))
    steps = np.diff(limits)
    if not np.isfinite(limits).all() or np.abs(steps).min() < _LEAST_STEP * np.abs(limits).max():
        return Finding("not tried: the indices are infinite, or do not follow the means")
    text = (
        "arms with {} outcomes and means {} of the support have indices {} on average; sums of means cannot"
        " be compared by such indices"
    )
    even = max(steps) <= _UNEVEN * min(steps) if steps.min() > 0 else max(-steps) <= _UNEVEN * min(-steps)
    require(
        even and (steps > 0).all() == (steps[0] > 0), "limit", text, _PROVEN, _FRACTIONS, np.array(limits)
    )
    return Finding(f"{len(_FRACTIONS)} means, {_DRAWS} draws of each")


def _is_sum(subject: Subject) -> bool:
    """Return whether the reward is the sum of the means, according to the oracle and the environment."""
    oracle, place = subject.policy.oracle, subject.place
    if not oracle.is_linear or oracle.n_choices != oracle.n_arms:
        return False
    means = np.array(place.means, np.float64)
    super_arm = np.array(oracle.solve(means.copy(), np.random.default_rng(7)))
    here, there = place.expected_reward(super_arm.copy()), float(means[super_arm].sum())
    return bool(abs(here - there) <= 1e-9 * (1 + abs(there)))


def _distance(subject: Subject, count: int, rounds: int) -> float | None:
    """Return how much better the index of an arm is than its mean, or None if it is random or infinite."""
    policy: Any = subject.policy
    n = policy.oracle.n_arms
    if n < 2:
        return None
    counts = [count] + [(rounds - count) // (n - 1)] * (n - 1)
    state = written(subject, counts, [0.5] * n)
    drawn = [float(indices_of(policy, state, seed)[0]) for seed in range(2)]
    if drawn[0] != drawn[1] or not math.isfinite(drawn[0]):
        return None
    return float((drawn[0] - state.means[0]) * policy.oracle.sign)
