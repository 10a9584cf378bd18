"""Thompson sampling beyond independent Beta draws, and forced exploration: against plain numpy and scipy."""

import numpy as np
import pytest
from refusals import refused
from scipy.special import betaincinv, betaln, softmax

from cmab import (
    CTS,
    ArmStatistics,
    Feedback,
    ForcedExploration,
    GaussianCTS,
    Greedy,
    HierarchicalCTS,
    simulate,
)
from cmab.bounds.beta import beta_quantile
from instances import BernoulliArms, SemiBandit
from oracles import TopK

MEANS = np.random.default_rng(3).permutation(np.linspace(0.1, 0.9, 12))


def some_statistics(n_arms, rng, rounds=40):
    """Return statistics in which arms were seen 0 to 50 times."""
    counters = rng.integers(0, 51, n_arms)
    counters[:3] = 0
    means = np.where(counters > 0, rng.random(n_arms), 0.0)
    return ArmStatistics(counters, means, np.zeros(n_arms), rounds)


# Quantiles


def test_beta_quantiles_are_those_of_scipy():
    """Counts from 0 to a million with light and heavy priors, levels from 1e-12 to 1 - 1e-12."""
    rng = np.random.default_rng(0)
    n = 3000
    priors = np.array([[1, 1], [0.5, 0.5], [1, 30], [0.01, 0.03], [3, 0.2], [1 / 31, 30 / 31]])
    counts = np.floor(
        np.where(rng.random((n, 2)) < 0.7, 10 ** rng.uniform(0, 6, (n, 2)), rng.integers(0, 50, (n, 2)))
    )
    a, b = (priors[rng.integers(len(priors), size=n)] + counts).T
    levels = 10 ** rng.uniform(-12, -0.3, n)
    levels = np.where(rng.random(n) < 0.5, levels, 1.0 - levels)
    found = np.array([beta_quantile(*row) for row in zip(levels, a, b, strict=True)])
    expected = betaincinv(a, b, levels)
    usual = expected > 1e-290
    assert usual.mean() > 0.95
    # Where counts differ by 1e6, scipy's own answers are off by 2e-11.
    np.testing.assert_allclose(found[usual], expected[usual], rtol=1e-10)


# One number a round


def test_shared_indices_are_one_quantile_of_all_posteriors():
    rng = np.random.default_rng(1)
    policy = CTS(TopK(12, 3), MEANS, prior_weight=3.0, coupling="shared")
    stats = some_statistics(12, rng)
    for seed in range(20):
        level = np.random.default_rng(seed).random()
        won = 3.0 * MEANS + stats.counts * stats.means
        lost = 3.0 * (1 - MEANS) + stats.counts * (1 - stats.means)
        found = policy.indices(stats, np.random.default_rng(seed))
        np.testing.assert_allclose(found, betaincinv(won, lost, level), rtol=1e-10)


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("coupling", ["independent", "shared"])
@pytest.mark.parametrize("support", [(0.0, 2.0), None])
def test_gaussian_indices_are_those_of_the_papers(coupling, support, sense):
    """In plain numpy, from the formulas of the papers."""
    oracle, stats, sigma, factor = (
        TopK(12, 4, sense=sense),
        some_statistics(12, np.random.default_rng(2)),
        0.7,
        1.3,
    )
    policy = GaussianCTS(oracle, coupling, sigma=sigma, variance_factor=factor, support=support)
    n, mean, t = stats.counts, stats.means, 41
    unseen, sign = n == 0, 1 if sense == "max" else -1
    worst, best = (0.0, 0.0) if support is None else support[::sign]
    first = sign * 1e8 * sigma if support is None else best
    mean = np.where(unseen, first if support is None and coupling == "shared" else worst, mean)
    z = np.random.default_rng(5).standard_normal(1 if coupling == "shared" else 12)
    if coupling == "shared":
        expected = mean + z * np.sqrt(factor * sigma**2 * np.log(t) / (n + 1))
    else:
        expected = mean + z * np.sqrt(factor * sigma**2 / np.maximum(n, 1))
        expected[unseen] = first
    if support is not None:
        expected = np.clip(expected, *support)
    found = policy.indices(stats, np.random.default_rng(5))
    # Ties are broken between arms never seen and those at an end of the support.
    is_moved = unseen if support is None else unseen | (expected == 0.0) | (expected == 2.0)
    np.testing.assert_allclose(found[~is_moved], expected[~is_moved], rtol=1e-12)
    np.testing.assert_allclose(found[is_moved], expected[is_moved], rtol=2.0**-40, atol=2.0 * 2.0**-40)
    assert len(np.unique(found[unseen])) == unseen.sum() > 1


# The prior that is learned


def brute_force(wins, counts, a, b):
    """Return the posterior of the grid for one group: Bayes' formula with Beta functions of all arms."""
    logs = [(betaln(x + wins, y + counts - wins) - betaln(x, y)).sum() for x, y in zip(a, b, strict=True)]
    weights = np.exp(logs - np.max(logs))
    return weights / weights.sum()


def played(policy, outcomes, rng):
    """Return the state after some feedback, and sums and numbers of the outcomes of each arm."""
    state, m = policy.initial_state(), policy.oracle.n_arms
    sums, counts = np.zeros(m), np.zeros(m)
    for _ in range(60):
        arms = rng.choice(m, 3, replace=False)
        seen = outcomes(arms, rng)
        policy.update(state, Feedback(arms, seen))
        sums[arms] += seen
        counts[arms] += 1
    return state, sums, counts


