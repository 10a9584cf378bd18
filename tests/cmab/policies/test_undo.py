"""A failed update of a session changes nothing."""

import numpy as np
import pytest

from cmab import CTS, CUCB, Feedback, HierarchicalCTS, Session
from cmab.archive import copied
from oracles import TopK


def contents(state):
    return [state.counters.tolist(), state.means.tolist(), state.deviations.tolist(), state.memory.tolist()]


@pytest.mark.parametrize("kind", [CUCB, CTS, HierarchicalCTS])
def test_a_failed_update_restores_the_observed_arms(kind, monkeypatch):
    session, rng = Session(kind(TopK(6, k=3)), rng=0), np.random.default_rng(0)
    for _ in range(3):
        session.tell(Feedback(session.ask(), rng.random(3)))
    before = copied(session.state)

    def broken(arms, n, outcomes, t, reals, memory):
        memory[:] = 7.0
        raise KeyboardInterrupt

    ticket = session.ask()
    feedback = Feedback(ticket, [1.0, 0.0, 1.0])
    with monkeypatch.context() as patch:
        patch.setattr(kind, "learning_rule", lambda policy: broken)
        with pytest.raises(KeyboardInterrupt):
            session.tell(feedback, ticket)
    assert contents(session.state) == contents(before)
    assert session.state.rounds == before.rounds == 3
    assert session.pending == (ticket.number,)
    session.tell(feedback, ticket)
    assert session.state.counts.sum() == before.counts.sum() + len(feedback.arms)


def test_an_update_does_not_copy_the_statistics_of_all_arms(monkeypatch):
    def copied(state):
        raise AssertionError("all arms were copied")

    monkeypatch.setattr("cmab.policies.compiled_policy.copied", copied)
    session = Session(CUCB(TopK(6, k=3)), rng=0)
    session.tell(Feedback(session.ask(), [1.0, 0.0, 1.0]))
    assert session.state.counts.sum() == 3
