"""The events of campaigns in one table of a SQL database: SQLite, or PostgreSQL for many workers.

An event is one ``INSERT`` with its expected number, which is part of the primary key. A writer that was
overtaken inserts nothing, reads the newer events and tries again, so no lock is held between two statements.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from operator import methodcaller
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from cmab.errors import (
    DamagedStoreError,
    OtherVersionError,
    StoreTimeoutError,
    StoreUnreachableError,
)
from cmab.validation import shown

#: The format of the tables, which the first event states. A campaign of another format is refused.
FORMAT = 2
#: The number of events that are read at once.
_PAGE = 5_000
#: The longest pauses before a call is repeated, in seconds: while another process writes (the handler of
#: SQLite waits up to 0.1 s, in which a fast writer starves the others), and after many lost connections.
_BUSY, _AWAY = 0.004, 1.0
#: The seconds after which a repeated call is worth a warning.
_LONG = 1.0
#: The seconds for which a server of PostgreSQL may be silent after that time. A statement that waits for a
#: lock is taken back by the server itself, after one second.
_SILENT = 1.5
_SQLITE_ENDINGS = (".db", ".sqlite", ".sqlite3")
#: The errors of PostgreSQL that mean a lost connection, a server that starts or stops, or another process
#: that makes the tables at the same time; and that of a statement that waited for a lock.
_LOST, _LOCKED = ("08", "57P", "53", "42P07", "23505"), "55P03"

Found = TypeVar("Found")
log = logging.getLogger("cmab.campaign")
#: In PostgreSQL without the last words of the first table, and with ``BYTEA`` for ``BLOB``.
_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS cmab_events (
        campaign TEXT NOT NULL,
        number INTEGER NOT NULL,
        kind TEXT NOT NULL,
        ticket INTEGER,
        at DOUBLE PRECISION NOT NULL,
        author TEXT,
        key TEXT,
        body TEXT NOT NULL,
        PRIMARY KEY (campaign, number)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS cmab_events_ticket ON cmab_events (campaign, ticket)",
    "CREATE UNIQUE INDEX IF NOT EXISTS cmab_events_key ON cmab_events (campaign, key) WHERE key IS NOT NULL",
    """
    CREATE TABLE IF NOT EXISTS cmab_snapshots (
        campaign TEXT NOT NULL,
        number INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (campaign, number)
    )
    """,
)
_COLUMNS = "number, kind, ticket, at, author, key, body"
_INTO = f"INSERT INTO cmab_events (campaign, {_COLUMNS})"
_UNLESS = "ON CONFLICT DO NOTHING"
_ONE = f"{_INTO} VALUES (?, ?, ?, ?, ?, ?, ?, ?) {_UNLESS}"
_FIND = f"SELECT {_COLUMNS} FROM cmab_events WHERE campaign = ?"
_OWN = "campaign = %(campaign)s::text"
#: PostgreSQL: insert an event after all others, unless a newer event concerns its ticket or changes others.
#: Its number and the ticket of an ask follow the last ones that the statement sees. Another statement that
#: has seen the same ones conflicts with it, so that the condition holds at the moment of the insertion.
_NEXT = f"""
    {_INTO}
    SELECT %(campaign)s::text, m.number + 1, %(kind)s, COALESCE(%(ticket)s::int, m.ticket + 1),
        %(at)s::float8, %(author)s::text, %(key)s::text, %(body)s::text
    FROM (
        SELECT (SELECT MAX(number) FROM cmab_events WHERE {_OWN}) AS number,
            COALESCE((SELECT MAX(ticket) FROM cmab_events WHERE {_OWN}), -1) AS ticket
    ) AS m, (SELECT set_config('synchronous_commit', 'off', true)) AS s
    WHERE NOT EXISTS (
        SELECT 1 FROM cmab_events WHERE {_OWN} AND number > %(number)s::int
        AND (ticket = %(ticket)s::int OR kind IN ('changed', 'correct', 'undo'))
    )
    {_UNLESS} RETURNING number, ticket
