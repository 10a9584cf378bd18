"""Means that move: discounted and windowed rules, restarts, and environments that change."""

import math

import numpy as np
import pytest
from cases import assert_same_state
from refusals import refused
from scipy.special import lambertw
from scipy.stats import binom

from cmab import (
    CTS,
    CUCB,
    KLCUCB,
    ArmStatistics,
    DiscountedCUCB,
    Feedback,
    GLRRestart,
    SlidingWindow,
    WindowStatistics,
    simulate,
)
from cmab.bounds import change_statistic, change_threshold
from cmab.bounds.kl import bernoulli_divergence
from cmab.bounds.mixtures import calibration
from cmab.testing import check_environment
from instances import (
    BernoulliArms,
    GaussianArms,
    PiecewiseStationary,
    SemiBandit,
)
from oracles import TopK

MEANS = np.random.default_rng(5).permutation(np.linspace(0.1, 0.9, 6))


def place(means, oracle=None):
    return SemiBandit(BernoulliArms(means), oracle or TopK(len(means), k=2))


# Rules: with everything remembered they are the rule itself.


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("make", [CUCB, CTS, KLCUCB], ids=lambda rule: rule.__name__)
def test_a_window_as_long_as_the_run_changes_nothing(make, sense):
    oracle = TopK(6, k=2, sense=sense)
    environment = place(MEANS, oracle)
    ours, plain = (
        simulate(rule, environment, 300, rng=1) for rule in (SlidingWindow(make(oracle), 300), make(oracle))
    )
    assert np.array_equal(ours.rewards, plain.rewards)
    assert_same_state(ours.states[0].recent, plain.states[0])


@pytest.mark.parametrize("sense", ["max", "min"])
def test_without_discount_it_is_cucb(sense):
    oracle = TopK(6, k=2, sense=sense)
    ours, plain = (
        simulate(rule, place(MEANS, oracle), 500, replications=2, rng=1)
        for rule in (DiscountedCUCB(oracle, discount=1.0), CUCB(oracle))
    )
    assert ours.path == plain.path == "compiled"
    assert np.array_equal(ours.rewards, plain.rewards)


def test_without_alarms_restarting_is_the_rule_itself():
    oracle = TopK(6, k=2)
    ours = simulate(GLRRestart(CUCB(oracle), exploration=0.0), place(MEANS), 500, rng=1)
    plain = simulate(CUCB(oracle), place(MEANS), 500, rng=1)
    assert ours.states[0].restarts == []
    assert np.array_equal(ours.rewards, plain.rewards)


# References, in plain numpy, by the definitions.


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("support", [(0.0, 1.0), (-2.0, 3.0)], ids=str)
def test_discounted_indices_are_those_of_the_definition(sense, support):
    rng, gamma, (low, high) = np.random.default_rng(2), 0.8, support
    policy = DiscountedCUCB(TopK(5, k=2, sense=sense), discount=gamma, radius_factor=0.5, support=support)
    state, rounds = policy.initial_state(), []
    for t in range(1, 40):
        sums, counts = np.zeros(5), np.zeros(5)
        for s, (arms, outcomes) in enumerate(rounds, 1):
            weight = gamma ** (t - 1 - s)
            np.add.at(sums, arms, weight * outcomes)
            np.add.at(counts, arms, weight)
        n = 1.0 + sum(gamma ** (t - 1 - s) for s in range(1, t))
        with np.errstate(invalid="ignore", divide="ignore"):
            radius = 0.5 * (high - low) * np.sqrt(1.5 * np.log(n) / counts)
            expected = sums / counts + radius if sense == "max" else sums / counts - radius
        expected = np.where(counts > 0, expected, high if sense == "max" else low)
        expected = np.minimum(expected, high) if sense == "max" else np.maximum(expected, low)
        assert policy.indices(state, rng) == pytest.approx(expected)
        arms = rng.permutation(4)[:2]  # the last arm is never seen
        outcomes = rng.uniform(low, high, 2)
        rounds.append((arms, outcomes))
        policy.update(state, Feedback(arms, outcomes))


@pytest.mark.parametrize("window", [1, 2, 7, 100])
def test_a_window_holds_the_statistics_of_its_rounds(window):
    rng = np.random.default_rng(window)
    state, rounds = WindowStatistics.empty(ArmStatistics.empty(5), window=window), []
    for _ in range(60):
        arms = rng.permutation(5)[: rng.integers(0, 5)]
        rounds.append(Feedback(arms, rng.random(len(arms))))
        state.update(rounds[-1])
        expected = ArmStatistics.empty(5)
        for feedback in rounds[-window:]:
            expected.update(feedback)
        assert np.array_equal(state.recent.counters, expected.counters)
        assert state.recent.means == pytest.approx(expected.means, abs=1e-12)
        assert state.recent.deviations == pytest.approx(expected.deviations, abs=1e-12)
        assert (state.recent.rounds, state.rounds) == (min(len(rounds), window), len(rounds))


