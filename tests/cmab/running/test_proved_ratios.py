"""The ratios that an oracle proves in its calls, and the regret against them."""

import numpy as np
import pytest

from cmab import CUCB, LinearOracle, simulate
from cmab.oracle import solve_certified
from cmab.solver_certificate import SolverCertificate, proved_ratio, report_ratio
from instances import BernoulliArms, SemiBandit
from oracles import Knapsack, MultidimensionalKnapsack, TopK

MEANS = [0.4, 0.6, 0.9, 0.3]


class Half(LinearOracle):
    """One arm of three. The ratio of each call is given, in turn; a call without one reports nothing."""

    n_arms, alpha, certifies_calls = 3, 0.25, True

    def __init__(self, ratios):
        self.ratios, self.calls = ratios, 0

    def solve(self, means, rng):
        ratio = self.ratios[self.calls % len(self.ratios)]
        self.calls += 1
        if ratio is not None:
            report_ratio(self, ratio)
        return np.array([0])


def run(oracle, **options):
    environment = SemiBandit(BernoulliArms([0.5, 0.25, 0.75]), TopK(3, k=1))
    return simulate(CUCB(oracle), environment, 4, rng=0, **options)


def test_each_round_has_the_ratio_of_its_call():
    result = run(Half([0.5, 1.0, None, 0.75]))
    assert result.path == "python"
    assert result.proved_optima.tolist() == [(0.75 * np.cumsum([0.5, 1.0, 0.25, 0.75])).tolist()]
    expected = result.proved_optima - result.expected_rewards
    assert np.array_equal(result.regret_at_proved_ratios, expected)
    assert "regret at proved ratios" in repr(result)


def test_a_call_without_a_ratio_leaves_none():
    result = run(Half([0.5, np.nan, 1.0]))
    assert np.isnan(result.proved_optima[0]).tolist() == [False, True, True, True]


def test_other_oracles_are_measured_as_before():
    result = run(TopK(3, k=1))
    assert result.path == "compiled" and result.proved_optima is None
    assert np.array_equal(result.regret_at_proved_ratios, result.regret)


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_run_with_greedy_answers_uses_the_ratio_of_each(n_jobs):
    """An exact oracle with a limit gives the regret of an exact one; a greedy one less than that."""
    rows = ([[3, 2, 2, 1], [1, 1, 4, 1]], [5, 4])
    environment = SemiBandit(BernoulliArms(MEANS), exact := MultidimensionalKnapsack(*rows))
    usual = simulate(CUCB(exact), environment, 60, replications=2, rng=0)
    limited = MultidimensionalKnapsack(*rows, time_limit=60.0, on_limit="best")
    same = simulate(CUCB(limited), environment, 60, replications=2, rng=0, n_jobs=n_jobs)
    assert np.isnan(same.regret).all()
    assert same.regret_at_proved_ratios == pytest.approx(usual.regret)
    greedy = MultidimensionalKnapsack(*rows, time_limit=0)
    less = simulate(CUCB(greedy), environment, 60, replications=2, rng=0, n_jobs=n_jobs)
    assert (less.regret_at_proved_ratios < less.exact_regret).all()


def test_every_oracle_has_certificates():
    means = np.array([0.5, 0.25, 0.75])
    answer = solve_certified(TopK(3, k=2), means, 0)
    assert (answer.value, answer.bound, answer.ratio, answer.gap) == (1.25, 1.25, 1.0, 0.0)
    half = solve_certified(Half([0.5]), means, 0)
    assert (half.value, half.bound, half.ratio, half.certified) == (0.5, 2.0, 0.25, True)
    close = solve_certified(Knapsack([1, 2, 2], 3, epsilon=0.5), means, 0)
    assert close.certified and close.ratio >= 0.5

    class Unknown(Half):
        alpha = np.nan

    unknown = solve_certified(Unknown([1.0]), means, 0)
    assert unknown.bound == np.inf and unknown.ratio == 0.0 and not unknown.certified


@pytest.mark.parametrize(
    ("value", "bound", "ratio"),
    [
        (3.0, 4.0, 0.75),
        (0.0, 4.0, 0.0),
        (0.0, 0.0, 1.0),
        (-1.0, -1.0, 1.0),
        (-1.0, 4.0, np.nan),
        (-2.0, -1.0, np.nan),
        (5.0, 4.0, 1.25),
        (5.0, 0.0, np.inf),
        (5.0, -1.0, np.inf),
        (-1.0, -2.0, np.nan),
    ],
)
def test_ratios_by_hand(value, bound, ratio):
    assert proved_ratio(value, bound) == pytest.approx(ratio, nan_ok=True)
    assert SolverCertificate(np.array([0]), value, bound, True).ratio == pytest.approx(ratio, nan_ok=True)


def test_the_optimum_of_a_limited_oracle_is_the_bound_that_it_proved():
    """If the gap is closed, it is the optimum; a greedy answer has a bound above it."""
    rows, means = ([[3, 2, 2, 1], [1, 1, 4, 1]], [5, 4]), BernoulliArms(MEANS)
    optimum = SemiBandit(means, MultidimensionalKnapsack(*rows)).optimum
    closed = MultidimensionalKnapsack(*rows, time_limit=60.0, on_limit="best")
    assert SemiBandit(means, closed).optimum == pytest.approx(optimum, rel=1e-9)
    greedy = MultidimensionalKnapsack(*rows, time_limit=0)
    answer = greedy.solve_certified(means.means, 0)
    assert SemiBandit(means, greedy).optimum == answer.bound >= optimum
    assert not SemiBandit(means, greedy).optimum_is_exact
    assert np.isnan(SemiBandit(means, Knapsack([3, 2, 2, 1], 5, epsilon=0.5)).optimum)
