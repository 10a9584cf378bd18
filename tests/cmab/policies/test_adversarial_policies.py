"""FTPL with geometric resampling, and HybridFTRL: estimates, marginals and what adversaries cost."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from cmab import FTPL, ArmStatistics, Context, Feedback, Session, simulate
from cmab.policies.hybrid import HybridFTRL
from instances import BernoulliArms, SemiBandit
from oracles import BruteForce, GraphicMatroid, ShortestPath, TopK


def marginals(losses, k, gamma, t):
    """Return HybridFTRL's marginals by nested root finding, with the regulariser's derivative written out."""

    def share(slope):
        def excess(x):
            return slope - 0.5 / np.sqrt(x) - gamma * (np.log(1 - x) + 1)

        return 1.0 if excess(1 - 1e-15) < 0 else brentq(excess, 1e-12, 1 - 1e-15, xtol=1e-15)

    def shares(multiplier):
        return np.array([share(loss / np.sqrt(t) + multiplier) for loss in losses])

    return shares(brentq(lambda multiplier: shares(multiplier).sum() - k, -150, 150, xtol=1e-13))


def statistics(policy, losses, rounds):
    """Return the state in which these losses are estimated."""
    stats = policy.initial_state()
    stats.memory[: len(losses)] = losses
    stats.rounds = rounds
    return stats


@pytest.mark.parametrize(("n_arms", "k"), [(6, 1), (6, 3), (6, 5), (10, 4)])
def test_marginals_minimise_the_regularised_losses(n_arms, k):
    from cmab.policies._kernels_hybrid import marginals as compiled

    rng = np.random.default_rng(0)
    for scale, gamma, t in product((0.0, 1.0, 30.0), (1.0, 0.7), (1, 100)):
        losses, found = scale * rng.random(n_arms), np.full(n_arms, k / n_arms)
        compiled(losses, float(k), gamma, t, 0.0, found)
        assert found == pytest.approx(marginals(losses, k, gamma, t), rel=1e-7)
        assert found.sum() == pytest.approx(k)


@pytest.mark.slow
@pytest.mark.parametrize("sense", ["max", "min"])
def test_the_draw_has_the_marginals(sense):
    """Counts of each arm in 4,000 draws; false alarms with probability below 1e-6 by the union bound."""
    policy = HybridFTRL(TopK(5, 2, sense=sense))
    stats, rng, n = (
        statistics(policy, np.array([0.0, 2.0, 5.0, 1.0, 9.0]), 24),
        np.random.default_rng(0),
        4000,
    )
    drawn = [policy.select(stats, rng) for _ in range(n)]
    assert {len(arms) for arms in drawn} == {2}
    counts = np.bincount(np.concatenate(drawn), minlength=5)
    chances = marginals(stats.memory[:5], 2, 1.0, 25)
    level = 1e-6 / 10
    assert (counts >= binom.ppf(level, n, chances)).all()
    assert (counts <= binom.isf(level, n, chances)).all()


@pytest.mark.parametrize(("sense", "losses"), [("max", [2.0, 0.0]), ("min", [0.0, 2.0])])
def test_a_loss_is_estimated_by_its_chance(sense, losses):
    """Losses of -1 and 1, with 1 added, over the marginals: a reward of 1 costs nothing, one of 0 costs 2."""
    policy = HybridFTRL(TopK(4, 2, sense=sense))
    before = np.array([0.0, 1.0, 2.0, 3.0])
    stats = statistics(policy, before, 8)
    policy.update(stats, Feedback([1, 2], [0.0, 1.0]))
    chances = marginals(before, 2, 1.0, 9)
    assert stats.memory[:4] - before == pytest.approx(
        [0.0, losses[0] / chances[1], losses[1] / chances[2], 0.0]
    )


@pytest.mark.slow
def test_estimates_of_many_rounds_start_from_those_before():
    """After a run, the marginals in the memory are those that root finding gives."""
    policy = HybridFTRL(TopK(5, 2))
    place = SemiBandit(BernoulliArms([0.2, 0.9, 0.4, 0.6, 0.1]), policy.oracle)
    one, other = (simulate(policy, place, horizon, rng=0).states[0].memory for horizon in (499, 500))
    assert other[5:10] == pytest.approx(marginals(one[:5], 2, 1.0, 500), rel=1e-6)


@pytest.mark.slow
def test_all_arms_at_once_leave_nothing_to_choose():
    run = simulate(HybridFTRL(TopK(3, 3)), SemiBandit(BernoulliArms([0.2, 0.9, 0.4]), TopK(3, 3)), 50, rng=0)
    assert run.regret[0, -1] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("oracle", "gone"),
    [
        (TopK(6, 2), None),
        (TopK(6, 2, sense="min"), None),
        (BruteForce(3, [[0, 1], [1, 2]]), None),
        (TopK(6, 2), [0, 3]),
    ],
)
def test_geometric_resampling_is_unbiased_below_its_cap(oracle, gone):
    """The mean of min(K, cap) is (1 - (1 - q)^cap) / q, q being the chance that the arm is played.

    q is known to within a share of 1 / sqrt(n): the means may differ by six standard errors of both, which
    chance does with probability below 1e-6 for the arms of an oracle.
    """
    policy, n = FTPL(oracle, horizon=400), 1000
    stats, rng = statistics(policy, np.linspace(0.0, 10.0, oracle.n_arms), 0), np.random.default_rng(0)
    context = None if gone is None else Context(available=~np.isin(np.arange(oracle.n_arms), gone))
    drawn = [policy.select(stats, rng, context) for _ in range(n)]
    arms, cap = np.flatnonzero(np.bincount(np.concatenate(drawn)) > n / 10), policy.cap(1)
    chance = np.bincount(np.concatenate(drawn))[arms] / n
    waits = np.array([policy.waits(stats, arms, rng, context) for _ in range(n)])
    assert waits.min() >= 1
    assert waits.max() <= cap
    expected = (1 - (1 - chance) ** cap) / chance
    error = waits.std(axis=0) / np.sqrt(n) + np.sqrt(chance * (1 - chance) / n) / chance**2
    assert (np.abs(waits.mean(axis=0) - expected) <= 6 * error).all()


@pytest.mark.parametrize(("sense", "lost"), [("max", [1.0, 0.0]), ("min", [0.0, 1.0])])
def test_only_what_costs_is_estimated(sense, lost):
    policy = FTPL(TopK(4, 2, sense=sense), horizon=100)
    session = Session(policy, rng=0)
    ticket = session.ask()
    session.tell(Feedback(ticket, [0.0, 1.0]), ticket)
    estimates = session.state.memory[list(ticket)]
    assert ((estimates > 0) == np.array(lost, bool)).all()


def test_rate_and_cap():
    policy = FTPL(TopK(8, 2), horizon=1000)
    entropy = np.log(4) + 1
    assert policy.rate(1) == pytest.approx(np.sqrt(entropy / (2 * 8 * 1000)))
    assert policy.cap(1) == np.ceil(np.sqrt(8000) / (np.e * np.sqrt(2 * entropy)))
    assert FTPL(TopK(8, 2)).rate(1000) == policy.rate(1)


def test_what_they_refuse():
    import networkx as nx

    roads = ShortestPath(nx.cycle_graph(4), 0, 2)
    with pytest.raises(ValueError, match="any sign"):
        FTPL(roads)
    with pytest.raises(ValueError, match="horizon"):
        FTPL(TopK(3, 1), horizon=0)
    with pytest.raises(ValueError, match="uniform_size"):
        HybridFTRL(GraphicMatroid(nx.cycle_graph(4)))
    with pytest.raises(ValueError, match="gamma"):
        HybridFTRL(TopK(3, 1), gamma=0.0)
    for policy in (FTPL(TopK(3, 1)), HybridFTRL(TopK(3, 1))):
        state = policy.initial_state()
        assert isinstance(state, ArmStatistics)
        session = Session(policy, rng=0)
        with pytest.raises(ValueError, match="pulls"):
            ticket = session.ask()
            session.tell(Feedback(ticket, [1.0], pulls=[2]), ticket)


@pytest.mark.slow
def test_ftpl_keeps_its_bound_on_paths():
    """Neu and Bartók's theorem, for losses drawn by an adversary that does not look: far below, in fact."""
    import networkx as nx

    roads = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (1, 2)])
    oracle, horizon = ShortestPath(roads, 0, 3), 1000
    place = SemiBandit(BernoulliArms([0.5, 0.6, 0.3, 0.4, 0.5]), oracle)
    run = simulate(FTPL(oracle, horizon=horizon), place, horizon, replications=2, rng=0)
    m, k = oracle.n_arms, oracle.max_size
    assert run.regret[:, -1].mean() < 3 * k * np.sqrt(2 * m * horizon * (np.log(m / k) + 1))
