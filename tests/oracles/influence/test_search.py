"""The options of the search for seeds: one value, and former arguments that still stand for its fields."""

import pickle

import numpy as np
import pytest
from refusals import refused

from cmab import CUCB, Session
from cmab.studies._specification import Builder
from oracles.influence import (
    BudgetedInfluence,
    DeadlineInfluence,
    InfluenceMaximization,
    RepairedInfluence,
    Search,
)
from oracles.influence.graph import DirectedGraph

GRAPH = DirectedGraph.from_edges([0, 0, 3, 4], [1, 2, 4, 5])
MEANS = np.full(4, 0.5)


def answer(oracle):
    found = oracle.solve_certified(MEANS, np.random.default_rng(0))
    return found.seeds.tolist(), found.ratio, found.rr_sets


def test_former_arguments_warn_and_give_the_same_answers():
    new = InfluenceMaximization(GRAPH, 1, search=Search(quality="best", sampler="coins"))
    with pytest.warns(DeprecationWarning, match=r"write search=Search\(quality=..., sampler=...\) in"):
        old = InfluenceMaximization(GRAPH, 1, quality="best", sampler="coins")
    assert repr(old) == repr(new) and old.search == new.search and answer(old) == answer(new)
    with pytest.warns(DeprecationWarning, match="write rng in place of seed"):
        assert RepairedInfluence(GRAPH, 1, seed=4).rng == 4


def test_former_arguments_beside_a_search():
    with pytest.warns(DeprecationWarning, match="in place of threads"):
        oracle = InfluenceMaximization(GRAPH, 1, search=Search(quality="best"), threads=2)
    assert oracle.search == Search(quality="best", threads=2)
    with pytest.raises(TypeError, match=r"one of search\.quality and its former name quality, got both"):
        InfluenceMaximization(GRAPH, 1, search=Search(quality="best"), quality="fast")
    with (
        pytest.warns(DeprecationWarning, match="in place of quality"),
        pytest.raises(ValueError, match="search must be a Search, got 3"),
    ):
        InfluenceMaximization(GRAPH, 1, search=3, quality="fast")
    with pytest.warns(DeprecationWarning, match="`seed` is now `rng`"):
        assert RepairedInfluence(GRAPH, 1, rng=4).seed == 4


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


def test_oracles_of_earlier_files_are_read():
    oracle = RepairedInfluence(GRAPH, 1, rng=4)
    earlier = {"seed" if name == "rng" else name: value for name, value in oracle.__getstate__().items()}
    read = object.__new__(RepairedInfluence)
    read.__setstate__(earlier)
    assert repr(read) == repr(oracle) == repr(pickle.loads(pickle.dumps(oracle)))


def test_study_files_have_a_table_of_options_or_the_former_entries():
    tables = {"class": "InfluenceMaximization", "graph": {"networkx": "path_graph", "n": 3}, "k": 1}
    new = Builder().build(tables | {"search": {"threads": 2}}, {}, "oracle")
    with pytest.warns(DeprecationWarning, match="in place of threads"):
        old = Builder().build(tables | {"threads": 2}, {}, "oracle")
    assert repr(old) == repr(new) and new.search == Search(threads=2)
    with pytest.raises(ValueError, match=r"oracle\.search must only .*got thread \(did you mean"):
        Builder().build(tables | {"search": {"thread": 2}}, {}, "oracle")


test_refuses = refused(
    (lambda: DeadlineInfluence(GRAPH, 1, deadline=1, search=Search(sampler="coins")), "search.sampler"),
    (lambda: BudgetedInfluence(GRAPH, np.ones(6), budget=2, search=Search(threads=2)), "search.threads"),
    (lambda: InfluenceMaximization(GRAPH, 1, search={"threads": 2}), "search must be a Search"),
)
