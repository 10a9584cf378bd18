"""Knapsacks and assignments: enumeration, exact integers, limits, and refusals."""

import numpy as np
import pytest
from cases import subsets
from refusals import refused

from oracles import GeneralizedAssignment, Knapsack, MultidimensionalKnapsack, SolverError
from oracles import packing as _core
from oracles.anytime import Clock
from oracles.packing import packed

RNG = np.random.default_rng


def test_decimals_fill_the_capacity():
    """In floating point three times 0.1 is more than 0.3."""
    for weights, capacity in (
        ([0.1] * 3, 0.3),
        ([0.1] * 10, 1.0),
        ([0.7, 0.1, 0.2], 1.0),
        ([1e-300] * 3, 3e-300),
    ):
        oracle = Knapsack(weights, capacity)
        assert oracle.solve(np.ones(len(weights)), RNG(0)).tolist() == list(range(len(weights)))
        assert not Knapsack(weights, 0.99 * capacity).is_feasible(np.arange(len(weights)))


test_bad_input_is_refused = refused(
    (lambda: Knapsack([[1, 2]], 1), "MultidimensionalKnapsack"),
    (lambda: MultidimensionalKnapsack([1, 2], [1]), "shape"),
)


def test_giving_up_is_told(monkeypatch):
    """With too many sets at once, `solve` raises, or returns a set and a bound that contain the optimum."""
    monkeypatch.setattr(_core, "_MOST", _core._FIRST)
    weights, capacity = RNG(0).uniform(1.0, 2.0, 40), 30.0
    with pytest.raises(SolverError, match="on_limit='best'"):
        Knapsack(weights, capacity).solve(weights, RNG(0))
    answer = Knapsack(weights, capacity, on_limit="best").solve_certified(weights, RNG(0))
    assert not answer.certified
    assert weights[answer.super_arm].sum() == answer.value <= 30.0 <= answer.bound + 1e-9
    assert answer.ratio > 0.99


@pytest.mark.parametrize("size", [10**5, 10**6, 10**7, 10**9, 10**12, 2**53])
def test_a_heavy_arm_leaves_no_room(size):
    """The capacity has no room for one unit more, although solvers compare sums with tolerances."""
    weights, means = [[size, 1, 1]], np.array([1.0, 0.6, 0.3])
    oracles = [Knapsack(weights[0], size)]
    if size < 2**20:
        oracles += [MultidimensionalKnapsack(weights, [size]), GeneralizedAssignment(weights, [size])]
        with pytest.raises(ValueError, match="capacities must fit every job"):
            GeneralizedAssignment(weights, [size], complete=True)
    for oracle in oracles:
        assert oracle.solve_certified(means, 0).super_arm.tolist() == [0]
        assert not oracle.is_feasible(np.array([0, 1]))


test_integers_that_are_not_exact_are_refused = refused(
    (lambda: Knapsack([2**53 + 1, 1], 5), "weights must be at most 2"),
    (lambda: Knapsack([1, 1], 10**19), "capacity must be at most 2"),
)


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
        arms, bound = packed(means, sizes, room, Clock(None), 0.0)
        assert sizes[arms].sum() <= room
        assert means[arms].sum() == pytest.approx(best, abs=slack)
        assert best - slack <= bound <= best + slack
        arms, bound = packed(means, sizes, room, Clock(0.0), 0.0)
        assert sizes[arms].sum() <= room
        assert 0.5 * best - slack <= means[arms].sum() <= best + slack
        assert bound >= best - slack


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
