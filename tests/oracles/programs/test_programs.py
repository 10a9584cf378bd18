"""Oracles from PuLP models: units, other versions and limits of solvers, and models that are refused."""

import pickle
import sys
from itertools import product

import networkx as nx
import numpy as np
import pulp
import pytest
from refusals import refused

from oracles import Matching, PuLPOracle, SolverError

RNG = np.random.default_rng(0)
KEPT = []  # PuLP 4's variables live as long as their model


def model(name="model", free=0):
    """Two of three, and variables in no constraint."""
    problem = pulp.LpProblem(name, pulp.LpMaximize)
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(3 + free)]
    problem += x[0] + x[1] + x[2] <= 2
    KEPT.append(problem)
    return problem, x


def test_a_free_arm_is_an_arm_in_both_versions_of_pulp():
    problem, x = model(free=2)
    oracle = PuLPOracle(problem, x)
    assert (oracle.n_arms, oracle.max_size) == (5, 4)
    assert oracle.solve(np.array([0.3, 0.2, 0.1, -0.5, 0.5]), RNG).tolist() == [0, 1, 4]
    assert oracle.is_feasible(np.array([3, 4]))
    assert oracle.solve_constrained(np.ones(5), [3], [0, 4], RNG).tolist() == [1, 2, 3]


def test_the_solver_writes_nothing(capfd):
    """Neither by its own output nor by the header that some versions write before options can be set."""
    problem, x = model()
    PuLPOracle(problem, x).solve(np.linspace(0.0, 1.0, 3), RNG)
    assert capfd.readouterr() == ("", "")


def test_a_pickled_copy_compiles_its_own_model():
    problem, x = model()
    oracle = PuLPOracle(problem, x)
    means = RNG.random(3)
    expected = oracle.solve(means, RNG)
    assert np.array_equal(pickle.loads(pickle.dumps(oracle)).solve(means, RNG), expected)


def infeasible():
    problem, x = model()
    problem += pulp.lpSum(x) >= 3
    return problem, x


def not_binary():
    problem, x = model()
    return problem, [*x, problem.add_variable("extra", lowBound=0, upBound=2, cat="Integer")]


test_bad_models_are_refused = refused(
    (infeasible, {}, "feasible"),
    (not_binary, {}, "binary"),
    (lambda: (model()[0], []), {}, "at least one"),
    (lambda: (None, []), {}, "problem must be a pulp.LpProblem"),
    (lambda: (model()[0], dict(enumerate(model()[1]))), {}, r"variables must be a sequence .*values"),
    (lambda: (model()[0], "xyz"), {}, "variables must be a sequence"),
    (lambda: (model()[0], 3), {}, "variables must be a sequence"),
    (lambda: (model()[0], [0, 1]), {}, "variables must be a sequence"),
    (lambda: (model()[0], 2 * model()[1]), {}, "distinct"),
    (model, {"gap": 1.0}, r"gap must be .*\[0, 1\)"),
    (model, {"gap": -0.1}, "gap must be"),
    (model, {"gap": 1.0, "sense": "min"}, "gap must be"),
    (model, {"time_limit": -1.0}, "time_limit"),
    (model, {"on_limit": "never"}, "on_limit"),
    by=lambda make, options: PuLPOracle(*make(), **options),
)


def test_what_keeps_highs_out_is_said(monkeypatch):
    """As where OR-tools was imported first: importing highspy fails."""
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(ImportError, match=r"(?s)highspy.*OR-tools.*another process"):
        PuLPOracle(*model())
    assert Matching(nx.path_graph(3)).solve(np.array([0.2, 0.9]), RNG).tolist() == [1]


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


def packing(n=40, rows=25, sense=pulp.LpMaximize):
    """Without an end in sight for branch and bound, and with a solution at hand."""
    rng, problem = np.random.default_rng(0), pulp.LpProblem("hard", sense)
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(n)]
    for row in rng.integers(1, 50, (rows, n)):
        load = pulp.lpSum(int(w) * v for w, v in zip(row, x, strict=True))
        problem += load <= int(row.sum() // 2) if sense == pulp.LpMaximize else load >= int(row.sum() // 3)
    return problem, x


@pytest.mark.parametrize("sense", [pulp.LpMaximize, pulp.LpMinimize])
def test_an_incumbent_comes_with_a_bound(sense):
    problem, x = packing(sense=sense)
    exact = PuLPOracle(problem, x)
    quick = PuLPOracle(problem, x, time_limit=20.0, on_limit="best")
    assert np.isnan(quick.alpha)
    assert not quick.is_exact
    means = np.random.default_rng(5).random(40)
    optimum = means[exact.solve(means, RNG)].sum()
    stopped = 0
    for seconds in (1e-6, 0.1):
        quick.time_limit = seconds
        answer = quick.solve_certified(means, RNG)
        assert quick.is_feasible(answer.super_arm)
        low, high = sorted((answer.value, answer.bound))
        assert low - 1e-9 <= optimum <= high + 1e-9
        assert answer.value == means[answer.super_arm].sum()
        assert quick.is_feasible(quick.solve(means, RNG))
        stopped += not answer.certified
    assert stopped >= 1  # at 1e-6 s at least
    exact.time_limit = 1e-6
    with pytest.raises(SolverError, match="time limit"):
        exact.solve(means, RNG)
