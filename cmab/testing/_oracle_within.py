"""The check of `solve_within`, for problems in which some entries are not available."""

from __future__ import annotations

import numpy as np

from cmab.arrays import BoolArray, FloatArray, IntArray
from cmab.testing._checks import Finding
from cmab.testing._comparisons import Stopwatch, entries, require
from cmab.testing._oracle_subject import Subject, key

# Share of the entries that are available, minimal number of problems, and share of the seconds.
_ENTRIES = 0.75
_AT_LEAST, _SHARE = 3, 0.05
_SLACK = 1e-9


def check_availability(subject: Subject) -> Finding:
    """Check that `solve_within` returns an available super arm that is at least alpha times the best one."""
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
        # Often all entries are available, and often all but one.
        share = number % 4
        available |= share == 1 and number > 1
        if share == 3 and len(usual):
            available[:] = True
            available[rng.choice(usual)] = False
        # Without the family, answers to other means are among the super arms.
        left = [member for member in subject.rivals if available[member].all()]
        numbers, mask = means.copy(), available.copy()
        try:
            given = oracle.solve_within(numbers, mask, np.random.default_rng(7))
            chosen = entries(given)
        except TypeError:
            return Finding("not tried: solve_within raised TypeError, so that it is not supported")
        except ValueError as error:
            text = "solve_within raised {!r} for means {}, although the super arm {} is available"
            require(not left, "availability", text, error, means, left[0] if left else None)
            empty += 1
            continue
        gone = np.flatnonzero(~available)
        kept = np.array_equal(numbers, means) and np.array_equal(mask, available)
        text = "solve_within must not modify its arguments, but changed {} and {} to {} and {}"
        require(kept, "availability", text, means, available, numbers, mask)
        text = "the answer {} to means {} has entries that are not available ({})"
        require(not np.isin(chosen, gone).any(), "availability", text, chosen, means, gone)
        is_one = subject.family is None or key(chosen) in {key(member) for member in left}
        text = "the answer {} to means {}, when {} are not available, is not one of the super arms"
        is_one = is_one and len(np.unique(chosen)) == len(chosen) and oracle.is_feasible(chosen.copy())
        require(is_one, "availability", text, chosen, means, gone)
        if oracle.beta == 1.0 and left:
            _require_ratio(subject, means, chosen, left)
        answered += 1
    return Finding(f"{answered} answers with some entries not available, and {empty} rejections")


def _require_ratio(subject: Subject, means: FloatArray, chosen: IntArray, left: list[IntArray]) -> None:
    oracle = subject.oracle
    if oracle.alpha != oracle.alpha:  # nan: the oracle has no guarantee
        return
    values = np.array([oracle.expected_reward(member, means) for member in left])
    best = float(values.max() if oracle.sense == "max" else values.min())
    value = oracle.expected_reward(chosen, means)
    slack = _SLACK * (1.0 + float(np.abs(values).max()))
    # If the best reward is negative or the best cost is positive, only alpha = 1 is checked.
    bound = best if best * oracle.sign < 0 else oracle.alpha * best
    text = "the answer {} has reward {:.12g} for means {}, the best available {:.12g}; it misses alpha={:.6g}"
    is_good = oracle.sign * (value - bound) >= -slack or (best * oracle.sign < 0 and oracle.alpha != 1.0)
    require(is_good, "availability", text, chosen, value, means, best, oracle.alpha)
