"""Stores that are damaged, moved, full, read-only or wrongly addressed: an error in words, no loss."""

import itertools
import os
import re
import resource
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from isolated import isolated

from cmab import CTS, CUCB, Campaign, copy_campaign, read_journal
from cmab.campaigns.journal import events
from cmab.campaigns.stores import _postgresql_url
from cmab.campaigns.stores.addresses import store_of
from oracles import TopK


def learner():
    return CUCB(TopK(5, k=2))


def play(campaign, rounds):
    for _ in range(rounds):
        request = campaign.ask()
        campaign.tell(dict.fromkeys(request, 1.0), request)


def rows_of(where):
    """Return functions that run a statement on the rows of a database."""
    if where.startswith("postgresql"):
        store = store_of(where)

        def run(statement):
            import sqlalchemy as sql

            with store._engine.begin() as connection:
                name = {"name": store.name}
                of = "campaign = (SELECT number FROM cmab_campaigns WHERE name = :name)"
                connection.execute(sql.text(f"{statement} AND {of}"), name)

        return run

    def run(statement):
        connection = sqlite3.connect(where)
        with connection:
            connection.execute(statement)
        connection.close()

    return run


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE cmab_events SET text = replace(text, '1.0', '0.0') WHERE line = 3",
        "DELETE FROM cmab_events WHERE line = 3",
        "DELETE FROM cmab_events WHERE line = 1",
        "UPDATE cmab_events SET text = '' WHERE line = 4",
        "UPDATE cmab_events SET line = 99 WHERE line = 3",
        "UPDATE cmab_events SET text = substr(text, 1, 30) WHERE line = 2",
    ],
)
def test_damaged_rows_are_named(where, statement):
    if not where.startswith("postgresql") and not where.endswith(".db"):
        pytest.skip("a journal file has no rows; its damages are tested with the journal")
    running = Campaign(learner(), where, rng=0)
    play(running, 3)
    running.close()
    rows_of(where)(statement)
    for opened in (lambda: Campaign(learner(), where), lambda: read_journal(where), lambda: events(where)):
        with pytest.raises(ValueError, match=r"row \d, must|must be the journal of a campaign"):
            opened()


def test_a_store_that_lost_its_last_events_is_noticed(where):
    if not where.startswith("postgresql") and not where.endswith(".db"):
        pytest.skip("tested with the journal")
    running = Campaign(learner(), where, rng=0)
    play(running, 2)
    rows_of(where)("DELETE FROM cmab_events WHERE line > 2")
    with pytest.raises(ValueError, match="must not be replaced or shortened"):
        running.ask()


@pytest.mark.parametrize("way", ["removed", "replaced"])
def test_a_database_file_that_disappears_is_noticed(way, tmp_path):
    path = tmp_path / "campaign.db"
    running = Campaign(learner(), path, rng=0)
    play(running, 2)
    copy_campaign(path, tmp_path / "other.db")
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    if way == "replaced":
        (tmp_path / "other.db").rename(path)
        with pytest.raises(ValueError, match="must not be replaced"):
            running.ask()
        return
    for call in (running.ask, running.history):
        with pytest.raises(FileNotFoundError) as caught:
            call()
        assert caught.value.filename == str(path)
        assert "put the file back" in caught.value.__notes__[0]
    assert not path.exists()


def fill(_, folder):
    path = Path(folder, "campaign.db")
    running = Campaign(learner(), path, rng=0)
    play(running, 2)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = max(path.stat().st_size, Path(folder, "campaign.db-wal").stat().st_size)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5000, limit[1]))
    told = 2
    try:
        for _ in range(100):
            request = running.ask()
            running.tell(dict.fromkeys(request, 1.0), request)
            told += 1
    except OSError as error:
        assert error.filename == str(path)
        assert "Earlier saved data is not lost" in error.__notes__[0]
    else:
        raise AssertionError("there was room")
    resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    for number in running.pending:
        running.cancel(number)
    play(running, 2)
    found = [row.state for row in read_journal(path)]
    return found.count("told") == told + 2 and Campaign(learner(), path).history() == running.history()


