"""Regret theory against cases worked out by hand, numerical integrals and measured regret."""

import math
from itertools import combinations

import numpy as np
import pytest
from refusals import refused
from scipy.integrate import quad

from cmab import CUCB, Smoothness, simulate
from cmab.bounds import RewardGaps, gap_dependent_bound, gap_free_bound, reward_gaps
from cmab.bounds.radii import LogRadius
from instances import BernoulliArms, SemiBandit
from oracles import BruteForce, TopK

N = np.array([1, 10, 1000, 10**6])
LOG = np.log(N)


def one_by_one(m):
    return [[arm] for arm in range(m)]


# Gaps ----------------------------------------------------------------------------------------------------


def test_gaps_of_the_three_best_of_four_by_hand():
    """Means 0.9, 0.7, 0.4, 0.1, pairs: 1.6 is best; the others lack 0.3, 0.6, 0.5, 0.8 and 1.1."""
    gaps = reward_gaps(TopK(4, 2), [0.9, 0.7, 0.4, 0.1], super_arms=combinations(range(4), 2))
    assert gaps.n_bad.tolist() == [2, 2, 3, 3]
    assert np.allclose(gaps.smallest, [0.3, 0.5, 0.3, 0.6])
    assert np.allclose(gaps.largest, [0.6, 0.8, 1.1, 1.1])
    assert np.array_equal(gaps.probabilities, np.ones(4))
    assert (gaps.optimum, gaps.overall) == (pytest.approx(1.6), pytest.approx(1.1))


def test_approximate_oracles_have_fewer_bad_super_arms():
    """Against 0.75 of the best, 0.75 x 0.8 = 0.6: of three arms only the one below it is bad."""
    oracle = BruteForce(3, one_by_one(3))
    oracle.alpha = 0.75
    gaps = reward_gaps(oracle, [0.8, 0.7, 0.5], super_arms=one_by_one(3))
    assert gaps.n_bad.tolist() == [0, 0, 1]
    assert np.isnan(gaps.smallest[:2]).all()
    assert gaps.smallest[2] == pytest.approx(0.1)


# Theorem 1 -----------------------------------------------------------------------------------------------


def test_classical_bandits_have_ucb1s_bound():
    """Equation 40: sum of 6 ln n / Delta_i, plus (pi^2 / 3 + 1) m Delta_max."""
    means = np.array([0.9, 0.8, 0.5, 0.2])
    gaps = reward_gaps(TopK(4, 1), means, super_arms=one_by_one(4))
    wanted = 6 * LOG * (1 / 0.1 + 1 / 0.4 + 1 / 0.7) + (math.pi**2 / 3 + 1) * 4 * 0.7
    assert np.allclose(gap_dependent_bound(gaps, Smoothness(1.0), rounds=N), wanted)


def test_linear_rewards_stay_below_the_papers_closed_form():
    """Section 4.2 drops the integral's upper end: 12 a^2 L^2 ln n / Delta_min^i; what it drops is known."""
    gaps = reward_gaps(TopK(4, 2), [0.9, 0.7, 0.4, 0.1], super_arms=combinations(range(4), 2))
    closed = sum(12 * 4 * LOG / gap for gap in gaps.smallest)
    dropped = sum(6 * 4 * LOG / gap for gap in gaps.largest)
    constant = (math.pi**2 / 3 + 1) * 4 * gaps.overall
    assert np.allclose(gap_dependent_bound(gaps, Smoothness.linear(2), rounds=N), closed - dropped + constant)


@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("omega", [1.0, 0.6])
@pytest.mark.parametrize("chance", [1.0, 0.3])
def test_theorem_1_is_its_formula_with_a_numerical_integral(chance, omega, scale):
    smoothness = Smoothness(2.0, omega)
    small, large = scale * np.array([0.2, 0.5, 1.0]), scale * np.array([0.9, 0.5, 3.0])
    gaps = RewardGaps(small, large, np.ones(3, int), np.array([1.0, chance, chance]), 1.0)

    def samples(x, p, n):
        inverse = smoothness.inverse(x) ** 2
        return (
            6 * math.log(n) / inverse
            if p == 1
            else max(12 * math.log(n) / (inverse * p), 24 * math.log(n) / p)
        )

    for n in (1, 50, 5000):
        wanted = ((2 + (chance < 1)) * math.pi**2 / 6 + 1) * 3 * large.max()
        for a, b, p in zip(small, large, gaps.probabilities, strict=True):
            turn = smoothness(2**-0.5)
            points = [turn] if a < turn < b else None
            wanted += samples(a, p, n) * a + quad(samples, a, b, (p, n), points=points)[0]
        assert float(gap_dependent_bound(gaps, smoothness, rounds=n)) == pytest.approx(wanted, rel=1e-7)


