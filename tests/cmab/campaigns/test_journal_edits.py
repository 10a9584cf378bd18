"""Journals whose checksums are right: each edit makes another valid journal, or an error that names the line.

An interpreter of events that shares no code with `cmab` says which of the two it is.
"""

import copy
import pickle
import re
from itertools import islice

import numpy as np
import pytest
from journal_edits import KINDS, Impossible, ImpossibleHere, Interpreter, edits, played, read, written

from cmab import CTS, CUCB, Campaign, Context, Feedback, Session, read_journal
from oracles import TopK

#: Descriptions that fit each other, but not the learner with which the journal is opened.
OTHER_LEARNER = "must be a journal of|must have names to be matched with"


def verdict(kind, events):
    """Return what the interpreter makes of the events: told outcomes and pending tickets, or why not."""
    try:
        return Interpreter(kind).run(events)
    except Impossible as why:
        return type(why)


def refused(path, opened):
    """Return the message with which a journal is refused, None if it is opened."""
    try:
        opened()
    except ValueError as error:
        assert str(path) in str(error)
        return str(error)
    return None


def check(kind, path, events):
    """Assert that an edited journal is opened as the interpreter reads it, or is refused with its line."""
    expected, found = verdict(kind, events), []
    path.write_bytes(written(events))

    def opened():
        campaign = Campaign(kind.make(), path)
        campaign.history(), campaign.summary()
        found.append(campaign.pending)

    log = None if expected is Impossible else read_journal(path)
    said = refused(path, opened)
    if expected is Impossible:
        by_log = refused(path, lambda: read_journal(path))
        for words in (said, by_log):
            assert words is not None
            assert re.search(r", line \d+, |must be the journal of a campaign", words)
    elif expected is ImpossibleHere:
        assert said is not None
        assert re.search(f", line |{OTHER_LEARNER}", said)
    elif said is not None:  # a valid journal of another learner
        assert re.search(OTHER_LEARNER, said)
    else:
        told, pending = expected
        assert found == [tuple(pending)]
        assert {row.number: row.outcomes for row in log if row.state == "told"} == told
    return expected if isinstance(expected, type) else None


def check_each(name, path, step):
    kind = KINDS[name]
    original = read(played(kind, path).read_bytes())
    assert written(original) == path.read_bytes()
    kinds = []
    for what, events in islice(edits(original), list(KINDS).index(name), None, step):
        try:
            kinds.append(check(kind, path, events))
        except Exception as error:
            raise AssertionError(f"{what}: {error}") from error
    assert {Impossible, None} <= set(kinds)


@pytest.mark.parametrize("name", KINDS)
def test_an_edited_journal_is_another_one_or_an_error_with_its_line(name, tmp_path):
    check_each(name, tmp_path / "campaign.jsonl", 127)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_many_edited_journals_are_other_ones_or_errors_with_their_line(name, tmp_path):
    check_each(name, tmp_path / "campaign.jsonl", 11)


def test_a_time_before_its_request_is_refused(tmp_path):
    path = played(KINDS["list"], tmp_path / "campaign.jsonl")
    events = read(path.read_bytes())
    tell = next(event for event in events if event["event"] == "tell")
    tell["at"] = "2001-01-01T00:00:00.000+00:00"
    path.write_bytes(written(events))
    with pytest.raises(ValueError, match=r"line 5, .* at must not be earlier than the last event of"):
        read_journal(path)


def test_a_clock_that_is_set_back_does_no_harm(tmp_path, monkeypatch):
    """A tell has at least the time of its ask, so that what was written can always be opened."""
    import cmab.campaigns.stores._store as journal

    path = tmp_path / "campaign.jsonl"
    campaign = Campaign(CUCB(TopK(3, k=1)), path, rng=0)
    request = campaign.ask()
    asked = campaign.history()[-1]["at"]

    class Before(journal.datetime):
        @classmethod
        def now(cls, zone):
            return cls(2001, 1, 1, tzinfo=zone)

    monkeypatch.setattr(journal, "datetime", Before)
    campaign.tell({0: 1.0}, request)
    campaign.correct({0: 0.0}, request)
    campaign.undo()
    assert [row["at"] for row in Campaign(CUCB(TopK(3, k=1)), path).history()][-3:] == [asked] * 3


