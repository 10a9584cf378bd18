"""Halving, AdaptiveTopK and races: certified answers, exact numbers of samples, mutants that fail."""

import numpy as np
import pytest
from exploring import explore

from cmab import AdaptiveTopK, BernsteinRace, Feedback, HoeffdingRace
from cmab.bounds.samples import halving_samples
from cmab.bounds.times import characteristic_time, gaussian_divergence, least_samples
from cmab.exploration.phases import Halving
from instances import BernoulliArms

MEANS = np.array([0.7, 0.3, 0.75, 0.2, 0.1])


@pytest.mark.parametrize(("n_arms", "k"), [(100, 5), (7, 2), (2, 1), (9, 8)])
def test_halving_takes_the_same_number_on_every_instance(n_arms, k):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        arms, samples = explore(
            Halving(n_arms, k, epsilon=0.1, delta=0.1), BernoulliArms(rng.random(n_arms)), rng
        )
        assert samples == halving_samples(n_arms, k, epsilon=0.1, delta=0.1)
        assert len(arms) == k
    assert halving_samples(100, 5, epsilon=0.1, delta=0.1) == 9_153_374


@pytest.mark.parametrize("k", [100, 500])
def test_adaptive_top_k_keeps_its_promise_and_its_cost(k):
    """The pulls on two groups were measured elsewhere: 1.19e6."""
    means = np.random.default_rng(k).permutation(np.repeat([0.7, 0.3], [k, 1000 - k]))
    arms, samples = explore(
        AdaptiveTopK(1000, k, epsilon=0.01, delta=0.01), BernoulliArms(means), np.random.default_rng(0)
    )
    assert means[arms].mean() >= 0.69
    assert samples == pytest.approx(1.19e6, rel=0.05)


def raced(rule, outcomes):
    """Race arms whose outcomes are written down; return counts, the certified answer, number of batches."""
    state, rng, asked = rule.initial_state(), np.random.default_rng(0), 0
    while not rule.is_done(state):
        arms, pulls = rule.select(state, rng), rule.pulls(state)
        seen = outcomes[arms, int(state.stats.counts[arms[0]]) :][:, :pulls]
        sums, squares = seen.sum(axis=1), (seen**2).sum(axis=1)
        rule.update(state, Feedback(arms, sums, pulls=np.full(len(arms), pulls), squares=squares))
        asked += 1
    named = rule.recommend(state).tolist() if rule.is_certified(state) else None
    return state.stats.counts.tolist(), named, asked


@pytest.mark.slow
@pytest.mark.parametrize("race", [HoeffdingRace, BernsteinRace])
def test_a_race_skips_only_samples_that_decide_nothing(race, monkeypatch):
    rng, saved = np.random.default_rng(8), []
    for _ in range(25):
        n_arms = int(rng.integers(2, 6))
        rule = race(n_arms, int(rng.integers(1, n_arms)), delta=0.1, max_pulls=600)
        # Runs of equal outcomes: intervals come apart as fast as they can.
        outcomes = np.repeat(rng.random((n_arms, 60)) < rng.random((n_arms, 1)), 10, axis=1).astype(float)
        batches = raced(rule, outcomes)
        with monkeypatch.context() as patch:
            patch.setattr(race, "least_pulls", lambda *_: 1)
            one_by_one = raced(rule, outcomes)
        assert batches[:2] == one_by_one[:2]
        saved.append(batches[2] / one_by_one[2])
    assert np.mean(saved) < 0.5


def test_bernstein_race_is_shorter_where_variances_are_small():
    arms = BernoulliArms([0.04, 0.01])
    samples = [
        explore(race(2, 1, delta=0.1, max_pulls=10_000), arms, np.random.default_rng(0))[1]
        for race in (HoeffdingRace, BernsteinRace)
    ]
    assert samples[1] < samples[0]


def decisions_by_counting(lower, upper, k):
    n = len(lower)
    beats = [sum(upper[j] < lower[i] for j in range(n) if j != i) >= n - k for i in range(n)]
    loses = [sum(lower[j] > upper[i] for j in range(n) if j != i) >= k for i in range(n)]
    return np.array(beats), np.array(loses)


@pytest.mark.parametrize("seed", range(20))
def test_race_decides_as_counted(seed):
    """The first pass against a count over pairs; later passes only add decisions."""
    rng = np.random.default_rng(seed)
    rule = HoeffdingRace(7, 3, delta=0.1, max_pulls=1000)
    state = rule.initial_state()
    state.stats.counters[:] = 400
    state.stats.means[:] = rng.random(7)
    radius = rule.radii(state.stats)
    beats, loses = decisions_by_counting(state.stats.means - radius, state.stats.means + radius, 3)
    rule.decide(state)
    assert (state.accepted >= beats).all()
    assert not (state.accepted & loses).any()
    assert not (state.undecided & (beats | loses)).any()


@pytest.mark.parametrize(
    ("means", "proportions", "time"),
    [
        ([0.5, 0.45, 0.43, 0.4], [0.417, 0.390, 0.136, 0.057], 989.79),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.336, 0.251, 0.177, 0.132, 0.104], 326.64),
    ],
)
def test_characteristic_time_of_the_paper(means, proportions, time):
    found, t = characteristic_time(means)
    assert found == pytest.approx(proportions, abs=1e-3)
    assert t == pytest.approx(time, abs=0.01)


def test_two_gaussian_arms_are_sampled_alike():
    proportions, time = characteristic_time([1.0, 0.5], divergence=gaussian_divergence)
    assert proportions == pytest.approx([0.5, 0.5], abs=1e-6)
    assert time == pytest.approx(8 / 0.25)
    assert least_samples([0.3, 0.21, 0.2, 0.19, 0.18], delta=0.1) == pytest.approx(574, abs=1)


def test_equal_best_arms_have_no_characteristic_time():
    with pytest.raises(ValueError, match="unique largest"):
        characteristic_time([0.5, 0.5, 0.1])
