"""Thompson sampling beyond independent Beta draws, and forced exploration: against plain numpy and scipy."""

import numpy as np
import pytest
from scipy.special import betaincinv

from cmab import (
    CTS,
    ArmStatistics,
    ForcedExploration,
    GaussianCTS,
    Greedy,
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
