"""The table of all bounds has the values of the single functions and the conditions of their theorems."""

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest

from cmab.theory import (
    gap_dependent_bound,
    gap_free_bound,
    instance_bounds,
    modulated_bound,
    modulated_gap_free_bound,
    reward_gaps,
)
from cmab.theory.best_k_time import best_k_time
from cmab.theory.characteristic_time import least_samples
from cmab.theory.hardness import constrained_gaps, halving_samples, ugapec_samples
from cmab.theory.sample_bounds import clucb_samples, lucb1_samples
from cmab.theory.super_arm_time import super_arm_time
from oracles import GraphicMatroid, InfluenceMaximization, ShortestPath, TopK

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
    values = [float(function(gaps, oracle.smoothness(), rounds=rounds)) for function in ON_REGRET]
    for super_arms in (None, family):
        found = instance_bounds(oracle, means, horizon=rounds, super_arms=super_arms)
        assert of(found, "CUCB") == values
    for bound, function in zip(found, ON_REGRET, strict=True):
        for rounds_of, is_below in ((bound.useful_from, True), (bound.useful_from - 1.0, False)):
            below = float(function(gaps, oracle.smoothness(), rounds=rounds_of)) < gaps.overall * rounds_of
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
    tied = instance_bounds(TopK(3, 1), [0.5, 0.5, 0.1], delta=0.1)
    assert math.isnan(tied[0].value) and tied[0].note


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
