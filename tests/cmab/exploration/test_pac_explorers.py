"""Halving and AdaptiveTopK: exact numbers of samples, and what they promise."""

import numpy as np
import pytest
from exploring import explore

from cmab import AdaptiveTopK
from cmab.bounds.samples import halving_samples
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