def test_a_campaign_in_sqlite_goes_on_after_a_full_disk(tmp_path):
    assert isolated(fill, str(tmp_path))


def read_only(_, folder):
    path = Path(folder, "campaign.db")
    running = Campaign(learner(), path, rng=0)
    play(running, 2)
    running.close()
    path.chmod(0o444)
    Path(folder).chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(65534)
    try:
        running.ask()
    except PermissionError as error:
        assert error.filename == str(path)
        assert "change the permissions" in error.__notes__[0]
    else:
        raise AssertionError("written")
    os.seteuid(os.getuid())
    Path(folder).chmod(0o755)
    return True


def test_a_read_only_database(tmp_path):
    Path(tmp_path).chmod(0o755)
    folder = tmp_path / "own"
    folder.mkdir()
    assert isolated(read_only, str(folder))


@pytest.mark.parametrize("content", [b"SQLite format 3\0 and nothing else", b"hello", b"\0" * 4096])
def test_other_files_are_no_databases(content, tmp_path):
    path = tmp_path / "campaign.db"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"must be a (valid )?SQLite file"):
        Campaign(learner(), path)
    assert path.read_bytes() == content


def test_tables_of_a_later_version_are_refused(tmp_path):
    path = tmp_path / "campaign.db"
    Campaign(learner(), path, rng=0).close()
    rows_of(str(path))("UPDATE cmab_campaigns SET format = 2")
    with pytest.raises(ValueError, match="must have tables of format 1, got 2; install a newer version"):
        Campaign(learner(), path)


def test_journals_and_databases_are_told_apart_by_their_contents(tmp_path):
    journal, database = tmp_path / "kept.jsonl", tmp_path / "kept.sqlite"
    Campaign(learner(), journal, rng=0).ask()
    copy_campaign(journal, database)
    journal.replace(tmp_path / "journal.db")
    database.replace(tmp_path / "database.jsonl")
    for name in ("journal.db", "database.jsonl"):
        assert Campaign(learner(), tmp_path / name).pending == (0,)


def test_one_database_holds_several_campaigns(where):
    address = where.partition("#")[0]
    if address.endswith(".jsonl"):
        pytest.skip("a journal file holds one campaign")
    if address.endswith(".db"):
        address = f"sqlite:///{address}"
    base = where.partition("#")[2].replace(" ", "")
    names = [f"{base}sommer%20%F0%9F%8C%9E", f"{base}{'x' * 2000}", f"{base}%23%25%2F%27%22;--"]
    for number, name in enumerate(names):
        play(Campaign(learner(), f"{address}#{name}", rng=0), number)
    for number, name in enumerate(names):
        running = Campaign(learner(), f"{address}#{name}")
        assert running.summary().told == number
        import pickle

        assert pickle.loads(pickle.dumps(running)).history() == running.history()


def test_threads_share_a_campaign_of_every_store(where):
    running = Campaign(CTS(TopK(5, k=2)), where, rng=0)
    threads = [threading.Thread(target=play, args=(running, 5)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert running.summary().told == 20
    assert Campaign(CTS(TopK(5, k=2)), where).history() == running.history()


def forked(_, where):
    """Continue a campaign in the forked process and in its parent."""
    running = Campaign(learner(), where, rng=0)
    play(running, 2)
    process = os.fork()
    if process == 0:
        play(running, 3)
        os._exit(0)
    play(running, 3)
    assert os.waitpid(process, 0)[1] == 0
    play(running, 1)
    return running.summary().told == 9 and Campaign(learner(), where).history() == running.history()


def test_a_forked_process_opens_its_own_connection(where):
    assert isolated(forked, where)


SECRET = "s3cr@t/#:?&é"
QUOTED = "s3cr%40t%2F%23%3A%3F%26%C3%A9"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{QUOTED}@127.0.0.1:1/db#summer",
        f"postgresql+psycopg://ann:{QUOTED}@nowhere.invalid/db",
        f"postgresql://ann@127.0.0.1:1/db?password={QUOTED}",
        f"postgresql://ann:{SECRET}@127.0.0.1:1/db",
        f"postgresql://ann:{QUOTED}@127.0.0.1:port/db",
        f"postgresql://ann:{QUOTED}@[::1/db",
        f"postgresql://ann:{QUOTED}@127.0.0.1:1/db?connect_timeout=x",
        f"mysql://ann:{QUOTED}@127.0.0.1/db",
        f"sqlite://ann:{QUOTED}@127.0.0.1/db",
    ],
)
def test_no_error_shows_a_password(url):
    pytest.importorskip("psycopg")
    with pytest.raises((ValueError, OSError)) as caught:
        Campaign(learner(), url)
    said = f"{caught.value!r} {caught.value} {getattr(caught.value, '__notes__', '')}"
    error = caught.value
    while error is not None:
        said += f"{error!r}{error}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    for part in (SECRET, QUOTED, "s3cr", "%40t"):
        assert part not in said
    assert "must be" in said


