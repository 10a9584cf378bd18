"""Campaigns in a journal file, in SQLite and in PostgreSQL: the same events, choices and errors."""

import copy
import pickle
from datetime import timedelta

import numpy as np
import pytest
from journal_edits import KINDS, played
from places import SUPPORT

from cmab import C2UCB, CUCB, Campaign, Context, copy_campaign, read_journal
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


def features(number=0):
    return Context(features=np.random.default_rng(number).random((40, 3)) / 4)


def with_features():
    return C2UCB(TopK(40, k=2), dimension=3)


def test_features_are_stored_once_and_read_again(where):
    running = Campaign(with_features(), where, rng=0)
    contexts = [features(0), features(0), features(1)]
    for context in contexts:
        request = running.ask(context)
        running.tell(dict.fromkeys(request, 1.0), request)
    waiting = running.ask(features(1))
    assert [event["event"] for event in events(where)].count("array") == 2
    again = Campaign(with_features(), where)
    for row, context in zip(read_journal(where), contexts, strict=False):
        assert np.array_equal(row.context.features, context.features)
    assert pickle.dumps(again.session.state) == pickle.dumps(running.session.state)
    again.tell(dict.fromkeys(waiting, 0.0), waiting)
    again.correct(dict.fromkeys(waiting, 1.0), waiting)
    assert again.history()[-1]["outcomes"] == dict.fromkeys(waiting, 1.0)


def test_several_asks_and_tells_are_those_of_single_calls(where, tmp_path):
    one, other = Campaign(learner(), where, rng=0), Campaign(learner(), tmp_path / "other", rng=0)
    requests = one.ask_many(3)
    assert [each.names for each in requests] == [other.ask().names for _ in range(3)]
    reports = [{"ticket": each, "outcomes": dict.fromkeys(each, 1.0)} for each in requests]
    one.tell_many(reports)
    for report in reports:
        other.tell(report["outcomes"], report["ticket"].number)
    assert [row["event"] for row in one.history()] == [row["event"] for row in other.history()]
    assert one.session.state.counts.tolist() == other.session.state.counts.tolist()


def test_a_refused_report_refuses_all_others(where):
    running = Campaign(learner(), where, rng=0)
    first, second = running.ask_many(2)
    before = running.history()
    with pytest.raises(ValueError, match=r"report 2: .*known"):
        running.tell_many([{"ticket": first, "outcomes": {}}, {"ticket": second, "outcomes": {99: 1.0}}])
    with pytest.raises(TypeError, match="mappings"):
        running.tell_many([first])
    assert running.history() == before
    assert running.pending == (0, 1)
    assert running.session.state.counts.sum() == 0
    running.tell_many([{"ticket": second, "outcomes": {}}, {"ticket": first, "outcomes": {}, "reward": 1.0}])
    assert Campaign(learner(), where).history() == running.history()


@pytest.mark.parametrize("limit", [2, timedelta(0)])
def test_tickets_without_a_report_expire(where, limit):
    running = Campaign(learner(), where, rng=0, expires=limit)
    requests = [running.ask() for _ in range(4)]
    kept = (1, 2, 3) if limit == 2 else (3,)
    assert running.pending == kept == Campaign(learner(), where).pending
    with pytest.raises(ValueError, match="must be pending"):
        running.tell({}, requests[0])
    running.tell({}, requests[3])
    running.ask()
    assert running.undo()["event"] == "tell"  # not a cancellation by the campaign


def test_old_tickets_are_cancelled_together(where):
    running = Campaign(learner(), where, rng=0)
    requests = running.ask_many(5)
    running.tell({}, requests[1])
    assert running.cancel(older_than=timedelta(days=1)) == ()
    assert running.cancel(older_than=2) == (0, 2)
    assert running.cancel(requests[3]) == (3,)
    assert running.pending == (4,)
    running.undo()
    assert running.pending == (3, 4)
    for wrong in (-1, 1.5, timedelta(-1), "x"):
        with pytest.raises(ValueError, match="older_than must be"):
            running.cancel(older_than=wrong)
    with pytest.raises(ValueError, match="got both"):
        running.cancel(3, older_than=1)


def test_events_have_authors(where):
    running = Campaign(learner(), where, rng=0, author="Ann")
    request = running.ask()
    running.signed("Bob 🐝").tell({}, request)
    running.signed(None).correct({}, request, reward=2.0)
    authors = [row.get("author") for row in Campaign(learner(), where).history()]
    assert authors == ["Ann", "Ann", "Bob 🐝", None]
    for wrong in ("", "x" * 201, "a\nb", 3):
        with pytest.raises(ValueError, match="author must be a printable string"):
            running.signed(wrong)


def test_campaigns_are_copied_between_all_stores(where, tmp_path):
    kind = KINDS["drawn"]
    played(kind, where)
    for name in ("copy.jsonl", "copy.db", "again.jsonl"):
        assert copy_campaign(where, tmp_path / name) == len(events(where))
        with pytest.raises(ValueError, match="must be a new campaign"):
            copy_campaign(where, tmp_path / name)
    assert (tmp_path / "copy.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()
    one, other = Campaign(kind.make(), where), Campaign(kind.make(), tmp_path / "copy.db")
    assert one.history() == other.history()
    assert one.ask().names == other.ask().names


@pytest.mark.parametrize("name", KINDS)
def test_a_journal_of_the_version_before_opens_in_every_store(name, tmp_path, where):
    kept = SUPPORT / "journals" / f"{name}.jsonl"
    journal = tmp_path / "kept.jsonl"
    journal.write_bytes(kept.read_bytes())
    copy_campaign(journal, where)
    one, other = Campaign(KINDS[name].make(), journal), Campaign(KINDS[name].make(), where)
    # Each of the two files states at its own time that another version of NumPy opened it, if one did.
    stories = [[row for row in each.history() if row["event"] != "changed"] for each in (one, other)]
    assert stories[0] == stories[1] and len(stories[0]) == len(kept.read_text().splitlines())
    assert one.pending == other.pending == (3,)
    other.cancel(3)
    assert Campaign(KINDS[name].make(), where).pending == ()
