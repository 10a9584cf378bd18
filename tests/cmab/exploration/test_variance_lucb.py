"""Confidence sequences that learn the variance: bets really won, and coverage for ever.

A sound bound of level 0.1 fails in 265 of 2,000 runs with probability below 1e-6.
"""

import numpy as np
import pytest

from cmab import ArmStatistics, BernsteinLUCB, Feedback, identify
from cmab.bounds import anytime_bernstein_radii
from cmab.exploration.ugape import UGapEcV
from instances import BernoulliArms

RUNS, LEVEL, TOO_MANY = 2000, 0.1, 265


def statistics(outcomes):
    """The state after the rows of outcomes, an arm each, told one by one."""
    state = ArmStatistics.empty(len(outcomes))
    for column in np.transpose(outcomes):
        state.update(Feedback(np.arange(len(outcomes)), column))
    return state


def capital(outcomes, m):
    """What the shares of a capital of 1 become, staked on outcomes being above m."""
    fractions = 0.58 / 1.5 ** np.arange(54)
    shares = 1 / ((np.arange(54) + 1) * (np.arange(54) + 2))
    return float(shares @ np.prod(1 + np.outer(fractions, outcomes - m), axis=1))


@pytest.mark.parametrize("support", [(0.0, 1.0), (-3.0, 5.0), (0.0, 1e-90), (-1e100, 1e100)])
def test_whoever_bets_on_the_other_side_of_a_bound_has_won(support):
    """An expectation beyond the radius has let the capital grow to 1 / level: that is the whole proof."""
    rng, (low, high), tight = np.random.default_rng(0), support, []
    for _ in range(100):
        n, level = int(np.exp(rng.uniform(3, 7))), float(10 ** rng.uniform(-6, -0.5))
        outcomes = rng.beta(*np.exp(rng.uniform(-3, 3, 2)), n)
        state = statistics([low + (high - low) * outcomes])
        radius = anytime_bernstein_radii(state, level=level, support=support)[0] / (high - low)
        for side in (outcomes, 1 - outcomes):
            m = side.mean() - radius
            if m > 0.0:
                assert capital(side, m) >= (1 - 1e-6) / level
                tight.append(capital(side, m) * level)
    assert len(tight) > 100
    assert np.median(tight) < 30  # and not much more, of up to a million


OUTCOMES = {
    "rare coins": (lambda rng, size: (rng.random(size) < 0.01).astype(float), 0.01),
    "frequent coins": (lambda rng, size: (rng.random(size) < 0.99).astype(float), 0.99),
    "fair coins": (lambda rng, size: (rng.random(size) < 0.5).astype(float), 0.5),
    "two points": (lambda rng, size: np.where(rng.random(size) < 0.02, 1.0, 0.3), 0.02 + 0.98 * 0.3),
    "one point": (lambda rng, size: np.full(size, 0.3), 0.3),
    "spread": (lambda rng, size: rng.random(size), 0.5),
}
TIMES = np.unique(np.round(np.geomspace(1, 1000, 60)).astype(int))


def ever_outside(outcomes, mean, radii):
    """The share of rows whose running mean is ever too large by more than its radius, and too small."""
    above = below = np.zeros(len(outcomes), bool)
    for n in TIMES:
        seen, state = outcomes[:, :n], ArmStatistics.empty(len(outcomes))
        arms = np.arange(len(outcomes))
        state.update(
            Feedback(arms, seen.sum(axis=1), pulls=np.full(len(arms), n), squares=(seen**2).sum(axis=1))
        )
        radius = radii(state)
        above, below = above | (state.means - mean > radius), below | (mean - state.means > radius)
    return above.sum(), below.sum()


@pytest.mark.parametrize("name", OUTCOMES)
def test_bounded_outcomes_stay_within_their_radius_for_ever(name):
    """Where it is weakest: few outcomes, skewed ones, none that vary."""
    draw, mean = OUTCOMES[name]
    outcomes = draw(np.random.default_rng(1), (RUNS, TIMES[-1]))
    for failed in ever_outside(outcomes, mean, lambda state: anytime_bernstein_radii(state, level=LEVEL)):
        assert failed < TOO_MANY


def test_arms_of_small_variance_take_fewer_samples_than_with_the_older_radius():
    arms, shape = BernoulliArms([0.15, 0.02, 0.01]), {"n_arms": 3, "k": 1, "delta": 0.1}
    samples = [
        identify(rule(**shape), arms, replications=3, rng=0).samples for rule in (BernsteinLUCB, UGapEcV)
    ]
    assert 3 * samples[0].mean() < samples[1].mean()
