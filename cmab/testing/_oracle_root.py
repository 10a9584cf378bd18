"""The check of `solve_root`, the best sum of means plus the root of a sum."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from cmab.oracle import LinearOracle
from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._oracle_guarantees import membership_of
from cmab.testing._oracle_subject import TOLERANCE, Subject, key

_AVAILABLE = 0.8


def check_root(subject: Subject) -> Finding | None:
    """Check that `solve_root` maximises a sum of means plus the root of a sum, up to the tolerance."""
    if subject.family is None or not subject.oracle.can_solve_root:
        return None
    oracle, rng, tried = cast(LinearOracle, subject.oracle), np.random.default_rng(subject.rng), 0
    membership = membership_of(oracle.n_arms, subject.family)
    for means in subject.timed(subject.problems):
        # The roots dominate the sums or hardly matter, and about a tenth of the squares are 0.
        squares = (
            rng.choice((0.01, 1.0, 100.0)) * rng.random(oracle.n_arms) * (rng.random(oracle.n_arms) < 0.9)
        )
        tolerance = float(rng.choice((0.0, 0.3)))
        given = (means.copy(), squares.copy())
        rows, named = membership, cast(dict[str, Any], {})
        if tried % 2:
            available = rng.random(oracle.n_arms) < _AVAILABLE
            rows = membership[~membership[:, ~available].any(axis=1)]
            named = {"available": available}
            if not len(rows):
                tried += 1
                continue
        answer = oracle.solve_root(*given, np.random.default_rng(7), tolerance=tolerance, **named)
        same = np.array_equal(given[0], means) and np.array_equal(given[1], squares)
        require(same, "root", "solve_root must not modify means {} and squares {}", means, squares)
        told = (answer, means, squares)
        known = key(answer) in subject.members and (not named or named["available"][answer].all())
        text = "the answer {} for means {} and squares {} is not one of the available super arms"
        require(known, "root", text, *told)
        values = oracle.sign * (rows @ means) + np.sqrt(rows @ squares)
        value = oracle.sign * means[answer].sum() + np.sqrt(squares[answer].sum())
        good = value >= values.max() - tolerance - TOLERANCE * (1 + abs(value))
        text = "the answer {} for means {} and squares {} has value {:.12g}, the best {:.12g}; tolerance={:g}"
        require(good, "root", text, *told, value, values.max(), tolerance)
        tried += 1
    return Finding(f"{tried} of {len(subject.problems)} problems")