def test_the_statistic_is_the_largest_ratio():
    rng = np.random.default_rng(0)
    for _ in range(50):
        outcomes = rng.random(rng.integers(2, 40)) if rng.random() < 0.5 else 1.0 * (rng.random(20) < 0.3)
        n, mean = len(outcomes), outcomes.mean()
        ratios = [
            s * bernoulli_divergence(outcomes[:s].mean(), mean)
            + (n - s) * bernoulli_divergence(outcomes[s:].mean(), mean)
            for s in range(1, n)
        ]
        evidence, at = change_statistic(outcomes)
        assert evidence == pytest.approx(max(ratios), abs=1e-9)
        assert ratios[at - 1] == pytest.approx(max(ratios), abs=1e-9)


def test_the_threshold_is_that_of_the_paper():
    def inverse(x):  # u - ln u = x on the branch u >= 1
        return float(-lambertw(-np.exp(-x), -1).real)

    for x in (0.01, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 40.0):
        y = (inverse(1.0 + x) + math.log(2.0 * math.pi**2 / 6.0)) / 2.0
        if y >= inverse(1.0 / math.log(1.5)):
            expected = 2.0 * math.exp(1.0 / inverse(y)) * inverse(y)
        else:
            expected = 3.0 * (y - math.log(math.log(1.5)))
        assert calibration(x) == pytest.approx(expected, rel=1e-9)
    level = math.log(3.0) + (1.5 * 62 + 1074) * math.log(2.0)  # 5e-324 is 2^-1074
    assert change_threshold(2**62, delta=5e-324, is_proven=False) == pytest.approx(level)


# What they are for.


@pytest.mark.slow
def test_false_alarms_are_as_rare_as_promised():
    """The count of runs with an alarm is compared with the promised delta; false alarm of the test < 1e-4."""
    delta, runs = 0.1, 60
    for arms in (BernoulliArms([0.5, 0.05]), BernoulliArms([0.02, 0.9])):
        environment = SemiBandit(arms, TopK(2, k=2))
        policy = GLRRestart(CUCB(TopK(2, k=2)), delta, exploration=0.0, every=1)
        result = simulate(policy, environment, 150, replications=runs, rng=7)
        alarms = sum(bool(state.restarts) for state in result.states)
        assert alarms <= binom.ppf(1 - 1e-4, runs, delta)


# Environments.


@pytest.mark.slow
def test_the_world_is_as_its_changes_say():
    environment = PiecewiseStationary([place(MEANS), place(MEANS[::-1]), place(MEANS / 2)], [3, 5], period=8)
    rng = np.random.default_rng(0)
    which = [
        [MEANS.tolist(), MEANS[::-1].tolist(), (MEANS / 2).tolist()].index(
            environment.in_round(t, rng).means.tolist()
        )
        for t in range(1, 20)
    ]
    assert which == [0, 0, 0, 1, 1, 2, 2, 2] * 2 + [0, 0, 0]
    check_environment(environment, [(0, 1), (3, 5)])
    optima = np.cumsum([environment.in_round(t, rng).optimum for t in range(1, 20)])
    result = simulate(CUCB(TopK(6, k=2)), environment, 19, rng=0, checkpoints=range(1, 20))
    assert result.optima == pytest.approx(optima) or result.optima[0] == pytest.approx(optima)


def test_the_support_is_that_of_all_environments():
    oracle = TopK(2, k=1)
    wide = SemiBandit(GaussianArms([0.0, 1.0], sigma=2.0), oracle)
    environment = PiecewiseStationary([place([0.1, 0.2], oracle), wide], [4])
    assert environment.support == wide.support
    assert environment.sigma == 2.0


test_what_is_no_world_is_refused = refused(
    ([], [], None, "changes must have one entry fewer"),
    ([place(MEANS)], [3], None, "changes must have one entry fewer"),
    ([place(MEANS)] * 2, [0], None, "changes must be increasing"),
    ([place(MEANS)] * 3, [4, 3], None, "changes must be increasing"),
    ([place(MEANS)] * 2, [1.5], None, "changes must hold integers"),
    ([place(MEANS)] * 2, [5], 5, "period must be"),
    ([place(MEANS), place(MEANS[:3])], [5], None, "environments must agree"),
    ([place(MEANS), MEANS], [5], None, "environments must contain environments"),
    (place(MEANS), [], None, "environments must be a list"),
    by=lambda environments, changes, period: PiecewiseStationary(environments, changes, period=period),
)
