"""The events of campaigns in one table of a SQL database: SQLite, or PostgreSQL for many workers.

An event is one ``INSERT`` with its expected number, which is part of the primary key. A writer that was
overtaken inserts nothing, reads the newer events and tries again, so no lock is held between two statements.
"""

from __future__ import annotations

import json
import logging
import os
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateIndex, CreateTable

from cmab.errors import (
    DamagedStoreError,
    NewerVersionError,
    StoreTimeoutError,
    StoreUnreachableError,
)
from cmab.validation import shown

#: The format of the tables. A campaign of a larger format is refused.
FORMAT = 1
#: The number of events that are read at once.
_PAGE = 5_000
#: The longest pause before a call is repeated while another process writes to SQLite, in seconds. The handler
#: of SQLite waits up to 0.1 s, in which a fast writer starves the others.
_BUSY = 0.004
#: The seconds after which a repeated call is worth a warning.
_LONG = 1.0
_SQLITE_ENDINGS = (".db", ".sqlite", ".sqlite3")
#: The classes of errors of PostgreSQL that mean a lost connection, a server that starts or stops, or another
#: process that makes the tables at the same time.
_AWAY = ("08", "57P", "53", "42P07", "23505")
#: The error of a statement that waited for a lock.
_LOCKED = "55P03"
#: Where the names of tables are listed.
_CATALOG = {
    True: "sqlite_master WHERE name",
    False: "information_schema.tables WHERE table_schema = ANY (current_schemas(false)) AND table_name",
}

