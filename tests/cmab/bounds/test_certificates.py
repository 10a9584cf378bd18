"""Certificates of sessions, campaigns and simulations; rewards that are not sums; words; arguments."""

import math

import networkx as nx
import numpy as np
import pytest
from cases import ORACLES

from cmab import (
    CTS,
    CUCB,
    LUCB1,
    ArmStatistics,
    Certify,
    Feedback,
    Oracle,
    Session,
    SlidingWindow,
    regret_bound,
    simulate,
)
from cmab.bounds.certificate import Played, least_expected
from cmab.oracle import optimum_bound
from instances import BernoulliArms, CascadeModel, Coverage, SemiBandit
from instances.arena import PROBLEMS
from oracles import Knapsack, RankedTopK, TopK


def coins(n=6, k=2, seed=0):
    oracle = TopK(n, k)
    return oracle, SemiBandit(BernoulliArms(np.random.default_rng(seed).random(n)), oracle)


# Upper bounds on the optimum.


LISTED = [case for case in ORACLES if case.super_arms is not None]


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case.name)
def test_no_super_arm_is_better_than_the_bound_of_the_oracle(case):
    """The bound of a randomised oracle fails with probability 1 - beta; fixed seed."""
    oracle, rng = case.make(), np.random.default_rng(1)
    family = [np.asarray(chosen, np.int64) for chosen in case.super_arms()]
    for _ in range(4):
        means = rng.uniform(max(0.0, getattr(oracle, "least_mean", 0.0)), 1.0, oracle.n_arms) / oracle.n_arms
        best = max(oracle._sign * oracle.expected_reward(chosen, means) for chosen in family)
        bound = oracle._sign * optimum_bound(oracle, means, rng)
        assert bound >= best - 1e-9 * max(1.0, abs(best))
        if oracle.is_exact:
            assert bound == pytest.approx(best)
        assert optimum_bound(oracle, means, 0) == optimum_bound(oracle, means, 0)


def wide_coverage(rng, left=14, k=4):
    graph = nx.Graph()
    graph.add_nodes_from(range(left), bipartite=0)
    graph.add_nodes_from(range(left, 60), bipartite=1)
    for u in range(left):
        graph.add_edges_from((u, int(v)) for v in rng.choice(np.arange(left, 60), 8, replace=False))
    return Coverage(graph, k, probability=rng.random(graph.number_of_edges()))


class AnyHit(Oracle):
    """An oracle without an approximation ratio."""

    n_arms, alpha = 3, math.nan

    def solve(self, means, rng):
        return np.array([0])

    def expected_reward(self, super_arm, means):
        return float(1 - np.prod(1 - means[super_arm]))


def test_an_oracle_without_a_ratio_bounds_nothing_but_the_range_of_rewards():
    assert optimum_bound(AnyHit(), np.full(3, 0.5), np.random.default_rng(0)) == np.inf
    state = ArmStatistics.empty(3)
    state.update(Feedback([0], [1.0]))
    found = regret_bound(CTS(AnyHit()), state, reward_range=(0.0, 1.0))
    assert found.regret == found.exact_regret == 1.0 >= found.gap
    with pytest.raises(ValueError, match="reward_range must be given"):
        regret_bound(CTS(AnyHit()), state)


# Sums of rewards.


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("has_spread", [True, False])
@pytest.mark.parametrize("draw", ["coins", "narrow", "rare"])
def test_sum_of_expected_rewards_is_above_the_bound(sign, has_spread, draw):
    """300 runs, checked in 12 rounds; the false-alarm probability is at most 300 * delta / 4 = 7.5e-5."""
    rng, wrong, width = np.random.default_rng(3), 0, []
    low, high = 2.0, 5.0
    for _ in range(300):
        record, expected, spread = Played(), 0.0, None
        for t in range(1, 401):
            mean = rng.random()  # a new expectation in every round
            if draw == "coins":
                reward = float(rng.random() < mean)
            elif draw == "narrow":
                reward = mean + 0.01 * (rng.random() - 0.5) * min(mean, 1 - mean)
            else:
                mean *= 0.01
                reward = float(rng.random() < mean)
            expected += low + (high - low) * mean
            record.note(low + (high - low) * reward)
            if t % 36 == 1:
                spread = record.spread if has_spread else None
                seen = Played(record.told, record.total, spread, record.low, record.high)
                bound = least_expected(seen, (low, high), 1e-6, sign)
                wrong += bound > sign * expected + 1e-9
        width.append((sign * expected - bound) / 400 / (high - low))
    assert wrong == 0
    assert np.mean(width) < {"coins": 0.2, "narrow": 0.25, "rare": 0.2}[draw]