"""
#: PostgreSQL answers that statement before the row is on the disk, so that it does not delay the next writer,
#: and then this one waits for the disk. Rows of other writers reach the disk in the same write.
_FLUSH = "SELECT pg_logical_emit_message(true, 'cmab', '')"
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=methodcaller("tolist")).encode


class Event(NamedTuple):
    """An event of a campaign.

    Attributes
    ----------
    number : int
        The place of the event in the campaign, from 1.
    kind : str
        What happened: ``"campaign"``, ``"changed"``, ``"ask"``, ``"tell"``, ``"cancel"``, ``"correct"``,
        ``"undo"``, ``"note"`` or ``"forget"``.
    ticket : int or None
        The ticket that the event is about.
    at : float
        The time in seconds since 1970, by the clock of the machine that wrote the event.
    author, key : str or None
        The author, and the key of the request.
    body : dict
        The contents, with names as numbers.
    """

    number: int
    kind: str
    ticket: int | None
    at: float
    author: str | None
    key: str | None
    body: dict[str, Any]


def address_of(where: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the path of a SQLite file or the URL of PostgreSQL, and the name of the campaign in it.

    Raises
    ------
    ValueError
        If `where` is neither the path of a SQLite file nor the URL of a database.
    """
    text: Any = os.fspath(where)
    if not isinstance(text, str) or not text:
        raise ValueError(f"where must be a path or a URL, got {shown(text)}")
    if "://" not in text:
        if Path(text).suffix not in _SQLITE_ENDINGS:
            raise ValueError(
                "where must be a file that ends with .db, .sqlite or .sqlite3, or a URL such as"
                f" postgresql://HOST/DATABASE, got {shown(text)}"
            )
        text = f"sqlite:///{text}"
    url, _, name = text.partition("#")
    path = url.removeprefix("sqlite:///")
    if path != url and path:
        return str(Path(path).absolute()), name or "campaign"
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme == "postgresql" and parts.port != 0
    except ValueError:  # a port that is no number
        is_valid = False
    if not is_valid:
        raise ValueError(
            "where must be a SQLite file or a valid URL that begins with postgresql://, such as"
            " postgresql://USER:PASSWORD@HOST/DATABASE"
        )
    return url, name or "campaign"