def test_other_radii_of_section_3_2():
    gaps = reward_gaps(TopK(3, 1), [0.9, 0.8, 0.5], super_arms=one_by_one(3))
    inverse, rest = 1 / 0.1 + 1 / 0.4, 3 * 0.4
    found = gap_dependent_bound(gaps, Smoothness(1.0), rounds=N, radius=LogRadius.wide(3.0))
    zeta = sum(k**-3.0 for k in range(1, 20000))
    assert np.allclose(found, 8 * LOG * inverse + (2 * zeta + 1) * rest)
    found = gap_dependent_bound(gaps, Smoothness(1.0), rounds=N[1:], radius=LogRadius.tight())
    loglog = np.log(LOG[1:])
    assert np.allclose(found, 2 * (2 * LOG[1:] + loglog) * inverse + (1 + 2 * loglog) * rest)
    assert np.isnan(gap_dependent_bound(gaps, Smoothness(1.0), rounds=2, radius=LogRadius.tight()))
    with_c_2 = gap_dependent_bound(gaps, Smoothness(1.0), rounds=N, radius=LogRadius(coefficient=1.5))
    assert np.array_equal(with_c_2, gap_dependent_bound(gaps, Smoothness(1.0), rounds=N))


# Theorem 2 -----------------------------------------------------------------------------------------------


def test_theorem_2_for_linear_rewards_is_section_4_2():
    gaps = reward_gaps(TopK(4, 2), [0.9, 0.7, 0.4, 0.1], super_arms=combinations(range(4), 2))
    wanted = 2 * np.sqrt(24 * 4 * N * LOG) + (math.pi**2 / 3 + 1) * 4 * 1.1
    assert np.allclose(gap_free_bound(gaps, Smoothness.linear(2), rounds=N), wanted)


def test_theorem_2_for_coverage_is_section_4_1():
    gaps = RewardGaps(np.full(6, 0.1), np.full(6, 0.4), np.ones(6, int), np.ones(6), 1.0)
    wanted = np.sqrt(24 * 6**3 * N * LOG) + (math.pi**2 / 3 + 1) * 6 * 0.4
    assert np.allclose(gap_free_bound(gaps, Smoothness.coverage(6), rounds=N), wanted)


def test_theorem_2_for_influence_is_section_4_3():
    """With the 24 ln n / p terms that the section leaves out."""
    p = np.array([1.0, 0.5, 0.25])
    gaps = RewardGaps(np.full(3, 0.1), np.full(3, 0.4), np.ones(3, int), p, 1.0)
    leading = 4 * np.sqrt(48 * 3**3 * N * LOG / 0.25)
    wanted = leading + (math.pi**2 / 2 + 1) * 3 * 0.4 + 24 * LOG * (1 + 2 + 4) * 0.4
    assert np.allclose(gap_free_bound(gaps, Smoothness.influence(3, 4), rounds=N), wanted)


# Smoothness, arguments, measured regret ------------------------------------------------------------------


def test_smoothness_of_the_built_in_rewards():
    assert Smoothness.linear(3, 2.0)(0.1) == pytest.approx(0.6)
    assert Smoothness.coverage(7)(0.1) == pytest.approx(0.7)
    assert Smoothness.influence(7, 5)(0.1) == pytest.approx(3.5)
    f = Smoothness(2.0, 0.5)
    assert f.inverse(f(0.3)) == pytest.approx(0.3)


test_what_has_no_bound_is_refused = refused(
    (lambda g: gap_free_bound(g, Smoothness(1.0), rounds=[5, math.nan]), "rounds"),
    (lambda g: gap_dependent_bound(g, Smoothness(1.0), rounds=5, radius=LogRadius(1.0)), "radius"),
    (lambda g: gap_dependent_bound(g, Smoothness(1.0), rounds=5, radius=LogRadius(1.5, 0.5)), "radius"),
    (lambda g: reward_gaps(TopK(2, 1), [0.1, 0.2], super_arms=[]), "at least one"),
    (lambda g: reward_gaps(TopK(2, 1), [0.1, 0.2], super_arms=[[0, 1]]), "super_arm"),
    (
        lambda g: reward_gaps(TopK(2, 1), [0.1, 0.2], super_arms=[[0]], triggering=lambda arm: [0.5, 2.0]),
        "triggering",
    ),
    by=lambda call: call(reward_gaps(TopK(2, 1), [0.1, 0.2], super_arms=[[0], [1]])),
)


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("radius", [LogRadius(), LogRadius.wide(1.5), LogRadius.tight()])
def test_measured_regret_keeps_the_bounds(sense, radius):
    """Theorem 1 bounds the mean with room to spare (its constants are tens of times the truth)."""
    oracle = TopK(4, 2, sense=sense)
    means = np.array([0.9, 0.8, 0.2, 0.1])
    environment = SemiBandit(BernoulliArms(means), oracle)
    checkpoints = [10, 100, 1000, 10_000, 40_000]
    result = simulate(
        CUCB(oracle, radius=radius), environment, 40_000, replications=4, checkpoints=checkpoints, rng=0
    )
    gaps, smoothness = reward_gaps(oracle, means, super_arms=combinations(range(4), 2)), Smoothness.linear(2)
    measured = result.regret.mean(axis=0)
    assert (measured < gap_dependent_bound(gaps, smoothness, rounds=checkpoints, radius=radius)).all()
    assert (measured < gap_free_bound(gaps, smoothness, rounds=checkpoints)).all()
    # ln 40,000 / ln 1,000 is 1.5: the regret grows like that, not like sqrt(40).
    assert 0 < measured[-1] < 2.5 * measured[2]
