"""Likelihood ratios with a tolerance and of coins: evidence, thresholds, errors."""

import math

import numpy as np
import pytest
from references_exploration import divergence
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import entr, gammaln
from scipy.stats import binom

from cmab import BestKGLR, identify
from cmab.bounds.kl import bernoulli_divergence
from cmab.bounds.times import best_k_time
from cmab.exploration.likelihood_ratio import coin_evidence, mixture_penalty
from instances import BernoulliArms, EmpiricalArms, GaussianArms


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.1, 0.7])
def test_evidence_of_coins_is_the_least_cost_of_an_alternative(epsilon):
    rng = np.random.default_rng(0)
    for _ in range(60):
        high, low = rng.choice([0.0, 1.0, 1e-9, 0.5, *rng.random(4)], 2)
        own, other = np.exp(rng.uniform(0, 10, 2))
        whole, part = coin_evidence(high, low, own, other, epsilon)
        if high <= low - epsilon:
            assert whole == 0.0
            continue

        def cost(x, high=high, low=low, own=own, other=other):
            return own * divergence(high, x) + other * divergence(low, min(x + epsilon, 1.0))

        inner = minimize_scalar(cost, bounds=(0.0, 1.0 - epsilon), method="bounded", options={"xatol": 1e-13})
        least = min(inner.fun, cost(0.0), cost(1.0 - epsilon))
        assert whole == pytest.approx(least, rel=1e-5, abs=1e-9)
        assert whole <= least + 1e-9 * (1 + abs(least))
        assert 0.0 <= part <= whole or math.isinf(whole)


@pytest.mark.parametrize(
    ("mean", "count"), [(0.0, 1), (1.0, 1), (0.0, 50), (0.3, 10), (0.25, 2), (0.5, 1000)]
)
def test_the_penalty_is_the_largest_likelihood_over_its_mean(mean, count):
    """By numerical integration under the Beta(1/2, 1/2) prior, with ``q = sin(t)^2``."""

    def relative(t):
        q = math.sin(t) ** 2
        return math.exp(-count * divergence(mean, q)) * 2.0 / math.pi if 0.0 < q < 1.0 else 0.0

    centre = math.asin(math.sqrt(mean))
    averaged = quad(relative, 0.0, math.pi / 2, points=[centre], epsabs=1e-13, limit=500)[0]
    assert mixture_penalty(mean, float(count)) == pytest.approx(-math.log(averaged), rel=1e-6, abs=1e-9)
    assert mixture_penalty(mean, float(count)) <= 0.5 * math.log(count) + math.log(2.0) + 1e-12


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.4, 1.0)])
def test_a_pair_of_coins_stays_below_the_threshold_for_ever(values):
    """Ville's inequality at level 1/2, for coins and for other outcomes: false alarms below 1e-9.

    Without the penalties nine of ten paths cross, and then this test fails.
    """
    rng, level, runs, length = np.random.default_rng(1), math.log(2.0), 1000, 400
    mean = float(np.mean(values))
    outcomes = rng.choice(values, (2, runs, length))
    counts = np.arange(1, length + 1)
    means = np.clip(outcomes.cumsum(axis=2) / counts, 0.0, 1.0)
    wins = means * counts
    averaged = gammaln(wins + 0.5) + gammaln(counts - wins + 0.5) - gammaln(counts + 1.0) - math.log(math.pi)
    paid = -counts * (entr(means) + entr(1.0 - means)) - averaged
    safe = np.clip(means, 1e-300, 1.0), np.clip(1.0 - means, 1e-300, 1.0)
    costs = counts * (means * np.log(safe[0] / mean) + (1 - means) * np.log(safe[1] / (1 - mean)))
    bare = (costs.sum(axis=0) > level).any(axis=1).sum()
    crossed = ((costs - paid).sum(axis=0) > level).any(axis=1).sum()
    assert crossed <= binom.isf(1e-9, runs, 0.5)
    assert bare > binom.isf(1e-9, runs, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("means", [[0.55, 0.45], [0.3, 0.1, 0.1], [0.02, 0.1], [1.0, 0.9]])
def test_errors_with_coins_are_at_most_delta(means):
    """A sound rule fails this with probability below 1e-6; it takes no fewer samples than is possible."""
    rule = BestKGLR(len(means), 1, delta=0.1, family="bernoulli")
    found = identify(rule, BernoulliArms(means), replications=1000, rng=4, max_samples=10**5)
    assert (~(found.correct & found.stopped)).sum() <= binom.isf(1e-6, 1000, 0.1)
    if max(means) < 1.0:
        time = best_k_time(means, 1)[1]
        assert found.samples.mean() >= time * bernoulli_divergence(0.1, 0.9)


def test_outcomes_must_be_of_the_family():
    rule = BestKGLR(2, 1, delta=0.1, family="bernoulli")
    with pytest.raises(ValueError, match="sigma"):
        BestKGLR(3, 1, delta=0.1, family="bernoulli", sigma=1.0)
    with pytest.raises(ValueError, match=r"outcomes in \[0, 1\]"):
        identify(rule, GaussianArms([0.5, 0.1], 0.1), rng=0)
    arms = EmpiricalArms([[0.0, 0.5, 1.0], [0.0, 0.1, 0.0]], support=(0.0, 1.0))
    assert identify(rule, arms, rng=0, max_samples=10_000).certified.all()
