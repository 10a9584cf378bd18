"""Calls that add several events store all of them or none, also if the process is killed."""

import os
import signal

import networkx as nx
import pytest

from cmab import CTS, CUCB, Campaign, copy_campaign
from cmab.campaigns._records import NewerEventsError
from cmab.campaigns.journal import events
from cmab.campaigns.stores import _journal_file
from cmab.campaigns.stores._sqlite import SQLiteFile
from cmab.campaigns.stores._store import Overtaken, Store
from cmab.campaigns.stores.addresses import store_of
from oracles import DegreeHeuristic, TopK

STORES = ["events.jsonl", "events.sqlite"]


@pytest.fixture(params=STORES)
def where(request, tmp_path):
    return tmp_path / request.param


def campaign(where):
    return Campaign(CUCB(TopK(5, k=2)), where, rng=0)


def total(made):
    state = made.session.state
    return (state.means * state.counts).sum()


def begun(where):
    """Return a campaign with three reported and two pending tickets, and the arguments of a mixed table."""
    made = campaign(where)
    tickets = made.ask_many(5)
    made.tell_many([{"ticket": each, "outcomes": {each.names[0]: 1.0}} for each in tickets[:3]])
    told = [{"ticket": each.number, "outcomes": {each.names[0]: 0.0}} for each in tickets]
    return made, told[3:], told[:3]


def test_reports_and_corrections_are_one_step(where):
    made, first, again = begun(where)
    made.tell_many(first, corrections=again)
    assert made.pending == () and total(made) == 0.0
    kinds = [event["event"] for event in made.history()[-5:]]
    assert kinds == ["tell"] * 2 + ["correct"] * 3
    assert all(event["at"] for event in made.history())
    other = campaign(where)
    assert other.history() == made.history()
    other.undo()
    assert total(other) == total(made) == 1.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"ticket": 2, "outcomes": {"x": 1.0}},
        {"ticket": 4, "outcomes": {}},
        {"ticket": 0, "outcomes": {}},
        {"ticket": 9, "outcomes": {}},
    ],
)
def test_a_wrong_correction_takes_nothing(where, wrong):
    made, first, again = begun(where)
    before = made.history()
    with pytest.raises(ValueError, match="report 5"):
        made.tell_many(first, corrections=[*again[:2], wrong])
    assert made.history() == before and campaign(where).history() == before
    made.tell_many(first, corrections=again)
    assert len(campaign(where).history()) == len(before) + 5


#: The number of events before a call, and the number that each call adds.
BEFORE, ADDED = 1 + 5 + 3, {"mixed": 5, "many": 3, "instead": 2}


def killed(where, call, prepare):
    """Kill a process in a call at the step that `prepare` determines, and return the number of events."""
    made, first, again = begun(where)
    calls = {
        "mixed": lambda: made.tell_many(first, corrections=again),
        "many": lambda: made.ask_many(3),
        "instead": lambda: made.ask(instead_of=3),
    }
    made.close()
    process = os.fork()
    if process == 0:
        try:  # a copy of this process must not go on with the tests
            prepare()
            calls[call]()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process, 0)
    count = len(campaign(where).history())
    assert count in (BEFORE, BEFORE + ADDED[call])
    assert len(made.history()) == count
    made.ask()
    assert len(campaign(where).history()) == count + 1
    return count


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test forks the process")
@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("call", ADDED)
def test_a_killed_call_has_stored_all_or_nothing(where, call, place):
    def prepare():  # the process kills itself at one of its steps of writing
        killer = _Killer(place)
        killer.watch()

    killed(where, call, prepare)


