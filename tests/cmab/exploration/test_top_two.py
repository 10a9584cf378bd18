"""Rules for the single best arm: optimal proportions, their cost as delta vanishes, errors, a mutant."""

import math

import numpy as np
import pytest
from scipy.special import lambertw
from scipy.stats import binom

from cmab import TTUCB, Feedback, Session, TrackAndStop, identify
from cmab.bounds.kl import bernoulli_divergence
from cmab.bounds.times import characteristic_time, gaussian_divergence
from cmab.exploration.likelihood_ratio import bonus_level
from cmab.exploration.track_and_stop import gaussian_proportions
from cmab.run import identify as _exploring
from instances import GaussianArms

RULES = [TTUCB, TrackAndStop]
MEANS = [1.0, 0.8, 0.7, 0.5]


def share(rule):
    """The share of the best arm that a rule fixes."""
    return None if rule is TrackAndStop else 0.5


@pytest.mark.parametrize("seed", range(10))
def test_gaussian_proportions_are_those_of_the_general_solver(seed):
    means, found = np.random.default_rng(seed).random(2 + seed), np.empty(2 + seed)
    gaussian_proportions(means, 0.0, found)
    assert found == pytest.approx(characteristic_time(means, divergence=gaussian_divergence)[0], abs=1e-7)


def test_arms_tied_for_the_best_share_the_samples():
    found = np.empty(4)
    gaussian_proportions(np.array([0.5, 0.2, 0.5, 0.1]), 0.0, found)
    assert found.tolist() == [0.5, 0.0, 0.5, 0.0]


@pytest.mark.parametrize("divergence", [gaussian_divergence, bernoulli_divergence])
@pytest.mark.parametrize("beta", [0.2, 0.5, 0.8])
def test_time_at_a_fixed_share_by_its_definition(divergence, beta):
    """``1 / T`` is the largest least evidence of a sample, over proportions of the other arms."""
    means = np.array([0.6, 0.5, 0.3])

    def least(part):
        others = (1.0 - beta) * np.array([part, 1.0 - part])
        mids = (beta * means[0] + others * means[1:]) / (beta + others)
        pairs = zip(others, means[1:], mids, strict=True)
        return min(beta * divergence(means[0], m) + w * divergence(v, m) for w, v, m in pairs)

    best = max(least(part) for part in np.linspace(0.001, 0.999, 9981))
    proportions, time = characteristic_time(means, divergence=divergence, beta=beta)
    assert proportions.sum() == pytest.approx(1.0)
    assert proportions[0] == pytest.approx(beta)
    assert 1.0 / time == pytest.approx(best, rel=1e-3)
    assert 1.0 / time >= best * (1.0 - 1e-9)


@pytest.mark.slow
def test_half_costs_at_most_twice_the_optimum():
    for seed in range(20):
        means = np.random.default_rng(seed).random(5)
        optimal, least = characteristic_time(means, divergence=gaussian_divergence)
        half = characteristic_time(means, divergence=gaussian_divergence, beta=0.5)[1]
        assert least * (1 - 1e-9) <= half <= 2 * least
        best = float(optimal[np.argmax(means)])
        assert characteristic_time(means, divergence=gaussian_divergence, beta=best)[1] == pytest.approx(
            least
        )


@pytest.mark.parametrize("rule", RULES)
def test_samples_are_spread_as_the_theory_says(rule):
    """The noise is a tenth of what the rule reckons with: over 10 seeds no share was off by 0.007."""
    expected = characteristic_time(MEANS, divergence=gaussian_divergence, beta=share(rule))[0]
    arms, explorer = GaussianArms(MEANS, sigma=0.05), rule(4, delta=1e-300)
    state = explorer.initial_state()
    rngs = np.random.default_rng(0), np.random.default_rng(1)
    assert _exploring.explore_compiled(explorer, arms, state, *rngs, 40_000) == 40_000
    assert state.counts / 40_000 == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("rule", RULES)
