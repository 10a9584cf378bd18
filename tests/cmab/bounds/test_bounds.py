"""The table of all bounds has the values of the single functions and the conditions of their theorems."""

import math
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from scipy.integrate import quad

from cmab.bounds import (
    gap_dependent_bound,
    gap_free_bound,
    instance_bounds,
    modulated_bound,
    modulated_gap_free_bound,
    reward_gaps,
)
from cmab.bounds.instance import _family
from cmab.bounds.samples import (
    clucb_samples,
    constrained_gaps,
    halving_samples,
    lucb1_samples,
    ugapec_samples,
)
from cmab.bounds.times import best_k_time, evidence, least_samples, super_arm_time
from cmab.oracle import smoothness_of
from oracles import (
    BruteForce,
    GraphicMatroid,
    InfluenceMaximization,
    Matching,
    PartitionMatroid,
    RankedTopK,
    ShortestPath,
    TopK,
)

MEANS = [0.9, 0.8, 0.3, 0.1]
ON_REGRET = (gap_dependent_bound, gap_free_bound, modulated_gap_free_bound, modulated_bound)


def of(bounds, rule, kind="at most"):
    return [bound.value for bound in bounds if bound.rule == rule and bound.kind == kind]


def listed(oracle):
    sets = [sets for size in range(1, oracle.n_arms + 1) for sets in combinations(range(oracle.n_arms), size)]
    return [arms for arms in sets if oracle.is_feasible(np.array(arms))]


def roads():
    """Three paths from 0 to 3."""
    return ShortestPath(nx.DiGraph([(0, 1), (1, 3), (0, 2), (2, 3), (1, 2)]), 0, 3), [
        0.2,
        0.35,
        0.5,
        0.15,
        0.4,
    ]


def trees():
    return GraphicMatroid(nx.complete_graph(4)), np.linspace(0.2, 0.9, 6)


@pytest.mark.parametrize("make", [lambda: (TopK(4, 2), MEANS), roads, trees])
@pytest.mark.parametrize("rounds", [1, 1000, 10**7])
def test_bounds_on_the_regret_are_those_of_the_theorems(make, rounds):
    oracle, means = make()
    family = listed(oracle)
    gaps = reward_gaps(oracle, means, super_arms=family)
    values = [float(function(gaps, smoothness_of(oracle), rounds=rounds)) for function in ON_REGRET]
    for super_arms in (None, family):
        found = instance_bounds(oracle, means, horizon=rounds, super_arms=super_arms)
        assert of(found, "CUCB") == values
    for bound, function in zip(found, ON_REGRET, strict=True):
        for rounds_of, is_below in ((bound.useful_from, True), (bound.useful_from - 1.0, False)):
            below = float(function(gaps, smoothness_of(oracle), rounds=rounds_of)) < gaps.overall * rounds_of
            assert below == is_below


def test_bounds_that_never_help_are_useful_from_infinity():
    close = instance_bounds(TopK(2, 1), [0.5, 0.5 - 1e-10], horizon=10)
    assert of(close, "CUCB") and all(math.isinf(bound.useful_from) for bound in close)
    equal = instance_bounds(TopK(2, 1), [0.5, 0.5], horizon=10)
    assert all(math.isnan(bound.useful_from) for bound in equal)


def test_samples_of_the_best_arms():
    found = instance_bounds(TopK(4, 2), MEANS, delta=0.05)
    evidence = least_samples([0.6, 0.5], delta=0.05) / best_k_time([0.6, 0.5], 1)[1]
    assert of(found, "every rule", "at least")[0] == pytest.approx(
        best_k_time(MEANS, 2)[1] * evidence, rel=1e-3
    )
    assert of(found, "LUCB1") == [lucb1_samples([0.6, 0.5, 0.5, 0.7], delta=0.05)]
    least = max(of(found, "every rule", "at least"))
    assert all(bound.value >= least for bound in found if bound.kind == "at most")
    tolerant = instance_bounds(TopK(4, 2), MEANS, delta=0.05, epsilon=0.25)
    assert of(tolerant, "every rule", "at least") == []
    assert of(tolerant, "Halving") == [halving_samples(4, 2, delta=0.05, epsilon=0.25)]
    assert of(tolerant, "UGapEc") == pytest.approx(
        [ugapec_samples([0.6, 0.5, 0.5, 0.7], delta=0.05, epsilon=0.25)]
    )
    mirrored = instance_bounds(TopK(4, 2, sense="min"), [1.0 - mean for mean in MEANS], delta=0.05)
    assert [bound.value for bound in mirrored] == pytest.approx([bound.value for bound in found])


