"""Conditions of certificates: narrow supports, huge rewards, further outcomes, earlier policies, words."""

import numpy as np
import pytest

from cmab import CUCB, ArmStatistics, Feedback, regret_bound
from cmab.bounds.certificate import Played, least_expected
from oracles import TopK


def bounds_of(low, length, coins):
    state = ArmStatistics.empty(2)
    for coin in coins:
        state.update(Feedback([0], [low + length * coin]))
    found = regret_bound(CUCB(TopK(2, 1)), state, support=(low, low + length))
    return np.array([found.regret, found.gap]) / length


# Means far from 0 must still have a few digits inside the support.
NARROW = [
    (low, length)
    for low in (0.0, 1.0, 1e6, -1e9)
    for length in (1e-300, 1e-170, 1e-8, 1e-3, 1e9)
    if abs(low) * 1e-15 <= 0.1 * length
]


@pytest.mark.parametrize(("low", "length"), NARROW)
def test_bounds_of_narrow_supports_are_not_smaller(low, length):
    """Squares of tiny outcomes are 0 as floats, and means far from 0 are rounded."""
    coins = (np.random.default_rng(0).random(200) < 0.5).astype(float)
    assert (bounds_of(low, length, coins) >= bounds_of(0.0, 1.0, coins) * (1 - 1e-9)).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-100, 1e100, 1e200, 1e300])
def test_earnings_of_scaled_rewards_are_not_larger(scale):
    rng, plain, scaled = np.random.default_rng(1), Played(), Played()
    for _ in range(400):
        coin = float(rng.random() < 0.5)
        plain.note(coin)
        scaled.note(scale * coin)
    usual = least_expected(plain, (0.0, 1.0), 0.05, 1.0)
    assert least_expected(scaled, (0.0, scale), 0.05, 1.0) / scale <= usual * (1 + 1e-9)
