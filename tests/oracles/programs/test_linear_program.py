"""Oracles from PuLP models: brute force, other solvers, and everything that goes wrong with solvers."""

import pickle
from itertools import product

import numpy as np
import pulp
import pytest
from refusals import refused

from oracles import PuLPOracle

RNG = np.random.default_rng(0)


def packing(seed, n=7, rows=3, sense=pulp.LpMaximize):
    """A random packing problem with an auxiliary integer and a continuous variable."""
    rng = np.random.default_rng(seed)
    problem = pulp.LpProblem("packing", sense)
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(n)]
    slack = problem.add_variable("slack", lowBound=0, upBound=1.5)
    extra = problem.add_variable("extra", lowBound=0, upBound=2, cat="Integer")
    weights = rng.integers(1, 6, (rows, n))
    for row in weights:
        problem += pulp.lpSum(int(w) * v for w, v in zip(row, x, strict=True)) <= 8 + slack + extra
    problem += pulp.lpSum(x) >= 1
    return problem, x, weights


def test_the_solver_writes_nothing(capfd):
    """Neither by its own output nor by the header that some versions write before options can be set."""
    problem, x, _ = packing(0)
    PuLPOracle(problem, x).solve(np.linspace(0.0, 1.0, 7), RNG)
    assert capfd.readouterr() == ("", "")


def test_a_pickled_copy_compiles_its_own_model():
    problem, x, _ = packing(0)
    oracle = PuLPOracle(problem, x)
    means = RNG.random(7)
    expected = oracle.solve(means, RNG)
    assert np.array_equal(pickle.loads(pickle.dumps(oracle)).solve(means, RNG), expected)


def infeasible():
    problem, x, _ = packing(0)
    problem += pulp.lpSum(x) <= 0
    return problem, x


def not_binary():
    problem, x, _ = packing(0)
    return problem, [*x, *(v for v in problem.variables() if v.name == "extra")]


test_bad_models_are_refused = refused(
    (infeasible, "feasible"),
    (not_binary, "binary"),
    (lambda: (packing(0)[0], []), "at least one"),
    by=lambda make: PuLPOracle(*make()),
)


@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1e-7, 1e-6, 1.0, 1e6])
def test_rows_in_any_unit_are_satisfied(unit):
    """A knapsack and a cover, against enumeration; the tolerance of a solver is absolute."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        sizes = rng.integers(1, 10, 8)
        problem = pulp.LpProblem("units", pulp.LpMaximize)
        x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(8)]
        problem += pulp.lpSum(unit * int(size) * one for size, one in zip(sizes, x, strict=True)) <= unit * 17
        problem += pulp.lpSum(unit * int(size) * one for size, one in zip(sizes, x, strict=True)) >= unit * 9
        oracle, means = PuLPOracle(problem, x), rng.random(8)
        chosen = oracle.solve(means, RNG)
        families = [np.flatnonzero(np.array(mask)) for mask in product([0, 1], repeat=8)]
        feasible = [arms for arms in families if 9 <= sizes[arms].sum() <= 17]
        assert means[chosen].sum() == pytest.approx(max(means[arms].sum() for arms in feasible), abs=1e-9)
        assert [oracle.is_feasible(arms) for arms in families] == [
            9 <= sizes[arms].sum() <= 17 for arms in families
        ]
