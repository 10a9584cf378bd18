"""Rows of integers of any size are satisfied exactly, by enumeration in exact integers."""

from itertools import combinations, permutations, product

import numpy as np
import pytest
from refusals import refused

from oracles import GeneralizedAssignment, Knapsack, MultidimensionalKnapsack, Slate

RNG = np.random.default_rng
BITS = (6, 19, 20, 21, 24, 30, 32, 36, 44, 48, 52)


def tight(rng, bits, shape):
    """Return integer weights and capacities that some sets fill exactly, or exceed by one."""
    weights = rng.integers(2 ** (bits - 2), 2 ** (bits - 1), shape)
    weights[rng.random(shape) < 0.3] = rng.integers(0, 3)
    rooms = [int(row[rng.random(shape[1]) < 0.4].sum()) + int(rng.integers(-1, 2)) for row in weights]
    return weights, [min(max(room, 0), 2**53) for room in rooms]


def sets_of(weights, rooms):
    """Return the feasible sets of a multidimensional knapsack."""
    exact = weights.tolist()
    for mask in product((0, 1), repeat=weights.shape[1]):
        sums = [sum(w for w, bit in zip(row, mask, strict=True) if bit) for row in exact]
        if all(used <= room for used, room in zip(sums, rooms, strict=True)):
            yield tuple(np.flatnonzero(mask).tolist())


def assignments_of(weights, rooms, complete):
    """Return the feasible sets of a generalised assignment."""
    agents, jobs = weights.shape
    for owners in product(range(agents + (not complete)), repeat=jobs):
        used = [0] * (agents + 1)
        for job, owner in enumerate(owners):
            used[owner] += int(weights[owner, job]) if owner < agents else 0
        if all(u <= room for u, room in zip(used, rooms, strict=False)):
            yield tuple(sorted(owner * jobs + job for job, owner in enumerate(owners) if owner < agents))


def check(oracle, family, rng):
    """The answers are optimal members of the family; membership is exact."""
    n, known = oracle.n_arms, set(family)
    for means in (rng.random(n), rng.choice([0.5, 1.0], n), np.ones(n)):
        values = [means[list(arms)].sum() for arms in family]
        best = max(values) if oracle.sense == "max" else min(values)
        answer = oracle.solve_certified(means, 0)
        assert tuple(answer.super_arm.tolist()) in known
        assert answer.certified
        assert answer.value == pytest.approx(best, abs=1e-9)
        banned = rng.choice(n, 1)
        left = [means[list(arms)].sum() for arms in family if banned[0] not in arms]
        found = oracle.solve_constrained(means, [], banned, rng)
        assert (found is None) == (not left)
        if found is not None:
            assert tuple(found.tolist()) in known
    for _ in range(50):
        arms = np.flatnonzero(rng.random(n) < 0.5)
        assert oracle.is_feasible(arms) == (tuple(arms.tolist()) in known)


@pytest.mark.parametrize("bits", BITS)
def test_rows_by_enumeration(bits):
    rng = RNG(bits)
    for _ in range(4):
        weights, rooms = tight(rng, bits, (int(rng.integers(1, 4)), 7))
        family = list(sets_of(weights, rooms))
        check(MultidimensionalKnapsack(weights, rooms), family, rng)
        if len(weights) == 1:
            check(Knapsack(weights[0], rooms[0]), family, rng)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("complete", [True, False])
def test_assignments_by_enumeration(bits, complete):
    rng = RNG(bits)
    for _ in range(3):
        weights, rooms = tight(rng, bits, (2, 4))
        family, sense = list(assignments_of(weights, rooms, complete)), "min" if complete else "max"
        if family:
            check(GeneralizedAssignment(weights, rooms, complete=complete, sense=sense), family, rng)
        else:
            with pytest.raises(ValueError, match="capacities must fit every job"):
                GeneralizedAssignment(weights, rooms, complete=complete, sense=sense)


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


def slates_of(costs, budget, positions, groups, quota):
    """Return the slates of items within the budget and the quota of each group."""
    for length in range(1, positions + 1):
        for items in permutations(range(len(costs)), length):
            fits = sum(costs[item] for item in items) <= budget
            if fits and max(sum(groups[item] == group for item in items) for group in groups) <= quota:
                yield tuple(item * positions + place for place, item in enumerate(items))


@pytest.mark.slow
@pytest.mark.parametrize("bits", BITS)
def test_budgets_of_slates_by_enumeration(bits):
    rng = RNG(bits)
    for _ in range(4):
        costs, (budget,) = tight(rng, bits, (1, 5))
        groups, quota = rng.integers(0, 2, 5).tolist(), int(rng.integers(1, 4))
        costs = costs[0].tolist()
        family = list(slates_of(costs, budget, 3, groups, quota))
        options = {"groups": groups, "quotas": quota, "costs": costs, "budget": budget}
        if family:
            oracle = Slate(5, 3, **options)
            assert oracle.max_size == max(map(len, family))
            check_slate(oracle, family, rng)
        else:
            with pytest.raises(ValueError, match="budget must allow at least one item"):
                Slate(5, 3, **options)


def check_slate(oracle, family, rng):
    """The answers are optimal slates within the budget; membership is exact."""
    for means in (rng.random(15), rng.choice([0.5, 1.0], 15), np.ones(15)):
        found = tuple(oracle.solve(means, rng).tolist())
        assert found in set(family)
        assert means[list(found)].sum() == pytest.approx(max(means[list(arms)].sum() for arms in family))
        banned = rng.choice(15, 2, replace=False)
        left = [means[list(arms)].sum() for arms in family if not {*arms} & {*banned.tolist()}]
        within = oracle.solve_constrained(means, [], banned, rng)
        assert (within is None) == (not left)
        if within is not None:
            assert tuple(within.tolist()) in set(family)
            assert means[within].sum() == pytest.approx(max(left))
    for items in (*combinations(range(5), 2), *combinations(range(5), 3)):
        arms = tuple(item * 3 + place for place, item in enumerate(items))
        assert oracle.is_feasible(np.array(arms)) == (arms in set(family))


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
