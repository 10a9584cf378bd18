"""Sample bounds and lower bounds: values by hand, definitions by brute force, real runs between them."""

import math

import numpy as np
import pytest

from cmab import CLUCB, LUCB1, AdaptiveTopK, LilCLUCB, LilRandLUCB, identify
from cmab.bounds.kl import bernoulli_divergence
from cmab.bounds.radii import c_epsilon, lil_radii
from cmab.bounds.samples import (
    adaptive_top_k_samples,
    best_k_gaps,
    clucb_samples,
    least_best_k_samples,
    lil_clucb_samples,
    lil_rand_lucb_samples,
    lucb1_samples,
)
from cmab.bounds.times import best_k_time, gaussian_divergence
from instances import BernoulliArms
from oracles import TopK

MEANS = np.array([0.9, 0.1, 0.7, 0.3, 0.2])
GAPS = best_k_gaps(MEANS, 2)


def test_lucb1_by_hand():
    """H = 8 for two arms with gap 1/2, 4 with tolerance sqrt(2); T* = 146 H ln(10 H), two samples a round."""
    rounds = math.ceil(146 * 8 * math.log(80))
    assert lucb1_samples([0.5, 0.5], delta=0.1) == pytest.approx(2 + 2 * (rounds + 0.4 / (rounds - 1)))
    rounds = math.ceil(146 * 4 * math.log(40))
    tolerant = lucb1_samples([0.5, 0.5], delta=0.1, epsilon=math.sqrt(2))
    assert tolerant == pytest.approx(2 + 2 * (rounds + 0.4 / (rounds - 1)))
    assert lucb1_samples([0.0, 0.5], delta=0.1) == math.inf


def least_count(width, level, epsilon, sigma):
    """The least count by going through all of them."""
    radii = lil_radii(np.arange(1, 200_000), level, epsilon=epsilon, sigma=sigma)
    return 1 + int(np.argmax(radii < width))


def test_lil_bounds_by_counting():
    gaps = np.array([0.5, 1.0, 4.0])
    level = 0.01 / c_epsilon(0.01)
    eighths = [least_count(gap / 8, level / 6, 0.01, 0.5) for gap in gaps]
    assert lil_rand_lucb_samples(gaps, 1, delta=0.01, mode="paper") == 3 + 2 * (sum(eighths) - 3)
    quarters = [least_count(gap / 4, level / 3, 0.01, 0.5) for gap in gaps]
    assert lil_clucb_samples(gaps, delta=0.01, mode="paper") == sum(quarters)
    ninths = [least_count(gap / 9, 0.01 / 3, 0.0, 0.25) for gap in gaps]
    assert lil_clucb_samples(gaps, delta=0.01, sigma=0.25, mode="heuristic", width=3) == sum(ninths)
    assert lil_clucb_samples([0.0, 1.0], delta=0.1) == math.inf
    assert lil_clucb_samples([np.inf, np.inf], delta=0.1) == 2


def test_clucb_solves_its_inequality():
    gaps = np.array([0.5, 0.3])
    n = clucb_samples(gaps, width=2, delta=0.1, sigma=0.5)
    pulls = [2 * 0.25 * math.log(8 * n**3 / 0.1) / (gap / 6) ** 2 for gap in gaps]
    assert n == pytest.approx(2 + sum(pulls))
    tolerant = clucb_samples(
        gaps, width=2, delta=0.1, sigma=0.5, epsilon=0.6, max_super_arm_size=3
    )  # floors of 0.1 for both
    assert tolerant == pytest.approx(2 + 2 * 2 * 0.25 * math.log(8 * tolerant**3 / 0.1) / 0.01)


def test_adaptive_top_k_by_hand():
    """Gaps of 1/2 and psi = 1/2: rounds 1 to 4, of 15, 82, 377 and 1,655 outcomes of each arm."""
    assert adaptive_top_k_samples([0.75, 0.25], 1, epsilon=0.25, delta=0.1) == 2 * (15 + 82 + 377 + 1655)
    # A far arm leaves a round earlier; the border's arms are kept by psi.
    assert adaptive_top_k_samples(
        [0.75, 0.25, -0.3], 1, epsilon=0.25, delta=0.1
    ) < 1.5 * adaptive_top_k_samples([0.75, 0.25, 0.25], 1, epsilon=0.25, delta=0.1)


@pytest.mark.parametrize(
    ("rule", "bound"),
    [
        (LUCB1(5, 2, delta=0.1), lucb1_samples(GAPS, delta=0.1)),
        (LilRandLUCB(5, 2, delta=0.1), lil_rand_lucb_samples(GAPS, 2, delta=0.1)),
        (LilCLUCB(TopK(5, 2), delta=0.1), lil_clucb_samples(GAPS, delta=0.1)),
        (CLUCB(TopK(5, 2), delta=0.1), clucb_samples(GAPS, width=2, delta=0.1)),
        (
            CLUCB(TopK(5, 2), delta=0.1, epsilon=0.5),
            clucb_samples(GAPS, width=2, delta=0.1, epsilon=0.5, max_super_arm_size=2),
        ),
        (
            AdaptiveTopK(5, 2, epsilon=0.1, delta=0.1),
            adaptive_top_k_samples(MEANS, 2, epsilon=0.1, delta=0.1),
        ),
    ],
)
def test_runs_lie_between_the_bounds(rule, bound):
    """Of 20 runs at delta = 0.1 more than 14 break the upper bound with probability below 1e-9."""
    found = identify(rule, BernoulliArms(MEANS), replications=20, rng=0)
    assert np.median(found.samples) <= bound
    if getattr(rule, "epsilon", 0.0) == 0.0:
        assert found.samples.mean() >= least_best_k_samples(MEANS, 2, delta=0.1)


def test_least_samples_by_hand():
    """Border 0.7 | 0.3: each arm against the mean across it."""
    evidence = 0.8 * math.log(9)
    across = {0.9: 0.3, 0.7: 0.3, 0.3: 0.7, 0.2: 0.7, 0.1: 0.7}
    expected = evidence * sum(1 / bernoulli_divergence(p, q) for p, q in across.items())
    assert least_best_k_samples(MEANS, 2, delta=0.1) == pytest.approx(expected)
    assert least_best_k_samples([0.5, 0.5], 1, delta=0.1) == math.inf


def test_one_change_of_measure_gives_between_half_and_all_of_the_characteristic_time():
    for seed in range(20):
        means = np.random.default_rng(seed).random(5)
        single = least_best_k_samples(means, 1, delta=0.1, divergence=gaussian_divergence)
        whole = best_k_time(means, 1, divergence=gaussian_divergence)[1] * bernoulli_divergence(0.1, 0.9)
        assert single <= whole <= 2 * single


def test_best_k_time_of_known_instances():
    # Garivier and Kaufmann (2016), Table 1.
    for means, time in (([0.5, 0.45, 0.43, 0.4], 989.79), ([0.3, 0.21, 0.2, 0.19, 0.18], 326.64)):
        assert best_k_time(means, 1)[1] == pytest.approx(time, rel=1.1e-4)
    # Two groups: proportions p and q inside them, with 1/p + 1/q least under 2 p + 6 q = 1.
    groups = best_k_time([1.0] * 2 + [0.5] * 6, 2, divergence=gaussian_divergence)[1]
    assert groups == pytest.approx(2 * (math.sqrt(2) + math.sqrt(6)) ** 2 / 0.25, rel=1e-4)
    with pytest.raises(ValueError, match="k-th"):
        best_k_time([0.5, 0.5, 0.1], 1)
