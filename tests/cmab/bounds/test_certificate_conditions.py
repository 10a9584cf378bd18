"""Conditions of certificates: narrow supports, huge rewards, further outcomes, earlier policies, words."""

from functools import partial

import networkx as nx
import numpy as np
import pytest

from cmab import (
    CTS,
    CUCB,
    AdaptiveCTS,
    ArmStatistics,
    Campaign,
    Feedback,
    Oracle,
    regret_bound,
)
from cmab.bounds.certificate import Played, least_expected
from oracles import DegreeHeuristic, InfluenceMaximization, TopK


def bounds_of(low, length, coins):
    state = ArmStatistics.empty(2)
    for coin in coins:
        state.update(Feedback([0], [low + length * coin]))
    found = regret_bound(CUCB(TopK(2, 1)), state, support=(low, low + length))
    return np.array([found.regret, found.gap]) / length


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("make", [DegreeHeuristic, partial(InfluenceMaximization, epsilon=0.3)])
@pytest.mark.parametrize("policy", [CTS, CUCB, AdaptiveCTS])
def test_a_network_without_ties_has_certificates_and_summaries(tmp_path, policy, make, k):
    """There is no base arm, so nothing remains to be learned."""
    people = nx.DiGraph()
    people.add_nodes_from("abc")
    running = Campaign(policy(make(people, k=k)), tmp_path / "campaign.db", rng=0)
    for _ in range(2):
        running.tell({}, running.ask(), reward=float(k))
        found = running.regret_bound(reward_range=(0.0, 3.0))
        assert found.unseen == 0
        assert found.regret >= 0.0
        assert found.regret <= 3.0 * found.rounds
        summary = running.summary()
        assert "rounds" in str(summary)
        assert (summary.n_arms, summary.reward) == (0, k)


# Means far from 0 must still have a few digits inside the support.
NARROW = [
    (low, length)
    for low in (0.0, 1.0, 1e6, -1e9)
    for length in (1e-300, 1e-170, 1e-8, 1e-3, 1e9)
    if abs(low) * 1e-15 <= 0.1 * length
]


@pytest.mark.parametrize(("low", "length"), NARROW)
def test_bounds_of_narrow_supports_are_not_smaller(low, length):
    """Squares of tiny outcomes are 0 as floats, and means far from 0 are rounded."""
    coins = (np.random.default_rng(0).random(200) < 0.5).astype(float)
    assert (bounds_of(low, length, coins) >= bounds_of(0.0, 1.0, coins) * (1 - 1e-9)).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-100, 1e100, 1e200, 1e300])
def test_earnings_of_scaled_rewards_are_not_larger(scale):
    rng, plain, scaled = np.random.default_rng(1), Played(), Played()
    for _ in range(400):
        coin = float(rng.random() < 0.5)
        plain.note(coin)
        scaled.note(scale * coin)
    usual = least_expected(plain, (0.0, 1.0), 0.05, 1.0)
    assert least_expected(scaled, (0.0, scale), 0.05, 1.0) / scale <= usual * (1 + 1e-9)


def test_records_are_read_as_they_were_written():
    record = Played(1, 0.5, 0.0, 0.5, 0.5, 0, 0, 3)
    assert Played.of(record.listed()) == record


class Weakest(Oracle):
    """Two sets of arms. The reward of a set is its least mean."""

    n_arms, n_choices = 800, 2

    def solve(self, means, rng):
        return np.array([int(means[400:].min() > means[:400].min())])

    def expected_reward(self, super_arm, means):
        return float(means.reshape(2, 400)[super_arm[0]].min())


def test_sets_with_more_arms_than_entries():
    """200 certificates with an error rate of 0.05; the union over all arms makes errors much rarer."""
    oracle, rng, wrong = Weakest(), np.random.default_rng(0), 0
    counts = np.repeat([50, 10**9], 400)
    for _ in range(200):
        means = np.concatenate([rng.binomial(50, 0.5, 400) / 50, np.full(400, 0.49)])
        state = ArmStatistics(counts, means, counts * means * (1 - means), int(counts.max()))
        found = regret_bound(CUCB(oracle), state, reward_range=(0, 1))
        wrong += found.exact_gap < 0.5 - (0.5, 0.49)[found.choice[0]] - 1e-9
    assert wrong <= 4


def test_confidence_in_words_is_never_complete():
    state = ArmStatistics.empty(2)
    state.update(Feedback([0], [1.0]))
    for delta, words in [(0.05, "With 95 %"), (0.3, "With 70 %"), (1e-9, "With confidence 1 - 1e-09,")]:
        assert str(regret_bound(CUCB(TopK(2, 1)), state, delta=delta)).startswith(words)