def grid(policy, state):
    """Return the probability of each point of the grid, a row for each group."""
    n_groups, n_points = policy._sizes()
    weights = state.memory[: n_groups * n_points].reshape(n_groups, n_points)
    return softmax(weights, axis=1)


KINDS = {
    "coins": lambda arms, rng: (rng.random(len(arms)) < MEANS[arms]) * 1.0,
    "fractions": lambda arms, rng: rng.random(len(arms)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_posterior_of_the_grid_is_bayes_formula(kind):
    labels = np.array([7, 7, 7, -2, -2, -2, -2, 7, 5, 5, 5, 5])
    shares, weights = np.array([0.1, 0.4, 0.8]), np.array([1.0, 5.0])
    policy = HierarchicalCTS(TopK(12, 3), labels, means=shares, weights=weights)
    state, sums, counts = played(policy, KINDS[kind], np.random.default_rng(0))
    a, b = (np.outer(share, weights).ravel() for share in (shares, 1 - shares))
    for number, label in enumerate((-2, 5, 7)):
        own = labels == label
        expected = brute_force(sums[own], counts[own], a, b)
        np.testing.assert_allclose(grid(policy, state)[number], expected, rtol=1e-9)
    means = HierarchicalCTS(TopK(12, 3), labels, means=shares, weights=weights, estimate="mean")
    points = grid(policy, state)[np.searchsorted([-2, 5, 7], labels)]
    posterior = (a + sums[:, None]) / (a + b + counts[:, None])
    np.testing.assert_allclose(means.indices(state, 0), (points * posterior).sum(axis=1), rtol=1e-12)


def test_the_grid_equals_an_integral_over_the_means():
    """No conjugacy: sums over a fine mesh of each arm's mean, for three arms and two points."""
    policy = HierarchicalCTS(TopK(3, 1), means=[0.3, 0.6], weights=[5.0])
    state = policy.initial_state()
    for arm, outcome in ((0, 1.0), (0, 0.0), (1, 1.0), (1, 1.0), (2, 0.0)):
        policy.update(state, Feedback([arm], [outcome]))
    p = (np.arange(200_000) + 0.5) / 200_000
    likelihoods = (p * (1 - p), p**2, 1 - p)
    weights = []
    for mean in (0.3, 0.6):
        prior = p ** (5 * mean - 1) * (1 - p) ** (5 * (1 - mean) - 1)
        weights.append(np.prod([(prior * like).sum() / prior.sum() for like in likelihoods]))
    assert grid(policy, state)[0] == pytest.approx(np.array(weights) / np.sum(weights), rel=1e-5)


def test_one_point_is_thompson_sampling_bit_for_bit():
    oracle = TopK(12, 3)
    environment = SemiBandit(BernoulliArms(MEANS), oracle)
    plain = simulate(CTS(oracle, 0.2, prior_weight=3.0), environment, 400, replications=2, rng=1)
    policy = HierarchicalCTS(oracle, np.arange(12) % 5, means=[0.2], weights=[3.0])
    grouped = simulate(policy, environment, 400, replications=2, rng=1)
    assert grouped.path == plain.path == "compiled"
    assert np.array_equal(grouped.rewards, plain.rewards)
    for one, other in zip(grouped.states, plain.states, strict=True):
        assert np.array_equal(one.means, other.means) and np.array_equal(one.counters, other.counters)


test_wrong_parameters_are_refused = refused(
    (lambda oracle: GaussianCTS(oracle, support=None), "sigma must be given if support is None"),
    (lambda oracle: HierarchicalCTS(oracle, [1, 2]), "groups must be 12 integers"),
    (lambda oracle: HierarchicalCTS(oracle, np.ones(12)), "groups must be 12 integers"),
    (lambda oracle: HierarchicalCTS(oracle, means=[0.0]), "means must lie strictly inside"),
    (lambda oracle: HierarchicalCTS(oracle, means=[]), "means must lie strictly inside"),
    (lambda oracle: HierarchicalCTS(oracle, weights=[0.0]), "weights must be finite"),
    by=lambda make: make(TopK(12, 3)),
)


# Forced exploration


@pytest.mark.parametrize("form", ["oracle", "last"])
def test_rounds_that_explore_are_as_many_as_the_theorem_says(form):
    """A rule that would never explore by itself: the sum of min(1, c t^(-1/3)), within 4 standard errors."""
    oracle, horizon, c = TopK(40, 2), 1500, 2.0
    fixed = Greedy(oracle, np.linspace(0.9, 0.1, 40), prior_weight=1e12)
    result = simulate(
        ForcedExploration(fixed, c=c, form=form),
        SemiBandit(BernoulliArms(np.full(40, 0.5)), oracle),
        horizon,
        rng=0,
    )
    shares = np.minimum(1.0, c * np.arange(1, horizon + 1) ** (-1 / 3))
    p = 1 / 38 if form == "last" else 2 / 40
    counts = result.states[0].counts[2:]
    assert abs(counts.sum() - 38 * p * shares.sum()) < 4 * np.sqrt(2 * shares.sum())
    assert counts.min() > 0
    if form == "last":  # the first entry is always the rule's
        assert result.states[0].counts[0] == horizon
