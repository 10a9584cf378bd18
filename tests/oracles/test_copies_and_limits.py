"""Copies of oracles in use, calls with a time limit of zero, and time limits in threads."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from cases import FRIENDS, HOURS, ORACLES, PARTS, TERMINALS, TOWN

import oracles
from oracles import (
    GeneralizedAssignment,
    Knapsack,
    Matching,
    MultidimensionalKnapsack,
    PuLPOracle,
    SetCover,
    SteinerTree,
    VertexCover,
)
from oracles.anytime import AnytimeOracle

RNG = np.random.default_rng
COPIES = {
    "pickle": lambda oracle: pickle.loads(pickle.dumps(oracle)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}
#: The cases with a lambda function, which cannot be pickled.
LAMBDAS = {"brute_force_reward", "matroid"}


def questions(case, oracle, count, seed=0):
    """Return means within the range of the case, some of them tied."""
    rng = RNG(seed)
    for i in range(count):
        means = rng.uniform(case.low, case.high, oracle.n_arms)
        yield means if i % 2 else np.round(means, 1)


def used(oracle, case):
    """Call the methods that keep something between calls."""
    for i, means in enumerate(questions(case, oracle, 3)):
        oracle.solve(means, RNG(i))
        if hasattr(oracle, "solve_certified"):
            oracle.solve_certified(means, RNG(i))
    return oracle


@pytest.mark.parametrize("case", ORACLES, ids=lambda case: case.name)
def test_copies_of_an_oracle_in_use_answer_as_a_new_one(case):
    oracle = used(case.make(), case)
    made = {name: of for name, of in COPIES.items() if name != "pickle" or case.name not in LAMBDAS}
    copies = {name: copied(oracle) for name, copied in made.items()}
    copies["copy of a copy"] = copy.deepcopy(used(copies["deepcopy"], case))
    copies["original"] = oracle
    for i, means in enumerate(questions(case, oracle, 6, seed=1)):
        expected = case.make().solve(means, RNG(i)).tolist()
        for name, one in copies.items():
            assert one.solve(means, RNG(i)).tolist() == expected, name
            assert one.n_arms == oracle.n_arms
            assert one.labels(np.array(expected)) == oracle.labels(np.array(expected))
    assert {repr(one) for one in copies.values()} == {repr(oracle)}


def by_pulp(**limits):
    import pulp

    problem = pulp.LpProblem("packing", pulp.LpMaximize)
    arms = [problem.add_variable(f"x{i}", cat="Binary") for i in range(4)]
    problem += pulp.lpSum(w * x for w, x in zip((3, 2, 2, 1), arms, strict=True)) <= 5
    return PuLPOracle(problem, arms, **limits)


#: A small problem of every class with a time limit.
LIMITED = {
    "GeneralizedAssignment": lambda **limits: GeneralizedAssignment(HOURS, [5, 5], **limits),
    "Knapsack": lambda **limits: Knapsack([3e9, 2e9, 2e9, 1e9], 5e9, **limits),
    "Matching": lambda **limits: Matching(FRIENDS, **limits),
    "MultidimensionalKnapsack": lambda **limits: MultidimensionalKnapsack(
        [[3, 2, 2, 1], [1, 1, 1, 1]], [5, 2], **limits
    ),
    "PuLPOracle": by_pulp,
    "SetCover": lambda **limits: SetCover(PARTS, **limits),
    "SteinerTree": lambda **limits: SteinerTree(TOWN, TERMINALS, **limits),
    "VertexCover": lambda **limits: VertexCover(FRIENDS, **limits),
}


def test_the_table_has_all_classes_with_a_time_limit():
    found, waiting = set(), [AnytimeOracle]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__name__ in oracles.__all__ and "time_limit" in inspect.signature(kind).parameters:
            found.add(kind.__name__)
    assert found == set(LIMITED)


def check_answer(oracle, answer, means, best):
    """The answer is feasible, and the optimum lies between its value and its bound."""
    value = means[answer.super_arm].sum()
    assert oracle.is_feasible(answer.super_arm)
    assert answer.value == pytest.approx(value, abs=1e-12)
    sign = 1.0 if oracle.sense == "max" else -1.0
    assert sign * value <= sign * best + 1e-9
    assert sign * best <= sign * answer.bound + 1e-9


@pytest.mark.parametrize("name", LIMITED)
def test_a_limit_of_zero_seconds_gives_the_greedy_answer(name):
    exact, rng = LIMITED[name](), RNG(0)
    for on_limit in ("raise", "best"):
        oracle = LIMITED[name](time_limit=0, on_limit=on_limit)
        for means in (rng.random(exact.n_arms), np.ones(exact.n_arms), np.zeros(exact.n_arms)):
            best = means[exact.solve(means, rng)].sum()
            answer = oracle.solve_certified(means, rng)
            check_answer(oracle, answer, means, best)
            # No call raises, and none depends on the clock.
            assert oracle.solve(means, rng).tolist() == answer.super_arm.tolist()
            free = np.ones(oracle.n_choices, bool)
            assert oracle.is_feasible(oracle.solve_within(means, free, rng))
            for copied in COPIES.values():
                assert copied(oracle).solve(means, rng).tolist() == answer.super_arm.tolist()