def test_samples_of_super_arms():
    oracle, means = roads()
    found = instance_bounds(oracle, means, delta=0.1)
    time = super_arm_time(means, listed(oracle), sense="min")[1]
    evidence = least_samples([0.6, 0.5], delta=0.1) / best_k_time([0.6, 0.5], 1)[1]
    assert of(found, "every rule", "at least")[0] == pytest.approx(time * evidence, rel=1e-3)
    gaps = constrained_gaps(oracle, means)
    widths = [clucb_samples(gaps, delta=0.1, width=width) for width in range(2, 8)]
    assert of(found, "CLUCB")[0] in widths
    assert max(of(found, "every rule", "at least")) <= min(of(found, "CLUCB") + of(found, "LilCLUCB"))


def test_reasons_stand_beside_missing_values():
    graph = nx.DiGraph([(0, 1), (1, 2)])
    seeds = InfluenceMaximization(graph, 1)
    found = instance_bounds(seeds, [0.5, 0.5], horizon=100, delta=0.1, super_arms=[[0], [1], [2]])
    assert not math.isnan(found[0].value)
    assert math.isnan(found[-1].value) and "linear oracle" in found[-1].note
    assert "needs a linear oracle" in repr(found) and "<table" in found._repr_html_()
    outside = instance_bounds(TopK(3, 1), [2.0, 0.5, -1.0], horizon=100, delta=0.1)
    missing = [bound for bound in outside if math.isnan(bound.value)]
    assert {bound.note for bound in missing} == {"needs outcomes in [0, 1], got means outside"}
    assert {bound.rule for bound in missing} == {"CUCB", "every rule", "LUCB1"}


@pytest.mark.parametrize(
    ("make", "means"),
    [
        (lambda: TopK(3, 1), [0.5, 0.5, 0.1]),
        (lambda: TopK(3, 2, sense="min"), [0.5, 0.5, 0.1]),
        (lambda: BruteForce(3, [[0], [1, 2]]), [0.5, 0.2, 0.3]),
        # All perfect matchings have the same sum. Rounding errors are no gaps.
        (lambda: Matching(nx.complete_bipartite_graph(3, 3), perfect=True), np.linspace(0.1, 0.9, 9)),
        (lambda: Matching(nx.complete_bipartite_graph(3, 3), perfect=True), np.linspace(-7e5, 3e4, 9)),
    ],
)
def test_ties_need_infinitely_many_samples(make, means):
    for delta, least in ((0.1, math.inf), (0.7, 0.0)):
        found = instance_bounds(make(), means, delta=delta)
        assert {b.value for b in found if "all changes" in b.note} == {least}


@pytest.mark.parametrize(("n_arms", "k"), [(40, 10), (100_000, 10), (10_000, 1), (10_000, 9_999)])
@pytest.mark.filterwarnings("error")
def test_samples_for_the_best_of_many_arms_need_no_list(n_arms, k):
    means = np.linspace(0.1, 0.9, n_arms)
    found = instance_bounds(TopK(n_arms, k), means, delta=0.05)
    ordered = np.sort(means)[::-1]
    gaps = np.concatenate((ordered[:k] - ordered[k], ordered[k - 1] - ordered[k:]))
    gaussian = next(bound.value for bound in found if bound.note == "Gaussian outcomes, one change")
    assert gaussian == pytest.approx(0.5 * (1.0 / gaps**2).sum() * evidence(0.05), rel=1e-6)
    values = {kind: [b.value for b in found if b.kind == kind] for kind in ("at least", "at most")}
    assert np.nanmax(values["at least"]) < min(values["at most"]) < math.inf
    assert found[0].value > 0.0 or "at most 1,000 pairs" in found[0].note


