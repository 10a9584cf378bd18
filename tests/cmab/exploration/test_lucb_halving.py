"""LUCB1 with a restart by Halving: LUCB1 where it stops in time, Halving where not, bounded always."""

import numpy as np
import pytest

from cmab import LUCB1, LUCB1Halving, Session, identify
from cmab.bounds.samples import halving_samples
from cmab.exploration.phases import Halving
from instances import BernoulliArms

SIZES = {"n_arms": 5, "k": 2, "epsilon": 0.3}
MEANS = [0.9, 0.2, 0.8, 0.3, 0.1]


def numbers(found):
    return found.samples.tolist(), [arms.tolist() for arms in found.arms]


def test_it_is_lucb1_where_that_stops_in_time():
    arms = BernoulliArms(MEANS)
    found = identify(LUCB1Halving(**SIZES, delta=0.2), arms, replications=5, rng=1)
    assert numbers(found) == numbers(identify(LUCB1(**SIZES, delta=0.1), arms, replications=5, rng=1))
    assert found.certified.all()


def test_it_is_halving_after_a_restart():
    """A limit of 20 rounds, long before LUCB1 could stop; then fresh batches as Halving takes them."""
    explorer, arms = LUCB1Halving(**SIZES, delta=0.2), BernoulliArms(MEANS)
    vars(explorer)["most_rounds"] = 20
    session, restart = Session(explorer, rng=0), Session(Halving(**SIZES, delta=0.1), rng=0)
    coins = np.random.default_rng(0)
    for _ in range(20):
        assert not session.state.restarted
        session.tell(arms.sample(session.ask().super_arm, 1, coins))
    assert session.state.restarted
    while not session.is_done:
        ticket, expected = session.ask(), restart.ask()
        assert (list(ticket), ticket.pulls) == (list(expected), expected.pulls)
        feedback = arms.sample(ticket.super_arm, ticket.pulls, coins)
        session.tell(feedback)
        restart.tell(feedback)
    assert restart.is_done
    assert session.recommend().tolist() == restart.recommend().tolist() == [0, 2]
    found = identify(explorer, arms, rng=0)
    assert found.samples[0] == 5 + 2 * 19 + halving_samples(**SIZES, delta=0.1) == explorer.most_samples


def test_lucb1_that_stops_in_its_last_round_is_not_restarted():
    arms = BernoulliArms(MEANS)
    explorer = LUCB1Halving(**SIZES, delta=0.2)
    samples = identify(explorer, arms, rng=1).samples[0]
    for rounds, restarts in ((1 + (samples - 5) // 2, False), ((samples - 5) // 2, True)):
        vars(explorer)["most_rounds"] = rounds
        assert (identify(explorer, arms, rng=1).samples[0] > samples) == restarts


@pytest.mark.parametrize("delta", [0.01, 0.3])
@pytest.mark.parametrize("n_arms", [3, 40])
def test_the_worst_case_is_twice_halving(n_arms, delta):
    explorer = LUCB1Halving(n_arms, 2, epsilon=0.1, delta=delta)
    assert 0 <= 2 * halving_samples(n_arms, 2, epsilon=0.1, delta=delta / 2) - explorer.most_samples <= 1
