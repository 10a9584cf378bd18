"""Time limits of solvers, incumbents and their bounds, and the certificate of a PuLP oracle."""

from itertools import chain, combinations

import numpy as np
import pulp
import pytest

from oracles import PuLPOracle, SolverError

RNG = np.random.default_rng(0)


def packing(n=40, rows=25, sense=pulp.LpMaximize):
    """Without an end in sight for branch and bound, and with a solution at hand."""
    rng, problem = np.random.default_rng(0), pulp.LpProblem("hard", sense)
    x = [problem.add_variable(f"x{i}", cat="Binary") for i in range(n)]
    for row in rng.integers(1, 50, (rows, n)):
        load = pulp.lpSum(int(w) * v for w, v in zip(row, x, strict=True))
        problem += load <= int(row.sum() // 2) if sense == pulp.LpMaximize else load >= int(row.sum() // 3)
    return problem, x


def small(sense):
    """A small problem and all its super arms."""
    problem, x = packing(8, 3, sense)
    oracle = PuLPOracle(problem, x)
    subsets = chain.from_iterable(combinations(range(8), size) for size in range(9))
    return oracle, [list(arms) for arms in subsets if oracle.is_feasible(np.array(arms, np.int64))]


@pytest.mark.parametrize("sense", [pulp.LpMaximize, pulp.LpMinimize])
def test_a_gap_still_bounds_what_is_lost(sense):
    """Also for means of 1e-9; the largest size is a bound although the search for it may stop early."""
    exact, family = small(sense)
    loose = PuLPOracle(*packing(8, 3, sense), gap=0.3)
    assert max(map(len, family)) <= loose.max_size <= 8
    for _ in range(15):
        means = RNG.random(8) * 1e-9
        best, value = means[exact.solve(means, RNG)].sum(), means[loose.solve(means, RNG)].sum()
        slack = 1e-20
        if exact.sense == "max":
            assert loose.alpha * best - slack <= value <= best + slack
        else:
            assert best - slack <= value <= loose.alpha * best + slack


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