@pytest.mark.slow
def test_the_text_of_a_campaign_shows_no_password(server):
    url = server.url("text").replace("cmab@", f"cmab:{QUOTED}@")
    running = Campaign(learner(), url, rng=0)
    running.ask()
    assert "s3cr" not in f"{running!r}{running.history()}{running._records.store.where}"
    assert "***" in repr(running)
    with pytest.raises(ValueError, match="must be a new campaign") as caught:
        copy_campaign(url, url)
    assert "s3cr" not in str(caught.value)


def test_a_message_is_scrubbed_of_every_form_of_a_secret():
    said = _postgresql_url.scrubbed(f"{SECRET} and {QUOTED}", [SECRET])
    assert said == "*** and ***"


@pytest.mark.slow
def test_a_user_without_rights_is_told(server):
    url = server.url("nobody").replace("cmab@", "someone@")
    with pytest.raises(ConnectionError, match=r"must be reachable, got: .*someone"):
        Campaign(learner(), url)


def test_a_clock_that_is_set_back_changes_no_order(where, monkeypatch):
    from cmab.campaigns.stores import _store

    running = Campaign(learner(), where, rng=0)
    request = running.ask()

    class Before(_store.datetime):
        @classmethod
        def now(cls, zone):
            return cls(2001, 1, 1, tzinfo=zone)

    monkeypatch.setattr(_store, "datetime", Before)
    running.tell({0: 1.0}, request)
    running.ask()
    history = Campaign(learner(), where).history()
    assert [row["event"] for row in history] == ["campaign", "ask", "tell", "ask"]
    assert history[1]["at"] <= history[2]["at"]