def test_a_compiled_run_goes_on_where_a_cap_or_a_session_ended(rule):
    explorer, arms = rule(4, delta=1e-30), GaussianArms(MEANS, 0.5)
    states = []
    for caps in ((700,), (250, 251, 700)):
        rngs = np.random.default_rng(0), np.random.default_rng(1)
        states.append(explorer.initial_state())
        for cap in caps:
            assert _exploring.explore_compiled(explorer, arms, states[-1], *rngs, cap) == cap
    rngs = np.random.default_rng(0), np.random.default_rng(1)
    states.append(explorer.initial_state())
    while states[-1].counts.sum() < 400:
        explorer.update(states[-1], arms.sample(explorer.select(states[-1], rngs[0]), 1, rngs[1]))
    assert _exploring.explore_compiled(explorer, arms, states[-1], *rngs, 700) == 700
    for state in states[1:]:
        assert np.array_equal(state.counts, states[0].counts)
        assert np.array_equal(state.means, states[0].means)
        assert np.array_equal(state.memory, states[0].memory)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_the_cost_tends_to_the_characteristic_time(rule):
    """Mean samples over ``T ln(1 / delta)`` were 1.03 at delta = 1e-300, its standard error 0.003."""
    time = 0.25 * characteristic_time(MEANS, divergence=gaussian_divergence, beta=share(rule))[1]
    found = identify(rule(4, delta=1e-300), GaussianArms(MEANS, 0.5), replications=20, rng=0)
    assert found.correct.all()
    assert 1.0 <= found.samples.mean() / (time * math.log(1e300)) <= 1.06


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("means", [[0.1, 0.0], [1.0, 0.0, 0.0, 0.5]])
def test_errors_are_at_most_delta(rule, means):
    """A sound rule fails this with probability below 1e-6."""
    found = identify(
        rule(len(means), delta=0.1), GaussianArms(means, 0.5), replications=1000, rng=3, max_samples=10**5
    )
    assert (~(found.correct & found.stopped)).sum() <= binom.isf(1e-6, 1000, 0.1)
    time = 0.25 * characteristic_time(means, divergence=gaussian_divergence)[1]
    assert found.samples.mean() >= time * bernoulli_divergence(0.1, 0.9)


@pytest.mark.parametrize("samples", [2, 3, 17, 10**3, 10**6, 10**12, 2**62])
def test_the_bonus_of_ttucb_solves_its_equation(samples):
    """Lambert's function solves the equation; from 50 samples on, the union bound is larger."""
    steps = 1.2 * math.log(samples)
    level = 2.4 * steps + 2 * math.log(2 + steps) + 2
    assert bonus_level(samples) == pytest.approx(-lambertw(-math.exp(-level), -1).real, rel=1e-12)
    assert (bonus_level(samples) < 2.4 * 2.2 * math.log(samples)) == (samples >= 50)


@pytest.mark.slow
def test_the_bonus_of_ttucb_covers_all_counts_at_once():
    """The level at n bounds ``T (mean - truth)^2`` for all counts T up to n, except with probability n^-1.2.

    A level with this property fails the test with probability below 1e-6.
    """
    walks = np.random.default_rng(0).standard_normal((20_000, 60)).cumsum(axis=1)
    exceeded = ((walks**2 / np.arange(1, 61)) > bonus_level(60)).any(axis=1)
    assert exceeded.sum() <= binom.isf(1e-6, 20_000, 60**-1.2)


def test_ttucb_tracks_the_share_of_every_leader():
    session, coins = Session(TTUCB(4, delta=1e-9, beta=0.3), rng=0), np.random.default_rng(0)
    arms = GaussianArms([0.3, 0.25, 0.2, 0.2], 0.5)
    while session.state.rounds < 600:
        session.tell(arms.sample(session.ask().super_arm, 1, coins))
    led, own = session.state.memory[:8].reshape(2, 4)
    assert led.sum() == 600  # each feedback from the first on, which is of all arms
    assert (led > 20).sum() >= 2
    assert (np.abs(own - 0.3 * led) <= 1.0).all()


@pytest.mark.slow
def test_track_and_stop_samples_starved_arms_and_renews_its_plan():
    """Outcomes without noise: the plan is fixed from the start, and gives the worst arm next to nothing."""
    rule, means = TrackAndStop(4, delta=1e-300), np.array([1.0, 0.99, 0.0, -5.0])
    session = Session(rule, rng=0)
    for _ in range(2000):
        arms = session.ask().super_arm
        session.tell(Feedback(arms, means[arms]))
    counts = session.state.counts
    assert characteristic_time(means, divergence=gaussian_divergence)[0][3] * 2000 < 1
    assert counts[3] == math.ceil(math.sqrt(counts.sum()) - 2)
    assert counts.sum() <= session.state.memory[0] <= 1.1 * counts.sum() + 1


def test_bad_input():
    with pytest.raises(ValueError, match="beta"):
        characteristic_time([0.5, 0.2], beta=0.0)
