"""Checkpoints: a campaign that skips its replay is the one that replays all, or it replays all."""

import numpy as np
import pytest
from journal_edits import KINDS, played

from cmab import CTS, CUCB, Campaign, Context
from cmab.campaigns import _checkpoints, _records
from cmab.campaigns.stores._store import Store
from oracles import TopK


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Write checkpoints after few events."""
    for module in (_checkpoints, _records):
        monkeypatch.setattr(module, "EVERY", 7)


@pytest.fixture
def resumed(monkeypatch):
    """The numbers of events from which campaigns continued."""
    found, resume = [], Store.resume

    def noted(store, lines, course):
        found.append(len(lines))
        resume(store, lines, course)

    for kind in (Store, *Store.__subclasses__()):
        if "resume" in vars(kind):
            own = vars(kind)["resume"]
            monkeypatch.setattr(kind, "resume", noted if kind is Store else own)
    return found


def same(one, other):
    assert one.history() == other.history()
    assert one.pending == other.pending
    assert str(one.summary()) == str(other.summary())
    states = [_checkpoints._state._flatten(each.session.state, "state", {}) for each in (one, other)]
    assert states[0] == states[1]
    assert one.session.rng.bit_generator.state == other.session.rng.bit_generator.state
    assert one._records.fold._corrected == other._records.fold._corrected
    for part in ("_names", "_rows", "_asked", "_closed", "_latest", "_standing", "_first"):
        assert getattr(one._records.store._course, part) == getattr(other._records.store._course, part), part


@pytest.mark.parametrize("name", KINDS)
def test_a_resumed_campaign_is_the_replayed_one(name, where, resumed, monkeypatch):
    kind = KINDS[name]
    played(kind, where)
    one = Campaign(kind.make(), where)
    assert resumed
    with monkeypatch.context() as patch:
        patch.setattr(_records, "line_of", lambda _: None)
        other = Campaign(kind.make(), where)
    same(one, other)
    context = kind.context and kind.context(1)
    requests = [each.ask(context, available=kind.available) for each in (one, Campaign(kind.make(), where))]
    assert requests[0].number + 1 == requests[1].number
    one.cancel(3)
    one.undo()
    same(one, Campaign(kind.make(), where))


def test_rounds_go_on_after_a_checkpoint(where, resumed, monkeypatch):
    features = [Context(features=np.random.default_rng(n).random((40, 3)) / 4) for n in range(2)]
    from cmab import C2UCB

    def learner():
        return C2UCB(TopK(40, k=2), dimension=3)

    for number in range(12):
        running = Campaign(learner(), where, rng=0)
        request = running.ask(features[number % 2])
        if number % 3:
            running.tell(dict.fromkeys(request, 1.0), request)
    assert len(resumed) > 5
    assert resumed == sorted(resumed)
    monkeypatch.setattr(_records, "line_of", lambda _: None)
    same(running, Campaign(learner(), where))


def test_what_does_not_fit_is_thrown_away(where, resumed):
    def play(learner, rounds, **options):
        running = Campaign(learner, where, rng=0, **options)
        for _ in range(rounds):
            request = running.ask()
            running.tell(dict.fromkeys(request, 1.0), request)
        return running

    first = play(CUCB(TopK(5, k=2)), 8)
    store = first._records.store
    with store.readable():
        kept = store.checkpoint()
    assert kept is not None
    Campaign(CUCB(TopK(5, k=2)), where)
    assert len(resumed) == 1
    # Another parameter of the learner.
    Campaign(CUCB(TopK(5, k=3)), where, accept_changes=True)
    assert len(resumed) == 1
    # Every kind of damage.
    rng = np.random.default_rng(0)
    for number in range(12):
        wrong = bytearray(kept)
        wrong[rng.integers(len(wrong))] ^= 1 << rng.integers(8)
        store.keep_checkpoint(bytes([b"", b"PK", kept[:-1]][number]) if number < 3 else bytes(wrong))
        assert Campaign(CUCB(TopK(5, k=3)), where).session.state.counts.tolist() == [8, 8, 0, 0, 0]
    assert len(resumed) == 1


def test_a_checkpoint_of_other_events_is_thrown_away(where, resumed, tmp_path):
    for place in (where, tmp_path / "other.db"):
        running = Campaign(CTS(TopK(5, k=2)), place, rng=0 if place == where else 1)
        for _ in range(5):
            request = running.ask()
            running.tell(dict.fromkeys(request, 1.0), request)
    other = Campaign(CTS(TopK(5, k=2)), tmp_path / "other.db")._records.store
    resumed.clear()
    with other.readable():
        running._records.store.close()
        Campaign(CTS(TopK(5, k=2)), where)._records.store.keep_checkpoint(other.checkpoint())
    resumed.clear()
    Campaign(CTS(TopK(5, k=2)), where)
    assert resumed == []