@pytest.mark.slow
@pytest.mark.parametrize("is_sent", [False, True])
@pytest.mark.parametrize("call", ADDED)
def test_a_killed_call_on_a_server_has_stored_all_or_nothing(server, call, is_sent):
    import psycopg

    wait = psycopg.Connection.wait

    def prepare(place):
        killer = _Killer(place)

        def waited(connection, replies, *others):
            if killer.left == 0 and is_sent:
                next(replies, None)  # sends the message, whose reply the killed process does not read
            return killer.step(wait, connection, replies, *others)

        psycopg.Connection.wait = waited

    # A call has fewer than 12 messages, so some processes are killed before the commit, and some after it.
    counts = [
        killed(server.url(f"killed {call} {is_sent} {place}"), call, lambda place=place: prepare(place))
        for place in range(12)
    ]
    assert counts == sorted(counts)
    assert {*counts} == {BEFORE, BEFORE + ADDED[call]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test forks the process")
@pytest.mark.parametrize("place", range(9))
def test_a_killed_copy_has_all_events_or_none(where, place, tmp_path):
    begun(tmp_path / "source.jsonl")
    process = os.fork()
    if process == 0:
        try:
            killer = _Killer(place)
            killer.watch()
            for name in ("fdopen", "ftruncate"):
                act = getattr(os, name)
                setattr(os, name, lambda *arguments, act=act: killer.step(act, *arguments))
            copy_campaign(tmp_path / "source.jsonl", where)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(process, 0)
    found = store_of(where).all_events() if where.exists() and where.stat().st_size else []
    whole = events(tmp_path / "source.jsonl")
    if not found:
        assert copy_campaign(tmp_path / "source.jsonl", where) == len(whole)
    assert events(where) == whole
    assert campaign(where).history() == campaign(tmp_path / "source.jsonl").history()
    with pytest.raises(ValueError, match="must be a new campaign"):
        copy_campaign(tmp_path / "source.jsonl", where)


def test_a_copy_that_was_interrupted_where_files_cannot_be_replaced_is_no_campaign(tmp_path, monkeypatch):
    begun(tmp_path / "source.jsonl")
    path = tmp_path / "copy.jsonl"
    with monkeypatch.context() as patch:
        patch.setattr(_journal_file.JournalFile, "adopt", Store.adopt)  # as on Windows
        patch.setattr(_journal_file.JournalFile, "_finish", lambda *_: os._exit(0))
        process = os.fork()
        if process == 0:
            try:
                copy_campaign(tmp_path / "source.jsonl", path)
            finally:
                os._exit(0)
        os.waitpid(process, 0)
    data = path.read_bytes()
    for opened in (campaign, events, lambda place: copy_campaign(tmp_path / "source.jsonl", place)):
        with pytest.raises(ValueError, match="must be the journal of a campaign"):
            opened(path)
    assert path.read_bytes() == data


class _Killer:
    """A counter that kills the process before the step with a number; a write then writes one half."""

    def __init__(self, place):
        self.left = place

    def watch(self):
        """Count the steps of this process."""
        write, fsync, run = os.write, os.fsync, SQLiteFile._run
        _journal_file.os.write = lambda file, data: self.half(write, file, data)
        _journal_file.os.fsync = lambda file: self.step(fsync, file)
        SQLiteFile._run = lambda *arguments: self.step(run, *arguments)

    def step(self, act, *arguments):
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1
        return act(*arguments)

    def half(self, act, file, data):
        if self.left == 0:
            act(file, data[: len(data) // 2])
        return self.step(act, file, data)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.99, 1.0])
def test_unfinished_lines_of_a_journal_are_no_events(tmp_path, share):
    path = tmp_path / "events.jsonl"
    made, first, again = begun(path)
    before, size = made.history(), path.stat().st_size
    made.tell_many(first, corrections=again)
    data = path.read_bytes()
    new = b"~" + data[size + 1 :]
    path.write_bytes(data[:size] + new[: max(1, round(share * len(new)))])
    assert campaign(path).history() == before and path.stat().st_size == size
    path.write_bytes(b"~" + data[1:])
    with pytest.raises(ValueError, match="must be the journal of a campaign"):
        campaign(path)
    assert path.read_bytes() == b"~" + data[1:]


def test_a_ticket_is_replaced_in_one_step(where):
    made = campaign(where)
    old = made.ask()
    new = made.ask(instead_of=old)
    assert made.pending == (new.number,)
    for wrong in (old, 7, -1):
        before = made.history()
        with pytest.raises(ValueError, match="ticket"):
            made.ask(instead_of=wrong)
        assert made.history() == before
    with pytest.raises(ValueError, match="available"):
        made.ask(available=[], instead_of=new)
    assert made.pending == (new.number,) and campaign(where).history() == made.history()


def test_an_action_on_older_events_is_refused(where):
    made, other = campaign(where), campaign(where)
    decided = made.expecting(len(made.history()))
    other.ask()
    for act in (decided.ask, decided.undo, lambda: decided.cancel(0), lambda: decided.tell({}, 0)):
        with pytest.raises(NewerEventsError, match="must have the 1 events"):
            act()
    assert len(other.history()) == 2
    now = made.expecting(2)
    now.cancel(0)
    assert made.pending == other.pending == ()


def joining(where):
    """Return a campaign in a network with two reported and two pending tickets."""
    friends = nx.DiGraph([("ann", "bob"), ("ann", "cy"), ("bob", "dan")])
    made = Campaign(CTS(DegreeHeuristic(friends, k=1)), where, rng=0)
    for _ in range(4):
        made.ask(available=["ann"])
    made.tell_many([{"ticket": number, "joined": []} for number in range(2)])
    return made


#: Calls with collections, which can also be iterators; `each` makes them.
CALLS = {
    "ask": lambda made, each: made.ask(available=each(["ann", "bob"])),
    "ask_many": lambda made, each: made.ask_many(2, available=each(["ann", "bob"])),
    "tell": lambda made, each: made.tell(ticket=2, joined=each(["bob"]), unseen=each(["dan"])),
    "tell carried": lambda made, each: made.tell(
        ticket=2, joined=each(["bob"]), carried=each([("ann", "bob")])
    ),
    "correct": lambda made, each: made.correct(ticket=1, joined=each(["bob"]), unseen=each(["dan"])),
    "tell_many": lambda made, each: made.tell_many(
        each([{"ticket": 2, "joined": each(["bob"])}, {"ticket": 3, "joined": each([])}])
    ),
    "corrections": lambda made, each: made.tell_many(
        each([{"ticket": 2, "joined": each(["bob"])}]),
        corrections=each([{"ticket": 0, "joined": each(["cy"]), "unseen": each(["dan"])}]),
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_with_iterators_that_is_repeated_is_the_call_with_lists(tmp_path, call, monkeypatch):
    """Another process adds an event while the connection is lost, so the call starts again."""
    found = []
    for name, each in (("lists", list), ("iterators", iter)):
        made = joining(tmp_path / f"{name}.jsonl")
        other, store = joining_again(made), made._records.store
        write, attempts = store._write, []

        def overtaken(lines, first, write=write, attempts=attempts):
            attempts.append(first)
            if len(attempts) == 1:
                raise Overtaken("the call has changed nothing")
            write(lines, first)

        other.ask(available=["bob"])
        with monkeypatch.context() as patch:
            patch.setattr(store, "_write", overtaken)
            CALLS[call](made, each)
        assert len(attempts) == 2
        found.append([{**row, "at": None} for row in joining_again(made).history()])
    assert found[0] == found[1]
    assert len(found[0]) > 8  # the campaign, four asks, two reports, the other ask and this call


def joining_again(made):
    return Campaign(made.policy, made._records.store.address)
