"""Plans: what rules would take on a guess, beside what no rule can do without."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from cmab import CUCB, LUCB1, BernsteinLUCB, BestKGLR, LUCBPlusPlus, UGapEc, identify, plan
from cmab.bounds.samples import least_best_k_samples
from cmab.exploration.rejects import SuccessiveRejects
from instances import BernoulliArms, BetaArms, EmpiricalArms, GaussianArms
from oracles import TopK

GUESS = GaussianArms([1.0, 0.0], sigma=0.5)


def evidence(delta):
    return (1 - 2 * delta) * np.log((1 - delta) / delta)


def test_two_gaussian_arms_take_what_can_be_worked_out_by_hand():
    """Half of the samples for each arm: a gap of 1 and sigma 1/2 give T* = 2 sigma^2 (2 + 2) / gap^2 = 2."""
    found = plan(BestKGLR(2, 1, delta=0.1), GUESS, deltas=(0.01, 0.1), replications=10, rng=0)
    rows = found.rows()
    assert [row["delta"] for row in rows] == [0.1, 0.01]
    assert [row["least"] for row in rows] == pytest.approx([2 * evidence(d) for d in (0.1, 0.01)], rel=1e-6)
    alone = identify(BestKGLR(2, 1, delta=0.01), GUESS, replications=10, rng=0)
    assert rows[1]["mean samples"] == alone.samples.mean()
    assert rows[1]["half end by"] == np.sort(alone.samples)[4]
    assert rows[1]["9 in 10 by"] == np.sort(alone.samples)[8]


def test_the_best_k_of_coins_has_a_bound_and_other_goals_have_none():
    coins = BernoulliArms([0.9, 0.8, 0.2, 0.1])
    # Theorem 4 of Kaufmann, Cappe and Garivier (2016), from below; T* is larger, and at most a few times so.
    kl = lambda p, q: p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))  # noqa: E731
    sums = 1 / kl(0.9, 0.2) + 1 / kl(0.8, 0.2) + 1 / kl(0.2, 0.8) + 1 / kl(0.1, 0.8)
    (row,) = plan(LUCB1(4, 2, delta=0.1), coins, replications=2, rng=0).rows()
    assert sums * evidence(0.1) <= row["least"] <= 4 * sums * evidence(0.1)
    for explorer, arms in [
        (UGapEc(4, 2, delta=0.1, epsilon=0.1), coins),
        (LUCB1(4, 2, delta=0.1), EmpiricalArms([[0.5], [0.4], [0.1], [0.0]], support=(0.0, 0.5))),
        (LUCB1(2, 1, delta=0.1), BetaArms([8, 2], [2, 8])),  # less noise than coins
    ]:
        assert plan(explorer, arms, replications=2, rng=0).rows()[0]["least"] is None


def test_what_may_err_as_often_as_a_coin_needs_no_samples():
    found = plan(LUCB1(2, 1, delta=0.1), GUESS, deltas=(0.6, 0.99), replications=1, rng=0)
    assert [row["least"] for row in found.rows()] == [0.0, 0.0]
    assert least_best_k_samples([0.9, 0.8, 0.1], 2, delta=0.99) == 0.0


def test_runs_that_were_cut_off_have_no_mean():
    found = plan({"LUCB": LUCB1(2, 1, delta=0.1)}, GUESS, replications=8, rng=0, max_samples=80)
    (row,) = found.rows()
    assert row["cut off"] > 0
    assert row["mean samples"] is None
    assert row["9 in 10 by"] == np.inf
    assert "> cap" in repr(found)


def test_a_line_of_code_draws_samples_against_delta():
    rules = {"LUCB1": LUCB1(2, 1, delta=0.1), "LUCB++": LUCBPlusPlus(2, 1, delta=0.1)}
    axes = plan(rules, GUESS, deltas=(0.1, 0.01), replications=4, rng=0).plot()
    shown = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert shown == [*rules, "lower bound of all rules"]
    assert axes.get_xlabel() == r"$\delta$"
    assert axes.get_ylim()[0] < 2 * evidence(0.1)
    plt.close("all")


@pytest.mark.parametrize(
    ("explorers", "more", "error", "words"),
    [
        ({}, {}, ValueError, "explorers must have at least one entry"),
        (3, {}, TypeError, "explorers must be an Explorer"),
        ({"a": CUCB(TopK(2, 1))}, {}, ValueError, "'a'.*must have a delta"),
        (SuccessiveRejects(2, budget=10), {}, ValueError, "must have a delta"),
        (LUCB1(2, 1, delta=0.1), {"deltas": [0.0]}, ValueError, "deltas"),
        (LUCB1(2, 1, delta=0.1), {"deltas": []}, ValueError, "deltas must have at least one entry"),
        (LUCB1(2, 1, delta=0.1), {"deltas": 0.1}, ValueError, "deltas must be a list"),
        (LUCB1(3, 1, delta=0.1), {}, ValueError, "same number of base arms"),
        (BernsteinLUCB(2, 1, delta=0.1), {}, ValueError, "support of BernsteinLUCB"),
    ],
)
def test_what_cannot_be_planned_is_refused(explorers, more, error, words):
    with pytest.raises(error, match=words):
        plan(explorers, GUESS, **more)
