"""Sample bounds, measures of hardness and radii: values by hand or elsewhere, enumeration, real runs."""

import math
from itertools import combinations

import numpy as np
import pytest

from cmab import CLUCB, LUCB1, AdaptiveTopK, LilCLUCB, LilRandLUCB, identify
from cmab.bounds.kl import bernoulli_divergence
from cmab.bounds.radii import c_epsilon, lil_parameters, lil_radii, mixture_threshold
from cmab.bounds.samples import (
    adaptive_top_k_samples,
    aggregate_hardness,
    best_k_gaps,
    clucb_samples,
    hardness,
    least_best_k_samples,
    lil_clucb_samples,
    lil_rand_lucb_samples,
    lucb1_samples,
    ugape_hardness,
    ugapec_samples,
)
from cmab.bounds.times import best_k_time, gaussian_divergence
from cmab.explorer import best_k
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


# Hardness ------------------------------------------------------------------------------------------------


N = 1000


def synthetic(k, p):
    i = np.arange(1, N + 1)
    top = (1 - k / N) + (k / N) * (1 - np.minimum(i, k) / k) ** p
    rest = (1 - k / N) - ((N - k) / N) * (np.maximum(i - k, 0) / (N - k)) ** p
    return np.where(i <= k, top, rest)


@pytest.mark.parametrize(
    ("p", "k", "wide", "narrow"),
    [
        (0.5, 100, 1.95e4, 2.28e4),
        (0.5, 500, 1.38e4, 2.39e4),
        (1, 100, 1.13e5, 3.79e5),
        (1, 250, 7.43e4, 3.85e5),
        (1, 500, 5.21e4, 3.86e5),
        (6, 100, 5.38e6, 5.38e6),
        (6, 500, 2.11e6, 5.68e6),
    ],
)
def test_aggregate_hardness_of_the_papers_instances(p, k, wide, narrow):
    means = synthetic(k, p)
    assert aggregate_hardness(means, k, epsilon=0.01)[2] == pytest.approx(wide, rel=0.005)
    psi = max(0.01, np.sort(best_k_gaps(means, k))[0])  # t = 0: the measure of CLUCB-PAC
    assert hardness(best_k_gaps(means, k), psi) == pytest.approx(narrow, rel=0.005)


@pytest.mark.parametrize("seed", range(10))
def test_gaps_are_what_it_costs_to_change_a_side(seed):
    values = np.random.default_rng(seed).integers(0, 5, 6) / 4
    for k in range(1, 6):
        best = set(best_k(values, k).tolist())
        subsets = [(values[list(arms)].sum(), set(arms)) for arms in combinations(range(6), k)]
        top = max(subsets, key=lambda pair: pair[0])[0]
        expected = [
            top - max(value for value, arms in subsets if (arm in arms) != (arm in best)) for arm in range(6)
        ]
        assert best_k_gaps(values, k) == pytest.approx(expected)
        found = TopK(6, k).gaps(values, [], [], np.random.default_rng(0))[1]
        assert found == pytest.approx(expected)


def test_equal_means_are_infinitely_hard():
    gaps = best_k_gaps([0.5, 0.5, 0.1], 1)
    assert hardness(gaps) == ugape_hardness(gaps) == np.inf
    assert ugapec_samples(gaps, epsilon=0.0, delta=0.1) == np.inf
    assert hardness(gaps, floor=0.5) == 12.0


def test_ugapec_samples_solves_its_equation():
    gaps = np.array([0.1, 0.3, 0.4])
    n = ugapec_samples(gaps, epsilon=0.05, delta=0.1)
    assert n == pytest.approx(2 * ugape_hardness(gaps, epsilon=0.05) * np.log(4 * 3 * n**3 / 0.1) + 3)


# Radii ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "omega", "epsilon", "sigma", "value"),
    [
        (1, 1e-3, 0.0, 0.5, 1.871070),
        (100, 1e-3, 0.0, 0.5, 0.205417),
        (10_000, 1e-5, 0.0, 0.5, 0.026204),
        (1, 1e-8, 0.01, 0.5, 3.363818),
        (100, 1e-8, 0.01, 0.5, 0.349185),
        (100, 1e-8, 0.01, 1.0, 0.698371),
    ],
)
def test_lil_radius(count, omega, epsilon, sigma, value):
    assert lil_radii(np.array([count]), omega, epsilon=epsilon, sigma=sigma)[0] == pytest.approx(
        value, abs=1e-6
    )


@pytest.mark.parametrize(
    ("x", "value"), [(1, 2.507), (2, 3.583), (3, 4.648), (4.6, 6.337), (7, 8.846), (10, 11.955)]
)
def test_mixture_threshold(x, value):
    assert mixture_threshold(x) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(("n", "k"), [(10, 2), (100, 50)])
def test_faithful_levels_meet_the_confidence_exactly(n, k):
    epsilon, level = lil_parameters("faithful", delta=0.01, sides=(k, n - k), n_sides=2.0)
    tight = (level / 2) ** 1.01 * (k**-0.01 + (n - k) ** -0.01)
    assert c_epsilon(epsilon) * tight == pytest.approx(0.01)
    assert lil_parameters("paper", delta=0.01, sides=(k, n - k), n_sides=2.0)[1] == pytest.approx(
        4.727e-7, rel=1e-3
    )
    assert lil_parameters("heuristic", delta=0.01, sides=(k, n - k), n_sides=2.0) == (0.0, 0.01)
