"""Choices: the best assortment, what customers do, epochs, and what is learned of comparisons."""

import math
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from refusals import refused
from scipy import stats

from cmab import CTS, MNLUCB, ArmStatistics, Campaign
from instances import MultinomialLogit
from oracles import Assortment, TopK

RNG = np.random.default_rng


def revenue(chosen, revenues, attractions):
    """What a customer is expected to pay, by exact arithmetic."""
    v = [Fraction(float(attractions[i])) for i in chosen]
    paid = sum((Fraction(float(revenues[i])) * x for i, x in zip(chosen, v, strict=True)), Fraction(0))
    return paid / (1 + sum(v))


@pytest.mark.parametrize("block", range(10))
def test_the_best_assortment_is_that_of_enumeration(block):
    """A thousand problems: revenues with ties and zeros, attractions of all sizes."""
    rng = RNG(block)
    for _ in range(100):
        m = int(rng.integers(1, 8))
        k, largest = int(rng.integers(1, m + 1)), float(rng.choice([1e-3, 1.0, 50.0]))
        revenues = rng.choice([0.0, 0.5, 1.0, rng.random(), 1e6 * rng.random()], m)
        v = largest * rng.choice([0.0, 1.0, rng.random(), 1e-9 * rng.random()], m)
        shop, means = Assortment(revenues, k, max_attraction=largest), v / (1.0 + v)
        chosen = shop.solve(means, rng)
        choices = chain.from_iterable(combinations(range(m), size) for size in range(1, k + 1))
        best = max(revenue(some, revenues, v) for some in choices)
        assert revenue(chosen, revenues, v) >= best * (1 - Fraction(1, 10**9))
        assert 1 <= len(chosen) <= k and (np.diff(chosen) > 0).all()
        worth = float(revenue(chosen, revenues, v))
        assert shop.expected_reward(chosen, means) == pytest.approx(worth, rel=1e-9, abs=1e-12)


def test_customers_buy_by_their_attractions():
    """Chi-square over what is bought, 1e-6; and the chance of what is seen."""
    shop = MultinomialLogit([0.8, 0.1, 0.0, 0.5], Assortment([1.0, 5.0, 2.0, 3.0], k=4))
    offered, rng, n = np.array([0, 2, 3]), RNG(0), 6000
    sold = {0: 0, 3: 0, None: 0}
    for _ in range(n):
        seen = shop.play(offered, rng)
        if seen.outcomes.any():
            assert len(seen.arms) == 1 and seen.reward == shop.oracle.revenues[seen.arms[0]]
            sold[int(seen.arms[0])] += 1
        else:
            assert seen.arms.tolist() == [0, 2, 3] and seen.reward == 0.0
            sold[None] += 1
    chances = np.array([0.8, 0.5, 1.0]) / 2.3
    assert stats.chisquare(list(sold.values()), n * chances).pvalue > 1e-6


def mnl_ucb(epochs, m, factor):
    """The bounds of MNL-UCB as printed, from a list of epochs: what was offered, and what was bought."""
    bounds = []
    for i in range(m):
        of_item = [bought.get(i, 0) for offered, bought in epochs if i in offered]
        if not of_item:
            bounds.append(1.0)
            continue
        mean, times = sum(of_item) / len(of_item), len(of_item)
        term = factor * math.log(math.sqrt(m) * len(epochs) + 1)
        bounds.append(min(1.0, mean + math.sqrt(mean * term / times) + term / times))
    return bounds


def test_mnl_ucb_is_that_of_the_paper():
    shop = Assortment([1.0, 0.8, 0.9, 0.5], k=2)
    policy, place, rng = MNLUCB(shop, log_factor=0.4), MultinomialLogit([0.3, 0.9, 0.5, 0.8], shop), RNG(2)
    state, epochs, bought = policy.initial_state(), [], {}
    for _ in range(150):
        offered = policy.select(state, rng)
        bounds = mnl_ucb(epochs, 4, 0.4)
        np.testing.assert_allclose(policy.attractions(state) if not bought else bounds, bounds, rtol=1e-9)
        sets = [(i,) for i in range(4)] + list(combinations(range(4), 2))
        best = max(revenue(some, shop.revenues, bounds) for some in sets)
        assert revenue(offered, shop.revenues, bounds) >= best * (1 - Fraction(1, 10**9))
        seen = place.play(offered, rng)
        policy.update(state, seen)
        if seen.outcomes.any():
            item = int(seen.arms[0])
            bought[item] = bought.get(item, 0) + 1
        else:
            epochs.append((offered.tolist(), bought))
            bought = {}
    assert state.epochs == len(epochs) > 50


def test_comparisons_are_learned_without_bias():
    """Whatever was offered, the share of an item's comparisons that it won is v / (1 + v): five errors."""
    v, rng = np.array([0.1, 0.9, 0.4, 0.6, 0.0]), RNG(4)
    shop = MultinomialLogit(v, Assortment(np.ones(5), k=5))
    seen = ArmStatistics.empty(5)
    for _ in range(4000):
        offered = np.flatnonzero(rng.random(5) < 0.6)
        if len(offered):
            seen.update(shop.play(offered, rng))
    errors = np.sqrt(shop.means * (1 - shop.means) / seen.counts)
    assert (np.abs(seen.means - shop.means) <= 5 * errors).all()


def test_a_shop_says_what_was_bought(tmp_path):
    shop = Assortment([4.0, 6.0, 10.0], k=2)
    campaign = Campaign(CTS(shop), tmp_path / "shop.db", rng=0)
    offered = campaign.ask()
    campaign.tell(ticket=offered, bought=offered.names[0])
    campaign.tell(ticket=campaign.ask(), bought=None)
    again = Campaign(CTS(shop), tmp_path / "shop.db", rng=0)
    assert again.state.counts.tolist() == campaign.state.counts.tolist()
    assert again.state.counts.sum() >= 2


test_what_is_no_choice_is_refused = refused(
    (lambda: Assortment([], 1), "number of revenues must be"),
    (lambda: Assortment([1.0, 2.0], 3), r"k must be an integer in \[1, 2\], got 3"),
    (lambda: Assortment([1.0], 1, max_attraction=0.0), "max_attraction must"),
    (lambda: Assortment([1.0, 2.0], 1).solve_within([0.1, 0.2], [False, False], RNG(0)), "must contain"),
    (lambda: Assortment([1.0, 2.0], 1).feedback_of([0], sold=0), "must have only the keyword bought"),
    (lambda: Assortment([1.0, 2.0], 1).feedback_of([0], bought=1), "bought must be one of"),
    (lambda: Assortment([1.0, 2.0], 1).feedback_of([0], bought=False), "bought must be one of"),
    (lambda: MNLUCB(Assortment([1.0], 1, max_attraction=3.0)), "max_attraction must equal that of"),
    (lambda: MultinomialLogit([0.1], TopK(1, 1)), "oracle must be an Assortment"),
    (lambda: MNLUCB(TopK(3, 1), log_factor=-1.0), "log_factor must"),
    (lambda: MNLUCB(TopK(3, 1), max_attraction=math.inf), "max_attraction must"),
    (lambda: MNLUCB(None), "oracle must be an Oracle, got None"),
)
