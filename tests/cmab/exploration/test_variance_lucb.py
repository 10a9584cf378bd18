"""Confidence sequences that learn the variance: bets really won, and coverage for ever.

A sound bound of level 0.1 fails in 265 of 2,000 runs with probability below 1e-6.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from references_exploration import REFERENCES
from refusals import refused

from cmab import ArmStatistics, BernsteinLUCB, Feedback, Session, identify
from cmab.bounds import anytime_bernstein_radii
from cmab.exploration.ugape import UGapEcV
from cmab.run import identify as compiled_exploration
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


def test_batches_are_their_outcomes_and_without_squares_the_widest():
    rng = np.random.default_rng(2)
    outcomes = np.stack([rng.random(300), (rng.random(300) < 0.2).astype(float)])
    one_by_one, batches, sums_only = statistics(outcomes), ArmStatistics.empty(2), ArmStatistics.empty(2)
    for part in np.split(outcomes, [10, 100], axis=1):
        told = {"pulls": [part.shape[1]] * 2}
        batches.update(Feedback([0, 1], part.sum(axis=1), **told, squares=(part**2).sum(axis=1)))
        sums_only.update(Feedback([0, 1], part.sum(axis=1), **told))
    radii = anytime_bernstein_radii(one_by_one, level=0.01)
    assert anytime_bernstein_radii(batches, level=0.01) == pytest.approx(radii, rel=1e-12)
    widest = anytime_bernstein_radii(sums_only, level=0.01)
    assert widest[0] > 1.2 * radii[0]
    assert widest[1] == pytest.approx(radii[1], rel=1e-12)  # coins have the largest variance of their mean


def test_sums_of_squares_that_lost_their_digits_make_no_radius_smaller():
    """Outcomes around 1e8: their squares are known to the nearest 2, their variance is 1/12."""
    outcomes = 1e8 + np.random.default_rng(3).random((1, 500))
    batch, support = ArmStatistics.empty(1), (1e8, 1e8 + 1)
    batch.update(Feedback([0], outcomes.sum(axis=1), pulls=[500], squares=(outcomes**2).sum(axis=1)))
    plain = anytime_bernstein_radii(statistics(outcomes - 1e8), level=0.01)
    assert anytime_bernstein_radii(batch, level=0.01, support=support) >= plain


def test_nothing_is_paid_for_the_variance_of_arms_that_do_not_vary():
    bounded = Session(BernsteinLUCB(2, 1, delta=0.1), rng=0)
    while not bounded.is_done:
        bounded.tell(Feedback(bounded.ask(), [1.0, 0.0]))
    # Half of the capital of each side, at 0.1 / 2, has won at a radius of 1/2: nothing is paid for variance.
    least = math.log(2 * 20) / (0.58 / 2 - (-math.log(0.42) - 0.58) / 4)
    assert bounded.state.counts.tolist() == [math.ceil(least)] * 2


def test_arms_of_small_variance_take_fewer_samples_than_with_the_older_radius():
    arms, shape = BernoulliArms([0.15, 0.02, 0.01]), {"n_arms": 3, "k": 1, "delta": 0.1}
    samples = [
        identify(rule(**shape), arms, replications=3, rng=0).samples for rule in (BernsteinLUCB, UGapEcV)
    ]
    assert 3 * samples[0].mean() < samples[1].mean()


def test_the_stop_and_the_pair_are_the_definitions():
    """Whatever was seen, with sides of different sizes, an epsilon and another support."""
    rng, ends = np.random.default_rng(4), []
    rule = BernsteinLUCB(5, 2, delta=0.1, epsilon=0.3, support=(-1.0, 2.0))
    decide = REFERENCES["bernstein_lucb"](rule)
    for _ in range(60):
        counts, means = np.exp(rng.uniform(3, 8, 5)).astype(np.int64), rng.uniform(-0.7, 1.7, 5)
        state = rule.initial_state()
        squares = counts * (means**2 + rng.uniform(0.0, 1.0, 5) * (means + 1) * (2 - means))
        state.update(Feedback(np.arange(5), means * counts, pulls=counts, squares=squares))
        arms, stops = decide(state.counts, state.means, state.deviations, state.rounds, 0.0)
        ends.append(stops)
        assert rule.can_stop(state) == stops
        assert rule.select(state, rng).tolist() == [int(arm) for arm in arms]
    assert 8 < sum(ends) < 52


def test_the_loop_samples_what_ask_and_tell_sample_while_arms_change_sides():
    """Of 12 arms as good as each other three are on the high side, where the radius is another."""
    rule, arms = BernsteinLUCB(12, 3, delta=0.1), BernoulliArms(np.full(12, 0.5))
    looped, state = rule.initial_state(), rule.initial_state()
    compiled_exploration.explore_compiled(
        rule, arms, looped, np.random.default_rng(0), np.random.default_rng(1), 1500
    )
    rng, coins, leaders = np.random.default_rng(0), np.random.default_rng(1), []
    while state.counts.sum() < 1500:
        rule.update(state, arms.sample(rule.select(state, rng), 1, coins))
        leaders.append(rule.recommend(state).tolist())
    assert looped.counts.tolist() == state.counts.tolist()
    assert looped.means.tolist() == state.means.tolist()
    assert sum(one != other for one, other in pairwise(leaders)) > 20


test_what_is_refused = refused(
    (lambda: BernsteinLUCB(3, 1, delta=0.1, support=(0.0, 1e-300)), "support must"),
    (lambda: anytime_bernstein_radii(ArmStatistics.empty(1), level=0.1, support=(0, 0)), "support must"),
    (
        lambda: identify(
            BernsteinLUCB(2, 1, delta=0.1, support=(0.0, 0.5)), BernoulliArms([0.5, 0.2]), rng=0
        ),
        "support",
    ),
)
