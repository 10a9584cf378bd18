"""Knapsacks and assignments with limits: answers and bounds against enumeration and HiGHS."""

from itertools import chain, combinations

import numpy as np
import pytest

from oracles import GeneralizedAssignment, Knapsack, MultidimensionalKnapsack
from oracles import packing as _core
from oracles.anytime import Clock
from oracles.packing import fractional_bound, packed

RNG = np.random.default_rng


def check(oracle, means, optimum, slack):
    """The answer and the bound contain the optimum, and the ratio is proved."""
    answer = oracle.solve_certified(means, RNG(0))
    assert oracle.is_feasible(answer.super_arm)
    assert answer.value == means[answer.super_arm].sum()
    low, high = sorted((answer.value, answer.bound))
    assert low - slack <= optimum <= high + slack
    if oracle.sense == "max" and optimum > slack and answer.value >= 0.0:
        assert answer.value >= answer.ratio * optimum - slack
    if answer.certified and oracle.on_limit == "best":
        assert answer.gap <= slack
    assert np.array_equal(oracle.solve(means, RNG(0)), answer.super_arm)
    return answer


def subsets(n):
    return chain.from_iterable(combinations(range(n), size) for size in range(n + 1))


@pytest.mark.parametrize("seed", range(8))
def test_cores_by_enumeration(seed):
    """Also with lists that are cut at once, whose answers and bounds remain valid."""
    rng = RNG(seed)
    for _ in range(40):
        n = int(rng.integers(1, 11))
        sizes = rng.integers(0, 40, n) if rng.random() < 0.5 else rng.integers(1, 2**40, n)
        room = int(sizes.sum() * rng.random())
        means = [rng.random(n), sizes * 1.0, sizes + 3.0, rng.normal(size=n), np.ones(n)][rng.integers(5)]
        best = max(means[list(arms)].sum() for arms in subsets(n) if sizes[list(arms)].sum() <= room)
        slack = 1e-12 * np.abs(means).sum()
        arms, bound = packed(means, sizes, room, Clock(None), 0.0, False)
        assert sizes[arms].sum() <= room
        assert means[arms].sum() == pytest.approx(best, abs=slack)
        assert best - slack <= bound <= best + slack
        arms, bound = packed(means, sizes, room, Clock(0.0), 0.0, False)
        assert sizes[arms].sum() <= room
        assert 0.5 * best - slack <= means[arms].sum() <= best + slack
        assert bound >= best - slack


@pytest.mark.parametrize("seed", range(4))
def test_cut_lists_keep_a_valid_bound(seed, monkeypatch):
    """Against the complete search, on problems of 200 items whose means are nearly their weights."""
    rng = RNG(seed)
    sizes = rng.integers(1, 10**4, 200)
    means, room = sizes + rng.integers(0, 100, 200) / 7.0, int(sizes.sum() // 3)
    arms, bound = packed(means, sizes, room, Clock(None), 0.0, False)
    best = means[arms].sum()
    assert bound == best
    monkeypatch.setattr(_core, "_FIRST", 64)
    monkeypatch.setattr(_core, "_MOST", 256)
    monkeypatch.setattr(_core, "_NARROW", 32)
    for goes_on in (False, True):
        arms, bound = packed(means, sizes, room, Clock(None), 0.0, goes_on)
        assert sizes[arms].sum() <= room
        assert 0.5 * best <= means[arms].sum() <= best * (1 + 1e-12) <= bound * (1 + 2e-12)


def test_large_capacities_have_answers_and_bounds():
    """Capacities of 1e8 and 1e10, with means of the weights: the hard case."""
    for digits in (8, 10):
        rng = RNG(digits)
        sizes = rng.integers(10 ** (digits - 3), 10 ** (digits - 1), 300)
        oracle = Knapsack(sizes, 10.0**digits, time_limit=1.0, on_limit="best")
        answer = check(oracle, sizes + 0.1 * sizes.mean(), np.nan_to_num(np.inf), np.inf)
        assert answer.ratio > 0.9999


def test_fractional_bounds_by_hand():
    assert fractional_bound(np.array([3.0, 2.0]), np.array([2.0, 4.0]), 4.0) == 4.0
    assert fractional_bound(np.array([3.0, -2.0]), np.array([0.0, 4.0]), 0.0) == 3.0
    assert fractional_bound(np.array([1.0]), np.array([2.0]), 0.0) == 0.0


@pytest.mark.parametrize("limit", [None, 0])
@pytest.mark.parametrize("room", [1e-320, 1e-300, 1.0, 1e18, 1.7e308])
def test_weights_and_capacities_of_every_size(room, limit):
    """Without a warning: the weights are fractions of the capacity or many times as large."""
    means = np.array([1.0, 2.0, 3.0, 4.0])
    for weight in (1e-320, 1e-300, 1e-10, 1.0, 1e18, 1e300, 1.7e308):
        row = np.array([weight, weight / 3.0, 0.0, weight])
        options = {"time_limit": limit, "on_limit": "best"}
        one = Knapsack(row, room, **options).solve_certified(means, RNG(0))
        two = MultidimensionalKnapsack([row, np.ones(4)], [room, 4], **options).solve_certified(means, RNG(0))
        agents = GeneralizedAssignment(row.reshape(2, 2), [room, room], **options)
        assert agents.is_feasible(agents.solve(means, RNG(0)))
        # Arms that are heavier than the capacity by more than the rounding are never chosen.
        heavy = row > room * (1.0 + 1e-6)
        for answer in (one, two):
            assert not heavy[answer.super_arm].any()
            assert answer.value >= means[row == 0.0].sum()
            assert answer.bound >= answer.value


def test_numbers_of_eighteen_digits():
    """They are counted in parts of the capacity, without an overflow."""
    oracle = Knapsack([6e18, 5e18, 4e18, 2e30], 1e19)
    assert oracle.solve(np.array([5.0, 4.0, 3.0, 99.0]), 0).tolist() == [0, 2]
    rows = MultidimensionalKnapsack([[6e18, 5e18, 4e18, 2e30]], [1e19])
    assert rows.solve(np.array([5.0, 4.0, 3.0, 99.0]), 0).tolist() == [0, 2]
