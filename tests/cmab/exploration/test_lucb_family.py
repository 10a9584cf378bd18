"""Identification with fixed confidence: sample counts, coincidences, errors, symmetries, bad input."""

from itertools import combinations

import numpy as np
import pytest
from refusals import refused

from cmab import (
    CLUCB,
    LUCB1,
    BestKGLR,
    LilCLUCB,
    LilRandLUCB,
    LUCBPlusPlus,
    UGapEc,
    identify,
)
from cmab.exploration.lucb import LilLUCB, LilUCB
from cmab.explorer import AggregateTopK, BestSuperArm, ExploreEach, ExploreM
from instances import GaussianArms
from oracles import TopK

SPARSE = np.repeat([0.5, 0.0], [2, 8])  # 1-sparse, N = 10, K = 2, of the paper's section 5


@pytest.mark.parametrize(
    ("make", "low", "high"),
    [
        # An independent implementation's mean, +- 5 standard errors of 60 runs (sd about 100; 200 for LUCB1).
        (lambda: LilLUCB(10, 2, delta=0.01, mode="heuristic"), 521, 651),
        (lambda: LUCBPlusPlus(10, 2, delta=0.01, mode="heuristic"), 485, 615),
        (lambda: LilRandLUCB(10, 2, delta=0.01, mode="heuristic"), 477, 607),
        (lambda: LilCLUCB(TopK(10, 2), delta=0.01, mode="heuristic"), 563, 693),
        (lambda: BestKGLR(10, 2, delta=0.01), 634, 804),
        (lambda: LilRandLUCB(10, 2, delta=0.01, mode="paper"), 1433, 1633),
        (lambda: LUCB1(10, 2, delta=0.01), 2436, 2728),
    ],
)
def test_samples_match_an_independent_implementation(make, low, high):
    found = identify(make(), GaussianArms(SPARSE, sigma=0.5), replications=60, rng=0)
    assert found.stopped.all()
    assert found.correct.all()
    assert low <= found.samples.mean() <= high


def test_lil_ucb_matches_an_independent_implementation():
    arms = GaussianArms(np.repeat([0.5, 0.0], [1, 9]), sigma=0.5)
    found = identify(LilUCB(10, delta=0.01, mode="heuristic"), arms, replications=60, rng=0)
    assert found.correct.all()
    assert 335 <= found.samples.mean() <= 465
    assert LilUCB(10, delta=0.01, mode="faithful")._parameters[1] == pytest.approx(2.93993e-10, rel=1e-4)


def run(explorer, means, seed=0):
    found = identify(explorer, GaussianArms(means, sigma=0.5), replications=3, rng=seed)
    assert found.stopped.all()
    return found.samples.tolist(), [arms.tolist() for arms in found.arms]


def test_lucb_plus_plus_is_lil_lucb_when_half_the_arms_are_wanted():
    means = np.linspace(0.0, 2.0, 6)
    for mode in ("faithful", "paper", "heuristic"):
        pair = [rule(6, 3, delta=0.1, mode=mode) for rule in (LilLUCB, LUCBPlusPlus)]
        assert run(pair[0], means) == run(pair[1], means)


@pytest.mark.parametrize(
    ("goal", "good"),
    [
        (ExploreM(2, 0.125), {(0, 2), (2, 3), (0, 3)}),
        (ExploreEach((2, 3), 1, epsilon=0.25), {(0, 2), (0, 3), (1, 2), (1, 3)}),
        (AggregateTopK(2, 0.125), {(0, 2), (2, 3), (0, 3), (1, 2)}),
        (BestSuperArm(TopK(5, 2, sense="min"), 0.25), {(1, 4), (0, 4), (3, 4)}),
    ],
    ids=lambda part: type(part).__name__,
)
def test_goals_hold_for_exactly_the_pairs_of_their_definitions(goal, good):
    """Least means of the best pair less the tolerance: 0.375; the best average is 0.625, the least sum 0.25."""
    means = np.array([0.5, 0.25, 0.75, 0.5, 0.0])
    assert {pair for pair in combinations(range(5), 2) if goal.is_correct(np.array(pair), means)} == good


def test_minimising_oracle_and_pac():
    oracle = TopK(4, 2, sense="min")
    arms = GaussianArms([0.0, 1.0, 1.1, 2.0], sigma=0.5)
    assert identify(CLUCB(oracle, delta=0.1, epsilon=0.5), arms, rng=0).correct[0]
    lil = identify(LilCLUCB(oracle, delta=0.1), GaussianArms([0.0, 0.0, 1.0, 2.0], sigma=0.5), rng=0)
    assert lil.arms[0].tolist() == [0, 1]
    assert identify(LUCB1(4, 2, delta=0.1, epsilon=0.5), arms, rng=0).correct[0]
    assert identify(UGapEc(4, 2, delta=0.1, epsilon=0.5), arms, rng=0).correct[0]


test_bad_parameters_are_refused = refused(
    (lambda: LilCLUCB(3, delta=0.1), "oracle must"),
)
