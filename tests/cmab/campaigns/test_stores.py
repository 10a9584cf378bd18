"""Campaigns in a journal file, in SQLite and in PostgreSQL: the same events, choices and errors."""

import copy
import pickle

import pytest
from journal_edits import KINDS, played

from cmab import CUCB, Campaign, read_journal
from cmab.campaigns.journal import events
from oracles import TopK


def learner():
    return CUCB(TopK(5, k=2))


@pytest.mark.parametrize("name", ["list", "drawn", "features"])
def test_a_store_keeps_the_events_that_a_journal_keeps(where, name, tmp_path):
    kind = KINDS[name]
    played(kind, where)
    played(kind, tmp_path / "other.jsonl")
    plain = [
        [{**event, "at": "", "session": "", "policy": ""} for event in events(place)]
        for place in (where, tmp_path / "other.jsonl")
    ]
    assert plain[0] == plain[1]
    assert [row.outcomes for row in read_journal(where)] == [
        row.outcomes for row in read_journal(tmp_path / "other.jsonl")
    ]


def test_campaigns_of_one_store_read_the_events_of_each_other(where):
    one = Campaign(learner(), where, rng=0)
    others = [Campaign(learner(), where), copy.copy(one), pickle.loads(pickle.dumps(one))]
    for number in range(8):
        request = [one, *others][number % 4].ask()
        assert request.number == number
        [one, *others][(number + 1) % 4].tell(dict.fromkeys(request, 1.0), request)
    assert [each.session.state.counts.tolist() for each in others] == [one.session.state.counts.tolist()] * 3
    assert one.history() == others[0].history()
