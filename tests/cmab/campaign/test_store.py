"""The store of campaigns: every typed error, keys, writers that are killed, locks, forks and lost servers."""

import os
import shutil
import signal
import sqlite3
import threading
import time

import contended_campaigns
import pytest

from cmab import CUCB, Campaign, errors, read_campaign
from cmab.campaign.store import Store, address_of
from oracles import TopK


def campaign(where, **options):
    return Campaign(CUCB(TopK(5, k=2)), where, rng=0, **options)


def test_reports_are_refused_with_their_reason(where):
    running, other = campaign(where), campaign(where)
    first, second, third = running.ask_many(3)
    running.tell({0: 1.0}, first)
    running.cancel(second)
    for one in (running, other, campaign(where)):
        with pytest.raises(errors.SameReportError, match="with this content"):
            one.tell({0: 1.0}, 0)
        with pytest.raises(errors.OtherReportError, match="correct"):
            one.tell({0: 0.0}, 0)
        with pytest.raises(errors.ClosedTicketError, match="was cancelled"):
            one.tell({0: 1.0}, 1)
        with pytest.raises(errors.UnknownTicketError, match="got 3; pending"):
            one.tell({0: 1.0}, 3)
        for call in (one.cancel, lambda n: one.ask(instead_of=n)):  # noqa: B023
            with pytest.raises(errors.TicketError):
                call(1)
    running.correct({0: 0.0}, 0)
    with pytest.raises(errors.SameReportError):
        other.tell({0: 0.0}, 0)
    with pytest.raises(errors.UnknownTicketError, match="another one"):
        running.tell({}, campaign(f"{where}2.db" if where.endswith("db") else f"{where} 2").ask_many(3)[2])
    assert other.pending == (third.number,)


def test_the_same_key_gives_the_same_answer(where):
    running, other = campaign(where), campaign(where)
    request = running.ask(key="visit 1")
    assert other.ask(key="visit 1").names == request.names
    assert other.ask(key="visit 2").number == 1
    several = running.ask_many(3, key="visits")
    again = campaign(where).ask_many(3, key="visits")
    assert [[one.number for one in each] for each in (several, again)] == [[2, 3, 4], [2, 3, 4]]
    with pytest.raises(errors.UsedKeyError, match="for 1 requests, got that of 3"):
        running.ask(key="visits")
    running.tell({0: 1.0}, 0, key="report 1")
    other.tell({0: 1.0}, 0, key="report 1")
    running.correct({0: 0.0}, 0)
    other.tell({0: 1.0}, key="report 1")
    running.correct({0: 1.0}, 0)
    assert running.state.counts.tolist() == other.state.counts.tolist() == [1, 0, 0, 0, 0]
    with pytest.raises(errors.UsedKeyError, match="of ticket 0"):
        other.tell({0: 1.0}, 1, key="report 1")
    with pytest.raises(errors.UsedKeyError, match="of the tell of ticket 0"):
        other.ask(key="report 1")
    with pytest.raises(errors.OtherReportError):
        other.tell({0: 0.0}, 0, key="report 1")
    running.undo()  # the correction
    running.undo()
    running.undo()
    with pytest.raises(errors.UsedKeyError, match="of a report that was taken back"):
        other.tell({0: 0.0}, 0, key="report 1")
    other.tell({0: 1.0}, 0)
    reports = [{"ticket": one, "outcomes": {0: 1.0}, "key": f"of {one}"} for one in (2, 3)]
    running.tell_many(reports)
    other.tell_many(reports)
    assert other.state.counts[0] == 3
    with pytest.raises(errors.UsedKeyError, match="report 2: each report must have its own key"):
        other.tell_many([{"ticket": one, "outcomes": {}, "key": "same"} for one in (1, 4)])
    for key in ("", "a\0b"):
        with pytest.raises(ValueError, match="key must be a string"):
            other.ask(key=key)


