"""Copies of oracles in use, calls with a time limit of zero, and time limits in threads."""

import copy
import pickle

import numpy as np
import pytest
from cases import ORACLES

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