Found = TypeVar("Found")
log = logging.getLogger("cmab.campaign")
_schema = sql.MetaData()
_campaigns = sql.Table(
    "cmab_campaigns",
    _schema,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("name", sql.Text, nullable=False, unique=True),
    sql.Column("format", sql.Integer, nullable=False),
)
_events = sql.Table(
    "cmab_events",
    _schema,
    sql.Column("campaign", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("ticket", sql.Integer),
    sql.Column("at", sql.Double, nullable=False),
    sql.Column("author", sql.Text),
    sql.Column("key", sql.Text),
    sql.Column("body", sql.Text, nullable=False),
    sql.Index("cmab_events_ticket", "campaign", "ticket"),
    sqlite_with_rowid=False,
)
sql.Index(
    "cmab_events_key",
    _events.c.campaign,
    _events.c.key,
    unique=True,
    sqlite_where=_events.c.key.is_not(None),
    postgresql_where=_events.c.key.is_not(None),
)
_snapshots = sql.Table(
    "cmab_snapshots",
    _schema,
    sql.Column("campaign", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("data", sql.LargeBinary, nullable=False),
)
_NAMES = [column.name for column in _events.c]
_INTO = f"INSERT INTO cmab_events ({', '.join(_NAMES)})"
_UNLESS = "ON CONFLICT DO NOTHING"
_ONE = f"{_INTO} VALUES ({', '.join('?' for _ in _NAMES)}) {_UNLESS}"
_FIND = f"SELECT {', '.join(_NAMES[1:])} FROM cmab_events WHERE campaign = ?"
_OWN = "campaign = %(campaign)s::int"
#: PostgreSQL: insert an event after all others, unless a newer event concerns its ticket or changes others,
#: and return the events that were not read yet. Its number and the ticket of an ask follow the last ones that
#: the statement sees. Another statement that has seen the same ones conflicts with it, so that the condition
#: holds at the moment of the insertion.
_LAST = f"""
    WITH added AS (
        {_INTO}
        SELECT %(campaign)s::int, m.number + 1, %(kind)s, COALESCE(%(ticket)s::int, m.ticket + 1),
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
    )
    SELECT {", ".join(_NAMES[1:])} FROM cmab_events WHERE {_OWN} AND number > %(number)s::int
    UNION ALL SELECT number, NULL, ticket, NULL, NULL, NULL, NULL FROM added ORDER BY number
"""
#: PostgreSQL answers that statement before the row is on the disk, so that it does not delay the next writer,
#: and then this one waits for the disk. Rows of other writers reach the disk in the same write.
_FLUSH = "SELECT pg_logical_emit_message(true, 'cmab', '')"
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


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


def address_of(where: str | os.PathLike[str]) -> tuple[sql.URL, str]:
    """Return the URL of the database of a campaign and the name of the campaign in it.

    Raises
    ------
    ValueError
        If `where` is neither the path of a SQLite file nor the URL of a database.
    """
    text: Any = os.fspath(where)
    if not isinstance(text, str) or not text:
        raise ValueError(f"where must be a path or a URL, got {shown(text)}")
    text, _, name = text.partition("#") if "://" in text else (text, "", "")
    if "://" not in text:
        if Path(text).suffix not in _SQLITE_ENDINGS:
            raise ValueError(
                "where must be a file that ends with .db, .sqlite or .sqlite3, or a URL such as"
                f" postgresql://HOST/DATABASE, got {shown(text)}"
            )
        text = f"sqlite:///{text}"
    try:
        url = sql.make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError(
            "where must be a valid URL such as postgresql://USER:PASSWORD@HOST/DATABASE"
        ) from None
    if url.get_backend_name() == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    elif url.get_backend_name() == "sqlite" and url.database:
        url = url.set(database=str(Path(url.database).absolute()))
    else:
        raise ValueError(f"where must be a SQLite file or a PostgreSQL database, got {url!r}")
    return url, name or "campaign"


class Store:
    """The events of one campaign.

    The statements of each event are those of the driver, because SQLAlchemy takes four times as long.

    Parameters
    ----------
    where : str or path-like
        The path or the URL, as in `Campaign`.
    timeout : float
        The number of seconds that a call waits for the database at most.
    """

    def __init__(self, where: str | os.PathLike[str], timeout: float = 120.0) -> None:
        self.url, self.name = address_of(where)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.timeout = timeout
        self.id: int | None = None
        #: The numbers of repeated calls and of overtaken writes, for `Campaign.health`.
        self.repeated = self.overtaken = 0
        #: The number of lost connections. A server that has stopped may have lost events that were read, but
        #: were not on the disk.
        self.breaks = 0
        self._deadline = threading.local()
        wait: dict[str, Any] = {"timeout": 0.0}
        if not self.is_sqlite:  # a network that swallows packets ends the connection
            seconds = max(2, int(min(timeout, 10.0)))
            wait = {"connect_timeout": seconds, "tcp_user_timeout": 1000 * seconds}
            wait |= {"keepalives_idle": seconds, "keepalives_interval": seconds, "keepalives_count": 1}
        self._engine = sql.create_engine(
            self.url,
            isolation_level="AUTOCOMMIT",
            poolclass=NullPool,
            connect_args=wait,
        )
        self._error: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        #: Cursors of the driver that no call uses, each of its own connection.
        self._idle: list[Any] = []
        if self.is_sqlite:
            sql.event.listen(self._engine, "connect", _durable)
        weakref.finalize(self, _close, self._idle).atexit = False
        _stores.add(self)

    @property
    def where(self) -> str:
        """The address for messages, without the password."""
        if self.is_sqlite:
            return str(self.url.database) + ("" if self.name == "campaign" else f"#{self.name}")
        return f"{self.url.set(drivername='postgresql').render_as_string()}#{self.name}"

    @property
    def address(self) -> str:
        """The address that opens the campaign again, with the password."""
        backend = "sqlite" if self.is_sqlite else "postgresql"
        return f"{self.url.set(drivername=backend).render_as_string(hide_password=False)}#{self.name}"

    def close(self) -> None:
        """Close all connections that no call uses; the next call opens one again."""
        _close(self._idle)

    @contextmanager
    def within(self, timeout: float | None) -> Iterator[None]:
        """Set the deadline of the calls of this thread in a block; None for the usual timeout."""
        outer = getattr(self._deadline, "at", None)
        if outer is None or timeout is not None:
            self._deadline.at = time.monotonic() + (self.timeout if timeout is None else timeout)
        try:
            yield
        finally:
            self._deadline.at = outer

    def left(self) -> float:
        """Return the seconds until the deadline of this thread."""
        at = getattr(self._deadline, "at", None)
        return self.timeout if at is None else max(0.0, at - time.monotonic())

    # Reading.

    def exists(self) -> bool:
        """Return whether the campaign exists, and find its number."""
        if self.id is None:
            if self.is_sqlite and not _has_content(Path(str(self.url.database))):
                return False
            tables = f"SELECT 1 FROM {_CATALOG[self.is_sqlite]} = 'cmab_campaigns'"
            if not self._rows(tables):
                return False
            found = self._rows("SELECT id, format FROM cmab_campaigns WHERE name = ?", self.name)
            for number, written in found:
                if written > FORMAT:
                    raise NewerVersionError(
                        f"{self.where} must have format {FORMAT}, got {written}, which a newer version of"
                        " cmab wrote; update cmab"
                    )
                self.id = number
        return self.id is not None

    def read(self, after: int = 0, *, kinds: Sequence[str] = ()) -> Iterator[Event]:
        """Yield the events after a number, of all kinds or of these; raise `DamagedStoreError` at a gap."""
        marks = f" AND kind IN ({', '.join('?' for _ in kinds)})" if kinds else ""
        query = f"{_FIND} AND number > ?{marks} ORDER BY number LIMIT {_PAGE}"
        while True:
            rows = self._rows(query, self.id, after, *kinds)
            for row in rows:
                if not kinds and row[0] != after + 1:
                    raise DamagedStoreError(f"{self.where} must have event {after + 1}, got {row[0]} next")
                after = row[0]
                yield self._event(row)
            if len(rows) < _PAGE:
                return

    def find(self, **values: Any) -> list[Event]:
        """Return the events with these values of columns, such as ``ticket=3``, oldest first."""
        same = "".join(f" AND {name} = ?" for name in values)
        return list(map(self._event, self._rows(f"{_FIND}{same} ORDER BY number", self.id, *values.values())))

    def snapshots(self) -> list[int]:
        """Return the numbers of the events of the stored snapshots, the latest first."""
        query = "SELECT number FROM cmab_snapshots WHERE campaign = ? ORDER BY number DESC"
        return [number for (number,) in self._rows(query, self.id)]

    def snapshot(self, number: int) -> bytes:
        """Return the snapshot after an event; it is empty if it was replaced since."""
        query = "SELECT data FROM cmab_snapshots WHERE campaign = ? AND number = ?"
        return next((data for (data,) in self._rows(query, self.id, number)), b"")

    # Writing.

    def create(self, event: Event) -> None:
        """Create the campaign with its first event, unless another process does."""
        if self.is_sqlite:
            Path(str(self.url.database)).parent.mkdir(parents=True, exist_ok=True)
        made: list[Any] = [CreateTable(table, if_not_exists=True) for table in _schema.sorted_tables]
        made += [CreateIndex(index, if_not_exists=True) for index in _events.indexes]
        statements = [str(one.compile(dialect=self._engine.dialect)) for one in made]
        insert = f"INSERT INTO cmab_campaigns (name, format) VALUES (?, ?) {_UNLESS}"
        own = "(SELECT id FROM cmab_campaigns WHERE name = ?)"
        first = f"{_INTO} VALUES ({own}, {', '.join('?' for _ in _NAMES[1:])}) {_UNLESS}"

        def work(cursor: Any) -> None:
            for statement in statements:
                cursor.execute(statement)
            values = self.name, *self._values(event)[1:]
            self._stored(cursor, [], (insert, (self.name, FORMAT)), (first, values))

        self._call(work)

    def append(self, events: Sequence[Event]) -> bool:
        """Add events with their expected, consecutive numbers, all or none; return False if overtaken."""
        is_one, breaks = len(events) == 1, self.breaks
        given, statement = self._values(events[0]), self._marked(_ONE)

        def work(cursor: Any) -> bool:
            if self.breaks != breaks:  # the first attempt may have stored the events, or lost those before
                return events[-1] in self._after(cursor, events[-1].number - 1)
            if is_one:
                return bool(cursor.execute(statement, given).rowcount == 1)
            return self._stored(cursor, events)

        is_added = self._call(work)
        self.overtaken += not is_added
        return is_added

    def add(self, event: Event, known: int) -> tuple[list[Event], Event | None]:
        """Add a report or an ask to PostgreSQL after all events, although some were not read yet.

        Parameters
        ----------
        event : Event
            The event. Its number has no effect, and an ask gets the next ticket.
        known : int
            The number of events that were read.

        Returns
        -------
        list of Event
            The events between the known ones and the stored one.
        Event or None
            The stored event, or None if a newer event concerns the ticket or changes other events.
        """
        breaks = self.breaks
        given = dict(zip(_NAMES, self._values(event), strict=True)) | {"number": known}
        if event.kind == "ask":
            given["ticket"] = None

        def work(cursor: Any) -> tuple[list[Event], Event | None]:
            if self.breaks != breaks:  # the first attempt may have stored the event
                newer = self._after(cursor, 0)
                stored = next((one for one in newer if _is_same(one, event)), None)
                newer = newer[known : None if stored is None else stored.number - 1]
            else:
                rows = cursor.execute(_LAST, given).fetchall()
                own = rows.pop() if rows and rows[-1][1] is None else None
                newer = list(map(self._event, rows))
                stored = None if own is None else event._replace(number=own[0], ticket=own[2])
            if stored is not None:
                cursor.execute(_FLUSH)
            return newer, stored

        newer, stored = self._call(work)
        self.overtaken += stored is None
        return newer, stored

    def forget(self, bodies: Mapping[int, dict[str, Any]], event: Event) -> bool:
        """Replace the bodies of some events, and add the event that says so; return False if overtaken."""
        change = "UPDATE cmab_events SET body = ? WHERE campaign = ? AND number = ?"
        changes = [(change, (_encode(body), self.id, number)) for number, body in bodies.items()]

        def work(cursor: Any) -> bool:
            if self.is_sqlite:
                cursor.execute("PRAGMA secure_delete = ON").fetchall()
            is_kept = self._stored(cursor, [event], *changes)
            if self.is_sqlite and is_kept:  # the log of SQLite has the former name, too
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return is_kept

        return self._call(work)

    def keep_snapshot(self, number: int, data: bytes) -> None:
        """Store a snapshot, and drop all but this one and the one before."""
        before = [one for one in self.snapshots() if one < number][:1] or [0]
        drop = "DELETE FROM cmab_snapshots WHERE campaign = ? AND number <= ? AND number <> ?"
        insert = "INSERT INTO cmab_snapshots (campaign, number, data) VALUES (?, ?, ?)"
        changes = (drop, (self.id, number, *before)), (insert, (self.id, number, data))
        self._call(lambda cursor: self._stored(cursor, [], *changes))

    def _marked(self, statement: str) -> str:
        """Return a statement with the marks of the driver for parameters."""
        return statement if self.is_sqlite else statement.replace("?", "%s")

    def _rows(self, query: str, *given: Any) -> list[Any]:
        query = self._marked(query)
        return self._call(lambda cursor: cursor.execute(query, given).fetchall())

    def _after(self, cursor: Any, number: int) -> list[Event]:
        query = self._marked(f"{_FIND} AND number > ? ORDER BY number")
        return list(map(self._event, cursor.execute(query, (self.id, number)).fetchall()))

    def _stored(self, cursor: Any, events: Sequence[Event], *more: tuple[str, tuple[Any, ...]]) -> bool:
        """Insert events and run further statements in one transaction, if the numbers are free."""
        cursor.execute("BEGIN")
        try:
            if events:
                cursor.executemany(self._marked(_ONE), list(map(self._values, events)))
            is_kept = not events or bool(cursor.rowcount == len(events))
            for statement, given in more if is_kept else ():
                cursor.execute(self._marked(statement), given)
        except BaseException:
            with suppress(Exception):  # a lost connection has no transaction to take back
                cursor.execute("ROLLBACK")
            raise
        cursor.execute("COMMIT" if is_kept else "ROLLBACK")
        return is_kept

    def _values(self, event: Event) -> tuple[Any, ...]:
        return (self.id, *event[:-1], _encode(event.body))

    def _event(self, row: Any) -> Event:
        try:
            return Event._make((*row[:-1], json.loads(row[-1])))
        except ValueError:
            raise DamagedStoreError(f"{self.where}: event {row[0]} must have a body in JSON") from None

    def _call(self, work: Callable[[Any], Found]) -> Found:
        """Return the result of `work` on a cursor of the driver; repeat it while the database is busy."""
        begun, pause, is_told = time.monotonic(), 0.05, False
        while True:
            try:
                with _sqlite if self.is_sqlite else nullcontext():
                    cursor = self._cursor()
                    try:
                        return work(cursor)
                    finally:
                        self._idle.append(cursor)
            except self._error as error:
                at = getattr(self._deadline, "at", None) or begun + self.timeout
                left, is_long = max(0.0, at - time.monotonic()), time.monotonic() - begun > _LONG
                self._check_repeatable(error, left)
                self.repeated += 1
                if not self.is_sqlite or (is_long and not is_told):
                    log.warning("%s: %s; the call is repeated", self.where, _reason(error))
                    is_told = True
                if self.is_sqlite:
                    time.sleep(random.uniform(0.0, min(_BUSY, left)))
                elif getattr(error, "sqlstate", None) != _LOCKED:
                    self.close()
                    self.breaks += 1
                    time.sleep(min(pause, left))
                    pause = min(2.0 * pause, 1.0)

    def _cursor(self) -> Any:
        """Return a cursor of the driver, of a new connection if none is idle."""
        with suppress(IndexError):
            return self._idle.pop()
        made: Any = self._engine.raw_connection()
        cursor = made.driver_connection.cursor()
        made.detach()
        if not self.is_sqlite:
            cursor.execute("SET lock_timeout = '1s'")  # then the deadline is checked
        return cursor

    def _check_repeatable(self, error: Any, left: float) -> None:
        """Raise the typed error of the campaign, unless the call can be repeated."""
        reason = f"{self.where}: {_reason(error)}"
        code = getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None) or ""
        if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise DamagedStoreError(f"{reason}; restore a backup") from error
        is_busy = code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", _LOCKED))
        is_away = not self.is_sqlite and (not code or code.startswith(_AWAY))
        if is_busy and left <= 0.0:
            raise StoreTimeoutError(f"{reason}; repeat the call later, or pass a larger timeout") from error
        if not is_busy and (not is_away or left <= 0.0):
            raise StoreUnreachableError(f"{reason}; check the address, the server and its rights") from error


def _durable(connection: Any, _: Any) -> None:
    """Let SQLite write ahead, and wait for the disk at the end of each transaction."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _close(cursors: list[Any]) -> None:
    while cursors:
        cursors.pop().connection.close()


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _is_same(stored: Event, event: Event) -> bool:
    """Return whether a stored event is this one, apart from its number and the ticket of an ask."""
    return stored._replace(number=0, ticket=0) == event._replace(number=0, ticket=0)


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
    """Begin anew in the child; the connections of other databases belong to the parent."""
    _sqlite.release()
    for store in list(_stores):
        store._deadline = threading.local()
        if not store.is_sqlite:
            store._idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_sqlite.release, after_in_child=_in_child)