def test_a_journal_of_the_format_before_is_opened(tmp_path):
    """It does not know the seed sequence, and its times may decrease."""
    path = played(KINDS["drawn"], tmp_path / "campaign.jsonl")
    events = read(path.read_bytes())
    del events[0]["rng"]["seed_seq"]
    events[0]["format"] = 1
    events[4]["at"] = "2001-01-01T00:00:00.000+00:00"
    expected = Campaign(KINDS["drawn"].make(), path).session
    path.write_bytes(written(events))
    campaign = Campaign(KINDS["drawn"].make(), path)
    assert np.array_equal(campaign.session.state.means, expected.state.means)
    assert campaign.ask().number == len(read_journal(path)) - 1


@pytest.mark.parametrize("support", [(-np.inf, np.inf), (0.0, np.inf), (0.0, 2.0)])
def test_a_declared_support_may_be_infinite(support, tmp_path):
    path = tmp_path / "campaign.jsonl"
    Campaign(CTS(TopK(3, k=1)), path, rng=0, support=support)
    assert Campaign(CTS(TopK(3, k=1)), path, support=support).session.support == support


def test_all_that_a_context_holds_is_kept(tmp_path):
    """Any finite numbers, however large."""
    path, learner = tmp_path / "journal.jsonl", CTS(TopK(3, k=1))
    running = Campaign(learner, path, rng=0)
    numbers = [1e300, 1.7e308, 5e-324]
    request = running.ask(Context(values=numbers, costs=numbers))
    opened = Campaign(learner, path).session._open[request.number].context
    assert opened.values.tolist() == opened.costs.tolist() == numbers
    assert len(read_journal(path)) == 1


def test_what_cannot_be_kept_is_no_damage_of_the_file(tmp_path):
    deep = "tea"
    for _ in range(60):
        deep = (deep,)
    with pytest.raises(ValueError, match=r"cannot store the event.*names") as caught:
        Campaign(CTS(TopK(2, k=1).named([deep, "milk"])), tmp_path / "journal.jsonl")
    assert "copy of the file" not in str(caught.value)


def test_reports_for_a_class_that_was_changed_since_are_taken_if_that_is_said(tmp_path, monkeypatch):
    path, file, learner = tmp_path / "journal.jsonl", tmp_path / "session.npz", CUCB(TopK(3, k=1))
    monkeypatch.setattr(TopK, "triggered_arms", lambda oracle, _: np.arange(oracle.n_arms))
    running = Campaign(learner, path, rng=0)
    running.tell(dict.fromkeys(range(3), 1.0), running.ask())
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"line 3.*feedback\.arms must be arms.*accept_changes=True"):
        Campaign(learner, path)
    again = Campaign(learner, path, accept_changes=True)
    for one in (again, copy.copy(again), pickle.loads(pickle.dumps(again))):
        assert one.session.state.counts.tolist() == [1, 1, 1]
    again.correct({again.history()[1]["names"][0]: 1.0}, 0)
    assert again.session.state.counts.sum() == 1
    # In a session file only the support of that time can be another one.
    wide = CUCB(TopK(3, k=1), support=(0.0, 5.0))
    session = Session(wide, rng=0)
    ticket = session.ask()
    session.tell(Feedback(ticket, [5.0]), ticket)
    session.save(file)
    monkeypatch.setattr("cmab.session.support_of", lambda *_: (0.0, 1.0))
    with pytest.raises(ValueError, match=r"state\.means must lie in the support.*accept_changes=True"):
        Session.load(file, wide)
    assert Session.load(file, wide, accept_changes=True).state.means.max() == 5.0