class Patience(threading.local):
    """The number of seconds that a call of a thread waits for the database at most."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Store:
    """The events of one campaign.

    Parameters
    ----------
    where : str or path-like
        The path or the URL, as in `Campaign`.
    timeout : float
        The number of seconds that a call waits for the database at most.

    Raises
    ------
    ImportError
        If `where` is in PostgreSQL, and psycopg is not installed.
    """

    def __init__(self, where: str | os.PathLike[str], timeout: float = 120.0) -> None:
        self._target, self.name = address_of(where)
        self.is_sqlite = "://" not in self._target
        self._driver: ModuleType = sqlite3
        if not self.is_sqlite:
            try:
                import psycopg
            except ImportError:
                raise ImportError('PostgreSQL needs psycopg: pip install "cmab[postgres]"') from None
            self._driver = psycopg
        self.patience = Patience(timeout)
        #: The numbers of repeated calls and of overtaken writes, for `Campaign.health`.
        self.repeated = self.overtaken = 0
        #: The number of lost connections. A server that has stopped may have lost events that were read, but
        #: were not on the disk.
        self.breaks = 0
        #: Cursors of the driver that no call uses, each of its own connection.
        self._idle: list[Any] = []
        self.renew_locks()
        weakref.finalize(self, _close, self._idle).atexit = False
        _stores.add(self)

    def renew_locks(self) -> None:
        """Make the locks that the users of this store share, also in a child process."""
        self.lock, self.long_lock = threading.RLock(), threading.RLock()

    @property
    def where(self) -> str:
        """The address for messages, without the password."""
        if self.is_sqlite:
            return self._target + ("" if self.name == "campaign" else f"#{self.name}")
        return re.sub(r"(://[^:/@]*):.*@", r"\1:***@", self.address)  # also if the password has an @

    @property
    def address(self) -> str:
        """The address that opens the campaign again, with the password."""
        return f"{'sqlite:///' if self.is_sqlite else ''}{self._target}#{self.name}"

    def close(self) -> None:
        """Close all connections that no call uses; the next call opens one again."""
        _close(self._idle)

    @contextmanager
    def within(self, timeout: float) -> Iterator[None]:
        """Set the patience of this thread in a block."""
        outer, self.patience.seconds = self.patience.seconds, timeout
        try:
            yield
        finally:
            self.patience.seconds = outer

    # Reading.

    def first(self) -> Event | None:
        """Return the first event, which this version can read; None if the campaign does not exist."""
        if self.is_sqlite and not (Path(self._target).exists() and Path(self._target).stat().st_size):
            return None
        table = "1 FROM sqlite_master WHERE name = 'cmab_events'"
        if not self.is_sqlite:
            table = "1 WHERE to_regclass('cmab_events') IS NOT NULL"
        rows = self._rows(f"SELECT {table}") and self._rows(f"{_FIND} ORDER BY number LIMIT 1", self.name)
        if not rows:
            return None
        first = self._event(rows[0])
        if first.number != 1:
            raise DamagedStoreError(f"{self.where} must have event 1, got none; restore a backup")
        if (format_there := first.body["format"]) != FORMAT:
            raise OtherVersionError(
                f"{self.where} must have format {FORMAT}, got {format_there}, written by another version of"
                " cmab; use that version"
            )
        return first

    def read(self, after: int = 0, *, kinds: Sequence[str] = ()) -> Iterator[Event]:
        """Yield the events after a number, of all kinds or of these; raise `DamagedStoreError` at a gap."""
        marks = f" AND kind IN ({', '.join('?' for _ in kinds)})" if kinds else ""
        query = f"{_FIND} AND number > ?{marks} ORDER BY number LIMIT {_PAGE}"
        while True:
            rows = self._rows(query, self.name, after, *kinds)
            for row in rows:
                if not kinds and row[0] != after + 1:
                    raise DamagedStoreError(
                        f"{self.where} must have event {after + 1}, got {row[0]} next; restore a backup"
                    )
                after = row[0]
                yield self._event(row)
            if len(rows) < _PAGE:
                return

    def find(self, **values: Any) -> list[Event]:
        """Return the events with these values of columns, such as ``ticket=3``, oldest first."""
        same = "".join(f" AND {name} = ?" for name in values)
        rows = self._rows(f"{_FIND}{same} ORDER BY number", self.name, *values.values())
        return list(map(self._event, rows))

    def snapshot(self) -> tuple[int, bytes]:
        """Return the number of the event of the last snapshot, and its data; 0 and nothing without one."""
        query = "SELECT number, data FROM cmab_snapshots WHERE campaign = ? ORDER BY number DESC LIMIT 1"
        return next(iter(self._rows(query, self.name)), (0, b""))

    # Writing.

    def create(self, event: Event) -> None:
        """Create the campaign with its first event, unless another process does."""
        tables: Sequence[str] = _TABLES
        if self.is_sqlite:
            Path(self._target).parent.mkdir(parents=True, exist_ok=True)
        else:
            tables = [one.replace("WITHOUT ROWID", "").replace("BLOB", "BYTEA") for one in tables]
        self.append([event], *((one, ()) for one in tables))

    def append(self, events: Sequence[Event], *more: tuple[str, tuple[Any, ...]]) -> bool:
        """Run statements, and add events with their expected, consecutive numbers: all or nothing.

        Returns
        -------
        bool
            False if nothing was done, because the numbers or a key are not free.
        """
        breaks, given, statement = self.breaks, list(map(self._values, events)), self._marked(_ONE)

        def work(cursor: Any) -> bool:
            if self.breaks != breaks and events and not more:
                return self._same(cursor, events[-1], events[0].number - 1) is not None
            if len(given) == 1 and not more:
                return bool(cursor.execute(statement, given[0]).rowcount == 1)
            cursor.execute("BEGIN")
            try:
                for other, values in more:
                    cursor.execute(self._marked(other), values)
                if given:
                    cursor.executemany(statement, given)
                is_kept = not given or bool(cursor.rowcount == len(given))
            except BaseException:
                with suppress(Exception):  # a lost connection has no transaction to take back
                    cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT" if is_kept else "ROLLBACK")
            return is_kept

        is_added = self._call(work)
        self.overtaken += not is_added
        return is_added

    def add(self, event: Event, known: int) -> Event | None:
        """Add a report or an ask, in PostgreSQL after all events, although some were not read yet.

        A writer that was overtaken before is then faster than with `append`, which SQLite uses.

        Parameters
        ----------
        event : Event
            The event. In PostgreSQL its number has no effect, and an ask gets the next ticket.
        known : int
            The number of events that were read.

        Returns
        -------
        Event or None
            The stored event, or None if a newer event concerns the ticket or changes other events.
        """
        if self.is_sqlite:
            return event if self.append([event]) else None
        breaks = self.breaks
        given = event._asdict() | {"campaign": self.name, "number": known, "body": _encode(event.body)}
        if event.kind == "ask":
            given["ticket"] = None

        def work(cursor: Any) -> Event | None:
            if self.breaks != breaks:
                return self._same(cursor, event, known)
            row = cursor.execute(_NEXT, given).fetchone()
            if row is None:
                return None
            cursor.execute(_FLUSH)
            return event._replace(number=row[0], ticket=row[1])

        stored = self._call(work)
        self.overtaken += stored is None
        return stored

    def forget(self, bodies: dict[int, dict[str, Any]], event: Event) -> bool:
        """Replace the bodies of some events, and add the event that says so; return False if overtaken."""
        change = "UPDATE cmab_events SET body = ? WHERE campaign = ? AND number = ?"
        changes = ((change, (_encode(body), self.name, number)) for number, body in bodies.items())
        is_kept = self.append([event], *changes)
        if self.is_sqlite and is_kept:  # the log of SQLite has the former name, too
            self._rows("PRAGMA wal_checkpoint(TRUNCATE)")
        return is_kept

    def keep_snapshot(self, number: int, data: bytes) -> None:
        """Replace the snapshot."""
        drop = "DELETE FROM cmab_snapshots WHERE campaign = ?"
        insert = f"INSERT INTO cmab_snapshots (campaign, number, data) VALUES (?, ?, ?) {_UNLESS}"
        self.append([], (drop, (self.name,)), (insert, (self.name, number, data)))

    def _marked(self, statement: str) -> str:
        """Return a statement with the marks of the driver for parameters."""
        return statement if self.is_sqlite else statement.replace("?", "%s")

    def _rows(self, query: str, *given: Any) -> list[Any]:
        query = self._marked(query)
        return self._call(lambda cursor: cursor.execute(query, given).fetchall())

    def _same(self, cursor: Any, event: Event, after: int) -> Event | None:
        """Return an event if it was stored by an attempt whose answer got lost.

        Its number, and the ticket of an ask, are those that it has got.
        """
        query = self._marked(f"{_FIND} AND number > ? ORDER BY number")
        rows = map(self._event, cursor.execute(query, (self.name, after)).fetchall())
        own = event._replace(number=0, ticket=0)
        return next((one for one in rows if one._replace(number=0, ticket=0) == own), None)

    def _values(self, event: Event) -> tuple[Any, ...]:
        return (self.name, *event[:-1], _encode(event.body))

    def _event(self, row: Any) -> Event:
        try:
            return Event._make((*row[:-1], json.loads(row[-1])))
        except ValueError:
            raise DamagedStoreError(f"{self.where}: event {row[0]} must have a body in JSON") from None

    def _call(self, work: Callable[[Any], Found]) -> Found:
        """Return the result of `work` on a cursor of the driver; repeat it while the database is busy."""
        begun, pause, is_told = time.monotonic(), _BUSY, False
        end = begun + self.patience.seconds
        while True:
            try:
                with _sqlite if self.is_sqlite else nullcontext():
                    cursor = self._cursor(end - time.monotonic())
                    try:
                        return work(cursor)
                    finally:
                        self._idle.append(cursor)
            except self._driver.Error as error:
                left = max(0.0, end - time.monotonic())
                is_lost = self._is_lost(error, left)
                self.repeated += 1
                if not is_told and (is_lost or time.monotonic() - begun > _LONG):
                    log.warning("%s: %s; the call is repeated", self.where, _reason(error))
                    is_told = True
                pause = min(2.0 * pause, _AWAY) if is_lost else pause
                time.sleep(random.uniform(0.0, min(pause, left)))

    def _cursor(self, left: float) -> Any:
        """Return a cursor of the driver, of a new connection in the seconds left if none is idle."""
        made: Any
        with suppress(IndexError):
            return self._idle.pop()
        if self.is_sqlite:
            made = sqlite3.connect(self._target, timeout=0.0, isolation_level=None, check_same_thread=False)
            # Write ahead, wait for the disk at the end of each transaction, and erase what is deleted.
            for option in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
                made.execute(f"PRAGMA {option}")
            return made.cursor()
        # A network that swallows packets ends the connection, and the call is repeated with another one.
        wait = {"connect_timeout": max(2, min(int(left), 10)), "tcp_user_timeout": 10_000}
        wait |= {"keepalives_idle": 10, "keepalives_interval": 10, "keepalives_count": 1}
        made = _patient().connect(self._target, autocommit=True, **wait)
        made.patience = self.patience
        cursor = made.cursor()
        cursor.execute("SET lock_timeout = '1s'")  # then the time is checked
        return cursor

    def _is_lost(self, error: Any, left: float) -> bool:
        """Return whether the connection is lost; raise the typed error unless the call can be repeated."""
        reason = f"{self.where}: {_reason(error)}"
        code = getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None) or ""
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise DamagedStoreError(f"{reason}; restore a backup") from error
        is_lost = not self.is_sqlite and (not code or code.startswith(_LOST))
        if is_lost:
            self.close()
            self.breaks += 1
        is_busy, is_late = code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", _LOCKED)), left <= 0.0
        if is_busy and is_late:
            raise StoreTimeoutError(f"{reason}; repeat the call later, or pass a larger timeout") from error
        if not is_busy and (not is_lost or is_late or _is_refused(error)):
            raise StoreUnreachableError(
                f"{reason}; check the address, the server and its rights, and repeat"
                " the call with its key, because it may have been stored"
            ) from error
        return is_lost


def _is_refused(error: Any) -> bool:
    """Return whether PostgreSQL has refused a user or a database for good, and not because it is full."""
    login = getattr(error, "pgconn", None)
    is_full = any(words in str(error) for words in ("too many connections", "connection slots"))
    return login is not None and (login.used_password or login.needs_password) and not is_full


@cache
def _patient() -> Any:
    """Return the connection of psycopg that loses patience, also with a server that is frozen."""
    import psycopg

    class Patient(psycopg.Connection[Any]):
        patience: Patience

        def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
            return super().wait(
                until(time.monotonic() + self.patience.seconds + _SILENT, gen), *args, **options
            )

    def until(end: float, steps: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        try:
            wanted = next(steps)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > end:
                    raise psycopg.OperationalError("the server does not answer")
                wanted = steps.send(ready)
        except StopIteration as last:
            return last.value

    return Patient


def _close(cursors: list[Any]) -> None:
    while cursors:
        cursors.pop().connection.close()


def _reason(error: Any) -> str:
    return " ".join(str(error).split())


#: Held by each call of SQLite, and while the process forks. A child cannot use a connection of its parent,
#: and SQLite keeps the locks of a file for the whole process, so all connections are closed before a fork.
_sqlite = threading.Lock()
_stores: weakref.WeakSet[Store] = weakref.WeakSet()


def _before_fork() -> None:
    _sqlite.acquire()
    for store in list(_stores):
        if store.is_sqlite:
            store.close()


def _in_child() -> None:
    """Begin anew in the child: the connections and the locks of other threads are those of the parent."""
    _sqlite.release()
    for store in list(_stores):
        store.renew_locks()
        store._idle.clear()
        store.breaks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_sqlite.release, after_in_child=_in_child)
