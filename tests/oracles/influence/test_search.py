"""The options of the search for seeds."""

import numpy as np
import pytest
from refusals import refused

from cmab import CUCB, Session
from oracles.influence import (
    BudgetedInfluence,
    DeadlineInfluence,
    InfluenceMaximization,
    Search,
)
from oracles.influence.graph import DirectedGraph

GRAPH = DirectedGraph.from_edges([0, 0, 3, 4], [1, 2, 4, 5])
MEANS = np.full(4, 0.5)


def test_a_session_opens_with_another_search_if_changes_are_accepted(tmp_path):
    session = Session(CUCB(InfluenceMaximization(GRAPH, 1, search=Search(quality="best"))), rng=0)
    session.save(tmp_path / "session")
    other = CUCB(InfluenceMaximization(GRAPH, 1, search=Search(quality="fast")))
    with pytest.raises(ValueError, match=r"quality.*accept_changes=True"):
        Session.load(tmp_path / "session", other)
    again = Session.load(tmp_path / "session", other, accept_changes=True)
    assert again.policy is other
    same = CUCB(InfluenceMaximization(GRAPH, 1, search=Search(quality="best")))
    assert Session.load(tmp_path / "session", same).policy is same


test_refuses = refused(
    (lambda: DeadlineInfluence(GRAPH, 1, deadline=1, search=Search(sampler="coins")), "search.sampler"),
    (lambda: BudgetedInfluence(GRAPH, np.ones(6), budget=2, search=Search(threads=2)), "search.threads"),
    (lambda: InfluenceMaximization(GRAPH, 1, search={"threads": 2}), "search must be a Search"),
)
