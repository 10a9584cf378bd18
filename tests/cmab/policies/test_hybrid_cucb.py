"""Hybrid CUCB: bounds of its formula, never above CUCB's, which it is without a log or with a large bias."""

import math

import numpy as np
import pytest
from refusals import refused

from cmab import CUCB, ArmStatistics, Feedback, OfflineCUCB
from oracles import TopK

RNG = np.random.default_rng


def told(rng, m, rounds, most=1.0):
    seen = ArmStatistics.empty(m)
    for _ in range(rounds):
        arms = np.flatnonzero(rng.random(m) < rng.random())
        seen.update(Feedback(arms, most * rng.random(len(arms))))
    return seen


def by_hand(here, there, bias, sense):
    """The formula for one arm, written from the end: costs are rewards of one less the outcome."""
    t, bounds = here.rounds + 1, []
    for i in range(here.n_arms):
        n, logged = int(here.counts[i]), int(there.counts[i])
        turn = (lambda x: x) if sense == "max" else (lambda x: 1.0 - x)
        both = [1.0]
        if n:
            both.append(turn(here.means[i]) + math.sqrt(3 * math.log(t) / (2 * n)))
        if logged:
            total = n * turn(here.means[i]) * (n > 0) + logged * turn(there.means[i])
            width = math.sqrt(3 * math.log(t) / (2 * (n + logged)))
            both.append(total / (n + logged) + width + bias[i] * logged / (n + logged))
        bounds.append(turn(min(both)))
    return np.array(bounds)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_bounds_are_those_of_the_formula(sense):
    for seed in range(30):
        rng = RNG(seed)
        oracle, bias = TopK(6, 2, sense=sense), rng.random(6) * 0.3
        here, there = told(rng, 6, seed), told(rng, 6, 40 if seed % 3 else 0)
        found = OfflineCUCB(oracle, there, bias=bias).indices(here, rng)
        np.testing.assert_allclose(found, np.clip(by_hand(here, there, bias, sense), 0, 1), atol=1e-12)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_it_is_cucb_without_a_log_and_with_a_large_bias(sense):
    """And else never more hopeful: with the bias the bounds grow up to CUCB's."""
    for seed in range(30):
        rng = RNG(seed)
        oracle, here, there = TopK(6, 2, sense=sense), told(rng, 6, seed), told(rng, 6, 40)
        plain = CUCB(oracle).indices(here, rng)
        empty = OfflineCUCB(oracle, ArmStatistics.empty(6), bias=0.0).indices(here, rng)
        np.testing.assert_allclose(empty, plain, atol=1e-12)
        np.testing.assert_allclose(OfflineCUCB(oracle, there, bias=1.0).indices(here, rng), plain, atol=1e-12)
        rows = [OfflineCUCB(oracle, there, bias=bias).indices(here, rng) for bias in (0.0, 0.1, 0.4, 1.0)]
        assert (oracle._sign * np.diff(rows, axis=0) >= -1e-12).all()


test_what_is_no_log_or_bias_is_refused = refused(
    (lambda: OfflineCUCB(TopK(3, 1), ArmStatistics.empty(2), bias=0.1), "ArmStatistics of 3 arms"),
    (lambda: OfflineCUCB(TopK(3, 1), [1.0], bias=0.1), "ArmStatistics of 3 arms"),
    (lambda: OfflineCUCB(TopK(3, 1), ArmStatistics.empty(3), bias=-0.1), "bias must"),
    (lambda: OfflineCUCB(TopK(3, 1), ArmStatistics.empty(3), bias=[0.1, 0.2]), "bias must"),
    (lambda: OfflineCUCB(TopK(5, 1), told(RNG(0), 5, 9, 7.0), bias=0.1), "means of offline must lie in"),
)
