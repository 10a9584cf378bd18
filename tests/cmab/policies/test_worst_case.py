"""BarrierFTRL and CMOSS: the rules of their papers, and what they cost in the worst case."""

import numpy as np
import pytest
from references_policies import barrier_marginals, lbinfv, minimax_index
from scipy.stats import binom

from cmab import CMOSS, CTS, CUCB, ArmStatistics, BarrierFTRL, Feedback, simulate
from instances import BernoulliArms, SemiBandit
from oracles import RankedTopK, TopK


@pytest.mark.slow
@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("step", [None, 0.25])
@pytest.mark.parametrize(("n_arms", "k"), [(5, 1), (5, 3), (4, 3)])
def test_marginals_are_those_of_the_paper(sense, step, n_arms, k):
    """Forty rounds of losses between 0 and 1, of arms that are played in turn."""
    rng, horizon = np.random.default_rng(0), 1000
    policy = BarrierFTRL(TopK(n_arms, k, sense=sense), horizon=horizon, step=step, support=(-1.0, 3.0))
    stats, rounds = policy.initial_state(), []
    for _ in range(40):
        arms, losses = rng.permutation(n_arms)[:k], rng.random(k)
        rounds.append((arms, losses))
        outcomes = -1.0 + 4.0 * (losses if sense == "min" else 1.0 - losses)
        policy.update(stats, Feedback(arms, outcomes))
    found = stats.memory[n_arms : 2 * n_arms]
    assert found == pytest.approx(lbinfv(n_arms, k, horizon, rounds, step)[-1], rel=1e-8)
    assert found.sum() == pytest.approx(k)


@pytest.mark.parametrize(("n_arms", "k"), [(6, 1), (6, 5), (30, 10)])
def test_the_kernel_minimises_for_extreme_losses(n_arms, k):
    """The minimisers for losses up to 1e4, from starting values far away."""
    from cmab.policies.adversarial import barrier_marginals as compiled

    rng = np.random.default_rng(0)
    for scale in (0.0, 1.0, 100.0, 1e4):
        losses, squares = scale * rng.random(n_arms), 1.44 + 5.0 * rng.random(n_arms)
        expected = barrier_marginals(losses + 0.5, np.sqrt(squares), k, 9.0)
        for start in (k / n_arms, 1e-6, 1 - 1e-6):
            found = np.full(n_arms, start)
            compiled(losses, np.full(n_arms, 0.5), squares, float(k), 9.0, 0.0, found)
            assert found == pytest.approx(expected, rel=1e-6)
            assert found.sum() == pytest.approx(k, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("sense", ["max", "min"])
def test_the_draw_of_the_barrier_has_the_marginals(sense):
    """Counts of each arm in 4,000 draws; false alarms with probability below 1e-6 by the union bound."""
    policy, rng, n = BarrierFTRL(TopK(5, 2, sense=sense), horizon=100), np.random.default_rng(0), 4000
    stats = policy.initial_state()
    for arms in ([0, 1], [2, 3], [0, 4]):
        policy.update(stats, Feedback(arms, [1.0, 0.0]))
    chances = stats.memory[5:10].copy()
    drawn = [policy.select(stats, rng) for _ in range(n)]
    assert {len(arms) for arms in drawn} == {2}
    counts, level = np.bincount(np.concatenate(drawn), minlength=5), 1e-6 / 10
    assert (counts >= binom.ppf(level, n, chances)).all()
    assert (counts <= binom.isf(level, n, chances)).all()


@pytest.mark.slow
def test_the_barrier_is_close_to_thompson_sampling_if_means_stay():
    """Mean regret of 6 runs of 5,000 rounds: about 1.9 times that of CTS. The seeds are fixed."""
    oracle = TopK(10, 5)
    place = SemiBandit(BernoulliArms(np.where(np.arange(10) % 2, 0.5625, 0.4375)), oracle)
    policies = BarrierFTRL(oracle, horizon=5000), CTS(oracle), CUCB(oracle)
    ours, ts, ucb = (
        simulate(each, place, 5000, replications=6, rng=0).regret[:, -1].mean() for each in policies
    )
    assert ours < 3.0 * ts
    assert ours < ucb


def test_all_arms_at_once_have_marginals_of_one():
    policy = BarrierFTRL(TopK(3, 3))
    stats = policy.initial_state()
    policy.update(stats, Feedback([0, 1, 2], [0.0, 1.0, 0.5]))
    assert stats.memory[3:6].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("sense", ["max", "min"])
def test_minimax_indices_are_those_of_the_reference(sense):
    rng, oracle = np.random.default_rng(1), TopK(7, 3, sense=sense)
    stats = ArmStatistics.empty(7)
    for _ in range(200):
        arms = rng.permutation(6)[:3]
        stats.update(Feedback(arms, rng.random(3)))
    found = CMOSS(oracle, 300).indices(stats, rng)
    sign, unseen = (1.0, 1.0) if sense == "max" else (-1.0, 0.0)
    expected = minimax_index(stats.counts, stats.means, 3, 300, sign)
    assert found == pytest.approx(np.where(stats.counts > 0, expected, unseen))


def test_the_radius_is_zero_beyond_the_share_of_an_arm():
    oracle, stats = TopK(4, 2), ArmStatistics.empty(4)
    for _ in range(60):
        stats.update(Feedback([0, 1], [0.5, 0.25]))
    indices = CMOSS(oracle, 100).indices(stats, np.random.default_rng(0))  # the share is 2 * 100 / 4
    assert indices.tolist() == [0.5, 0.25, 1.0, 1.0]


def test_lists_show_at_most_all_arms():
    policy = CMOSS(RankedTopK(6, 2), 90)
    assert policy.parameters()[0] == 90.0
    assert CMOSS(RankedTopK(6, 2), 90, max_super_arm_size=2).parameters()[0] == 30.0


@pytest.mark.slow
@pytest.mark.parametrize("low", [0.0, 0.5])
def test_cmoss_has_less_regret_than_cucb_on_the_instances_of_its_figure(low):
    """30 arms, sets of 10, means in [0, 0.1] or [0.5, 0.6]: the order of the figures. The seeds are fixed."""
    oracle = TopK(30, 10)
    place = SemiBandit(BernoulliArms(low + 0.1 * np.random.default_rng(3).random(30)), oracle)
    policies = CMOSS(oracle, 5000), CUCB(oracle)
    ours, ucb = (simulate(each, place, 5000, replications=3, rng=0).regret[:, -1].max() for each in policies)
    assert ours < ucb
