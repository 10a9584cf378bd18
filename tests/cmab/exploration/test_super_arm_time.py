"""T* of listed super arms: against that of the best k, of matroids' exchanges, and of two disjoint sets."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from cmab.bounds.times import best_k_time, super_arm_time

PATHS = [(0, 1), (0, 2, 3), (4, 3), (4, 2, 1)]


def test_all_sets_of_k_arms_are_the_best_k():
    means = np.array([0.9, 0.7, 0.65, 0.3, 0.1])
    time = super_arm_time(means, list(combinations(range(5), 2)))[1]
    expected = best_k_time(means, 2, divergence=lambda p, q: 2.0 * (p - q) ** 2)[1]
    assert time == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_no_proportions_beat_those_of_the_paths(sense):
    means = np.array([0.5, 0.3, 0.4, 0.1, 0.25])
    means = means if sense == "max" else 1.0 - means
    inside = np.array([[float(i in path) for i in range(5)] for path in PATHS])
    # All sums of costs are compared, for paths have different lengths.
    sums = inside @ means * (1.0 if sense == "max" else -1.0)
    best = int(np.argmax(sums))

    def evidence(w):
        gaps = [(sums[best] - s) ** 2 / 2 for s in np.delete(sums, best)]
        differing = np.abs(np.delete(inside, best, axis=0) - inside[best])
        return min(gap / (row / w).sum() / 0.49 for gap, row in zip(gaps, differing, strict=True))

    proportions, time = super_arm_time(means, PATHS, sigma=0.7, sense=sense)
    assert proportions.sum() == pytest.approx(1.0)
    assert evidence(np.maximum(proportions, 1e-300)) == pytest.approx(1 / time, rel=2e-3)

    def loss(logits):
        w = np.exp(logits - logits.max())
        return -evidence(np.maximum(w / w.sum(), 1e-12))

    found = minimize(loss, np.zeros(5), method="Nelder-Mead", options={"maxiter": 3000, "fatol": 1e-12})
    assert -found.fun <= 1 / time * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_no_proportions_and_no_weights_of_rivals_beat_the_time_of_random_families(seed):
    """Proportions bound T* from above, and weights p of rivals from below by (sum of sqrt(p s))^2."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    family = [np.flatnonzero(rng.random(n) < 0.4) for _ in range(int(rng.integers(3, 300)))]
    means = [rng.normal(size=n), np.exp(5.0 * rng.normal(size=n))][seed % 2]
    proportions, time = super_arm_time(means, family, sigma=0.3)
    inside = np.array([np.isin(np.arange(n), arms) for arms in family], float)
    sums = inside @ means
    rivals = np.abs(inside - inside[np.argmax(sums)]).any(axis=1)
    involved = np.abs(inside - inside[np.argmax(sums)])[rivals]
    shares = 2 * 0.3**2 * involved / (sums.max() - sums[rivals])[:, None] ** 2

    def needed(w):
        return (shares[:, w > 0] / w[w > 0]).sum(axis=1).max()

    assert time * (1 - 1e-9) <= needed(proportions) <= time * (1 + 1.1e-3)
    for _ in range(50):
        other = 0.9 * proportions + 0.1 * rng.dirichlet(np.ones(n))
        assert needed(other) >= time * (1 - 1e-9)
        weights = rng.dirichlet(np.full(len(shares), 0.1))
        assert np.sqrt(weights @ shares).sum() ** 2 <= time * (1 + 1.1e-3)


def test_ties_and_arms_that_all_have():
    with pytest.raises(ValueError, match="unique best"):
        super_arm_time([0.5, 0.5], [(0,), (1,)])
    with pytest.raises(ValueError, match="unique best"):
        super_arm_time([0.5, 0.5], [(0, 1)])
    with pytest.raises(ValueError, match="unique best"):
        super_arm_time([0.1, 0.2, 0.3], [(0, 1), (2,)])  # 0.1 + 0.2 > 0.3 only by rounding
    # A far rival does not hide a gap.
    small = super_arm_time([1.0, 2.0, -1e20], [(0,), (1,), (2,)])[1]
    assert small == pytest.approx(super_arm_time([1.0, 2.0], [(0,), (1,)])[1], rel=2e-3)
    proportions, time = super_arm_time([0.9, 0.5, 0.3], [(0, 1), (0, 2)], sigma=1.0)
    assert proportions.tolist() == pytest.approx([0.0, 0.5, 0.5])
    assert time == pytest.approx(2 * 4 / 0.2**2, rel=2e-3)
