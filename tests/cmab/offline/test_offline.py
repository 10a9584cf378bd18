"""Learning from logs: merged statistics, what a journal says, and choices that are certain."""

import math

import networkx as nx
import numpy as np
import pytest
from scipy.stats import binom

from cmab import CUCB, ArmStatistics, Campaign, Feedback, clcb, read_campaign
from instances import CascadeModel
from oracles import GraphicMatroid, RankedTopK, ShortestPath, TopK

RNG = np.random.default_rng


def test_a_log_says_what_its_campaign_learned(tmp_path):
    """The same numbers, wherever the arms stand in the graph now, from either end, and without those gone."""
    graph = nx.Graph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    campaign, rng = Campaign(CUCB(GraphicMatroid(graph)), tmp_path / "trees.db", rng=0), RNG(1)
    for _ in range(30):
        request = campaign.ask()
        campaign.tell({name: float(rng.random() < 0.5) for name in request.names}, request)
    campaign.ask()
    log, learned = read_campaign(tmp_path / "trees.db"), campaign.state
    same = log.statistics(GraphicMatroid(graph))
    assert same.counts.tolist() == learned.counts.tolist() and same.rounds == learned.rounds
    np.testing.assert_array_equal(same.means, learned.means)
    turned = GraphicMatroid(nx.Graph([("d", "c"), ("b", "a"), ("a", "c"), ("c", "b")]))
    order = [list(map(set, graph.edges)).index(set(edge)) for edge in turned._arm_labels()]
    np.testing.assert_array_equal(log.statistics(turned).means, learned.means[order])
    part = ShortestPath(nx.Graph([("a", "b"), ("b", "z")]), "a", "z")
    assert log.statistics(part).counts.tolist() == [learned.counts[0], 0]


def pessimist(counts, means, n, delta, low, high, sign):
    """The bounds of CLCB as printed, arm by arm."""
    bounds = []
    for count, mean in zip(counts, means, strict=True):
        if count == 0:
            bounds.append(low if sign > 0 else high)
            continue
        radius = (high - low) * math.sqrt(math.log(4 * len(counts) * n / delta) / (2 * count))
        bounds.append(min(max(mean - sign * radius, low), high))
    return bounds


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("support", [(0.0, 1.0), (-2.0, 3.0)])
def test_bounds_are_those_of_the_paper(sense, support):
    rng, seen = RNG(0), ArmStatistics.empty(6)
    for _ in range(400):
        arms = np.flatnonzero(rng.random(6) < [0.9, 0.5, 0.1, 0.02, 0.9, 0.0])
        seen.update(Feedback(arms, rng.uniform(*support, len(arms))))
    choice = clcb(TopK(6, 2, sense=sense), seen, delta=0.1, support=support)
    sign = 1.0 if sense == "max" else -1.0
    wanted = pessimist(seen.counts, seen.means, 400, 0.1, *support, sign)
    np.testing.assert_allclose(choice.bounds, wanted, rtol=1e-12)
    best = sorted(range(6), key=lambda arm: (-sign * wanted[arm], arm))[:2]
    assert choice.super_arm.tolist() == sorted(best)
    assert choice.reward_bound == pytest.approx(sum(wanted[arm] for arm in best))


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("support", [(0.0, 1.0), (-2e6, 3e6)])
def test_bounds_that_are_cut_keep_their_order(sense, support):
    """All bounds are the worst end: the arms stand as uncut ones do, and one never seen comes last."""
    (low, high), seen = support, ArmStatistics.empty(6)
    worst, best = (low, high) if sense == "max" else (high, low)
    counts, good = np.array([2, 4, 0, 4, 1, 1]), np.array([0, 3, 0, 2, 0, 1])
    for t in range(4):
        arms = np.flatnonzero(t < counts)
        seen.update(Feedback(arms, np.where(t < good[arms], best, worst)))
    radii = [math.sqrt(math.log(4 * 6 * 4 / 0.05) / (2 * count)) if count else math.inf for count in counts]
    uncut = [a / b - radius if b else -math.inf for a, b, radius in zip(good, counts, radii, strict=True)]
    wanted = sorted(range(6), key=lambda arm: -uncut[arm])
    assert max(uncut) < 0 and wanted[-1] == 2
    for k in range(1, 6):
        choice = clcb(TopK(6, k, sense=sense), seen, support=support)
        assert (choice.bounds == worst).all() and choice.reward_bound == k * worst
        assert sorted(choice.super_arm) == sorted(wanted[:k])


@pytest.mark.slow
def test_bounds_hold_as_often_as_they_say():
    """A thousand logs of random lists: the worth of the choice is below its bound at most delta often.

    False alarm 1e-9, were it exactly delta; and bounds that promise less than nothing would be worthless.
    """
    rng, oracle, delta, failures, gained = RNG(3), RankedTopK(5, 2), 0.2, 0, 0
    for _ in range(1000):
        means = rng.random(5)
        place, seen = CascadeModel(means, oracle), ArmStatistics.empty(5)
        for _ in range(30):
            seen.update(place.play(rng.permutation(5)[:2], rng))
        choice = clcb(oracle, seen, delta=delta)
        failures += bool((choice.bounds > means).any()) or place.expected_reward(choice.super_arm) < (
            choice.reward_bound - 1e-12
        )
        gained += choice.reward_bound > 0.1
    assert failures <= binom.isf(1e-9, 1000, delta)
    assert gained > 500


@pytest.mark.slow
def test_pessimism_pays_where_a_log_covers_the_best():
    """Arms of which the log says little look best by luck; three errors apart, labels shuffled for ties."""
    rng, lost = RNG(5), np.zeros((400, 3))
    oracle, often = TopK(8, 1), np.array([0.9, 0.9, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02])
    for row in lost:
        order = rng.permutation(8)
        means = np.concatenate([[0.85], rng.uniform(0.2, 0.8, 7)])[order]
        seen = ArmStatistics.empty(8)
        for _ in range(100):
            arms = np.flatnonzero(rng.random(8) < often[order])
            seen.update(Feedback(arms, (rng.random(len(arms)) < means[arms]).astype(float)))
        cucb = oracle.solve(CUCB(oracle).indices(seen, rng), rng)
        choices = clcb(oracle, seen).super_arm, oracle.solve(seen.means, rng), cucb
        row[:] = [0.85 - means[arms[0]] for arms in choices]
    mean, error = lost.mean(axis=0), lost.std(axis=0) / 20
    assert (np.diff(mean) > 3 * np.hypot(error[1:], error[:-1])).all()