def test_a_hundred_overlapping_super_arms_have_all_bounds():
    """Windows of ten neighbours; exchanges of up to 20 arms, and many nearly equal rivals."""
    windows = [range(i, i + 10) for i in range(100)]
    means = np.random.default_rng(0).random(109)
    found = instance_bounds(BruteForce(109, windows), means, delta=0.05, super_arms=windows)
    assert [bound.rule for bound in found] == ["every rule", "every rule", "CLUCB", "LilCLUCB"]
    values = [bound.value for bound in found]
    assert 0.0 < values[1] < values[0] < values[3] < values[2] < math.inf


@pytest.mark.parametrize("delta", [0.49, 0.1, 1e-3, 1e-15, 1e-17, 1e-100, 1e-300])
@pytest.mark.parametrize("make", [lambda: (TopK(4, 2), MEANS), roads, trees])
def test_no_lower_bound_is_above_an_upper_bound_for_any_delta(make, delta):
    """The logarithm of 1 / delta is the evidence, up to a factor that tends to 1."""
    oracle, means = make()
    found = instance_bounds(oracle, means, delta=delta)
    values = {kind: [b.value for b in found if b.kind == kind] for kind in ("at least", "at most")}
    assert 0.0 < max(values["at least"]) <= min(values["at most"]) < math.inf
    assert evidence(delta) == pytest.approx(
        (1 - delta) * math.log((1 - delta) / delta) + delta * math.log(delta / (1 - delta)), rel=1e-9
    )


def test_a_guess_needs_no_evidence():
    for delta in (0.5, 0.7, 1 - 1e-16):
        assert of(instance_bounds(TopK(4, 2), MEANS, delta=delta), "every rule", "at least") == [0.0] * 3


def test_bounds_for_the_unit_interval_need_its_sigma():
    """Outcomes in [0, 1] have a scale of at most 1/2, and coins at least their standard deviation."""
    wide = instance_bounds(TopK(4, 2), MEANS, delta=0.1, horizon=100, sigma=2.0)
    missing = {(bound.rule, bound.kind) for bound in wide if math.isnan(bound.value)}
    assert missing == {("CUCB", "at most"), ("LUCB1", "at most")}
    assert all("sigma = 2" in bound.note for bound in wide if math.isnan(bound.value))
    narrow = instance_bounds(TopK(4, 2), MEANS, delta=0.1, sigma=0.1)
    assert [math.isnan(bound.value) for bound in narrow[:3]] == [True, True, False]
    assert all("0.458258" in bound.note for bound in narrow[:2])


def test_the_list_of_super_arms_is_whole_and_counts_each_once():
    pairs = list(combinations(range(4), 2))
    plain = instance_bounds(TopK(4, 2), MEANS, delta=0.1, horizon=100)
    twice = [*pairs, *((j, i) for i, j in pairs)]
    assert str(instance_bounds(TopK(4, 2), MEANS, delta=0.1, horizon=100, super_arms=twice)) == str(plain)
    for part in (pairs[:1], pairs[:1] * 6, pairs[1:]):
        with pytest.raises(ValueError, match=r"super_arms must list all super arms of TopK.*without"):
            instance_bounds(TopK(4, 2), MEANS, delta=0.1, super_arms=part)


def test_ranked_lists_are_super_arms_in_all_orders():
    """The least triggering probability of an item is that at the end of a list, after the best items."""
    lists = RankedTopK(4, 2)
    found = instance_bounds(lists, MEANS, horizon=1000)
    every = [np.array(arms) for arms in permutations(range(4), 2)]
    gaps = reward_gaps(lists, MEANS, super_arms=every)
    assert gaps.probabilities == pytest.approx([0.2, 0.1, 0.1, 0.1])
    assert of(found, "CUCB") == [float(f(gaps, smoothness_of(lists), rounds=1000)) for f in ON_REGRET]
    with pytest.raises(ValueError, match="too many orders"):
        instance_bounds(RankedTopK(9, 8), np.linspace(0.1, 0.9, 9), horizon=10)


@pytest.mark.parametrize(
    "make", [lambda: TopK(3, 3), lambda: TopK(1, 1), lambda: GraphicMatroid(nx.path_graph(4))]
)
def test_one_super_arm_needs_no_samples(make):
    found = instance_bounds(make(), [0.5, 0.5, 0.2][: make().n_arms], delta=0.1, horizon=10)
    assert [(bound.value, bound.note) for bound in found if bound.unit == "samples"] == [
        (0.0, "there is one super arm only")
    ]
    assert of(found, "CUCB")[0] == 0.0