def cascade():
    oracle = RankedTopK(6, 2)
    return oracle, CascadeModel([0.1, 0.3, 0.5, 0.2, 0.6, 0.1], oracle)


def coverage():
    place = wide_coverage(np.random.default_rng(2), left=6, k=2)
    return place.oracle, place


def test_delayed_and_missing_feedback():
    """Only the reported rounds count; cancelled and pending tickets are not part of the regret."""
    oracle, place = coins()
    session, rng = Session(CTS(oracle), rng=0), np.random.default_rng(0)
    tickets = [session.ask() for _ in range(40)]
    told = rng.permutation(40)[:30]
    for number in told:
        session.tell(place.play(tickets[number].super_arm, rng), tickets[number])
    session.cancel(tickets[next(i for i in range(40) if i not in told)])
    regret = sum(place.optimum - place.expected_reward(tickets[i].super_arm) for i in told)
    found = regret_bound(session.policy, session.state, delta=0.001)
    assert found.rounds == 30
    assert found.regret >= regret


@pytest.mark.parametrize("make", [coins, cascade, coverage])
def test_certificates_do_not_change_a_run(make):
    oracle, place = make()
    rounds = [1, 5, 60]
    for policy in (CTS(oracle), CUCB(oracle)):
        plain = simulate(policy, place, 60, replications=2, checkpoints=rounds, rng=4)
        certified = simulate(policy, place, 60, replications=2, checkpoints=rounds, rng=4, certify=Certify())
        assert np.array_equal(plain.rewards, certified.rewards)
        assert np.array_equal(plain.regret, certified.regret)
        assert plain.regret_bounds is None
        assert certified.regret_bounds.shape == (2, 3)
        assert (certified.exact_regret_bounds >= certified.exact_regret - 1e-9).all()
        final = regret_bound(policy, certified.states[1], rewards=certified.rewards[1, -1])
        assert final.exact_regret >= certified.exact_regret_bounds[1, -1] - 1e-9
        if oracle.is_linear:
            assert final.exact_regret == certified.exact_regret_bounds[1, -1]


def test_other_states_and_learners_are_rejected():
    oracle, _ = coins()
    window = SlidingWindow(CTS(oracle), window=10)
    with pytest.raises(TypeError, match="state must be an ArmStatistics"):
        regret_bound(window, window.initial_state())
    explorer = LUCB1(3, k=1, delta=0.1)
    with pytest.raises(TypeError, match="policy must be a policy that plays rounds"):
        regret_bound(explorer, explorer.initial_state())
    with pytest.raises(TypeError, match="policy must be a Policy"):
        regret_bound(oracle, ArmStatistics.empty(6))
    with pytest.raises(ValueError, match="statistics of 6 arms"):
        regret_bound(CTS(oracle), ArmStatistics.empty(5))


@pytest.mark.filterwarnings("ignore:the regret is unknown")
def test_a_linear_oracle_with_a_ratio():
    oracle = Knapsack([3, 4, 5, 6], 9, gap=0.25)
    place = SemiBandit(BernoulliArms([0.2, 0.9, 0.5, 0.6]), oracle)
    best = 1.4  # arms of weight 4 and 5
    result = simulate(CTS(oracle), place, 300, rng=0)
    found = regret_bound(CTS(oracle), result.states[0], delta=0.001)
    earned = result.expected_rewards[0, -1]
    assert found.alpha == pytest.approx(0.8)
    assert found.exact_regret >= 300 * best - earned
    assert found.regret >= 300 * 0.8 * best - earned
    assert found.regret < found.exact_regret


@pytest.mark.slow
@pytest.mark.parametrize("name", ["top 5 of 20", "path in a 5 x 5 grid", "matching 6 x 6"])
def test_bounds_hold_in_all_rounds_of_many_runs(name):
    """The error rate is at most 0.05. More than 5 wrong runs of 20 have probability 1e-4."""
    rounds, wrong = np.unique(np.geomspace(1, 300, 12).astype(int)), 0
    for replication in range(20):
        oracle, place, _ = PROBLEMS[name].draw(seed=7, replication=replication)
        run = simulate(
            CUCB(oracle), place, 300, checkpoints=rounds, rng=replication, certify=Certify(delta=0.05)
        )
        wrong += bool((run.exact_regret[0] > np.asarray(run.exact_regret_bounds)[0] + 1e-6).any())
    assert wrong <= 5


# Narrow supports and huge rewards.


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
