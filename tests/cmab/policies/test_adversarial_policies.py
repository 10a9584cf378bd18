"""FTPL with geometric resampling: estimates and what adversaries cost."""

import numpy as np
import pytest

from cmab import FTPL, Context, Feedback, Session, simulate
from instances import BernoulliArms, SemiBandit
from oracles import BruteForce, ShortestPath, TopK


def statistics(policy, losses, rounds):
    """Return the state in which these losses are estimated."""
    stats = policy.initial_state()
    stats.memory[: len(losses)] = losses
    stats.rounds = rounds
    return stats


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


@pytest.mark.parametrize("support", [(0.0, 1.0), (-3.0, 5.0)])
@pytest.mark.parametrize(("sense", "losses"), [("max", [0.75, 0.0]), ("min", [0.25, 1.0])])
def test_estimates_are_shares_of_the_support_times_waits(support, sense, losses):
    policy, arms = FTPL(TopK(4, 2, sense=sense), horizon=400, support=support), np.array([0, 3])
    state, outcomes = policy.initial_state(), support[0] + (support[1] - support[0]) * np.array([0.25, 1.0])
    waits = policy.waits(state, arms, np.random.default_rng(0))
    policy.update(state, Feedback(arms, outcomes), rng=np.random.default_rng(0))
    assert state.memory.tolist() == [waits[0] * losses[0], 0.0, 0.0, waits[1] * losses[1]]


def test_what_they_refuse():
    import networkx as nx

    roads = ShortestPath(nx.cycle_graph(4), 0, 2)
    with pytest.raises(ValueError, match="any sign"):
        FTPL(roads)
    session = Session(FTPL(TopK(3, 1)), rng=0)
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
