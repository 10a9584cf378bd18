"""The regret bounds of Theorems 1 and 2 for the learners of a study that satisfy their conditions."""

from __future__ import annotations

import numpy as np

from cmab.arrays import FloatArray, IntArray
from cmab.environment import Environment
from cmab.policies.ucb import CUCB
from cmab.policy import AnyPolicy
from cmab.theory import gap_dependent_bound, gap_free_bound
from cmab.theory.families import listed_family
from cmab.theory.gaps import gaps_of


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
    family = listed_family(oracle)
    if not family:
        return {}
    assert isinstance(policy, CUCB)
    gaps = gaps_of(oracle, np.asarray(environment.means, np.float64), family)
    try:
        bounds = {"Theorem 1": gap_dependent_bound(gaps, smoothness, rounds=rounds, radius=policy.radius)}
    except ValueError:  # the theorem has no bound for this radius
        return {}
    if policy.radius == CUCB(oracle).radius:
        bounds["Theorem 2"] = gap_free_bound(gaps, smoothness, rounds=rounds)
    return bounds
