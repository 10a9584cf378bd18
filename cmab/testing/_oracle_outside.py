"""The check of oracles with rewards other than sums, for means outside the declared range."""

from __future__ import annotations

import warnings

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._oracle_subject import TOLERANCE, Subject, key

_TRIED = 60
#: Exceptions that come from slips in the code rather than from a refusal.
_SLIPS = (IndexError, KeyError, TypeError, AttributeError, NameError, ZeroDivisionError)


def check_outside(subject: Subject) -> Finding | None:
    """Check that an oracle of rewards other than sums clips, solves or rejects indices out of the range."""
    oracle = subject.oracle
    if oracle.is_linear:
        return None  # the check of scales
    rng, rejected, tried = np.random.default_rng((72, subject.rng)), 0, 0
    width = subject.high - subject.low
    for means in subject.timed(subject.problems[:_TRIED], 0.1):
        # Confidence bounds exceed the range, and those of rarely observed arms by far.
        bonus = width * rng.choice((0.1, 0.5, 3.0)) * rng.random(len(means))
        moved = means + oracle.sign * bonus
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                answer = subject.solve(moved)
        except _SLIPS as error:
            require(False, "outside", "solve raised {!r} for means {}", error, moved)
        except Exception:  # the oracle needs means in the range
            rejected += 1
            continue
        _require_member(subject, moved, answer)
        _require_good(subject, moved, answer)
        tried += 1
    return Finding(f"{tried} problems, and {rejected} that were rejected")


def _require_member(subject: Subject, means: FloatArray, answer: IntArray) -> None:
    n = subject.oracle.n_choices
    distinct = len(np.unique(answer)) == len(answer) and bool(((answer >= 0) & (answer < n)).all())
    text = "the answer {} to means {} is not a feasible super arm; clip such means or raise ValueError"
    known = distinct and (subject.family is None or key(answer) in subject.members)
    require(known and subject.oracle.is_feasible(answer), "outside", text, answer, means)


def _require_good(subject: Subject, means: FloatArray, answer: IntArray) -> None:
    """Raise ``AssertionError`` unless the answer is good for the means or for the clipped means."""
    oracle = subject.oracle
    if oracle.beta < 1 or np.isnan(oracle.alpha):
        return
    low, high = subject.low, subject.high
    told = []
    clipped = (
        np.clip(means, low, high),
        np.clip(means, 0.0, 1.0),
        np.maximum(means, low),
        np.minimum(means, high),
    )
    for numbers in (means, *clipped):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                values = np.array([oracle.expected_reward(arm, numbers) for arm in subject.rivals])
                value = float(oracle.expected_reward(answer, numbers))
            except Exception:  # the reward needs means in the range
                continue
        best = float(values.max() if oracle.sense == "max" else values.min())
        # The ratio says nothing about negative rewards and costs. A reward that is nan is no reward.
        if best < 0 or not np.isfinite(values).all():
            if (
                oracle.alpha == 1.0
                and np.isfinite(values).all()
                and oracle.sign * (value - best) >= -_slack(best)
            ):
                return
            continue
        if oracle.sign * (value - oracle.alpha * best) >= -_slack(best):
            return
        told.append(f"reward {value:.9g} instead of {best:.9g}")
    if not told:
        return
    text = (
        "the answer {} is good neither for the indices {} nor for these indices clipped to the range ({});"
        " clip them or raise ValueError"
    )
    require(False, "outside", text, answer, means, " and ".join(told[:2]))


def _slack(best: float) -> float:
    return TOLERANCE * (1 + abs(best))
