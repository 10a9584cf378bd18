"""The safeguard: its budget, and that it finds what the wrapped policy gave up."""

import math

import numpy as np
import pytest

from cmab import (
    CTS,
    CUCB,
    AdaptiveCTS,
    Context,
    Feedback,
    Greedy,
    Safeguarded,
    Session,
    SlidingWindow,
    simulate,
)
from cmab.feedback import Ticket
from instances import BernoulliArms, SemiBandit
from oracles import ShortestPath, TopK


def spends(policy, state, super_arm):
    """Return what a round spends, from the definitions, for a sum of means."""
    low, high = policy.support
    counts, t = state.learned.counts, state.rounds + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        radii = (high - low) * np.sqrt(1.5 * math.log(t) / counts)
    indices = np.where(counts > 0, np.minimum(state.learned.means + radii, high), high)
    best = np.sort(indices)[-policy.oracle.k :].sum()
    return best - indices[super_arm].sum()


def test_the_budget_is_that_of_the_theorem():
    """Each round is as the definition says, and the total stays within the budget."""
    policy, rng = Safeguarded(CTS(TopK(6, 2)), c=0.2), np.random.default_rng(0)
    state, inner = policy.initial_state(), 0
    for t in range(1, 400):
        seed = int(rng.integers(2**31))
        chosen = policy.select(state, np.random.default_rng(seed))
        wished = policy.policy.select(state.learned, np.random.default_rng(seed))
        budget = 0.2 * math.sqrt(6 * 2 * t * math.log(t + 1))
        fits = state.spent + spends(policy, state, wished) <= budget
        if fits:
            assert np.array_equal(chosen, wished)
        else:
            assert spends(policy, state, chosen) == pytest.approx(0.0, abs=1e-12)
        inner += fits
        expected = state.spent + spends(policy, state, chosen)
        outcomes = 1.0 * (rng.random(2) < (chosen + 1) / 8)
        policy.update(state, Feedback(chosen, outcomes), Ticket(t, chosen), rng)
        assert state.spent == pytest.approx(expected, abs=1e-9) and state.spent <= budget + 1e-9
        assert state.rounds == t
    assert 20 < inner < 380  # both happened


def test_a_policy_that_gave_up_the_best_arm_plays_it_again():
    """`Greedy` with a bad prior never plays arm 0 by itself."""
    oracle = TopK(2, 1)
    environment = SemiBandit(BernoulliArms([0.9, 0.4]), oracle)
    greedy = Greedy(oracle, prior_mean=[0.1, 0.4], prior_weight=50.0)
    alone = simulate(greedy, environment, 3000, rng=0).regret[0, -1]
    safe = simulate(Safeguarded(greedy, c=0.3), environment, 3000, rng=0).regret[0, -1]
    assert alone == pytest.approx(1500.0) and safe < 300.0


def test_a_large_budget_changes_nothing():
    oracle = TopK(5, 2)
    environment = SemiBandit(BernoulliArms([0.1, 0.3, 0.5, 0.7, 0.9]), oracle)
    plain = simulate(AdaptiveCTS(oracle), environment, 300, rng=0)
    safe = simulate(Safeguarded(AdaptiveCTS(oracle), c=1e6), environment, 300, rng=0)
    assert np.array_equal(plain.rewards, safe.rewards)


def test_no_budget_is_cucb():
    oracle = TopK(5, 2)
    environment = SemiBandit(BernoulliArms([0.1, 0.3, 0.5, 0.7, 0.9]), oracle)
    plain = simulate(CUCB(oracle), environment, 300, rng=0)
    safe = simulate(Safeguarded(CUCB(oracle), c=0.0), environment, 300, rng=0)
    assert np.array_equal(plain.rewards, safe.rewards)


def test_costs_are_mirrored():
    import networkx as nx

    graph = nx.DiGraph([(0, 1), (1, 3), (0, 2), (2, 3)])
    oracle = ShortestPath(graph, 0, 3)
    environment = SemiBandit(BernoulliArms([0.9, 0.9, 0.2, 0.2]), oracle)
    result = simulate(Safeguarded(AdaptiveCTS(oracle), c=0.2), environment, 2000, rng=0)
    assert result.regret[0, -1] < 400.0 and result.states[0].spent >= 0.0


def test_absent_arms_and_late_reports_are_taken():
    session = Session(Safeguarded(AdaptiveCTS(TopK(4, 1)), c=0.01), rng=0)
    tickets = [session.ask(Context(available=np.arange(4) != i)) for i in range(4)]
    for i, ticket in reversed(list(enumerate(tickets))):
        assert ticket.super_arm[0] != i
        session.tell(Feedback(ticket.super_arm, [1.0]), ticket)
    assert session.state.spent == pytest.approx(0.0, abs=4.0)
    with pytest.raises(ValueError, match="context must have only available"):
        session.ask(Context(values=np.ones(4)))


def test_other_states_are_refused():
    with pytest.raises(ValueError, match="policy must have a state of ArmStatistics"):
        Safeguarded(SlidingWindow(CTS(TopK(4, 2)), 9))
