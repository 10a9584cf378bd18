"""Arguments that must be refused by name, models of both PuLP versions, and a machine without HiGHS."""

import sys

import networkx as nx
import numpy as np
import pulp
import pytest

from oracles import Matching, PuLPOracle

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda p, x: ((None, []), {}), "problem must be a pulp.LpProblem"),
        (lambda p, x: ((p, dict(enumerate(x))), {}), r"variables must be a sequence .*values"),
        (lambda p, x: ((p, "xyz"), {}), "variables must be a sequence"),
        (lambda p, x: ((p, 3), {}), "variables must be a sequence"),
        (lambda p, x: ((p, [0, 1]), {}), "variables must be a sequence"),
        (lambda p, x: ((p, [*x, x[0]]), {}), "distinct"),
        (lambda p, x: ((p, x), {"gap": 1.0}), r"gap must be .*\[0, 1\)"),
        (lambda p, x: ((p, x), {"gap": -0.1}), "gap must be"),
        (lambda p, x: ((p, x), {"gap": 1.0, "sense": "min"}), "gap must be"),
        (lambda p, x: ((p, x), {"time_limit": -1.0}), "time_limit"),
        (lambda p, x: ((p, x), {"on_limit": "never"}), "on_limit"),
    ],
)
def test_what_is_no_model_is_refused_by_name(arguments, message):
    positional, named = arguments(*model())
    with pytest.raises(ValueError, match=message):
        PuLPOracle(*positional, **named)


def test_what_keeps_highs_out_is_said(monkeypatch):
    """As where OR-tools was imported first: importing highspy fails."""
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(ImportError, match=r"(?s)highspy.*OR-tools.*another process"):
        Matching(nx.path_graph(3), method="pulp")
    assert Matching(nx.path_graph(3)).solve(np.array([0.2, 0.9]), RNG).tolist() == [1]
