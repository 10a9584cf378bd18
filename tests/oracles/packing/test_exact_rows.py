"""Rows of integers of any size are satisfied exactly, by enumeration in exact integers."""

from itertools import product

import numpy as np
import pytest
from refusals import refused

from oracles import GeneralizedAssignment, Knapsack, MultidimensionalKnapsack, Slate

RNG = np.random.default_rng


def sets_of(weights, rooms):
    """Return the feasible sets of a multidimensional knapsack."""
    exact = weights.tolist()
    for mask in product((0, 1), repeat=weights.shape[1]):
        sums = [sum(w for w, bit in zip(row, mask, strict=True) if bit) for row in exact]
        if all(used <= room for used, room in zip(sums, rooms, strict=True)):
            yield tuple(np.flatnonzero(mask).tolist())


@pytest.mark.parametrize("size", [10**7, 10**9, 10**12, 2**53])
def test_a_heavy_arm_leaves_no_room(size):
    """The capacity has no room for one unit more, although solvers compare sums with tolerances."""
    weights, means = [[size, 1, 1]], np.array([1.0, 0.6, 0.3])
    for oracle in (
        MultidimensionalKnapsack(weights, [size]),
        GeneralizedAssignment(weights, [size]),
        Knapsack(weights[0], size),
    ):
        assert oracle.solve_certified(means, 0).super_arm.tolist() == [0]
        assert not oracle.is_feasible(np.array([0, 1]))
    with pytest.raises(ValueError, match="capacities must fit every job"):
        GeneralizedAssignment(weights, [size], complete=True)


test_integers_that_are_not_exact_are_refused = refused(
    (lambda: MultidimensionalKnapsack([[10**19, 1]], [10**19]), "weights must be at most 2"),
    (lambda: MultidimensionalKnapsack([[2**53 + 1, 1]], [5]), "weights must be at most 2"),
    (lambda: MultidimensionalKnapsack([[1, 1]], [2**53 + 1]), "capacities must be at most 2"),
    (lambda: GeneralizedAssignment([[10**30, 1]], [1]), "weights must be at most 2"),
    (lambda: GeneralizedAssignment([[1, 1]], [10**30]), "capacities must be at most 2"),
    (lambda: Knapsack([2**53 + 1, 1], 5), "weights must be at most 2"),
    (lambda: Knapsack([1, 1], 10**19), "capacity must be at most 2"),
)


@pytest.mark.parametrize("budget", [2**20, 2**30 + 0.5, 10**15, 2**53])
def test_a_slate_costs_at_most_its_budget(budget):
    oracle = Slate(3, 2, costs=[int(budget), 1, 1], budget=budget)
    assert oracle.solve(np.array([1.0, 0.9, 0.5, 0.5, 0.2, 0.2]), 0).tolist() == [0]
    assert not oracle.is_feasible(np.array([0, 3]))
    with pytest.raises(ValueError, match=r"costs must be at most 2\^53"):
        Slate(2, 1, costs=[1, 2**53 + 1], budget=3)


@pytest.mark.parametrize("room", [2**21 + 0.5, 2**40 + 0.25, 1000.5])
def test_a_fraction_of_a_unit_is_no_room_for_integers(room):
    weights, means = [[int(room), 1, 1]], np.array([1.0, 0.6, 0.3])
    for oracle in (
        MultidimensionalKnapsack(weights, [room]),
        GeneralizedAssignment(weights, [room]),
        Knapsack(weights[0], room),
    ):
        assert oracle.solve_certified(means, 0).super_arm.tolist() == [0]
        assert not oracle.is_feasible(np.array([0, 1]))


def mixed(rng, n):
    """Return weights of all sizes up to 2^53 and a capacity near 2^53 that some sets fill."""
    weights = [int(rng.integers(0, 2 ** int(bits))) + 1 for bits in rng.integers(0, 53, n)]
    weights[0], weights[1] = 2**53 - int(rng.integers(0, 3)), 2**52 + int(rng.integers(-1, 2))
    chosen = rng.random(n) < 0.5
    part = sum(weight for weight, bit in zip(weights, chosen, strict=True) if bit)
    return weights, int(min(max(part + rng.integers(-1, 2), 1), 2**53))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("limit", [None, 0])
def test_knapsacks_of_all_sizes_at_once_by_enumeration(seed, limit):
    rng = RNG(seed)
    for n in (2, 7, 11):
        weights, room = mixed(rng, n)
        family = list(sets_of(np.array([weights]), [room]))
        oracle = Knapsack(weights, room, time_limit=limit, on_limit="best")
        assert oracle.max_size == max(map(len, family))
        for means in (rng.random(n), np.array(weights) / 2**53, np.ones(n), rng.random(n) - 0.3):
            best = max(means[list(arms)].sum() for arms in family)
            answer = oracle.solve_certified(means, 0)
            assert tuple(answer.super_arm.tolist()) in set(family)
            assert answer.value <= best * (1 + 1e-12) <= answer.bound * (1 + 2e-12)
            assert limit == 0 or answer.value == pytest.approx(best, rel=1e-12)
            assert limit is None or answer.value >= best / 2
            required = rng.choice(n, 1)
            with_it = [means[list(arms)].sum() for arms in family if required[0] in arms]
            found = oracle.solve_constrained(means, required, [], rng)
            assert (found is None) == (not with_it)
            if found is not None:
                assert tuple(found.tolist()) in set(family)
                assert limit == 0 or means[found].sum() == pytest.approx(max(with_it), abs=1e-12)
        for _ in range(50):
            arms = np.flatnonzero(rng.random(n) < 0.3)
            assert oracle.is_feasible(arms) == (tuple(arms.tolist()) in set(family))


def test_sums_of_many_weights_near_the_largest_do_not_overflow():
    oracle = Knapsack(np.full(3000, int(0.6 * 2**53)), 2**53)
    assert oracle.max_size == 1
    for n in (2, 1000, 1800, 3000):
        assert not oracle.is_feasible(np.arange(n))
        assert oracle.solve_constrained(np.ones(3000), np.arange(n), [], 0) is None
    assert oracle.solve_certified(np.ones(3000), 0).value == 1.0
