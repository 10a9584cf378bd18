"""Track-and-Stop for the k best arms: its plans against cutting planes, its errors, and its limit."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from cmab import LUCB1, BestKGLR, TrackAndStop, identify
from cmab.bounds.kl import bernoulli_divergence
from cmab.bounds.times import best_k_time, gaussian_divergence
from cmab.exploration.likelihood_ratio import coin_evidence
from cmab.exploration.track_and_stop import best_k_proportions
from instances import BernoulliArms, GaussianArms


def plan(means, k, *, sigma=1.0, epsilon=0.0):
    """The proportions, and the best arms."""
    found, is_high = np.zeros(len(means)), np.zeros(len(means), bool)
    is_high[np.argsort(-np.asarray(means), kind="stable")[:k]] = True
    best_k_proportions(np.asarray(means, float), is_high, np.array([sigma, 0.0, epsilon, 0.0]), found)
    return found, is_high


def least(weights, means, is_high, evidence):
    """The least evidence of a pair across the border."""
    low = np.flatnonzero(~is_high)
    return min(
        evidence(means[i], means[j], weights[i], weights[j]) for i in np.flatnonzero(is_high) for j in low
    )


@pytest.mark.slow
@pytest.mark.parametrize(("sigma", "divergence"), [(1.0, gaussian_divergence), (0.0, bernoulli_divergence)])
def test_plans_reach_the_characteristic_time(sigma, divergence):
    """1 / T* from above, by linear programmes over tangents."""

    def evidence(high, low, own, other):
        middle = (own * high + other * low) / (own + other)
        return own * divergence(high, middle) + other * divergence(low, middle)

    rng = np.random.default_rng(0)
    for n, k in ((3, 2), (5, 2), (8, 4)):
        means = rng.uniform(0.05, 0.95, n)
        found, is_high = plan(means, k, sigma=sigma)
        assert found.sum() == pytest.approx(1.0)
        most = 1.0 / best_k_time(means, k, divergence=divergence)[1]
        assert 0.98 * most <= least(found, means, is_high, evidence) <= most * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["coins", "gaussian"])
def test_plans_with_a_tolerance_are_not_beaten_by_search(kind):
    def evidence(high, low, own, other):
        own, other = max(own, 1e-12), max(other, 1e-12)
        if kind == "coins":
            return coin_evidence(high, low, own, other, 0.1)[0]
        return (high - low + 0.1) ** 2 / (2 * (1 / own + 1 / other))

    means = np.array([0.7, 0.6, 0.58, 0.2])
    found, is_high = plan(means, 2, sigma=float(kind == "gaussian"), epsilon=0.1)

    def loss(logits):
        weights = np.exp(logits - logits.max())
        return -least(weights / weights.sum(), means, is_high, evidence)

    other = minimize(loss, np.zeros(4), method="Nelder-Mead", options={"maxiter": 1500, "fatol": 1e-10})
    assert least(found, means, is_high, evidence) >= -0.98 * other.fun


def test_ties_across_the_border_share_all_samples():
    assert plan([0.9, 0.5, 0.5, 0.1], 2)[0].tolist() == [0.0, 0.5, 0.5, 0.0]
    assert plan([1.0, 1.0, 1.0], 2, sigma=0.0)[0].sum() == 1.0


@pytest.mark.slow
def test_ties_end_with_a_tolerance_for_two_arms():
    rule = TrackAndStop(4, k=2, delta=0.1, epsilon=0.25)
    found = identify(rule, GaussianArms([0.9, 0.8, 0.8, 0.1], 0.5), replications=20, rng=0, max_samples=10**5)
    assert found.certified.all()
    assert found.wrong.sum() <= binom.isf(1e-6, 20, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
@pytest.mark.parametrize(
    ("means", "k"), [([0.6, 0.5, 0.3], 1), ([0.7, 0.6, 0.4, 0.1], 2), ([0.9, 0.9, 0.7], 2)]
)
def test_errors_are_at_most_delta(family, means, k):
    """A sound rule fails this with probability below 1e-6; no rule takes fewer samples than T* allows."""
    rule = TrackAndStop(len(means), k=k, delta=0.1, family=family)
    arms = BernoulliArms(means) if family == "bernoulli" else GaussianArms(means, 0.5)
    found = identify(rule, arms, replications=1000, rng=4, max_samples=10**6)
    assert (~(found.correct & found.stopped)).sum() <= binom.isf(1e-6, 1000, 0.1)
    divergence = bernoulli_divergence if family == "bernoulli" else lambda p, q: 2.0 * (p - q) ** 2
    time = best_k_time(means, k, divergence=divergence)[1]
    assert found.samples.mean() >= time * bernoulli_divergence(0.1, 0.9)


@pytest.mark.slow
def test_samples_tend_to_the_characteristic_time():
    """T* ln(1 / delta) as delta falls, for both rules that share by information; LUCB1 stays far from it."""
    means, k, delta = [0.9, 0.8, 0.6, 0.55, 0.4, 0.3, 0.2, 0.1], 2, 1e-100
    least_samples = best_k_time(means, k, divergence=lambda p, q: 2.0 * (p - q) ** 2)[1] * math.log(1 / delta)
    ratios = {
        type(rule).__name__: identify(rule, GaussianArms(means, 0.5), replications=40, rng=0).samples.mean()
        / least_samples
        for rule in (
            TrackAndStop(8, k=k, delta=delta),
            BestKGLR(8, k, delta=delta),
            LUCB1(8, k, delta=delta),
        )
    }
    assert ratios["TrackAndStop"] < 1.15
    assert ratios["BestKGLR"] < 1.15
    assert ratios["LUCB1"] > 2.0
