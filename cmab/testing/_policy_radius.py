"""The check that an index that behaves like a confidence bound is one."""

from __future__ import annotations

import math
from typing import Any

from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_states import indices_of, tells_arms_apart, written
from cmab.testing._policy_subject import Subject

#: Outcomes of an arm, rounds, and again: the distance of the index from the mean must be between these.
_FEW, _MANY, _EARLY, _LATE = 1000, 10_000, 10**5, 10**8
#: Outcomes of an arm and rounds for which the distance is compared with the standard error.
_PLACES = ((10, 10**4), (100, 10**4), (1000, 10**6), (10**6, 10**12))
#: The index is below the mean with probability .2 if its distance is 0.84 standard errors.
_ERRORS = 0.84


def check_radius(subject: Subject) -> Finding:
    """Check that an index that grows with the rounds and falls with the outcomes exceeds the true mean."""
    if reason := tells_arms_apart(subject):
        return Finding(reason)
    low, high = subject.policy.support or subject.environment.support
    if not (math.isfinite(low) and math.isfinite(high)):
        return Finding("not tried: the outcomes have no bounds, so that their largest variance is not known")
    claimed = [_distance(subject, *place) for place in ((_FEW, _EARLY), (_FEW, _LATE), (_MANY, _LATE))]
    if any(one is None for one in claimed):
        return Finding("not tried: the indices are random or infinite")
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
    return Finding(f"{len(_PLACES)} states")


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
