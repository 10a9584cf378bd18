"""Measures of hardness: values computed elsewhere, definitions by enumeration."""

from itertools import combinations

import numpy as np
import pytest

from cmab.bounds.samples import aggregate_hardness, best_k_gaps, hardness, ugape_hardness, ugapec_samples
from cmab.explorer import best_k
from oracles import TopK

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


def test_bad_gaps_are_refused():
    with pytest.raises(ValueError, match="gaps must be"):
        hardness([0.1, -0.1])
