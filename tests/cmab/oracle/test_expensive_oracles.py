"""Few calls of the oracle: what is remembered, and what is played again without asking."""

import math
import pickle

import numpy as np
import pytest

from cmab import (
    CUCB,
    Feedback,
    LinearOracle,
    MemoisedOracle,
    RarelySwitchingCUCB,
    simulate,
)
from instances import BernoulliArms, SemiBandit
from oracles import TopK

MEANS = np.array([0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1])


class Counting(TopK):
    """Counts its calls by itself."""

    calls = 0

    def solve(self, means, rng):
        self.calls += 1
        return super().solve(means, rng)


class Drawn(LinearOracle):
    """Breaks its (eternal) ties at random."""

    n_arms = 50

    def solve(self, means, rng):
        return rng.permutation(50)[:1]


def bandit(oracle):
    return SemiBandit(BernoulliArms(MEANS), oracle)


def test_equal_questions_are_asked_once():
    inner = Counting(8, 3)
    memo, rng = MemoisedOracle(inner, cache_size=2), np.random.default_rng(0)
    questions = [rng.random(8) for _ in range(3)]
    for which in (0, 1, 0, 2, 0, 1):  # the 2 drives out the 1, not the 0
        assert np.array_equal(memo.solve(questions[which], rng), TopK(8, 3).solve(questions[which], rng))
    assert (memo.calls, memo.solved, inner.calls) == (6, 4, 4)
    assert memo.seconds > 0
    memo.solve(np.zeros(8), rng)
    memo.solve(-np.zeros(8), rng)
    assert memo.solved == 5


def test_answers_belong_to_the_caller():
    memo, rng = MemoisedOracle(TopK(8, 3)), np.random.default_rng(0)
    memo.solve(MEANS, rng)[:] = 7
    memo.solve(MEANS, rng)[:] = 7
    assert memo.solve(MEANS, rng).tolist() == [0, 1, 2]


def test_a_random_oracle_becomes_a_function_of_its_means():
    first, second, rng = (
        MemoisedOracle(Drawn()),
        MemoisedOracle(Drawn(), cache_size=1),
        np.random.default_rng(0),
    )
    for _ in range(20):
        means = rng.integers(2, size=50).astype(float)
        assert np.array_equal(first.solve(means, rng), second.solve(means, rng))


def test_a_copy_starts_without_memory():
    memo, rng = MemoisedOracle(Counting(8, 3)), np.random.default_rng(0)
    memo.solve(MEANS, rng)
    copy = pickle.loads(pickle.dumps(memo))
    assert (copy.calls, copy.solved, copy.seconds) == (0, 0, 0.0)
    assert np.array_equal(copy.solve(MEANS, rng), memo.solve(MEANS, rng))
    assert (copy.solved, memo.solved) == (1, 1)


def test_only_a_certain_guarantee_is_remembered():
    uncertain = Drawn()
    uncertain.beta = 0.9
    with pytest.raises(ValueError, match="beta"):
        MemoisedOracle(uncertain)
    with pytest.raises(ValueError, match="size"):
        MemoisedOracle(TopK(3, 1), cache_size=0)


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
    oracle, horizon, m = TopK(8, 3), 16_000, 8
    settings = {"replications": 5, "checkpoints": [horizon // 16, horizon], "rng": 2}
    result = simulate(RarelySwitchingCUCB(oracle, growth), bandit(oracle), horizon, **settings)
    assert (result.oracle_calls <= m * math.log(horizon) / math.log1p(growth) + m + 1).all()
    early, late = result.regret.mean(axis=0)
    assert late < 3.2 * early
    assert (
        late
        < 1.2
        * (1 + growth)
        * simulate(CUCB(oracle), bandit(oracle), horizon, **settings).regret[:, -1].mean()
    )


def test_growth_is_not_negative():
    with pytest.raises(ValueError, match="growth"):
        RarelySwitchingCUCB(TopK(3, 1), growth=-0.1)
