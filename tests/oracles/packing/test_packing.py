"""Knapsacks: enumeration, integer programs, hard means, weights of every kind."""

import numpy as np
import pytest
from refusals import refused

from oracles import Knapsack, MultidimensionalKnapsack, SolverError
from oracles import packing as _core

RNG = np.random.default_rng(0)


def means_of(kind, weights, rng):
    """Means that are easy, tied, of both signs, and nearly the weights, which is hard."""
    n = len(weights)
    return {
        "uniform": rng.random(n),
        "tied": rng.choice([0.0, 0.5, 1.0], n),
        "signed": rng.normal(size=n),
        "weights": np.asarray(weights, float),
        "nearly": np.asarray(weights) + 3.0,
    }[kind]


@pytest.mark.parametrize("kind", ["uniform", "tied", "nearly"])
def test_one_row_is_the_integer_program(kind):
    rng = np.random.default_rng(2)
    weights = rng.integers(1, 60, 30)
    oracle, program = Knapsack(weights, 300), MultidimensionalKnapsack([weights], [300])
    for _ in range(5):
        means = means_of(kind, weights, rng)
        assert means[oracle.solve(means, rng)].sum() == pytest.approx(means[program.solve(means, rng)].sum())
    for include, exclude in (([3, 7], [1]), ([], [0, 2]), (range(25), [])):
        one, two = (each.solve_constrained(means, include, exclude, rng) for each in (oracle, program))
        assert (one is None) == (two is None)
        if one is not None:
            assert means[one].sum() == pytest.approx(means[two].sum())
            assert set(include) <= set(one.tolist())
            assert not set(exclude) & set(one.tolist())


def test_decimals_fill_the_capacity():
    """In floating point three times 0.1 is more than 0.3."""
    for weights, capacity in (
        ([0.1] * 3, 0.3),
        ([0.1] * 10, 1.0),
        ([0.7, 0.1, 0.2], 1.0),
        ([1e-300] * 3, 3e-300),
    ):
        oracle = Knapsack(weights, capacity)
        assert oracle.solve(np.ones(len(weights)), RNG).tolist() == list(range(len(weights)))
        assert not Knapsack(weights, 0.99 * capacity).is_feasible(np.arange(len(weights)))


def test_ends_of_the_range():
    means = np.array([0.5, 0.2, 0.9])
    assert Knapsack([0, 0, 1], 0).solve(means, RNG).tolist() == [0, 1]
    assert Knapsack([0.0, 0.5, 1e300], 0).solve(means, RNG).tolist() == [0]
    assert Knapsack([1, 1, 1], 1e300).solve(means, RNG).tolist() == [0, 1, 2]
    assert Knapsack([2, 2, 2], 1).solve(means, RNG).tolist() == []
    assert Knapsack([1, 1, 1], 2).solve(-means, RNG).tolist() == []
    assert Knapsack([1e300, 5.0, 1e308], 10.5).solve(means, RNG).tolist() == [1]


test_bad_input_is_refused = refused(
    (lambda: Knapsack([], 1), "weights must have at least one"),
    (lambda: Knapsack([1, -1], 1), "weights must be finite"),
    (lambda: Knapsack([1, np.nan], 1), "weights must be finite"),
    (lambda: Knapsack([[1, 2]], 1), "MultidimensionalKnapsack"),
    (lambda: Knapsack([1], -1), "capacity"),
    (lambda: Knapsack([1], np.inf), "capacity"),
    (lambda: Knapsack([1], 1, epsilon=1.0), "epsilon"),
    (lambda: MultidimensionalKnapsack([1, 2], [1]), "shape"),
    (lambda: MultidimensionalKnapsack([[1, 2]], [1, 2]), "capacities"),
    (lambda: MultidimensionalKnapsack([[1, -2]], [1]), "weights"),
    (lambda: MultidimensionalKnapsack([[1, 2]], [1], gap=1.0), "gap"),
)


def test_giving_up_is_told(monkeypatch):
    """With too many sets at once, `solve` raises, or returns a set and a bound that contain the optimum."""
    monkeypatch.setattr(_core, "_MOST", _core._FIRST)
    monkeypatch.setattr(_core, "_NARROW", 64)
    weights, capacity = RNG.uniform(1.0, 2.0, 40), 30.0
    with pytest.raises(SolverError, match="on_limit='best'"):
        Knapsack(weights, capacity).solve(weights, RNG)
    answer = Knapsack(weights, capacity, on_limit="best").solve_certified(weights, RNG)
    assert not answer.certified
    assert weights[answer.super_arm].sum() == answer.value <= 30.0 <= answer.bound + 1e-9
    assert answer.ratio > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uniform", "tied", "weights", "nearly"])
def test_thousands_of_arms(kind):
    """Against the bound of the relaxation: what the best ratio of the break item gives for the rest."""
    rng = np.random.default_rng(4)
    weights = rng.integers(1, 10_001, 1000)
    means, capacity = means_of(kind, weights, rng), int(weights.sum()) // 10
    ratio = means / weights
    order = np.argsort(-ratio)
    filled = np.cumsum(weights[order])
    full = int(np.searchsorted(filled, capacity, side="right"))
    rest = capacity - (filled[full - 1] if full else 0)
    bound = means[order[:full]].sum() + rest * ratio[order[full]]
    for epsilon in (0.0, 0.02):
        oracle = Knapsack(weights, capacity, epsilon=epsilon)
        chosen = oracle.solve(means, rng)
        assert oracle.is_feasible(chosen)
        assert (0.999 - epsilon) * bound <= means[chosen].sum() <= bound * (1 + 1e-12)
