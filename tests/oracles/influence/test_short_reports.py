"""Short reports of cascades are checked by themselves: accepted without a search, refused as after one."""

import numpy as np
import pytest

from cmab import CUCB, Feedback, Session
from oracles import DirectedGraph, InfluenceMaximization

# A path of 400 nodes, of which the seed is one in the middle.
N = 400
GRAPH = DirectedGraph(np.arange(N - 1), np.arange(1, N), n_nodes=N)
START = 100


@pytest.fixture
def asked(monkeypatch):
    """A session with a ticket that seeds one node of the path, and the searches that `tell` makes."""
    oracle = InfluenceMaximization(GRAPH, k=1, candidates=[START])
    session = Session(CUCB(oracle), rng=0)
    ticket = session.ask()
    assert ticket.super_arm.tolist() == [START]
    searches, search = [], InfluenceMaximization.triggered_arms

    def noted(self, super_arm):
        searches.append(super_arm)
        return search(self, super_arm)

    # The base class, because a subclass with its own `triggered_arms` explains nothing.
    monkeypatch.setattr("oracles.influence.maximization.InfluenceOracle.triggered_arms", noted)
    return session, ticket, searches


def report(arms):
    return Feedback(np.array(arms), np.ones(len(arms)))


@pytest.mark.parametrize("arms", [[], [100], [100, 101, 102], [102, 100, 101]])
def test_a_short_cascade_is_accepted_without_a_search(arms, asked):
    session, ticket, searches = asked
    session.tell(report(arms), ticket)
    assert not searches
    counts = session.state.counts
    assert counts[arms].tolist() == [1] * len(arms)
    assert counts.sum() == len(arms)


@pytest.mark.parametrize("arms", [[101], [100, 103], [398]])
def test_a_short_report_with_gaps_is_accepted_after_a_search(arms, asked):
    """Only some of the arms that a cascade tried may be reported."""
    session, ticket, searches = asked
    session.tell(report(arms), ticket)
    assert len(searches) == 1
    assert session.state.counts[arms].tolist() == [1] * len(arms)


@pytest.mark.parametrize(
    ("arms", "strange"),
    [
        ([99], [99]),
        ([0], [0]),
        ([100, 99], [99]),
        ([100, 101, 98, 5], [98, 5]),
        ([399], None),
        ([4000], None),
    ],
)
def test_a_short_report_of_other_arms_is_refused(arms, strange, asked):
    session, ticket, _ = asked
    with pytest.raises(ValueError, match="must be arms that ticket 0 can trigger") as error:
        session.tell(report(arms), ticket)
    assert error.value.args[1] == (strange or arms)
    assert session.state.counts.sum() == 0
    session.tell(report([100]), ticket)


def test_a_long_report_is_checked_by_a_search(asked):
    session, ticket, searches = asked
    session.tell(report(range(100, 120)), ticket)
    assert len(searches) == 1
    assert session.state.counts.sum() == 20
