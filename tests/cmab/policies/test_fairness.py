"""LFG: queues written out, shares that are met, and what waits meanwhile."""

from itertools import combinations

import numpy as np
import pytest
from refusals import refused

from cmab import CUCB, LFG, Context, Feedback, Session, simulate
from instances import BernoulliArms, SemiBandit, SleepingSemiBandit
from oracles import BruteForce, TopK

MEANS = np.array([0.9, 0.8, 0.3, 0.2, 0.1])
SHARES = np.array([0.0, 0.1, 0.5, 0.3, 0.25])
ORACLE = TopK(5, k=2)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_rounds_are_those_of_the_algorithm(sense):
    """Algorithm 1 written out in numpy: bounds, queues, and the best pair of queue plus eta times value."""
    oracle, values = TopK(5, k=2, sense=sense), np.array([1.0, 2.0, 1.0, 0.5, 1.0])
    session = Session(LFG(oracle, SHARES, eta=3.0, values=values), rng=0)
    sign = 1.0 if sense == "max" else -1.0
    counts, sums, queues = np.zeros(5), np.zeros(5), np.zeros(5)
    played, coins = np.zeros(5), np.random.default_rng(0)
    for t in range(1, 200):
        available = coins.random(5) < 0.8
        available[:2] = True
        queues = np.maximum(queues + SHARES - played, 0.0) if t > 1 else SHARES.copy()
        means = sums / np.maximum(counts, 1)
        bounds = means + sign * np.sqrt(1.5 * np.log(t) / np.maximum(counts, 1))
        bounds = np.where(counts > 0, np.clip(bounds, 0, 1), 1.0 if sense == "max" else 0.0)
        weights = queues + sign * 3.0 * values * bounds
        ticket = session.ask(Context(available=available))
        chosen = ticket.super_arm
        assert available[chosen].all()
        best = np.sort(weights[available])[-2:].sum()
        assert weights[chosen].sum() == pytest.approx(best)
        outcomes = (coins.random(2) < MEANS[chosen]).astype(float)
        session.tell(Feedback(chosen, outcomes), ticket)
        counts[chosen] += 1
        sums[chosen] += outcomes
        played = np.isin(np.arange(5), chosen).astype(float)


@pytest.mark.slow
def test_shares_are_met_in_the_long_run():
    """Also where arms come and go; without queues the worst arms are left out."""
    oracle = BruteForce(5, [arms for size in range(3) for arms in combinations(range(5), size)])
    place = SleepingSemiBandit(BernoulliArms(MEANS), oracle, availability=0.8)
    horizon = 1500
    run = simulate(LFG(oracle, SHARES, eta=10.0), place, horizon, rng=0)
    shares = run.states[0].counts / horizon
    # Queues are at most of the order of eta, so that shares fall short by eta / T.
    assert (shares >= SHARES - 3 * 10.0 / horizon).all()
    assert shares[0] > shares[3]
    plain = simulate(CUCB(oracle, radius_factor=0.2), place, horizon, rng=0)
    assert plain.states[0].counts[4] / horizon < 0.15


def test_without_shares_it_is_cucb():
    place = SemiBandit(BernoulliArms(MEANS), ORACLE)
    run, plain = (simulate(policy, place, 500, rng=0) for policy in (LFG(ORACLE, 0.0, eta=1.0), CUCB(ORACLE)))
    assert run.path == plain.path
    assert np.array_equal(run.regret, plain.regret)


test_what_is_refused = refused(
    ({"shares": 1.5}, "shares must"),
    ({"shares": [0.1]}, "shares must"),
    ({"shares": 0.1, "values": -1.0}, "values must"),
    by=lambda arguments: LFG(ORACLE, **arguments),
)


test_only_sums_and_availability_are_understood = refused(
    (
        lambda: LFG(BruteForce(3, [(0, 1)], reward=lambda means, arms: 1.0), 0.1),
        "oracle must be a LinearOracle for LFG",
    ),
    (lambda: Session(LFG(ORACLE, 0.1), rng=0).ask(Context(values=np.ones(5))), "got values, which it"),
)
