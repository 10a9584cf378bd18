"""Identification with fixed confidence: sample counts, coincidences, errors, symmetries, bad input."""

from itertools import combinations

import numpy as np
import pytest

from cmab import CLUCB, LUCB1, BestKGLR, LilCLUCB, LilRandLUCB, LUCBPlusPlus, UGapEc, identify
from cmab.exploration.lucb import LilLUCB, LilUCB
from cmab.explorer import AggregateTopK, BestSuperArm, ExploreEach, ExploreM
from instances import GaussianArms
from oracles import TopK


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
        (lambda: LilUCB(10, delta=0.01, mode="heuristic"), 335, 465),
    ],
)
def test_samples_match_an_independent_implementation(make, low, high):
    """Ten arms, of which the first two (for lil'UCB: one) are best: section 5 of the paper, 1-sparse."""
    explorer = make()
    n_best = getattr(getattr(explorer, "oracle", explorer), "k", 1)
    means = np.where(np.arange(10) < n_best, 0.5, 0.0)
    found = identify(explorer, GaussianArms(means, sigma=0.5), replications=60, rng=0)
    assert found.stopped.all()
    assert found.correct.all()
    assert low <= found.samples.mean() <= high


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
    """Least means of the best pair less the tolerance: 0.375; best average 0.625, least sum 0.25."""
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