def test_requests_that_are_sent_twice_at_once_are_stored_once(where):
    workers = [campaign(where) for _ in range(2)]
    found = []

    def ask(one):
        found.extend((number, one.ask(key=f"visit {number}").number) for number in range(15))

    threads = [threading.Thread(target=ask, args=(one,)) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 15
    assert len(workers[0].pending) == 15


def test_a_damaged_store_is_refused(tmp_path):
    path = tmp_path / "campaign.db"
    running = campaign(path)
    running.ask_many(3)
    running.close()
    statements = {
        "DELETE FROM cmab_events WHERE number = 2": "must have event 2, got 3 next",
        "DELETE FROM cmab_events WHERE number = 1": "must have event 1",
        "UPDATE cmab_events SET body = '{' WHERE number = 2": "event 2 must have a body in JSON",
        "UPDATE cmab_events SET body = '{\"format\": 9}' WHERE number = 1": "written by another version",
    }
    for number, (statement, wanted) in enumerate(statements.items()):
        copied = tmp_path / f"{number}.db"
        shutil.copy(path, copied)
        with sqlite3.connect(copied) as connection:
            connection.execute(statement)
        connection.close()
        kind = errors.OtherVersionError if "format" in statement else errors.DamagedStoreError
        for call in (campaign, read_campaign):
            with pytest.raises(kind, match=wanted):
                call(copied)
    (tmp_path / "text.db").write_text("no database" * 1000)
    with pytest.raises(errors.DamagedStoreError, match="restore a backup"):
        campaign(tmp_path / "text.db")
    with pytest.raises(ValueError, match="must be a campaign"):
        read_campaign(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    "where", ["", "journal.jsonl", "mysql://host/db", "sqlite://", "postgresql://host:port/db"]
)
def test_other_addresses_are_refused_and_passwords_are_not_shown(where):
    with pytest.raises(ValueError, match="where must"):
        address_of(where)
    store = Store("postgresql://ann:se%40cret@host/db#summer")
    assert "cret" not in Store("postgresql://ann:se@cret/@host/db").where
    assert "cret" not in store.where and "se%40cret" in store.address and store.where.endswith("#summer")


def test_readers_do_not_wait_for_writers(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("cmab.campaign.store._LONG", 0.0)
    path = tmp_path / "campaign.db"
    running, other = campaign(path), campaign(path)
    running.ask()
    blocking = sqlite3.connect(path, isolation_level=None)
    blocking.execute("BEGIN IMMEDIATE")
    with pytest.raises(errors.StoreTimeoutError, match="locked"), running.within(0.05):
        running.ask()
    assert caplog.text.count("database is locked; the call is repeated") == 1
    begun = threading.Event()

    def late():
        begun.set()
        running.tell({0: 1.0}, 0)

    thread = threading.Thread(target=late)
    thread.start()
    begun.wait()
    time.sleep(0.05)
    for one in (running, other):
        assert one.pending == (0,)
        assert len(one.history()) == 2
        assert one.health()["pending"] == 1
    with pytest.raises(errors.StoreTimeoutError, match="another call of this process"), running.within(0.01):
        running.cancel(0)
    blocking.execute("ROLLBACK")
    thread.join()
    assert other.pending == ()


def test_no_lock_is_held_while_a_policy_thinks(tmp_path):
    """Another process, and another thread of this one, report while the policy chooses."""
    path, thinking, may_end = tmp_path / "campaign.db", threading.Event(), threading.Event()

    class Slow(TopK):
        def solve(self, means, rng):
            thinking.set()
            assert may_end.wait(30)
            return super().solve(means, rng)

    may_end.set()
    running = Campaign(CUCB(Slow(5, k=2)), path, rng=0)
    running.ask_many(2)
    may_end.clear()
    thinking.clear()
    thread = threading.Thread(target=running.ask)
    thread.start()
    assert thinking.wait(30)
    running.tell({0: 1.0}, 0)
    Campaign(CUCB(Slow(5, k=2)), path).tell({1: 1.0}, 1)
    may_end.set()
    thread.join()
    assert running.pending == (2,)
    assert running.state.counts.sum() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_continues_while_threads_of_its_parent_work(where):
    running, stop = campaign(where), threading.Event()

    def work():
        while not stop.is_set():
            running.ask()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(3):
            child = os.fork()
            if child == 0:
                running.tell({0: 1.0}, running.ask())
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
    assert running.state.counts[0] == 3


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 5])
def test_processes_that_are_killed_lose_and_double_nothing(where, batch, tmp_path):
    _, killed = contended_campaigns.contend(where, 300, tmp_path, batch=batch, kills=4)
    assert contended_campaigns.check(where, tmp_path)[0] >= 300
    assert killed >= 1


@pytest.mark.slow
def test_the_timeout_holds_while_another_program_locks_the_table(server):
    import psycopg

    running = campaign(server.url("locked"))
    with psycopg.connect(server.url().rstrip("#")) as other:
        other.execute("LOCK TABLE cmab_events IN EXCLUSIVE MODE")
        with pytest.raises(errors.StoreTimeoutError, match="repeat the call later"), running.within(0.1):
            running.ask()
    assert running.ask().number == 0


@pytest.mark.slow
def test_the_timeout_holds_while_the_server_is_frozen(own_server):
    running = campaign(own_server.url())
    (process,) = running._replica.store._rows("SELECT pg_backend_pid()")[0]
    os.kill(process, signal.SIGSTOP)
    try:
        with pytest.raises(errors.StoreUnreachableError, match="does not answer"), running.within(0.1):
            running.ask()
    finally:
        os.kill(process, signal.SIGCONT)
    assert running.ask(key="again").number == running.n_events - 2


@pytest.mark.slow
def test_a_wrong_password_is_refused_at_once(own_server):
    campaign(own_server.url()).close()
    own_server.data.joinpath("pg_hba.conf").write_text("local all all scram-sha-256\n")
    own_server.stop(signal.SIGINT)
    own_server.start()
    for login in ("cmab", "cmab:wrong"):
        with pytest.raises(errors.StoreUnreachableError, match="password"):
            campaign(own_server.url().replace("cmab@", f"{login}@"), timeout=1e9)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["SIGQUIT", "SIGINT"])
def test_writers_go_on_after_the_server_was_restarted(how, own_server, tmp_path):
    own = own_server

    def restart():
        own.stop(getattr(signal, how))
        own.start()

    contended_campaigns.contend(own.url("all"), 300, tmp_path, restart=restart)
    assert contended_campaigns.check(own.url("all"), tmp_path)[0] >= 300
    own.stop()
    with pytest.raises(errors.StoreUnreachableError, match="check the address"):
        campaign(own.url("all"), timeout=0.5)
    found = []
    # The server ends with the thread that starts it, so another thread waits for it.
    thread = threading.Thread(
        target=lambda: found.append(Campaign(contended_campaigns.learner(), own.url("all")).n_events)
    )
    thread.start()
    time.sleep(0.5)
    own.start()
    thread.join()
    assert found[0] >= 300
