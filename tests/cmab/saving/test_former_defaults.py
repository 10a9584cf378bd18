"""Journals and sessions of a version with other defaults open unchanged and play as that version did."""

import json
import pickle
import shutil
from pathlib import Path

import pytest
from former_influence import LEARNERS, friends, play

from cmab import CTS, CUCB, Campaign, Session
from cmab._former_defaults import with_defaults_of
from cmab.campaigns.copying import copy_campaign
from cmab.saving._fingerprint import fingerprint
from oracles import InfluenceMaximization, TopK
from oracles.influence import Search

FILES = Path(__file__).parents[2] / "support" / "former_defaults"
NEXT = json.loads((FILES / "next_rounds.json").read_text())


def oracle(**options):
    return InfluenceMaximization(friends(), k=3, **options)


def events(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def described(event):
    """Return the arms and the policy of an event, without the graph that the oracle was made from."""
    said = event["policy"]
    oracle_said = {name: value for name, value in said["oracle"].items() if name != "source"}
    return event["arms"], {**said, "oracle": oracle_said}


@pytest.fixture
def kept(tmp_path):
    """Copy a journal of the former version, and return its path."""

    def copied(name):
        return shutil.copy(FILES / f"{name}.jsonl", tmp_path / f"{name}.jsonl")

    return copied


@pytest.mark.parametrize("name", LEARNERS)
def test_a_former_journal_continues_as_it_was_played(name, kept, tmp_path):
    path = kept(name)
    copy_campaign(path, tmp_path / "copy.db")
    before = events(path)
    running, copied = Campaign(LEARNERS[name](), path), Campaign(LEARNERS[name](), tmp_path / "copy.db")
    assert events(path)[: len(before)] == before
    # An event states at most that another version of NumPy opened the file.
    for stated in events(path)[len(before) :]:
        assert stated["event"] == "changed" and stated["versions"] != before[0]["versions"]
        assert described(stated) == described(before[0])
    assert running._records.fold._is_own
    assert play(running, 2) == play(copied, 2) == NEXT[name][0][:2]
    assert play(pickle.loads(pickle.dumps(running)), 1) == NEXT[name][0][2:]
    assert Campaign(LEARNERS[name](), path).policy.oracle.quality == running.policy.oracle.quality
    assert {event["event"] for event in events(path)} - {"changed"} == {"campaign", "ask", "tell"}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_former_session_continues_as_it_was_played(name):
    session = Session.load(FILES / f"{name}.session", LEARNERS[name]())
    assert play(session, 1) == NEXT[name][1][:1]
    again = Session.load(session.to_bytes(), LEARNERS[name]())
    assert play(again, 2) == NEXT[name][1][1:]


def test_a_stated_quality_is_not_replaced(kept):
    path = kept("epsilon")
    with pytest.raises(ValueError, match=r"oracle.quality fast in the file, better here"):
        Campaign(CUCB(oracle(epsilon=0.3, search=Search(quality="better"))), path)
    best = oracle(search=Search(quality="best"))
    for name, learner in (("default", best), ("stated_good", CTS(best))):
        with pytest.raises(ValueError, match=r"oracle.quality good in the file, best here"):
            Session.load(FILES / f"{name}.session", learner)
    with pytest.raises(ValueError, match=r"oracle.quality best in the file, better here"):
        Campaign(CTS(oracle()), kept("stated_best"))


def test_accepted_changes_have_the_present_default_from_then_on(kept):
    path = kept("usual_epsilon")
    running = Campaign(LEARNERS["usual_epsilon"](), path, accept_changes=True)
    assert running.policy.oracle.quality == "better"
    assert [event["event"] for event in events(path)].count("changed") == 1
    again = Campaign(LEARNERS["usual_epsilon"](), path)
    assert again.policy.oracle.quality == "better"
    assert play(again, 2)
    assert [event["event"] for event in events(path)].count("changed") == 1
    session = Session.load(FILES / "epsilon.session", LEARNERS["epsilon"](), accept_changes=True)
    assert session.policy.oracle.quality == "better"


def test_the_learner_of_the_caller_is_not_changed(kept):
    learner = LEARNERS["epsilon"]()
    before = fingerprint(learner)
    running = Campaign(learner, kept("epsilon"))
    assert running.policy is not learner
    assert (running.policy.oracle.quality, learner.oracle.quality) == ("fast", "better")
    assert fingerprint(learner) == before


def test_defaults_inside_of_wrappers_are_those_of_the_file():
    class Wrapped(TopK):
        def __init__(self, oracle):
            super().__init__(3, 1)
            self.oracle = oracle

    learner = CTS(Wrapped(oracle(epsilon=0.2)))
    recorded = {"oracle": {"oracle": {"quality": "fast", "uses_all_time": True, "repr": ""}}}
    assert with_defaults_of(recorded, learner).oracle.oracle.quality == "fast"
    assert with_defaults_of(recorded, learner).oracle.oracle._hits_per_unit == 0.0
    for strange in ({}, {"oracle": 3}, {"oracle": {"oracle": {"quality": "odd", "uses_all_time": True}}}):
        assert with_defaults_of(strange, learner) is learner
    assert with_defaults_of({"oracle": {"quality": None}}, CTS(oracle())).oracle.quality == "better"


def test_a_pickled_campaign_opens_its_journal(tmp_path):
    # Pickled copies of an oracle lack the graph of its constructor.
    running = Campaign(CTS(oracle()), tmp_path / "journal", rng=0)
    again = pickle.loads(pickle.dumps(running))
    assert play(again, 1)
    assert Campaign(CTS(oracle()), tmp_path / "journal").history() == running.history()
    assert [event["event"] for event in events(tmp_path / "journal")] == ["campaign", "ask", "tell"]
