"""What is available: no policy plays anything else, and joint optimism is the best of it, by enumeration."""

from itertools import combinations

import numpy as np
import pytest
from cases import ORACLES

from cmab import CUCB, ESCB, Context, Feedback, RarelySwitchingCUCB, Session
from oracles import Knapsack, TopK

N_ARMS = 6


# `solve_root` ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [case for case in ORACLES if getattr(case.make(), "_can_solve_root", False)],
    ids=lambda case: case.name,
)
def test_the_root_is_the_best_of_what_is_available(case):
    oracle, rng = case.make(), np.random.default_rng(0)
    family, sign, answered = [np.array(list(arms), int) for arms in case.super_arms()], oracle._sign, 0
    for _ in range(8):
        means, squares = rng.random(oracle.n_arms), rng.integers(0, 3, oracle.n_arms) / 2
        available = rng.random(oracle.n_arms) < 0.75
        worth = [sign * means[a].sum() + np.sqrt(squares[a].sum()) for a in family if available[a].all()]
        if not worth:
            with pytest.raises(ValueError, match="available must contain a super arm"):
                oracle.solve_root(means, squares, rng, available=available)
            continue
        arms = oracle.solve_root(means, squares, rng, available=available)
        assert available[arms].all()
        found = sign * means[arms].sum() + np.sqrt(squares[arms].sum())
        assert max(worth) - np.sqrt(squares.sum()) / 4 - 1e-9 <= found <= max(worth) + 1e-9
        answered += 1
    assert answered or len(family) < 3, case.name


# Policies ----------------------------------------------------------------------------------------------


def test_joint_optimism_is_for_what_is_available():
    """Against the index of each set of at most two arms, written out; what was never seen comes first."""
    oracle, rng = Knapsack([1] * N_ARMS, 2), np.random.default_rng(0)
    policy = ESCB(oracle, loglog=0.0)
    family = [np.array(arms, int) for size in range(3) for arms in combinations(range(N_ARMS), size)]
    session = Session(policy, rng=0)
    for t in range(1, 60):
        available, state = rng.random(N_ARMS) < 0.5, session.state
        ticket = session.ask(Context(available=available))
        arms, left = ticket.super_arm, [arms for arms in family if available[arms].all()]
        unseen = state.counts == 0
        widths = policy.widths(state, t)
        if (unseen & available).any():
            assert unseen[arms].sum() == max(unseen[other].sum() for other in left)
        else:
            worth = [state.means[other].sum() + np.sqrt(widths[other].sum()) for other in left]
            own = state.means[arms].sum() + np.sqrt(widths[arms].sum())
            assert own >= 0.8 * max(worth) - 1e-9
        session.tell(Feedback(ticket, (rng.random(len(arms)) < 0.2 + 0.1 * arms).astype(float)))


def test_the_super_arm_in_play_waits_for_what_is_not_there():
    """It stays where all of it is there; otherwise plain CUCB's choice among the rest is played, once."""
    oracle, rng = TopK(N_ARMS, 2), np.random.default_rng(0)
    policy, plain, asked = RarelySwitchingCUCB(oracle), CUCB(oracle), 0
    session = Session(policy, rng=0)
    for _ in range(300):
        available = rng.random(N_ARMS) < 0.8
        available[rng.choice(N_ARMS, 2, replace=False)] = True
        state = session.state
        in_play = policy.select(state, rng)
        ticket = session.ask(Context(available=available))
        if available[in_play].all():
            assert ticket.super_arm.tolist() == in_play.tolist()
        else:
            best = plain.select(state, rng, Context(available=available))
            assert ticket.super_arm.tolist() == best.tolist()
            asked += 1
        arms = ticket.super_arm
        session.tell(Feedback(ticket, (rng.random(2) < 0.2 + 0.1 * arms).astype(float)))
    assert 50 < asked < 200
