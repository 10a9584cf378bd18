"""Regret theory against cases by hand, numerical integrals, measured regret, and constants 10 % smaller."""

import math
from itertools import combinations

import numpy as np
import pytest
from cases import pages
from refusals import refused
from scipy.integrate import quad

from cmab import CUCB, Smoothness, simulate
from cmab.bounds import (
    RewardGaps,
    gap_dependent_bound,
    gap_free_bound,
    modulated_bound,
    modulated_gap_free_bound,
    reward_gaps,
)
from cmab.bounds.radii import LogRadius
from cmab.bounds.regret import sum_of_widths
from cmab.oracle import smoothness_of
from instances import BernoulliArms, Coverage, IndependentCascade, SemiBandit
from oracles import BruteForce, DirectedGraph, InfluenceMaximization, MaxCoverage, TopK

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


# Bounds without 1 / p* -----------------------------------------------------------------------------------


ROUNDS = np.array([10, 1000, 10**6])
BOUNDS = (modulated_bound, modulated_gap_free_bound)


def widths(counts, t):
    """Return the widths of Algorithm 1's intervals in round `t`, 1 where nothing was seen."""
    return np.minimum(2 * np.sqrt(1.5 * np.log(t) / np.maximum(counts, 1e-9)), 1.0)


@pytest.mark.parametrize("chance", [1.0, 0.3])
def test_a_sum_of_widths_ten_percent_smaller_fails(chance):
    """One arm, triggered with `chance` in each of a million rounds. The sum of its widths is the bound but
    for ln t <= ln n, which makes 4 to 7 %; by chance it varies by 0.1 %."""
    n = 10**6
    seen = np.random.default_rng(0).random(n) < chance
    met = chance * widths(np.cumsum(seen) - seen, np.arange(1, n + 1)).sum()
    limit = float(sum_of_widths(1, chance, np.float64(n)))
    assert 0.9 * limit < met <= limit


def test_both_bounds_of_a_rarely_triggered_arm_by_hand():
    """a -> b with 0.01, b -> c with 0.5, one seed: 1.015, 1.5, 1. Only a and c are bad, and p* is 0.01."""
    oracle = InfluenceMaximization(DirectedGraph.from_edges([0, 1], [1, 2]), 1, epsilon=0.3)
    oracle.alpha = 0.9
    gaps = reward_gaps(oracle, [0.01, 0.5], super_arms=[[0], [1], [2]])
    assert gaps.probabilities.min() == 0.01 and gaps.n_triggered == pytest.approx(1.01)
    small, large = 0.9 * 1.5 - 1.015, 0.9 * 1.5 - 1.0
    rest = math.pi**2 / 3 * 2 * 0.335
    assert gaps.overall == pytest.approx(0.335) and small == pytest.approx(0.335) and large > small
    log = np.log(ROUNDS)
    by_gap = 24 * 3**2 * 2 * 1.01 * log / 0.335 + 2 * 3 * 2 + rest
    np.testing.assert_allclose(modulated_bound(gaps, smoothness_of(oracle), rounds=ROUNDS), by_gap)
    free = 3 * (2 + np.sqrt(24 * 2 * 1.01 * ROUNDS * log)) + rest
    np.testing.assert_allclose(modulated_gap_free_bound(gaps, smoothness_of(oracle), rounds=ROUNDS), free)
    for new, old in zip(BOUNDS, (gap_dependent_bound, gap_free_bound), strict=True):
        assert (
            new(gaps, smoothness_of(oracle), rounds=ROUNDS) < old(gaps, smoothness_of(oracle), rounds=ROUNDS)
        ).all()


def cascade():
    graph = DirectedGraph.from_edges([0, 0, 1, 2, 3], [1, 2, 3, 3, 4])
    environment = IndependentCascade(graph, [0.1, 0.6, 0.9, 0.05, 0.7], k=1)
    return environment, InfluenceMaximization(graph, 1, epsilon=0.3), [[i] for i in range(5)]


def coverage():
    return Coverage(pages(), 2, probability="p"), MaxCoverage(pages(), 2), combinations(range(4), 2)


def pairs():
    oracle = TopK(5, 2)
    environment = SemiBandit(BernoulliArms([0.9, 0.7, 0.6, 0.3, 0.1]), oracle)
    return environment, oracle, combinations(range(5), 2)


@pytest.mark.parametrize("make", [cascade, coverage, pairs])
def test_measured_regret_keeps_both_bounds(make):
    environment, oracle, super_arms = make()
    gaps, n = reward_gaps(oracle, environment.means, super_arms=super_arms), [10, 100]
    result = simulate(CUCB(oracle), environment, n[-1], replications=2, checkpoints=n, rng=0)
    for bound in BOUNDS:
        assert (result.regret.mean(axis=0) < bound(gaps, smoothness_of(oracle), rounds=n)).all()


def test_bounds_refuse_what_they_cannot_know():
    gaps = RewardGaps(*np.full((2, 1), 0.5), np.ones(1, int), np.ones(1), 1.0)
    for bound in BOUNDS:
        with pytest.raises(ValueError, match="modulated constant, got None"):
            bound(gaps, None, rounds=5)
        with pytest.raises(ValueError, match="modulated constant, got Smoothness"):
            bound(gaps, Smoothness(1.0), rounds=5)
        with pytest.raises(ValueError, match="n_triggered"):
            bound(gaps, Smoothness.linear(1), rounds=5)
    with pytest.raises(ValueError, match="modulated"):
        Smoothness(1.0, modulated=0.0)
    flat = reward_gaps(TopK(2, 1), [0.5, 0.5], super_arms=[[0], [1]])
    with pytest.raises(ValueError, match="rounds"):
        modulated_gap_free_bound(flat, Smoothness.linear(1), rounds=0)
    assert (modulated_bound(flat, Smoothness.linear(1), rounds=ROUNDS) == 0).all()


@pytest.mark.parametrize(
    "bound", [gap_dependent_bound, gap_free_bound, modulated_bound, modulated_gap_free_bound]
)
def test_gaps_are_checked(bound):
    with pytest.raises(TypeError, match="gaps must be a RewardGaps"):
        bound("x", Smoothness.linear(2), rounds=10)
