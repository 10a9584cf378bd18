"""Comparison policies: index rules against their formulas, posteriors against scipy, roles against regret."""

import math

import numpy as np
import pytest
from scipy.stats import beta, kstest

from cmab import (
    CTS,
    CUCB,
    BayesUCB,
    Clairvoyant,
    EpsilonGreedy,
    Feedback,
    Greedy,
    RandomPolicy,
    Session,
    simulate,
)
from cmab.policies.ucb import LLR
from instances import BernoulliArms, SemiBandit
from oracles import BruteForce, TopK

SENSES = pytest.mark.parametrize("sense", ["max", "min"])
MEANS = np.array([0.9, 0.8, 0.5, 0.3, 0.2, 0.1])


def state_of(policy, counts, means, rounds):
    state = policy.initial_state()
    state.counters[:], state.means[:], state.rounds = counts, means, rounds
    return state


# Bayes-UCB -----------------------------------------------------------------------------------------------


@SENSES
@pytest.mark.parametrize("support", [(0.0, 1.0), (-1.0, 3.0)])
@pytest.mark.parametrize("level", [None, 0.75])
def test_bayesucb_is_the_quantile_of_its_posterior(sense, support, level):
    """An unseen arm, all failures, all successes, fractions, and many outcomes; round 1 has the median."""
    policy = BayesUCB(TopK(5, 2, sense=sense), level, prior_mean=0.2, prior_weight=3.0, support=support)
    counts, shares = np.array([0, 4, 5, 7, 10**6]), np.array([0.0, 0.0, 1.0, 0.4, 0.37])
    low, length = support[0], support[1] - support[0]
    for rounds in (0, 1, 40, 10**9):
        found = policy.indices(state_of(policy, counts, low + length * shares, rounds), None)
        at = level or max(1 - 1 / (rounds + 1), 0.5)
        wins = 3.0 * (0.2 - low) / length + counts * shares
        posterior = beta(wins, 3.0 + counts - wins)
        wanted = posterior.ppf(at) if sense == "max" else posterior.isf(at)
        np.testing.assert_allclose(found, low + length * wanted, rtol=1e-7)


# LLR -----------------------------------------------------------------------------------------------------


@SENSES
@pytest.mark.parametrize("support", [(0.0, 1.0), (-1.0, 3.0)])
def test_llr_is_its_formula(sense, support):
    policy = LLR(TopK(4, 2, sense=sense), support=support)
    counts, means = np.array([1, 5, 20, 3]), np.array([0.9, 0.5, 0.1, 0.0])
    found = policy.indices(state_of(policy, counts, means, 29), None)
    for i in range(4):
        radius = (support[1] - support[0]) * math.sqrt((2 + 1) * math.log(30) / counts[i])
        wanted = means[i] + radius if sense == "max" else max(means[i] - radius, support[0])
        assert found[i] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("outcome", [1.0, 0.0, -5.0, 7.0])
def test_llr_sees_every_arm_first(outcome):
    """Each round until then shows a new arm, though small super arms compete with large; arm 6 is in none."""
    family = [(0, 1, 2, 3), (4,), (0, 5), (1, 2)]
    session = Session(LLR(BruteForce(7, family), 4, support=(-5.0, 7.0)), rng=0)
    seen = set()
    while len(seen) < 6:
        ticket = session.ask()
        assert not set(ticket) <= seen
        session.tell(Feedback(ticket, np.full(len(ticket), outcome)))
        seen |= set(ticket)
    assert np.isfinite(session.policy.indices(session.state, None)).all()


# Thompson sampling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "support"),
    [((None, 2.0), (0.0, 1.0)), ((0.05, 20.0), (0.0, 1.0)), ((2.0, [3.0, 1.0]), (1.0, 5.0))],
)
def test_thompson_draws_from_the_posterior(prior, support):
    """Two Kolmogorov-Smirnov tests at 5e-7 each against scipy's Beta, after outcomes inside the support."""
    low, high = support
    policy = CTS(TopK(2, 1), prior[0], prior_weight=prior[1], support=support)
    state = policy.initial_state()
    history = {0: [low, high, high, (low + high) / 2, 0.25 * high + 0.75 * low], 1: []}
    for x in history[0]:
        state.update(Feedback([0], [x]))
    rng = np.random.default_rng(2)
    draws = np.array([policy.indices(state, rng) for _ in range(4000)])
    weights = np.broadcast_to(prior[1], 2)
    mean = 0.5 if prior[0] is None else (prior[0] - low) / (high - low)
    for arm, seen in history.items():
        successes = sum((x - low) / (high - low) for x in seen)
        posterior = beta(
            weights[arm] * mean + successes,
            weights[arm] * (1 - mean) + len(seen) - successes,
            low,
            high - low,
        )
        assert kstest(draws[:, arm], posterior.cdf).pvalue > 5e-7
        assert draws[:, arm].mean() == pytest.approx(posterior.mean(), abs=5 * posterior.std() / 4000**0.5)


# Greedy, epsilon-greedy, random --------------------------------------------------------------------------


@SENSES
def test_greedy_is_cucb_without_a_radius(sense):
    oracle = TopK(6, 2, sense=sense)
    environment = SemiBandit(BernoulliArms(MEANS), oracle)
    settings = {"horizon": 100, "replications": 3, "rng": 4}
    prior = {"prior_mean": 0.4, "prior_weight": 3.0}
    greedy = simulate(Greedy(oracle, **prior), environment, **settings)
    assert np.array_equal(
        greedy.rewards, simulate(CUCB(oracle, radius_factor=0.0, **prior), environment, **settings).rewards
    )


@pytest.mark.parametrize(
    ("parameters", "probability"),
    [
        ({"epsilon": 0.3}, 0.3),
        ({"epsilon": 12.0, "decay": True}, 0.3),
        ({"epsilon": 90.0, "decay": True}, 1.0),
        ({"epsilon": 0.0}, 0.0),
    ],
)
def test_epsilon_greedy_explores_as_often_as_it_says(parameters, probability):
    """In round 40, 4,000 times: five standard deviations of a binomial, one in 1.7 million."""
    policy = EpsilonGreedy(TopK(6, 2), **parameters)
    state, rng = state_of(policy, 5, MEANS, 39), np.random.default_rng(3)
    explored = np.mean([not np.array_equal(policy.indices(state, rng), MEANS) for _ in range(4000)])
    assert abs(explored - probability) <= 5 * math.sqrt(probability * (1 - probability) / 4000)


@SENSES
def test_random_super_arms_are_uniform_for_top_k(sense):
    """6 pairs in 6,000 rounds: a chi-square statistic of 5 degrees is above 37 once in 1.6 million."""
    policy = RandomPolicy(TopK(4, 2, sense=sense), support=(2.0, 3.0))
    rng, state = np.random.default_rng(1), policy.initial_state()
    found = [tuple(policy.select(state, rng)) for _ in range(6000)]
    counts = np.array([found.count(pair) for pair in set(found)])
    assert len(counts) == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 37


# All of them ---------------------------------------------------------------------------------------------


@SENSES
def test_the_clairvoyant_has_no_regret(sense):
    oracle = TopK(6, 2, sense=sense)
    environment = SemiBandit(BernoulliArms(MEANS), oracle)
    regret = simulate(Clairvoyant(oracle, MEANS), environment, 200, replications=2, rng=0).regret
    assert np.allclose(regret, 0.0)
