"""Halving and AdaptiveTopK: exact numbers of samples and their promise; characteristic times."""

import numpy as np
import pytest
from exploring import explore

from cmab import AdaptiveTopK
from cmab.bounds.samples import halving_samples
from cmab.bounds.times import characteristic_time, gaussian_divergence, least_samples
from cmab.exploration.phases import Halving
from instances import BernoulliArms


@pytest.mark.parametrize(("n_arms", "k"), [(100, 5), (7, 2), (2, 1), (9, 8)])
def test_halving_takes_the_same_number_on_every_instance(n_arms, k):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        arms, samples = explore(
            Halving(n_arms, k, epsilon=0.1, delta=0.1), BernoulliArms(rng.random(n_arms)), rng
        )
        assert samples == halving_samples(n_arms, k, epsilon=0.1, delta=0.1)
        assert len(arms) == k
    assert halving_samples(100, 5, epsilon=0.1, delta=0.1) == 9_153_374


@pytest.mark.parametrize("k", [100, 500])
def test_adaptive_top_k_keeps_its_promise_and_its_cost(k):
    """The pulls on two groups were measured elsewhere: 1.19e6."""
    means = np.random.default_rng(k).permutation(np.repeat([0.7, 0.3], [k, 1000 - k]))
    arms, samples = explore(
        AdaptiveTopK(1000, k, epsilon=0.01, delta=0.01), BernoulliArms(means), np.random.default_rng(0)
    )
    assert means[arms].mean() >= 0.69
    assert samples == pytest.approx(1.19e6, rel=0.05)


@pytest.mark.parametrize(
    ("means", "proportions", "time"),
    [
        ([0.5, 0.45, 0.43, 0.4], [0.417, 0.390, 0.136, 0.057], 989.79),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.336, 0.251, 0.177, 0.132, 0.104], 326.64),
    ],
)
def test_characteristic_time_of_the_paper(means, proportions, time):
    found, t = characteristic_time(means)
    assert found == pytest.approx(proportions, abs=1e-3)
    assert t == pytest.approx(time, abs=0.01)


def test_two_gaussian_arms_are_sampled_alike():
    proportions, time = characteristic_time([1.0, 0.5], divergence=gaussian_divergence)
    assert proportions == pytest.approx([0.5, 0.5], abs=1e-6)
    assert time == pytest.approx(8 / 0.25)
    assert least_samples([0.3, 0.21, 0.2, 0.19, 0.18], delta=0.1) == pytest.approx(574, abs=1)


def test_equal_best_arms_have_no_characteristic_time():
    with pytest.raises(ValueError, match="unique largest"):
        characteristic_time([0.5, 0.5, 0.1])
