"""The check of a policy with arms that have the same statistics, among arms that differ."""

from __future__ import annotations

import numpy as np

from cmab.testing._checks import Finding
from cmab.testing._comparisons import require
from cmab.testing._policy_subject import Subject
from cmab.testing._policy_written import indices_of, tells_arms_apart, written

_STATES = 12
_COUNTS = (1, 2, 5, 30, 200, 10_000)


def check_duplication(subject: Subject) -> Finding:
    """Check that copies of an arm have the same index, whatever the statistics of the other arms."""
    if reason := tells_arms_apart(subject):
        return Finding(reason)
    policy, n = subject.policy, subject.policy.oracle.n_arms
    rng, half = np.random.default_rng((62, subject.rng)), n // 2
    for _ in range(_STATES):
        order = rng.permutation(n)
        counts, fractions = rng.choice(np.array(_COUNTS), n), rng.uniform(0.05, 0.95, n)
        ones, others = order[:half], order[half : 2 * half]
        counts[others], fractions[others] = counts[ones], fractions[ones]
        state = written(subject, counts, fractions)
        indices, again = (indices_of(policy, state, seed) for seed in range(2))
        if not np.array_equal(indices, again, equal_nan=True):
            return Finding("not tried: the indices are drawn")
        first, second = indices[ones], indices[others]
        with np.errstate(invalid="ignore"):
            apart = np.abs(first - second) > 1e-6 * (1 + np.abs(first))
        text = "arms {} have the same counts {} and means {} as arms {}, but indices {} and {}"
        told = (ones, counts[ones], state.means[ones], others, first, second)
        require(not apart.any(), "duplication", text, *told)
    return Finding(f"{_STATES} states in which {half} arms are copies of others")
