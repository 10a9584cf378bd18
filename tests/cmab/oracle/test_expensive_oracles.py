"""Few calls of the oracle: what is remembered, and what is played again without asking."""

import math

import numpy as np
import pytest

from cmab import CUCB, Feedback, RarelySwitchingCUCB, simulate
from instances import BernoulliArms, SemiBandit
from oracles import TopK

MEANS = np.array([0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1])


def bandit(oracle):
    return SemiBandit(BernoulliArms(MEANS), oracle)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_without_growth_it_is_plain_cucb(sense):
    oracle = TopK(8, 3, sense=sense)
    rare, plain = (
        simulate(policy, bandit(oracle), 1000, replications=2, rng=1)
        for policy in (RarelySwitchingCUCB(oracle, growth=0.0), CUCB(oracle))
    )
    assert np.array_equal(rare.rewards, plain.rewards)
    assert np.array_equal(rare.expected_rewards, plain.expected_rewards)


def test_the_super_arm_stays_until_a_count_or_the_time_has_grown():
    """Against the rule written out, on feedback that leaves arms out at random."""
    policy, rng, growth = RarelySwitchingCUCB(TopK(8, 3), growth=0.5), np.random.default_rng(0), 0.5
    state, plain, solves = policy.initial_state(), CUCB(TopK(8, 3)), 0
    playing, counts, clock = np.arange(3), np.zeros(8), 0
    for t in range(1, 400):
        assert policy.select(state, rng).tolist() == playing.tolist()
        arms = playing[rng.random(3) < 0.3]
        policy.update(state, Feedback(arms, (rng.random(len(arms)) < MEANS[arms]).astype(float)))
        if (state.counts > (1 + growth) * counts).any() or t > (1 + growth) * clock:
            playing, counts, clock = plain.select(state, rng), state.counts.copy(), t
            solves += 1
    assert solves < 9 * math.log(400) / math.log(1.5) + 9


@pytest.mark.slow
@pytest.mark.parametrize("growth", [0.1, 1.0])
def test_calls_are_few_and_the_regret_logarithmic(growth):
    """Calls by the formula, in every run. In 16 times the rounds, the regret grows by less than 4."""
    oracle, horizon = TopK(8, 3), 16_000
    settings = {"replications": 5, "checkpoints": [horizon // 16, horizon], "rng": 2}
    result = simulate(RarelySwitchingCUCB(oracle, growth), bandit(oracle), horizon, **settings)
    early, late = result.regret.mean(axis=0)
    assert late < 3.2 * early
    assert (
        late
        < 1.2
        * (1 + growth)
        * simulate(CUCB(oracle), bandit(oracle), horizon, **settings).regret[:, -1].mean()
    )
