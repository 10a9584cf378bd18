"""Slates: shorter ones if items are missing, quotas, names of pairs, features of pairs, and campaigns."""

from itertools import chain, permutations

import numpy as np
import pytest

from cmab import Context
from oracles.lists import Slate


def best_value(oracle, means, free):
    """Return the value of the best slate of free items, by enumeration of all slates."""
    k = oracle.positions
    lists = chain.from_iterable(permutations(np.flatnonzero(free), length) for length in range(1, k + 1))
    arms = (np.array([item * k + place for place, item in enumerate(items)]) for items in lists)
    return max(means[some].sum() for some in arms if oracle.is_feasible(some))


@pytest.mark.parametrize("quotas", [None, 1, {"x": 2, "y": 1}])
def test_missing_items_shorten_the_slate(quotas):
    """All sets of available items of five, with three positions, against enumeration."""
    groups = None if quotas is None else list("xxxyy")
    oracle, rng = Slate(5, 3, groups=groups, quotas=quotas), np.random.default_rng(0)
    for number in range(1, 32):
        free = np.array([number >> i & 1 for i in range(5)], bool)
        means = rng.random(15)
        slate = oracle.solve_within(means, oracle.available(free), rng)
        assert oracle.is_feasible(slate)
        assert set(slate // 3) <= set(np.flatnonzero(free))
        assert np.array_equal(slate % 3, np.arange(len(slate)))
        assert means[slate].sum() == pytest.approx(best_value(oracle, means, free))
        if quotas is None:
            assert len(slate) == min(free.sum(), 3)
    with pytest.raises(ValueError, match="available must contain"):
        oracle.solve_within(means, np.zeros(15, bool), rng)


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


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"items": [], "positions": 1}, "items must be different names"),
        ({"items": ["a", "a"], "positions": 1}, "items must be different names"),
        ({"items": 3, "positions": 0}, "positions must be an integer"),
        ({"items": 2, "positions": 1, "groups": ["x", "y"]}, "must be given together"),
        ({"items": 2, "positions": 1, "groups": ["x"], "quotas": 1}, "groups must have one entry"),
        ({"items": 2, "positions": 1, "groups": ["x", "y"], "quotas": {"z": 1}}, "quotas must be for groups"),
        ({"items": 2, "positions": 1, "groups": ["x", "y"], "quotas": 0}, "allow at least one item"),
    ],
)
def test_impossible_slates_are_refused(named, words):
    with pytest.raises(ValueError, match=words):
        Slate(**named)
