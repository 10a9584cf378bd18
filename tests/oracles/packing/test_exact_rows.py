"""Rows of integers of any size are satisfied exactly, by enumeration in exact integers."""

from itertools import product

import numpy as np
import pytest
from refusals import refused

from oracles import GeneralizedAssignment, Knapsack, MultidimensionalKnapsack

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