def terminated(running):
    """End the connection of a campaign on the side of the server."""
    import sqlalchemy as sql

    store = running._records.store
    pid = store._connection.execute(sql.text("SELECT pg_backend_pid()")).scalar()
    with store._engine.connect() as other:
        other.execute(sql.text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": pid})


@pytest.mark.slow
@pytest.mark.parametrize("is_overtaken", [False, True])
def test_a_connection_that_is_lost_before_the_commit(server, is_overtaken, monkeypatch):
    url = server.url(f"lost before {is_overtaken}")
    running, other = Campaign(learner(), url, rng=0), Campaign(learner(), url)
    first = running.ask()
    store = running._records.store
    insert = store._insert
    calls = []

    def lost(rows, token):
        calls.append(token)
        if len(calls) == 1:
            terminated(running)
            if is_overtaken:
                other.tell({0: 0.0}, first.number)
        insert(rows, token)

    monkeypatch.setattr(store, "_insert", lost)
    request = running.ask()
    assert request.number == 1
    assert len(calls) == 1 + is_overtaken  # the call is repeated with the event of the other process
    expected = ["campaign", "ask", *["tell"] * is_overtaken, "ask"]
    assert [row["event"] for row in running.history()] == expected
    assert Campaign(learner(), url).history() == running.history()
    other.tell({0: 1.0}, request.number)
    assert running.pending == (() if is_overtaken else (0,))


@pytest.mark.slow
def test_a_commit_whose_answer_is_lost_is_not_repeated(server, monkeypatch):
    url = server.url("lost after")
    running = Campaign(learner(), url, rng=0)
    running.ask()
    connection = running._records.store._connection
    commit = connection.commit

    def unanswered():
        commit()
        terminated(running)
        commit()
        connection.exec_driver_sql("SELECT 1")

    monkeypatch.setattr(connection, "commit", unanswered)
    running.tell({0: 1.0}, 0)
    assert running._records.store._connection is not connection
    assert [row["event"] for row in running.history()] == ["campaign", "ask", "tell"]
    assert Campaign(learner(), url).session.state.counts.tolist() == [1, 0, 0, 0, 0]


@pytest.fixture
def database(server):
    """Return a function that makes a database and returns the URL of a campaign in it."""
    import psycopg

    def run(statement):
        with psycopg.connect(server.url().partition("#")[0], autocommit=True) as connection:
            return connection.execute(statement)

    def made(settings=(), encoding="UTF8"):
        name = f"own{next(_DATABASES)}"
        run(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
        for setting in settings:
            run(f"ALTER DATABASE {name} SET {setting}")
        return server.url("test", name)

    return made


_DATABASES = itertools.count()


class Slow(TopK):
    """An oracle that holds the lock of a campaign longer than the limits of the database."""

    def solve(self, means, rng):
        time.sleep(0.05)
        return super().solve(means, rng)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        ["default_transaction_isolation = 'repeatable read'"],
        ["default_transaction_isolation = 'serializable'"],
        ["statement_timeout = '40ms'", "lock_timeout = '40ms'"],
    ],
    ids=["repeatable read", "serializable", "timeouts"],
)
def test_the_settings_of_a_database_change_no_result(database, settings):
    url, faults = database(settings), []
    is_slow = "timeout" in settings[0]

    def work(number):
        try:
            running = Campaign(CUCB(Slow(5, k=2)) if is_slow else learner(), url, rng=0, author=f"{number}")
            play(running, 4)
            running.close()
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert not faults
    rows = Campaign(CUCB(Slow(5, k=2)) if is_slow else learner(), url).history()
    kinds = [row["event"] for row in rows]
    assert kinds.count("ask") == kinds.count("tell") == 12


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["UTF8", "SQL_ASCII", "LATIN1"])
@pytest.mark.parametrize("name", ["spring", "Fr%C3%BChling", "%E6%98%A5", "a'b%22", "a%00b"])
def test_names_of_campaigns_in_every_encoding_are_kept_or_refused_in_words(database, encoding, name):
    url = f"{database(encoding=encoding).partition('#')[0]}#{name}"
    if "%00" in name or (name == "%E6%98%A5" and encoding == "LATIN1"):
        why = "null character" if "%00" in name else "CREATE DATABASE ... ENCODING 'UTF8'"
        with pytest.raises(ValueError, match=re.escape(why)):
            Campaign(learner(), url, rng=0)
        return
    play(Campaign(learner(), url, rng=0, author="Zoë 春"), 1)
    again = Campaign(learner(), url)
    assert [row.get("author") for row in again.history()] == ["Zoë 春"] * 3
    assert not store_of(f"{url}%20").exists()


@pytest.mark.slow
def test_a_statement_that_the_server_ends_is_told_with_its_remedy(database):
    import sqlalchemy as sql

    store = store_of(database(["statement_timeout = '20ms'"]))
    with pytest.raises(TimeoutError, match="raise statement_timeout for this user"):
        store._attempt(lambda: store._run(sql.text("SELECT pg_sleep(1)")))


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement", ["DELETE FROM cmab_campaigns", "DROP TABLE cmab_campaigns", "DROP TABLE cmab_events"]
)
def test_a_refused_call_leaves_no_open_transaction(database, statement):
    import sqlalchemy as sql

    url = database()
    running = Campaign(learner(), url, rng=0)
    running.ask()
    store = store_of(url)
    with store._engine.begin() as connection:
        connection.execute(sql.text(statement))
    for call in (running.ask, running.history, running.undo):
        if call == running.history and "EVENTS" not in statement.upper():
            call()  # the events are still there
        else:
            with pytest.raises((ValueError, OSError)):
                call()
        assert (
            store._attempt(
                lambda: store._run(
                    sql.text(
                        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                        " AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'"
                    )
                ).scalar()
            )
            == 0
        )
        store._end()