@pytest.mark.parametrize(
    "options",
    [
        {"delta": 5e-324},
        {"epsilon": 1e-200},
        {"epsilon": 1e300},
        {"sigma": 1e200},
        {"sigma": 1e-200},
        {"means": [1e300, 1e299, 1.0, 0.0]},
        {"means": [0.5, 0.5, 0.5 - 1e-12, 0.4]},
        {"means": [0.5, 0.5, 0.5 - 1e-16, 0.4]},
        {"means": [1.0, 1.0, 0.0, 0.0]},
        {"means": [0.5] * 4},
        {"means": [1.0, 0.5, 0.5, 0.0], "epsilon": 0.1},
    ],
)
@pytest.mark.parametrize("make", [lambda: TopK(4, 2), lambda: PartitionMatroid([0, 0, 1, 1], {0: 1, 1: 1})])
@pytest.mark.filterwarnings("error")
def test_extremes_give_numbers_or_reasons(make, options):
    found = instance_bounds(make(), **{"means": MEANS, "delta": 0.1, "horizon": 10**18} | options)
    for bound in found:
        assert bound.value >= 0.0 or (math.isnan(bound.value) and bound.note), bound
        assert "linprog" not in bound.note and "domain" not in bound.note and "counts" not in bound.note


@pytest.mark.parametrize("seed", range(6))
def test_bounds_on_the_regret_by_the_formulas_of_the_paper(seed):
    """Theorem 1 by quadrature and Theorem 2, for the best k arms: f(x) = k x and n_bad counts sets."""
    rng = np.random.default_rng(seed)
    n_arms, n = int(rng.integers(2, 7)), int(10 ** rng.uniform(0, 9))
    k, means = int(rng.integers(1, n_arms)), rng.random(n_arms)
    sums = {arms: means[list(arms)].sum() for arms in combinations(range(n_arms), k)}
    best = max(sums.values())
    largest, total = best - min(sums.values()), 0.0
    for arm in range(n_arms):
        gaps = [best - value for arms, value in sums.items() if arm in arms and value < best]
        if gaps:
            area = quad(lambda x: 6 * math.log(n) * k**2 / x**2, min(gaps), max(gaps))[0]
            total += 6 * math.log(n) * k**2 / min(gaps) + area
    constant = (math.pi**2 / 3 + 1) * n_arms * largest
    found = of(instance_bounds(TopK(n_arms, k), means, horizon=n), "CUCB")
    assert found[0] == pytest.approx(total + constant, rel=1e-6)
    assert found[1] == pytest.approx(2 * k * math.sqrt(6 * n_arms * n * math.log(n)) + constant)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_stay_useful_after_the_first_useful_round(seed):
    rng = np.random.default_rng(seed)
    oracle = [TopK(5, 2), trees()[0], RankedTopK(4, 2)][seed % 3]
    means = rng.random(oracle.n_arms)
    gaps = reward_gaps(oracle, means, super_arms=_family(oracle, None))
    for bound, function in zip(instance_bounds(oracle, means, horizon=9), ON_REGRET, strict=True):
        rounds = np.unique(np.floor(bound.useful_from * np.logspace(-3, 6, 200))).clip(1)
        below = function(gaps, smoothness_of(oracle), rounds=rounds) < gaps.overall * rounds
        assert np.array_equal(below, rounds >= bound.useful_from)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "horizon or delta must be given"),
        ({"horizon": 0}, "horizon must be"),
        ({"delta": 1.0}, "delta must be"),
        ({"delta": 0.1, "epsilon": -1.0}, "epsilon must be"),
        ({"delta": 0.1, "sigma": 0.0}, "sigma must be"),
        ({"horizon": 5, "super_arms": []}, "super_arms must not be empty"),
    ],
)
def test_errors(options, text):
    with pytest.raises(ValueError, match=text):
        instance_bounds(TopK(4, 2), MEANS, **options)


def test_large_families_must_be_given():
    with pytest.raises(ValueError, match="super_arms must list all super arms"):
        instance_bounds(TopK(100, 10), np.linspace(0, 1, 100), horizon=10)
