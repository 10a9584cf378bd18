"""Thompson sampling with many arms: faster draws of Beta(a, 1) and Beta(1, b), and small prior means."""

import numpy as np
import pytest
from cases import PlainBandit
from scipy.stats import beta, kstest

from cmab import CTS, AdaptiveCTS, Feedback, HierarchicalCTS, simulate
from cmab.policies.thompson import MANY_ARMS
from instances import BernoulliArms, SemiBandit
from oracles import TopK

# The priors of ten equal parts of the arms, and the outcomes of each of their arms: successes and failures.
LAWS = [
    ((1.0, 1.0), (0, 0)),
    ((1.0, 1.0), (1, 0)),
    ((1.0, 1.0), (0, 7)),
    ((1.0, 1.0), (500, 0)),
    ((1.0, 1.0), (0, 10**6)),
    ((1.0, 1.0), (2, 3)),
    ((1.0, 3.0), (0, 0)),
    ((0.25, 1.0), (0, 0)),
    ((1.0, 0.5), (0, 0)),
    ((1.0, 31.0), (1, 2)),
]


def drawn_laws(n_arms):
    """Return the draws for each of LAWS, of which each has an equal part of the arms."""
    priors, seen = np.repeat(np.array(LAWS), n_arms // len(LAWS), axis=0).transpose(1, 2, 0)
    policy = CTS(TopK(n_arms, 1), priors[0] / priors.sum(axis=0), prior_weight=priors.sum(axis=0))
    state = policy.initial_state()
    state.counters[:] = seen.sum(axis=0)
    state.means[:] = seen[0] / np.maximum(seen.sum(axis=0), 1)
    return np.split(policy.indices(state, np.random.default_rng(4)), len(LAWS))


@pytest.mark.parametrize("n_arms", [MANY_ARMS, MANY_ARMS - len(LAWS)])
def test_draws_have_the_laws_of_the_posteriors(n_arms):
    """20 Kolmogorov-Smirnov tests of about 10,000 draws at 5e-8 each: a false alarm has probability 1e-6."""
    for (prior, seen), draws in zip(LAWS, drawn_laws(n_arms), strict=True):
        assert kstest(draws, beta(prior[0] + seen[0], prior[1] + seen[1]).cdf).pvalue > 5e-8
        assert ((draws > 0.0) & (draws < 1.0)).all()


def test_all_loops_draw_the_same_numbers():
    """Five rounds; also one prior of `HierarchicalCTS`, which is Thompson sampling bit for bit."""
    oracle, means = TopK(MANY_ARMS, 40), np.random.default_rng(1).random(MANY_ARMS)
    environment = SemiBandit(BernoulliArms(means), oracle)
    plain, one_point = CTS(oracle), HierarchicalCTS(oracle, means=[0.5], weights=[2.0])
    runs = [
        simulate(plain, environment, 5, replications=2, rng=3),
        simulate(plain, PlainBandit(BernoulliArms(means), oracle), 5, replications=2, rng=3),
        simulate(one_point, environment, 5, replications=2, rng=3),
    ]
    assert [run.path for run in runs] == ["compiled", "python", "compiled"]
    for run in runs[1:]:
        assert np.array_equal(run.rewards, runs[0].rewards)
        for one, other in zip(run.states, runs[0].states, strict=True):
            assert np.array_equal(one.counters, other.counters)
            assert np.array_equal(one.means, other.means)


@pytest.mark.parametrize("kind", [HierarchicalCTS, AdaptiveCTS])
def test_groups_with_small_means_are_learned(kind):
    """About 65 of 325,000 outcomes are 1; a false alarm, 23 or 117 of them, has probability below 1e-7.

    With fewer arms, no prior has a mean below 0.002, so arms without outcomes have larger draws. Bounds on
    the indices of `AdaptiveCTS` cut off the largest draws.
    """
    for n_arms in (MANY_ARMS, MANY_ARMS - 1):
        policy = kind(TopK(n_arms, 1), np.arange(n_arms) % 2)
        state, rng, seen = policy.initial_state(), np.random.default_rng(5), np.arange(0, n_arms, 4)
        for _ in range(13):  # the round after it is not one of discovery
            policy.update(state, Feedback(seen, (rng.random(len(seen)) < 2e-4).astype(float)))
        draws = policy.indices(state, rng)[2::4]
        low, high = (1e-4, 4e-4) if n_arms == MANY_ARMS else (1e-3, 4e-3)
        assert (0.1 * low if kind is AdaptiveCTS else low) < draws.mean() < high
