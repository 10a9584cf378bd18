"""Slates: shorter ones if items are missing, quotas, names of pairs, features of pairs, and campaigns."""

import numpy as np
import pytest
from refusals import refused

from cmab import Context
from oracles.lists import Slate


def test_a_large_slate_with_quotas_is_exact():
    """Against linear programming, whose optimum is integral because the constraints form a network."""
    from scipy.optimize import linprog

    rng, n, k = np.random.default_rng(1), 60, 6
    groups = rng.integers(0, 4, n)
    oracle, means = Slate(n, k, groups=groups.tolist(), quotas=2), rng.random(n * k)
    slate = oracle.solve(means, rng)
    pairs = np.arange(n * k)
    rows = [pairs // k == item for item in range(n)] + [pairs % k == place for place in range(k)]
    rows += [groups[pairs // k] == group for group in range(4)]
    bounds = [1] * (n + k) + [2] * 4
    found = linprog(-means, A_ub=np.array(rows, float), b_ub=bounds, bounds=(0, 1))
    assert means[slate].sum() == pytest.approx(-found.fun)


def test_pairs_have_names_and_features():
    oracle = Slate(["tea", "milk"], 2)
    assert oracle._arm_labels() == [("tea", 1), ("tea", 2), ("milk", 1), ("milk", 2)]
    features = oracle.pair_features([[5.0], [7.0]])
    assert features.tolist() == [[5, 1, 0], [5, 0, 1], [7, 1, 0], [7, 0, 1]]
    assert Context(oracle.available([True, False]), features).parts == ("available", "features")


test_impossible_slates_are_refused = refused(
    ({"items": [], "positions": 1}, "items must be different names"),
    ({"items": ["a", "a"], "positions": 1}, "items must be different names"),
    ({"items": 3, "positions": 0}, "positions must be an integer"),
    ({"items": 2, "positions": 1, "groups": ["x", "y"]}, "must be given together"),
    ({"items": 2, "positions": 1, "groups": ["x"], "quotas": 1}, "groups must have one entry"),
    ({"items": 2, "positions": 1, "groups": ["x", "y"], "quotas": {"z": 1}}, "quotas must be for groups"),
    ({"items": 2, "positions": 1, "groups": ["x", "y"], "quotas": 0}, "allow at least one item"),
    by=lambda options: Slate(**options),
)
