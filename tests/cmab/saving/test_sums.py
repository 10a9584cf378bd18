"""Sums of several outcomes: policies learn them, or reject them and keep the ticket."""

import pickle

import numpy as np
import pytest
from cases import POLICIES

from cmab import Feedback, Policy, Session
from oracles import TopK


class Averages(Policy):
    """Learns each outcome of a report as a single one."""

    def __init__(self, oracle):
        self.oracle = oracle

    def initial_state(self, rng=None):
        return {"counts": np.zeros(self.oracle.n_arms), "sums": np.zeros(self.oracle.n_arms), "kept": []}

    def select(self, state, rng, context=None):
        return self.oracle.solve(state["sums"] / np.maximum(state["counts"], 1), rng)

    def update(self, state, feedback, ticket=None, rng=None):
        state["counts"][feedback.arms] += 1
        state["sums"][feedback.arms] += feedback.outcomes


class Counted(Averages):
    """Reads the number of outcomes, and keeps the report."""

    def update(self, state, feedback, ticket=None, rng=None):
        state["counts"][feedback.arms] += 1 if feedback.pulls is None else feedback.pulls
        state["sums"][feedback.arms] += feedback.outcomes
        state["kept"].append(feedback)


class Rewards(Averages):
    """Learns from the reward only."""

    def update(self, state, feedback, ticket=None, rng=None):
        state["counts"][ticket.super_arm] += 1
        state["sums"][ticket.super_arm] += feedback.reward


class Fixed(Averages):
    learns = False


def sums(ticket, pulls):
    n = len(ticket.super_arm)
    outcomes, squares = np.full(n, 0.5 * pulls), np.full(n, 0.4 * pulls)
    return Feedback(ticket.super_arm, outcomes, pulls=np.full(n, pulls), squares=squares, reward=0.5 * n)


@pytest.mark.parametrize("kind", [Counted, Rewards, Fixed])
def test_policies_learn_sums(kind):
    session = Session(kind(TopK(4, 2)), rng=0)
    for _ in range(3):
        ticket = session.ask()
        session.tell(sums(ticket, 3), ticket)
    assert session.state["counts"].sum() == {Counted: 18, Rewards: 6, Fixed: 6}[kind]
    assert all(type(one) is Feedback for one in session.state["kept"])
    assert pickle.loads(pickle.dumps(session)).state["sums"].tolist() == session.state["sums"].tolist()


@pytest.mark.parametrize("case", POLICIES, ids=lambda case: case.name)
def test_policies_of_this_library_learn_sums_or_reject_them(case):
    session = Session(case.make(TopK(6, 2)), rng=0)
    ticket = session.ask()
    try:
        session.tell(sums(ticket, 3), ticket)
    except ValueError as error:
        assert "feedback.pulls must be None" in str(error)
        n = len(ticket.super_arm)
        session.tell(Feedback(ticket.super_arm, np.full(n, 0.5), reward=0.5 * n), ticket)
