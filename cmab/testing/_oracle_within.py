"""A check of an oracle's answers if some entries are unavailable."""

from __future__ import annotations

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, require
from cmab.testing._oracle_subject import Subject, key

# The share of available entries; the fewest problems; the share of the time limit.
_ENTRIES = 0.75
_AT_LEAST, _SHARE = 3, 0.05
_SLACK = 1e-9


def check_availability(subject: Subject) -> Finding:
    """Check that `solve_within` returns super arms of available entries that satisfy the guarantee."""
    rng, oracle = np.random.default_rng((31, subject.rng)), subject.oracle
    answered, empty = 0, 0
    watch = Stopwatch()
    for number, means in enumerate(subject.some(0.03)[:40]):
        if number >= _AT_LEAST and watch.seconds() > _SHARE * subject.seconds:
            break
        available: BoolArray = rng.random(oracle.n_choices) < _ENTRIES
        usual = subject.answer(means)
        if len(usual):
            available[rng.choice(usual)] = False
        left = None
        if subject.family is not None:
            left = [member for member in subject.family if available[member].all()]
        try:
            chosen = oracle.solve_within(means.copy(), available.copy(), np.random.default_rng(7))
        except TypeError:
            return Finding("not tried: the oracle does not support unavailable entries")
        except ValueError as error:
            text = "solve_within raised {!r} for means {}, although {} is available"
            require(not left, "availability", text, error, means, left[0] if left else None)
            empty += 1
            continue
        gone = np.flatnonzero(~available)
        text = "{} was returned for means {}, although {} are not available"
        require(not np.isin(chosen, gone).any(), "availability", text, chosen, means, gone)
        if left is not None:
            is_one = key(chosen) in {key(member) for member in left}
            text = "{} was returned for means {} without entries {}, but is not a super arm"
            require(is_one, "availability", text, chosen, means, gone)
            if oracle.beta == 1.0:
                _require_ratio(subject, means, chosen, left)
        answered += 1
    return Finding(f"{answered} answers with some unavailable entries, and {empty} without a super arm")


def _require_ratio(subject: Subject, means: FloatArray, chosen: IntArray, left: list[IntArray]) -> None:
    oracle = subject.oracle
    if oracle.alpha != oracle.alpha:  # nan: the oracle guarantees no ratio
        return
    values = np.array([oracle.expected_reward(member, means) for member in left])
    best = float(values.max() if oracle.sense == "max" else values.min())
    value = oracle.expected_reward(chosen, means)
    slack = _SLACK * (1.0 + float(np.abs(values).max()))
    # A ratio is a bound for values of one sign only.
    bound = best if best * oracle.sign < 0 else oracle.alpha * best
    text = "{} has value {:.6g} for means {}, but the best available is {:.6g}: this violates alpha={:.6g}"
    is_good = oracle.sign * (value - bound) >= -slack or (best * oracle.sign < 0 and oracle.alpha != 1.0)
    require(is_good, "availability", text, chosen, value, means, best, oracle.alpha)
