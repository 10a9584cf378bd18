"""The regret bounds of Theorems 1 and 2 for the learners of a study that satisfy their conditions."""

from __future__ import annotations

from inspect import unwrap
from itertools import combinations
from math import comb

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.oracle import Oracle
from cmab.policies.cucb import CUCB
from cmab.policy import AnyPolicy
from cmab.theory import gap_dependent_bound, gap_free_bound
from cmab.theory.gaps import gaps_of

_MOST_SETS = 20_000


def regret_bounds(policy: AnyPolicy, environment: Environment, rounds: IntArray) -> dict[str, FloatArray]:
    """Return the bounds on the (alpha, beta)-regret at `rounds` by theorem, or an empty dict without bounds.

    Bounds exist for `CUCB` with ``radius_factor`` 1 and without priors, outcomes in [0, 1], arms that are
    triggered with certainty, and an oracle that declares its smoothness. All super arms must be among at most
    20,000 candidate sets.
    """
    oracle = policy.oracle
    low, high = environment.support
    is_algorithm_1 = (
        type(policy) is CUCB
        and policy.radius_factor == 1.0
        and policy.support == (0.0, 1.0)
        and not np.any(policy.prior_weight)
    )
    # With random triggering, the bounds require feedback on all triggered arms, which may be missing.
    smoothness = oracle.smoothness()
    if not (is_algorithm_1 and oracle.triggers_surely and 0.0 <= low <= high <= 1.0) or smoothness is None:
        return {}
    if not _is_small(oracle):
        return {}
    assert isinstance(policy, CUCB)
    gaps = gaps_of(oracle, np.asarray(environment.means, np.float64), _family(oracle))
    try:
        bounds = {"Theorem 1": gap_dependent_bound(gaps, smoothness, rounds=rounds, radius=policy.radius)}
    except ValueError:  # the theorem has no bound for this radius
        return {}
    if policy.radius == CUCB(oracle).radius:
        bounds["Theorem 2"] = gap_free_bound(gaps, smoothness, rounds=rounds)
    return bounds


def _sizes(oracle: Oracle) -> range:
    # If the oracle is not linear, `max_size` counts base arms, not the entries of a super arm.
    return range((oracle.max_size if oracle.is_linear else oracle.n_choices) + 1)


def _is_small(oracle: Oracle) -> bool:
    # The gaps need all super arms, which are found by testing every set.
    n = oracle.n_choices
    return oracle.has_membership and sum([comb(n, size) for size in _sizes(oracle)]) <= _MOST_SETS


def _family(oracle: Oracle) -> list[IntArray]:
    # The undecorated method, because these arguments need no validation.
    is_feasible = unwrap(type(oracle).is_feasible)
    sets = [
        np.array(chosen, np.int64)
        for size in _sizes(oracle)
        for chosen in combinations(range(oracle.n_choices), size)
    ]
    return [super_arm for super_arm in sets if is_feasible(oracle, super_arm)]
